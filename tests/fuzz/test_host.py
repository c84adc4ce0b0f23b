"""Processes that crash, hang or grow are ended, reported, and started again."""

from __future__ import annotations

import re

import pytest
from tests.fuzz.planted import make

from infernix.fuzz.case import Case, Problem, Step, VocabularySpec
from infernix.fuzz.host import EngineFailed, Host, Limits
from infernix.fuzz.job import Settings, Worker

SPEC = VocabularySpec(tokens=(b"a", b"b", b""), eos_ids=(2,), size=3)
ONE = Case(SPEC, (Problem("choice", '["aaa"]', (Step("token", (0,)),)),))
THREE = Case(SPEC, (Problem("choice", '["aaa"]', (Step("token", (0,)),) * 3),))
DOG = Case(SPEC, (Problem("choice", '["dog"]'),))
TIGHT = Limits(seconds=1.0, megabytes=90)
QUICK = Limits(seconds=0.5, megabytes=90)


@pytest.mark.parametrize(
    ("fault", "case", "check", "detail"),
    [
        ("Crashing", THREE, "crash", "SIGSEGV"),
        ("Hanging", THREE, "hang", "processor time$"),
        ("HangingCompile", DOG, "hang", "processor time, still compiling$"),
        ("Growing", THREE, "growth", "MB"),
    ],
)
def test_a_failing_process_is_reported_and_started_again(fault: str, case: Case, check: str, detail: str) -> None:
    host = Host(fault, QUICK, make)
    try:
        assert len(host.trace(ONE)[0].views) == 2
        first = host.child
        with pytest.raises(EngineFailed) as failure:
            host.trace(case)
        assert failure.value.check == check
        assert re.search(detail, failure.value.detail)
        assert len(host.trace(ONE)[0].views) == 2
        assert host.child != first
    finally:
        host.close()


def test_a_crash_is_a_finding_with_the_steps_that_led_to_it() -> None:
    worker = Worker(
        Settings(("Crashing",), ("choice",), limits=TIGHT, shrink_seconds=20),
        lambda name, settings: Host(name, settings.limits, make),
    )
    try:
        for number in range(10):
            reports = worker.run(number).reports
            if reports:
                break
        difference, case = reports[0].finding.difference, reports[0].finding.case
        assert difference.check == "crash"
        assert "SIGSEGV" in difference.detail
        assert reports[0].reproducible
        assert len(case.problems) == 1
        # The second token of a walk or of a text is what does it.
        assert 1 <= len(case.problems[0].walk) + len(case.problems[0].texts) <= 3
    finally:
        worker.close()


def test_no_jit_means_a_process_without_machine_code() -> None:
    host = Host("infernix-nojit", Limits(seconds=30))
    try:
        assert host.trace(ONE)[0].complaints == []
    finally:
        host.close()
