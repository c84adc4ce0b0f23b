"""Faults that were put in on purpose are found, shrunk, kept as unknown, and shown again by their file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.planted import make

from infernix.fuzz.campaign import Campaign, name_of_unknown
from infernix.fuzz.case import Case, Problem, Step, VocabularySpec
from infernix.fuzz.files import read_finding
from infernix.fuzz.host import Local
from infernix.fuzz.job import Outcome, Settings, Worker
from infernix.fuzz.session import Session

MOST_CASES = 60
EXPECTED = [
    ("FlippedBit", "gbnf", {"probe"}),
    ("RollbackOneShort", "choice", {"rollback", "draft"}),
    ("SharedFork", "choice", {"fork", "probe"}),
    ("ForgetfulEnd", "gbnf", {"end"}),
    ("Raising", "choice", {"error"}),
    ("Unsound", "regex", {"verdict", "mask", "end"}),
    ("Stern", "gbnf", {"source"}),
]


def local(name: str, _settings: Settings) -> Local:
    return Local(make(name))


def first_outcome(fault: str, kind: str) -> Outcome:
    """The first case of a campaign that finds something."""
    worker = Worker(Settings(("reference", fault), (kind,), shrink_seconds=15), local)
    for number in range(MOST_CASES):
        outcome = worker.run(number)
        assert all(report.finding.difference.engine == fault for report in outcome.reports)
        if outcome.reports:
            return outcome
    raise AssertionError(f"{fault} was not found in {MOST_CASES} cases")


@pytest.mark.parametrize(("fault", "kind", "checks"), EXPECTED, ids=[fault for fault, _, _ in EXPECTED])
def test_a_planted_fault_is_found_shrunk_and_replayed(fault: str, kind: str, checks: set[str], tmp_path: Path) -> None:
    outcome = first_outcome(fault, kind)
    report = outcome.reports[0]
    difference, case = report.finding.difference, report.finding.case
    assert difference.check in checks
    assert report.known is None
    assert report.shrunk
    assert report.reproducible

    # Small enough to read: one problem of two short rules at most, a few steps, a few tokens.
    (problem,) = case.problems
    assert len(problem.source) <= 40
    assert len(problem.walk) <= 8
    assert sum(1 for token in case.vocabulary.tokens if token) <= 8

    campaign = Campaign(Settings(("reference", fault), (kind,)), tmp_path)
    campaign.take(outcome)
    name = name_of_unknown(report)
    assert name.startswith(f"unknown-{fault}-")
    assert name in campaign.state.unknown
    again = read_finding(tmp_path / "findings" / f"{name}.toml")
    assert fault in (tmp_path / "findings" / f"{name}.md").read_text(encoding="utf-8")

    session = Worker(Settings(again.engines, (kind,)), local).session
    shown = session.check(again.case, again.engines)
    assert difference.signature in {other.signature for other in shown}


def test_engines_without_a_fault_show_nothing() -> None:
    worker = Worker(Settings(("reference", "infernix"), ("gbnf", "choice", "regex")), local)
    for number in range(12):
        assert worker.run(number).reports == []
    assert worker.session.executors.keys() == {"reference", "infernix"}


def test_what_differs_in_a_copy_is_asked_of_the_engine_itself() -> None:
    spec = VocabularySpec(tokens=(b"a", b"b", b""), eos_ids=(2,), size=3)
    case = Case(spec, (Problem("gbnf", "root ::= [ab]*", (Step("token", (1,)), Step("fork", (1,)))),))
    session = Session([Local(make(name)) for name in ("reference", "FlippedBit")])
    (finding,) = session.examine(case, "1")
    assert finding.difference.check == "probe"
    assert finding.engines == ("FlippedBit",)
    assert finding.difference.tokens == (0,)
