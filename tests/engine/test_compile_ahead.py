"""Sharing out the parts of the warm-up: each is compiled, whatever becomes of the helpers.

Most helpers here are stand-ins that compile nothing; they write down what they were asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from infernix.engine.commands import compile_ahead
from infernix.engine.commands.compile_ahead import DONE, Helper, compile_parts, helper_command, parts, spare_cores
from infernix.matcher.jit import JIT

PATIENCE = 30.0
NAMES = [f"part {i}" for i in range(20)]

STAND_IN = """
import sys
for count, line in enumerate(sys.stdin):
    with open(sys.argv[1], "a") as file:
        file.write(line)
"""
WILLING = STAND_IN + "    print('done', flush=True)\n"
DIES_LATER = STAND_IN + "    if count: raise SystemExit(1)\n    print('done', flush=True)\n"
DIES_AT_ONCE = "raise SystemExit(1)"
BABBLES = STAND_IN + "    print('what?', flush=True)\n"
SILENT = STAND_IN + "    import time; time.sleep(1000)\n"


class Sharing:
    """One call of `compile_parts`, and what each side was given."""

    def __init__(self, program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = folder / "asked"
        self.asked.touch()
        self.here: list[str] = []
        self.done = 0
        self.helpers: list[Helper] = []
        self.answered = threading.Event()
        monkeypatch.setattr(compile_ahead, "helper_command", lambda: [sys.executable, "-c", program, str(self.asked)])
        monkeypatch.setattr(Helper, "__enter__", self.watched(Helper.__enter__))

    def watched(self, enter):  # type: ignore[no-untyped-def]
        def watching(helper: Helper) -> Helper:
            self.helpers.append(helper)
            return enter(helper)  # type: ignore[no-any-return]

        return watching

    def run(self, helpers: int, wait: bool = False) -> None:
        """`wait`: nothing is compiled here before a helper has answered."""

        def part(name: str) -> None:
            assert not wait or self.answered.wait(PATIENCE)
            self.here.append(name)

        def done() -> None:
            self.done += 1
            self.answered.set()

        work = {name: lambda name=name: part(name) for name in NAMES}
        compile_parts(work, helpers, lambda name: None, done)

    def asked_for(self) -> list[str]:
        return self.asked.read_text().splitlines()

    def all_ended(self) -> bool:
        return all(helper.process.returncode is not None for helper in self.helpers)


@pytest.mark.parametrize("helpers", [1, 3])
def test_parts_are_shared_out(helpers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing = Sharing(WILLING, tmp_path, monkeypatch)
    sharing.run(helpers, wait=True)
    assert sorted(sharing.here + sharing.asked_for()) == sorted(NAMES), "each once"
    assert sharing.asked_for()
    assert sharing.done == len(NAMES)
    assert len(sharing.helpers) == helpers
    assert sharing.all_ended()


def test_one_core_does_it_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing = Sharing(WILLING, tmp_path, monkeypatch)
    sharing.run(0)
    assert sharing.here == NAMES
    assert sharing.helpers == []


@pytest.mark.parametrize("program", [DIES_AT_ONCE, BABBLES])
def test_helpers_that_do_nothing_leave_everything(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharing = Sharing(program, tmp_path, monkeypatch)
    sharing.run(2)
    assert sorted(sharing.here) == sorted(NAMES)
    assert sharing.done == len(NAMES)
    assert sharing.all_ended()


def test_a_helper_that_dies_leaves_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing = Sharing(DIES_LATER, tmp_path, monkeypatch)
    sharing.run(1, wait=True)
    first, *unfinished = sharing.asked_for()
    assert len(unfinished) <= 1
    assert sorted([first, *sharing.here]) == sorted(NAMES)
    assert sharing.done == len(NAMES)


def test_without_a_program_there_are_no_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing = Sharing(WILLING, tmp_path, monkeypatch)
    monkeypatch.setattr(compile_ahead, "helper_command", lambda: [str(tmp_path / "nothing")])
    sharing.run(2)
    assert sharing.here == NAMES


@pytest.mark.parametrize("program", [WILLING, SILENT])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_helpers_end_when_this_process_is_stopped(
    failure: type[BaseException], program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharing = Sharing(program, tmp_path, monkeypatch)

    def stop() -> None:
        raise failure

    with pytest.raises(failure):
        compile_parts(dict.fromkeys(NAMES, stop), 2, lambda name: None, lambda: None)
    assert len(sharing.helpers) == 2
    assert sharing.all_ended()


def test_as_many_processes_as_cores_but_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, helpers in ((1, 0), (2, 1), (3, 2), (64, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert spare_cores() == helpers


LOADED = """
import sys
from infernix.engine.commands.compile_ahead import parts
print(parts().keys() >= {"sampling", "earley.expand"}, {"torch", "rich", "typer"} & sys.modules.keys())
"""


def test_a_helper_loads_nothing_heavy() -> None:
    finished = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == [str(JIT), "set()"]


@pytest.mark.skipif(not JIT, reason="without machine code there is none to keep")
def test_a_helper_keeps_what_it_compiles(tmp_path: Path) -> None:
    environment = os.environ | {"INFERNIX_CACHE": str(tmp_path)}
    name = "earley.complete"
    assert name in parts()
    finished = subprocess.run(
        helper_command(), input=f"{name}\n".encode(), capture_output=True, env=environment, check=True
    )
    assert finished.stdout == DONE
    assert finished.stderr == b""
    assert [file.name.partition("-")[0] for file in tmp_path.rglob("*.nbc")] == [name]
