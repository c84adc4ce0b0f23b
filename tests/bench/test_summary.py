"""The statistics of the benchmark, on results made by hand."""

import math

import numpy as np
import pytest
from bench.summary import Results, describe, geometric_mean
from bench.walk import CUT, NOT_IN_MASK, CaseResult, Walk


def walk(*first_us: int, stopped: str = "") -> Walk:
    """A text whose masks took so long; second pass half of it, accepts a tenth."""
    times = np.array(first_us, dtype=np.int64) * 1000
    return Walk(len(times), stopped, times, times // 2, times // 10, times // 20)


def result(engine: str, case: str, compile_ms: int, *walks: Walk, **more: object) -> CaseResult:
    return CaseResult(engine, case, compile_ns=compile_ms * 1_000_000, valid=list(walks), **more)  # type: ignore[arg-type]


def test_describe_interpolates_percentiles():
    figures = describe(np.arange(101, dtype=float))
    assert figures == {
        "n": 101,
        "mean": 50.0,
        "p50": 50.0,
        "p90": 90.0,
        "p99": 99.0,
        "p99.9": pytest.approx(99.9),
        "max": 100.0,
    }


def test_describe_of_nothing_has_no_figures():
    assert describe(np.empty(0)) == {"n": 0}


def test_geometric_mean():
    assert geometric_mean(np.array([1.0, 10.0, 100.0])) == pytest.approx(10.0)
    assert math.isnan(geometric_mean(np.empty(0)))


@pytest.fixture
def results() -> Results:
    """Two engines: one common text in `both`, none in `refused`, `stopped` and `missing`."""
    found = Results(("a", "b"))
    for one in (
        result("a", "both", 2, walk(10, 20), walk(1), invalid=2, wrongly_accepted=[1]),
        result("b", "both", 4, walk(30, 50), walk(7, stopped=CUT), invalid=2),
        result("a", "refused", 100, walk(9)),
        CaseResult("b", "refused", status="refused", message="no"),
        result("a", "stopped", 100, walk(9)),
        result("b", "stopped", 100, walk(stopped=NOT_IN_MASK)),
        result("a", "missing", 100, walk(9)),
    ):
        found.add(one)
    return found


def test_a_text_is_common_if_all_engines_walked_it(results):
    assert results.common() == {"both": [0]}


def test_common_can_be_restricted_to_earlier_cases(results):
    assert results.common(["both", "unknown"]) == {"both": [0]}
    assert results.common(["stopped"]) == {}


def test_times_are_those_of_the_common_texts(results):
    summary = results.summary("a", results.common())
    assert summary.compile_ms.tolist() == [2.0]
    assert summary.mask_first_us.tolist() == [10.0, 20.0]
    assert summary.mask_second_us.tolist() == [5.0, 10.0]
    assert summary.accept_us.tolist() == [1.0, 2.0]
    assert summary.total_ms.tolist() == [pytest.approx(2.0 + 0.030 + 0.003)]


def test_verdicts_count_over_all_cases(results):
    a = results.summary("a", results.common())
    b = results.summary("b", results.common())
    assert (a.refused, a.valid, a.wrongly_refused, a.invalid, a.wrongly_accepted) == (0, 5, 0, 2, 1)
    assert (b.refused, b.valid, b.wrongly_refused, b.invalid, b.wrongly_accepted) == (1, 2, 1, 2, 0)
    assert (a.cut, b.cut) == (0, 1)
    assert a.exact == 3, "all but the case with a wrongly accepted text"
    assert b.exact == 0, "cut, refused, stopped"
