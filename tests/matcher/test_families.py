"""Subtrees taken as a whole because their texts lead from one set of a family to another."""

from __future__ import annotations

import itertools

import pytest

from infernix import Matcher, compile_regex
from infernix.gbnf.errors import TokenRejected
from infernix.matcher import tables
from infernix.matcher.compile import compile_grammar
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

CHARACTERS = ["a", "b", "1", "é", "中", " ", '"', "\u3000"]
PARTS = [b"\xe4", b"\xe4\xb8", b"\xad", b"\xe4\xb8\xada", b"1\xe4", b"\xc3", b"\xff"]
WORDS = ["".join(word).encode() for n in (1, 2, 3) for word in itertools.product(CHARACTERS, repeat=n)]
TOKENS = [*WORDS, *PARTS, b""]

PATTERNS = {
    "a digit somewhere": r'[^0-9"]*[0-9][^"]*"',
    "an a, then a b": r'[^a"]*a[^b"]*b[^"]*"',
    "no wide blank": r'[^0-9"\u3000]*[0-9][^"\u3000]*"',
    "at most five characters": r'([^"]([^"]([^"]([^"]([^"])?)?)?)?)?"',
    "at most four, one a digit": r'([^0-9"]([^0-9"]([^0-9"])?)?)?[0-9]([^"]([^"])?)?"',
    "it may end inside": r'[^0-9"]*[0-9][^"]*',
    "pairs": r'([^0-9"][^"])*"',
}
TEXTS = ["", "a", "1", "ab", "中", "a1", "aa1"]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1])


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_masks_are_those_of_the_reference(pattern: str, vocabulary: Vocabulary) -> None:
    grammar = compile_regex(pattern, vocabulary).grammar
    variants = [0, tables.OFF_FAMILIES, tables.SMALL_LIMITS, tables.SMALL_LIMITS | tables.OFF_LOOPS]
    for text in TEXTS:
        reference = ReferenceMatcher(grammar, vocabulary)
        try:
            reference.accept_bytes(text.encode())
        except TokenRejected:
            continue
        expected = reference.allowed_token_ids()
        for features in variants:
            matcher = Matcher(compile_grammar(grammar, vocabulary, features=features))
            matcher.accept_bytes(text.encode())
            assert matcher.allowed_token_ids() == expected, (text, features)


def test_a_text_with_a_condition_is_not_walked_node_by_node() -> None:
    """No character leads from the first set back to it: a letter leads to a second one, and that goes back."""
    vocabulary = Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1])  # with a heap of its own
    grammar = compile_regex(r'([^0-9"][^0-9"])*[0-9]"', vocabulary).grammar
    matcher = Matcher(compile_grammar(grammar, vocabulary, features=tables.SMALL_LIMITS))
    matcher.mask_row()
    known = matcher.heap.arrays["families"][: int(matcher.heap.header[tables.N_SETS])]
    closed = known[(known["kinds"] != 0) & (known["depth"] > 1000)]
    assert len(closed) == 2
    letter, digit = (1 << int(matcher.heap.arrays["byte_kinds"][ord(character)]) for character in "a1")
    assert all(kinds & letter and not kinds & digit for kinds in closed["kinds"].tolist())
