"""The supervisor: what it does when an engine's process dies, hangs, or cannot start."""

import os
import time

import pytest
from bench import runner
from bench.cases import Case, Source
from bench.runner import Plan, run_plan
from bench.walk import CaseResult
from bench.worker import READY, Failure


def case(name: str) -> Case:
    return Case(name, Source("gbnf", ""), [])


def obedient(engines, vocabulary, pipe):
    """A worker that does what the name of the case says."""
    pipe.send(READY)
    while True:
        one, engine, _ = pipe.recv()
        if one.id == "crash":
            os._exit(7)
        if one.id == "hang":
            time.sleep(60)
        if one.id == "fault":
            pipe.send(Failure("a traceback"))
        pipe.send(CaseResult(engine, one.id))


def stillborn(engines, vocabulary, pipe):
    os._exit(3)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(runner, "work", obedient)


def run(*names: str, limit_s: float = 10.0) -> list[tuple[str, str]]:
    plan = Plan(("llguidance",), "none", [case(name) for name in names], limit_s)
    return [(result.case, result.status) for result in run_plan(plan, lambda message: None)]


def test_a_crash_costs_one_turn(quick):
    assert run("one", "crash", "two") == [("one", "compiled"), ("crash", "killed"), ("two", "compiled")]


def test_a_hang_costs_one_turn(quick):
    assert run("hang", "one", limit_s=0.01) == [("hang", "killed"), ("one", "compiled")]


def test_a_fault_of_the_benchmark_ends_the_run(quick):
    with pytest.raises(RuntimeError, match="a traceback"):
        run("fault")


def test_a_worker_that_cannot_start_ends_the_run(quick, monkeypatch):
    monkeypatch.setattr(runner, "work", stillborn)
    with pytest.raises(RuntimeError, match="exit code 3"):
        run("one")
