"""The reference matcher on its own: what the comparison with enumerated languages leaves open."""

from __future__ import annotations

import pytest
from tests.matcher.matchers import allowed, mask, state
from tests.vocabularies import awkward, byte_level

from infernix.gbnf.errors import GrammarError, TokenRejected, VocabularyError
from infernix.gbnf.grammar import (
    NOTHING,
    CharClass,
    Expression,
    Grammar,
    Literal,
    Ranges,
    Repeat,
    Rule,
    RuleRef,
    TokenSet,
    alternatives,
    char_class,
    repeat,
    sequence,
)
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.reference_language import first_member
from infernix.matcher.vocabulary import Vocabulary


def matcher_of(root: Expression, vocabulary: Vocabulary, **rules: Expression) -> ReferenceMatcher:
    named = tuple(Rule(name, body) for name, body in rules.items())
    return ReferenceMatcher(Grammar((Rule("root", root), *named)), vocabulary)


CLASSES = [
    char_class([(0x61, 0x7A)]).ranges,
    char_class([(0x7F, 0x80)]).ranges,
    char_class([(0x7FF, 0x800)]).ranges,
    char_class([(0xD000, 0x11000)]).ranges,
    char_class([(0xFFFF, 0x10000)]).ranges,
    char_class([(0x10FFFF, 0x10FFFF), (0xE9, 0xE9)]).ranges,
    char_class([(0x20, 0x10FFF0)], negated=True).ranges,
]


@pytest.mark.parametrize("ranges", CLASSES)
def test_first_bytes_of_characters(ranges: Ranges) -> None:
    """A beginning is legal exactly if some member has it: compared with all members there are."""
    beginnings: dict[bytes, bytes] = {}
    for low, high in ranges:
        for code_point in range(low, high + 1):
            encoded = chr(code_point).encode()
            for length in range(1, len(encoded) + 1):
                beginnings.setdefault(encoded[:length], encoded)
    # What is just outside: every legal beginning with its last byte changed, or one byte more.
    sample = sorted(beginnings)[:: max(1, len(beginnings) // 300)]
    tried = [bytes([first]) for first in range(256)]
    tried += [known[:-1] + bytes([last]) for known in sample for last in range(0, 256, 7)]
    tried += [known + b"\x80" for known in sample]
    for seen in [*tried, *sample]:
        assert first_member(ranges, seen) == beginnings.get(seen), seen


def test_equal_tokens_are_all_legal() -> None:
    vocabulary = awkward()
    ids = matcher_of(Literal("a"), vocabulary).allowed_token_ids()
    assert [vocabulary.token_bytes(i) for i in ids] == [b"a", b"a"]


def test_tokens_may_begin_and_end_inside_a_character() -> None:
    vocabulary = awkward()
    matcher = matcher_of(Literal("aéb"), vocabulary)
    spelled = {vocabulary.token_bytes(i) for i in matcher.allowed_token_ids()}
    assert spelled == {b"a", b"a\xc3"}
    matcher.accept_bytes(b"a\xc3")
    assert {vocabulary.token_bytes(i) for i in matcher.allowed_token_ids()} == {b"\xa9", b"\xa9b"}


def test_a_control_token_has_no_spelling() -> None:
    vocabulary = awkward()
    (ordinary,) = (i for i in range(vocabulary.size) if vocabulary.kind(i) == 0 and spelled(i) == b"<x>")
    (control,) = (i for i in range(vocabulary.size) if vocabulary.kind(i) == 1)
    assert matcher_of(Literal("<x>"), vocabulary).allowed_token_ids() == [ordinary]
    assert matcher_of(TokenSet((control,)), vocabulary).allowed_token_ids() == [control]
    with pytest.raises(TokenRejected):
        matcher_of(TokenSet((control,)), vocabulary).accept_bytes(b"<x>")


def spelled(token_id: int) -> bytes:
    return awkward().token_bytes(token_id)


def test_a_token_is_read_by_id_and_by_bytes_at_once() -> None:
    """`Token(0) "b" | "a" "c"`: after token 0, spelled "a", both b and c may come."""
    vocabulary = Vocabulary([b"a", b"b", b"c", b""], eos_ids=[3])
    root = alternatives([sequence([TokenSet((0,)), Literal("b")]), Literal("ac")])
    matcher = matcher_of(root, vocabulary)
    matcher.accept_token(0)
    assert matcher.allowed_token_ids() == [1, 2]
    matcher.reset()
    matcher.accept_bytes(b"a")
    assert matcher.allowed_token_ids() == [2]


def test_an_exclusion_speaks_of_ordinary_tokens() -> None:
    vocabulary = awkward()
    ids = matcher_of(TokenSet((0,), exclude=True), vocabulary).allowed_token_ids()
    assert ids == [i for i in range(1, vocabulary.size) if vocabulary.kind(i) == 0]


def test_a_token_terminal_without_tokens_is_unproductive() -> None:
    vocabulary = Vocabulary([b"a", b""], eos_ids=[1])
    with pytest.raises(GrammarError):
        matcher_of(TokenSet((0,), exclude=True), vocabulary)
    with pytest.raises(GrammarError):
        matcher_of(TokenSet((1,)), vocabulary)


@pytest.mark.parametrize(
    "root",
    [
        NOTHING,
        sequence([Literal("a"), RuleRef("root")]),
        repeat(NOTHING, 1, None),
        sequence([Literal("a"), CharClass(())]),
    ],
)
def test_an_empty_language_is_refused(root: Expression) -> None:
    with pytest.raises(GrammarError, match="no finite text"):
        matcher_of(root, byte_level())


def test_masks_write_every_word() -> None:
    vocabulary = Vocabulary([b"a"] * 70 + [b"b", b""], eos_ids=[71])
    matcher = matcher_of(repeat(Literal("a"), 1, None), vocabulary)
    assert allowed(matcher, vocabulary.size) == list(range(70))
    matcher.accept_token(69)
    assert mask(matcher, vocabulary.size).tolist() == [0xFFFFFFFF, 0xFFFFFFFF, 0b10111111]


def test_ids_outside_the_vocabulary() -> None:
    matcher = matcher_of(Literal("a"), byte_level())
    for token_id in (-1, 257):
        with pytest.raises(VocabularyError):
            matcher.accept_token(token_id)


def test_rejected_bytes_say_how_many_were_legal() -> None:
    matcher = matcher_of(Literal("aé"), byte_level())
    before = state(matcher, 257)
    with pytest.raises(TokenRejected) as rejection:
        matcher.accept_bytes(b"a\xc3\xaa")
    assert rejection.value.offset == 2
    assert state(matcher, 257) == before


def test_counts() -> None:
    matcher = matcher_of(Repeat(RuleRef("x"), 2, 3), byte_level(), x=alternatives([Literal("ab"), Literal("a")]))
    legal = []
    for text in (b"", b"a", b"aa", b"aba", b"abab", b"aaa", b"aaab"):
        matcher.reset()
        matcher.accept_bytes(text)
        legal.append((matcher.can_end(), "".join(chr(i) for i in matcher.allowed_token_ids() if i < 256)))
    assert legal == [
        (False, "a"),
        (False, "ab"),
        (True, "ab"),
        (True, "ab"),
        (True, "a"),
        (True, "b"),
        (True, ""),
    ]
