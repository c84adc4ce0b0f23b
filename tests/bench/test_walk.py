"""One engine on one case: verdicts, statuses and how many times are taken, with engines made by hand."""

import numpy as np
import pytest
from bench.cases import Case, Source
from bench.engines import Engine, Infernix, Session
from bench.vocabularies import BenchVocabulary
from bench.walk import CUT, NOT_ACCEPTED, NOT_AT_END, NOT_IN_MASK, measure
from bench.worker import warm_up_case

SOURCE = Source("gbnf", "ab*")


class Words(Engine):
    """Accepts token 0, then any number of 1; masks can be told to lie."""

    package = "pytest"

    def __init__(self, hidden: int | None = None, broken: bool = False, refuses: bool = False) -> None:
        self.hidden, self.broken, self.refuses = hidden, broken, refuses
        self.refusals = (LookupError,)

    def compile(self, source):
        if self.refuses:
            raise LookupError("not supported")
        return source

    def session(self, compiled, row):
        text = []

        def fill():
            if self.broken:
                raise ZeroDivisionError("broken")
            row[0] = 0b01 if not text else 0b10
            if self.hidden is not None:
                row[0] &= ~np.uint32(1 << self.hidden)

        def accept(token):
            legal = token == bool(text)
            if legal:
                text.append(token)
            return legal

        return Session(fill, accept, lambda: bool(text), row)


def run(engine: Engine, *valid: list[int], invalid=(), limit_s=10.0):
    row = np.zeros(1, dtype=np.uint32)
    return measure("words", engine, Case("case", SOURCE, list(valid), list(invalid)), row, limit_s)


def test_two_passes_with_a_time_for_each_token():
    result = run(Words(), [0, 1, 1])
    (walk,) = result.valid
    assert (result.status, walk.stopped, walk.tokens) == ("compiled", "", 3)
    for times in (walk.masks_first, walk.masks_second, walk.accepts_first, walk.accepts_second):
        assert len(times) == 3
        assert (times >= 0).all()


@pytest.mark.parametrize(
    ("engine", "text", "stopped"),
    [
        (Words(), [1], NOT_IN_MASK),
        (Words(), [0, 0], NOT_IN_MASK),
        (Words(), [], NOT_AT_END),
        (Words(hidden=1), [0, 1], NOT_IN_MASK),
    ],
)
def test_why_a_valid_text_stops(engine, text, stopped):
    assert run(engine, text).valid[0].stopped == stopped


def test_a_mask_that_promises_too_much():
    class Promising(Words):
        def session(self, compiled, row):
            session = super().session(compiled, row)
            return Session(lambda: row.fill(0b11), session.accept, session.can_end, row)

    assert run(Promising(), [0, 0]).valid[0].stopped == NOT_ACCEPTED


def test_a_fill_that_returns_the_mask_is_believed():
    class Viewing(Words):
        def session(self, compiled, row):
            own = np.zeros(1, dtype=np.uint32)
            session = super().session(compiled, own)
            return Session(lambda: (session.fill(), own.copy())[1], session.accept, session.can_end, row)

    assert run(Viewing(), [0, 1, 1]).valid[0].stopped == ""


def test_invalid_texts_are_judged():
    result = run(Words(), [0], invalid=[[1], [0, 1], [], [0, 0]])
    assert result.invalid == 4
    assert result.wrongly_accepted == [1]


def test_a_refusal_is_not_a_failure():
    assert run(Words(refuses=True), [0]).status == "refused"
    failed = run(Words(broken=True), [0])
    assert failed.status == "failed"
    assert failed.message.startswith("ZeroDivisionError: broken (test_walk.py:")


def test_a_text_is_cut_when_the_time_is_used_up():
    result = run(Words(), [0, 1], invalid=[[1]], limit_s=0.0)
    assert [walk.stopped for walk in result.valid] == [CUT]
    assert result.invalid == 0


def letters() -> BenchVocabulary:
    ordinary = {bytes([byte]): byte for byte in range(256)}
    return BenchVocabulary("bytes", ordinary, {"<eos>": 256}, (256,), 257, None, lambda text: list(text.encode()))


def test_our_engine_walks_the_warm_up_schema():
    vocabulary = letters()
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.uint32)
    result = measure("infernix", Infernix(vocabulary), warm_up_case(vocabulary.encode), row, 60.0)
    assert (result.status, [walk.stopped for walk in result.valid]) == ("compiled", [""])
