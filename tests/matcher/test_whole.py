"""Masks that share nothing are given up early, and walked as they are."""

from __future__ import annotations

import pytest

from infernix import Matcher, compile_gbnf
from infernix.gbnf import parse_gbnf
from infernix.matcher import tables
from infernix.matcher.bitmask import allocate, unpack
from infernix.matcher.compile import compile_grammar
from infernix.matcher.mask import MASK_ITEMS, MASK_TAILS
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

TOKENS = [b"a", b"aab", b"ac", b"b", b"abbc", b"c", b"acba", b"ba", b"caa", b"cacb", b"bbcc", b"abc", b""]
VOCABULARY = Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1], size=len(TOKENS))
AMBIGUOUS = [
    'root ::= ((root | "a"){2} | root{3} "a") root | [ab]{0,2}',
    "root ::= root root | [^]",
    'root ::= root{1,3} | (root | "a")* [a-c]',
    'root ::= x root | ""\nx ::= root [a-b] | [^] root',
]


@pytest.mark.parametrize("source", AMBIGUOUS)
def test_a_mask_of_an_ambiguous_grammar_walks_few_tails_and_is_right(source: str) -> None:
    """Without a limit the first grammar walked 16,000 tails for one mask of 13 tokens."""
    compiled = compile_gbnf(source, VOCABULARY)
    matcher, reference = Matcher(compiled), ReferenceMatcher(compiled.grammar, VOCABULARY)
    row = allocate(1, VOCABULARY.size)[0]
    for step in range(10):
        header = matcher.heap.header
        tails, items = int(header[tables.N_TAILS]), int(header[tables.N_ITEMS])
        matcher.fill_mask(row)
        assert matcher.heap.header is header, "the heap is large enough for this"
        assert int(header[tables.N_TAILS]) - tails <= MASK_TAILS
        assert int(header[tables.N_ITEMS]) - items <= 2 * MASK_ITEMS
        expected = reference.allowed_token_ids()
        assert unpack(row, VOCABULARY.size).tolist() == expected
        token = expected[step % (len(expected) - 1)]  # the last one ends the text
        matcher.accept_token(token)
        reference.accept_token(token)


CROWDED = [
    "root ::= root root | [^]",
    "root ::= root root | [a-b]",
    'root ::= root root | [ab] | ("a" | "aa"){3,4}',
    'root ::= root root | [a] | "b" Token(2)',
    'root ::= root root | x{1,2}\nx ::= [a] | "b"',
]


@pytest.mark.parametrize("source", CROWDED)
def test_what_a_crowd_of_items_allows_wherever_it_began_is_walked_once(source: str) -> None:
    """In a text of n bytes, `root root` has n items, one for each byte at which the first root may have begun."""
    vocabulary = Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1], size=len(TOKENS))  # with a heap of its own
    grammar = parse_gbnf(source)
    matcher = Matcher(compile_grammar(grammar, vocabulary))
    uncovered = Matcher(compile_grammar(grammar, vocabulary, features=tables.OFF_COVER))
    reference = ReferenceMatcher(grammar, vocabulary)
    for step in range(14):
        expected = reference.allowed_token_ids()
        assert matcher.allowed_token_ids() == expected
        assert uncovered.allowed_token_ids() == expected
        ordinary = [token for token in expected if token not in vocabulary.eos_ids]
        token = ordinary[step % len(ordinary)]
        for each in (matcher, uncovered, reference):
            each.accept_token(token)
    assert int(matcher.heap.header[tables.N_COVERS]) in (1, 2, 3), "not one for each step"
    assert int(uncovered.heap.header[tables.N_COVERS]) == 0
