"""Compiling kernels for the first time takes minutes, so it is announced, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from infernix.matcher.first_use import announce_compilation


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Each test, and whatever comes after, begins as a process does."""
    announce_compilation.cache_clear()
    yield
    announce_compilation.cache_clear()


class Entry:
    """What is looked at of a compiled function."""

    def __init__(self, folder: Path) -> None:
        self.stats = SimpleNamespace(cache_path=str(folder))


def test_only_a_first_compilation_is_announced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def without_jit() -> None:
        pass

    announce_compilation(without_jit)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "earley.first_set-1.py311.nbi").touch()
    announce_compilation(Entry(tmp_path / "kept"))
    assert caplog.messages == []
    (tmp_path / "empty").mkdir()
    entry = Entry(tmp_path / "empty")
    announce_compilation(entry)
    announce_compilation(entry)
    assert len(caplog.messages) == 1


FIRST_GRAMMAR = """
import infernix
from infernix.matcher import compile

def enough(*arguments):  # in place of the minutes
    raise SystemExit(0)

compile.Store = enough
infernix.compile_choice(["a"], infernix.Vocabulary.byte_level())
"""


@pytest.mark.parametrize(("jit", "lines"), [("0", 1), ("1", 0)])
def test_a_process_with_an_empty_cache_says_so_on_standard_error(jit: str, lines: int, tmp_path: Path) -> None:
    environment = os.environ | {"INFERNIX_CACHE": str(tmp_path), "NUMBA_DISABLE_JIT": jit}
    done = subprocess.run([sys.executable, "-c", FIRST_GRAMMAR], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == lines
    assert ("compiling machine code, once" in done.stderr) == bool(lines)
