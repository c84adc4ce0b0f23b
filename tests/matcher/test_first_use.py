"""Compiling kernels for the first time takes a minute, so it is announced, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import infernix
from infernix.matcher import jit
from infernix.matcher.first_use import announce_compilation


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Each test, and whatever comes after, begins as a process does."""
    announce_compilation.cache_clear()
    yield
    announce_compilation.cache_clear()


@pytest.mark.parametrize(("compiles", "kept", "lines"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_only_a_first_compilation_is_announced(
    compiles: bool,
    kept: bool,
    lines: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(jit, "JIT", compiles)
    monkeypatch.setattr(jit, "KERNEL_FOLDER", tmp_path if kept else tmp_path / "missing")
    announce_compilation()
    announce_compilation()
    assert len(caplog.messages) == lines
    assert all("compiling machine code" in message for message in caplog.messages)


def test_the_first_compiled_grammar_announces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("infernix.matcher.compile.Store", _no_store)
    monkeypatch.setattr(jit, "JIT", True)
    monkeypatch.setattr(jit, "KERNEL_FOLDER", tmp_path / "missing")
    with pytest.raises(KeyboardInterrupt):
        infernix.compile_choice(["a"], infernix.Vocabulary.byte_level())
    assert len(caplog.messages) == 1


def _no_store(*_: object) -> None:
    raise KeyboardInterrupt  # what a person does who is not told
