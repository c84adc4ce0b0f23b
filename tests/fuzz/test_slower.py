"""A slow mask, or no end at all, is a difference only where another engine was quicker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from infernix.fuzz.case import Case, Problem, VocabularySpec
from infernix.fuzz.compare import differences
from infernix.fuzz.engines import Capabilities
from infernix.fuzz.host import EngineFailed, Executor
from infernix.fuzz.session import Session
from infernix.fuzz.trace import Complaint, Trace

CASE = Case(VocabularySpec(tokens=(b"a", b""), eos_ids=(1,)), (Problem("gbnf", 'root ::= "a"'),))


def took(milliseconds: float) -> Trace:
    """A trace whose slowest mask took so long."""
    if milliseconds <= 10:
        return Trace(slowest=milliseconds / 1000)
    return Trace(complaints=[Complaint("slow", 0, "extra", (), "")], slowest=milliseconds / 1000)


@pytest.mark.parametrize(
    ("times", "hung", "expected"),
    [
        ({"a": 100, "b": 0}, (), [("a", "b")]),
        ({"a": 100, "b": 20}, (), [("a", "b")]),
        ({"a": 20, "b": 4}, (), [("a", "b")]),
        ({"a": 20, "b": 6}, (), []),
        ({"a": 100, "b": 30}, (), []),
        ({"a": 100, "b": 90, "c": 15}, (), [("a", "c"), ("b", "c")]),
        ({"a": 100}, (), [("a", "itself")]),
        ({"a": 100}, ("b",), []),
        ({"a": 0, "b": 100}, ("c",), [("b", "a")]),
    ],
)
def test_slow_masks(times: dict[str, float], hung: Sequence[str], expected: list[tuple[str, str]]) -> None:
    traces = {name: [took(milliseconds)] for name, milliseconds in times.items()}
    found = differences(CASE, traces, next(iter(traces)), hung)
    assert [(difference.engine, difference.against) for difference in found] == expected


def test_who_compiles_for_long_is_not_quick() -> None:
    for compiling, slow in ((0.02, ["a"]), (0.03, []), (0.3, [])):
        prepared = Trace(compiling=compiling, slowest=0.001)
        found = differences(CASE, {"a": [took(100)], "b": [prepared]}, "a")
        assert [difference.engine for difference in found if difference.check == "slow"] == slow


@pytest.mark.parametrize(
    "other", [Trace(refused="no such thing"), Trace(complaints=[Complaint("error", 0, detail="too many items")])]
)
def test_an_engine_that_did_not_work_through_the_problem_does_not_count(other: Trace) -> None:
    found = differences(CASE, {"a": [took(100)], "b": [other]}, "a")
    assert [difference.against for difference in found if difference.check == "slow"] == ["itself"]


class Answer:
    """An engine that ends with a trace, or not at all."""

    capabilities = Capabilities()

    def __init__(self, name: str, ends: bool) -> None:
        self.name, self.ends = name, ends

    def lead(self, case: Case, _seed: str) -> tuple[Case, list[Trace]]:
        return case, self.trace(case)

    def trace(self, _case: Case) -> list[Trace]:
        if not self.ends:
            raise EngineFailed(self.name, "hang", "no answer")
        return [Trace()]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ({"a": False, "b": True}, [("a", "b", ("b", "a"))]),
        ({"a": False, "b": False}, []),
        ({"a": False}, [("a", "itself", ("a",))]),
        ({"a": False, "b": False, "c": True}, [("a", "c", ("c", "a")), ("b", "c", ("c", "b"))]),
        ({"a": True, "b": True}, []),
    ],
)
def test_hangs(ends: dict[str, bool], expected: list[Any]) -> None:
    session = Session([cast(Executor, Answer(name, end)) for name, end in ends.items()])
    found = session.examine(CASE, "1")
    assert [(f.difference.engine, f.difference.against, f.engines) for f in found] == expected
    assert [d.engine for d in session.check(CASE, list(ends))] == [engine for engine, *_ in expected]
    unreported = {name for name, end in ends.items() if not end} - {engine for engine, *_ in expected}
    assert {name: count for name, count in session.refusals.items() if count} == dict.fromkeys(unreported, 1)
