"""Repeated runs: each call's smallest time, each text's worst verdict, fresh processes."""

import os
from time import thread_time_ns

import numpy as np
import pytest
from bench import runner
from bench.cases import Case, Source
from bench.engines import Engine, Session
from bench.masks import collect, parse
from bench.repeat import fastest
from bench.runner import Plan
from bench.summary import Results
from bench.walk import CUT, NOT_IN_MASK, CaseResult, Walk, measure
from bench.worker import READY

HICCUP_NS = 5_000_000


def walk(*us: int, stopped: str = "") -> Walk:
    """A text with these times of its masks, twice them in the second pass; accepts ten and twenty times."""
    times = np.array(us, dtype=np.int64)
    return Walk(len(us), stopped, times, 2 * times, 10 * times, 20 * times)


class Hiccup(Engine):
    """Allows token 0 for ever; its mask after `slow_at` tokens takes 5 ms."""

    package = "pytest"
    refusals = ()

    def __init__(self, slow_at: int) -> None:
        self.slow_at = slow_at

    def compile(self, source):
        return source

    def session(self, compiled, row):
        text = []

        def fill():
            row[0] = 1
            start = thread_time_ns()
            while len(text) == self.slow_at and thread_time_ns() - start < HICCUP_NS:
                pass

        return Session(fill, text.append, lambda: True, row)


def test_a_hiccup_of_one_run_does_not_count():
    case = Case("case", Source("gbnf", ""), [[0, 0, 0]])
    row = np.zeros(1, dtype=np.uint32)
    runs = [measure("hiccup", Hiccup(slow_at), case, row, 10.0) for slow_at in (1, 3)]
    for result, place in zip(runs, (0, 2), strict=True):
        assert result.valid[0].masks_first[place] >= HICCUP_NS
    (both,) = fastest(*runs).valid
    assert (both.masks_first < HICCUP_NS).all()
    assert (both.masks_second < HICCUP_NS).all()


def test_the_smallest_time_of_each_call():
    first = CaseResult("e", "c", compile_ns=5, compile_wall_ns=9, valid=[walk(1, 8), walk(3)])
    second = CaseResult("e", "c", compile_ns=7, compile_wall_ns=7, valid=[walk(2, 4), walk(1)])
    both = fastest(first, second)
    assert (both.compile_ns, both.compile_wall_ns) == (5, 7)
    assert both.valid[0].masks_first.tolist() == [1, 4]
    assert both.valid[0].masks_second.tolist() == [2, 8]
    assert both.valid[0].accepts_first.tolist() == [10, 40]
    assert both.valid[0].accepts_second.tolist() == [20, 80]
    assert both.valid[1].masks_first.tolist() == [1]


def test_the_worst_verdict_and_the_most_memory():
    first = CaseResult("e", "c", valid=[walk(1), walk(stopped=CUT)], invalid=2, wrongly_accepted=[1], peak_bytes=5)
    second = CaseResult("e", "c", valid=[walk(1, stopped=NOT_IN_MASK), walk(2)], invalid=3, held_bytes=7)
    for both in (fastest(first, second), fastest(second, first)):
        assert [one.stopped for one in both.valid] == [NOT_IN_MASK, CUT]
        assert (both.invalid, both.wrongly_accepted) == (3, [1])
        assert (both.held_bytes, both.peak_bytes) == (7, 5)
    killed = CaseResult("e", "c", status="killed", message="why")
    for both in (fastest(first, killed), fastest(killed, first)):
        assert (both.status, both.message) == ("killed", "why")


def test_results_keep_the_smallest_times_of_any_number_of_runs():
    results = Results(("e",))
    for times in ((4, 5, 9), (6, 3, 8), (7, 7, 2)):
        results.add(CaseResult("e", "c", valid=[walk(*times)]))
    assert results.by_case["c"]["e"].valid[0].masks_first.tolist() == [4, 3, 2]


def names_its_process(engines, vocabulary, pipe):
    """A worker that tells which process it is, as if by a wrong verdict."""
    pipe.send(READY)
    while True:
        case, engine, _ = pipe.recv()
        pipe.send(CaseResult(engine, case.id, wrongly_accepted=[os.getpid()]))


def test_each_run_has_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(runner, "work", names_its_process)
    plan = Plan(("llguidance",), "none", [Case(name, Source("gbnf", ""), []) for name in "ab"], 1.0)
    seen = [results["llguidance"].wrongly_accepted for results in collect(plan, 2).by_case.values()]
    assert len(seen[0]) == 2, "two runs in two processes"
    assert seen[0] == seen[1], "but one process for the cases of a run"


@pytest.mark.parametrize(
    ("arguments", "repeat"), [([], 2), (["--quick"], 1), (["--repeat", "5"], 5), (["--quick", "--repeat", "2"], 2)]
)
def test_how_often_the_run_is_done(arguments, repeat):
    assert parse(arguments).repeat == repeat


def test_a_run_is_done_at_least_once(capsys):
    with pytest.raises(SystemExit):
        parse(["--repeat", "0"])
    assert "at least 1" in capsys.readouterr().err
