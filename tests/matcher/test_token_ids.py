"""Token ids of any integer type, wherever the matcher is; and how much of its steps it remembers."""

from __future__ import annotations

import numpy as np
import pytest

from infernix import Matcher, Vocabulary, compile_gbnf, lookahead_masks
from infernix.matcher import store as store_module
from infernix.matcher.bitmask import words_for

SIZE = 1 << 24
"""So many ids that a set's number times it is past 32 bits soon."""
FAR = 300


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary([b"(", b")", b"</s>"], eos_ids=[2], size=SIZE)


@pytest.mark.parametrize("kind", [int, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, bool])
def test_any_integer_type_at_a_far_set(kind: type, vocabulary: Vocabulary) -> None:
    matcher = Matcher(compile_gbnf('root ::= "(" root ")" | ""', vocabulary))
    for _ in range(FAR):
        matcher.accept_token(kind(0))
    assert matcher.number * SIZE > np.iinfo(np.int32).max
    for _ in range(2):
        mark = matcher.mark()
        for _ in range(FAR):
            matcher.accept_token(kind(1))
        assert matcher.can_end()
        matcher.rollback(mark)


def test_drafts_of_any_integer_type(vocabulary: Vocabulary) -> None:
    matcher = Matcher(compile_gbnf('root ::= "(" root ")" | ""', vocabulary))
    for _ in range(FAR):
        matcher.accept_token(0)
    out = np.zeros((1, 3, words_for(SIZE)), dtype=np.uint32)
    lookahead_masks([matcher], [np.array([0, 1], dtype=np.int32)], out)
    assert out[0, :, 0].tolist() == [0b011, 0b011, 0b010]
    with pytest.raises(TypeError, match="token id is an integer, not float"):
        lookahead_masks([matcher], [[1.0]], out)


@pytest.mark.parametrize("wrong", [97.0, np.float32(97), "a", b"a", None, [97]])
def test_what_is_no_integer_is_named(wrong: object) -> None:
    matcher = Matcher(compile_gbnf('root ::= "aa"', Vocabulary.byte_level()))
    matcher.accept_token(97)
    matcher.rollback_tokens(1)
    with pytest.raises(TypeError, match=f"token id is an integer, not {type(wrong).__name__}"):
        matcher.accept_token(wrong)  # type: ignore[arg-type]
    matcher.accept_token(97)


@pytest.mark.parametrize("wrong", [None, "a", [97], 5])
def test_bytes_are_bytes(wrong: object) -> None:
    matcher = Matcher(compile_gbnf('root ::= "aa"', Vocabulary.byte_level()))
    with pytest.raises(TypeError, match="takes bytes"):
        matcher.accept_bytes(wrong)  # type: ignore[arg-type]
    matcher.accept_bytes(b"a")
    matcher.accept_bytes(memoryview(b"a"))
    assert matcher.can_end()


def test_remembered_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_STEPS", 10)
    matcher = Matcher(compile_gbnf("root ::= [a-z]* [.]", Vocabulary.byte_level()))
    start = matcher.mark()
    for _ in range(2):
        for token in b"abcdefghijklmnopqrstuvwxyz":
            matcher.accept_token(token)
            assert sum(len(known.after) for known in matcher.heap.known.values()) <= 10
        matcher.accept_bytes(b".")
        assert matcher.can_end()
        matcher.rollback(start)
