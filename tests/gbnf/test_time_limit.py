"""The time limit: whose time it is, and that it ends whatever is inside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import sleep, thread_time
from typing import Any

import pytest

from infernix import Vocabulary, compile_choice, compile_gbnf, compile_json_schema, compile_regex
from infernix.gbnf.errors import LimitError
from infernix.gbnf.time_limit import check_time, time_limit
from infernix.matcher import sources
from infernix.schema import compile as compile_module


def spin(seconds: float) -> None:
    """Use processor time."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def test_nothing_is_limited_outside() -> None:
    check_time()
    with time_limit(0.01):
        check_time()
    spin(0.02)
    check_time()


def late(seconds: float) -> None:
    """Use more processor time than the limit around it, and be asked."""
    spin(seconds)
    check_time()


def test_the_limit_is_of_processor_time() -> None:
    with time_limit(0.05):
        sleep(0.1)
        check_time()
    with pytest.raises(LimitError, match="time limit"), time_limit(0.05):
        late(0.06)


def test_an_inner_limit_does_not_extend_an_outer_one() -> None:
    with pytest.raises(LimitError), time_limit(0.02), time_limit(10):
        late(0.03)


def stubborn() -> None:
    """Try something, and something else if that is too large."""
    try:
        late(0.02)
    except LimitError:
        pytest.fail("caught like a limit of size")


def test_no_other_way_is_tried_when_the_time_is_up() -> None:
    with pytest.raises(LimitError, match="time limit"), time_limit(0.01):
        stubborn()


def test_each_thread_has_its_own() -> None:
    with time_limit(0.01):
        spin(0.02)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(check_time).result()


@pytest.mark.parametrize(
    ("compile_source", "source"),
    [
        (compile_gbnf, "root ::= " + "[a] " * 50_000),
        (compile_regex, "a?" * 100_000),
        (compile_choice, [str(i) for i in range(500_000)]),
    ],
    ids=["gbnf", "regex", "choice"],
)
def test_reading_ends_in_time(monkeypatch: pytest.MonkeyPatch, compile_source: Any, source: Any) -> None:
    """For every source language, before anything is compiled."""
    monkeypatch.setattr(sources, "READ_SECONDS", 0.05)
    vocabulary = Vocabulary.byte_level()
    start = thread_time()
    with pytest.raises(LimitError, match="time limit"):
        compile_source(source, vocabulary)
    assert thread_time() - start < 1.0


def test_many_patterns_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is small enough; together they would take minutes. Other schemas go on."""
    monkeypatch.setattr(compile_module, "READ_SECONDS", 0.3)
    patterns = [{"pattern": f"^[a-z]{{1,{i}}}([0-9]{{2,{i + 2}}}|x)*$"} for i in range(1, 2_000)]
    vocabulary = Vocabulary.byte_level()
    start = thread_time()
    with pytest.raises(LimitError, match="time limit"):
        compile_json_schema({"type": "array", "prefixItems": patterns}, vocabulary)
    assert thread_time() - start < 5.0
    compile_json_schema({"type": "array", "prefixItems": patterns[:1]}, vocabulary)
