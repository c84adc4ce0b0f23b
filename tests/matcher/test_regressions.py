"""Grammars that a matcher once got wrong, as small as they could be made.

Each case walks along `path` and compares the state with the reference matcher's at every
step. Random search found most of them: see `fuzz/generate.py`. When it finds another one, shrink
it, give it a name that says what is special about it, and add it here.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.matcher.matchers import FAST, Factory, state
from tests.vocabularies import byte_level

from infernix.gbnf.grammar import (
    NOTHING,
    Automaton,
    Expression,
    Grammar,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenSet,
    alternatives,
    char_class,
    repeat,
    sequence,
)
from infernix.gbnf.regex import regex_grammar
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

A, B, C = Literal("a"), Literal("b"), Literal("c")
ROOT, X, Y = RuleRef("root"), RuleRef("x"), RuleRef("y")
TO_C = char_class([(97, 99)])


class Regression(NamedTuple):
    """Rules (the first is the root), the tokens besides EOS (none: single bytes), and the ids to take."""

    rules: dict[str, Expression]
    tokens: tuple[bytes, ...] = ()
    path: tuple[int, ...] = ()


REGRESSIONS = {
    # A frame that has nothing to do with the symbolic counter completes after no units: its exit
    # must not be held to the counter's minimum.
    "left recursion beside a count, over a token of two bytes": Regression(
        {
            "root": Y,
            "y": X,
            "x": alternatives([sequence([X, A]), sequence([TO_C, C]), repeat(Literal("cc"), 2, 2)]),
        },
        tokens=(b"ca", b"c"),
        path=(1,),
    ),
    # More exits than the trie has nodes: scratch room must grow with the holes of a set, too.
    "hidden left recursion around a nullable rule": Regression(
        {"root": X, "x": alternatives([sequence([repeat(TO_C, 0, 1), X, TO_C]), Literal("")])},
        tokens=(b"a", b"aab", b"bb"),
        path=(1, 0, 2, 0, 1, 1),
    ),
    # The last byte of a unit may be followed by nothing that still has to be stepped over.
    "a count whose body ends in a repetition of nothing": Regression(
        {"root": Repeat(sequence([A, repeat(NOTHING, 0, None)]), 0, 2)},
        path=(97, 97),
    ),
    "a count whose body ends in an automaton of the empty text": Regression(
        {"root": Repeat(sequence([A, Automaton(((),), frozenset([0]))]), 0, 2)},
        path=(97, 97),
    ),
    # A literal may be empty: it does not make sure that a unit takes a byte.
    "a count whose body begins with the empty literal": Regression(
        {"root": Repeat(Sequence((Literal(""), repeat(A, 0, None))), 2, None)},
        path=(97, 97),
    ),
    # What a loop comes back to by a character of two bytes it also comes back to by one of one.
    "a star of a class that crosses the lengths of UTF-8": Regression(
        {"root": repeat(char_class([(0x61, 0x7FF)]), 0, None)},
        path=(0x61, 0xC3, 0xA9),
    ),
    "a star of a class, over a token that begins a longer character": Regression(
        {"root": repeat(char_class([(0x64, 0xFFFF)]), 0, None)},
        tokens=(b"\xee", b"d", b"ddd"),
        path=(1, 0),
    ),
    # A count that allows no unit has no token edge either.
    "no token terminal, then a literal": Regression(
        {"root": Sequence((Repeat(TokenSet((1,)), 0, 0), A))},
        tokens=(b"a", b"b"),
        path=(0,),
    ),
    # A state takes over its fallback's edges, not its acceptance: state 1 goes round for ever.
    "a left-recursive rule whose text has a pivot": Regression(
        {
            "root": alternatives(
                [
                    sequence([ROOT, repeat(X, 0, None)]),
                    sequence([Automaton((((99, 55295, 0), (57344, 57344, 1)), ()), frozenset([1])), A]),
                ]
            ),
            "x": alternatives([B, TokenSet((1,))]),
        },
        tokens=(b"c", "é".encode(), b"cc"),
        path=(0, 1, 2),
    ),
    "units of two lengths, with exits after two or three of them": Regression(
        {
            "root": alternatives(
                [
                    sequence([ROOT, ROOT]),
                    sequence([C, B, repeat(alternatives([A, Literal("aa")]), 3, 3)]),
                ]
            ),
        },
        tokens=(b"aacb", b"a", b"b", b"c"),
        path=(3, 2, 1),
    ),
    "an automaton whose fallback accepts": Regression(
        {
            "root": Automaton(
                (((98, 98, 0), (232, 232, 1), (0x800, 0x800, 2)), (), ((99, 99, 1),)),
                frozenset([2]),
                (-1, 2, -1),
            )
        },
        path=(98,),
    ),
    "right recursion over characters of mixed lengths, called from another rule": Regression(
        {
            "root": sequence([Y, A]),
            "y": alternatives([sequence([char_class([(0x61, 0x800)]), Y]), A]),
        },
        tokens=(b"a",),
        path=(0, 0, 0),
    ),
    "a count of a rule with a common beginning": Regression(
        {
            "root": repeat(X, 0, 2),
            "x": alternatives([C, Literal("bbc"), sequence([repeat(Literal("è\ue000"), 2, None), B])]),
        },
        path=(99,),
    ),
    "a count of a rule that calls the counting rule": Regression(
        {"root": repeat(Y, 0, 2), "y": sequence([ROOT, char_class([(0, 232)])])},
        tokens=(b"bac", b"cca", b"b"),
        path=(2, 0),
    ),
}


@pytest.mark.parametrize("make", FAST.values(), ids=FAST.keys())
@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(make: Factory, name: str) -> None:
    rules, tokens, path = REGRESSIONS[name]
    vocabulary = Vocabulary([*tokens, b""], eos_ids=[len(tokens)]) if tokens else byte_level()
    grammar = Grammar(tuple(Rule(rule, body) for rule, body in rules.items()))
    reference, matcher = ReferenceMatcher(grammar, vocabulary), make(grammar, vocabulary)
    assert state(matcher, vocabulary.size) == state(reference, vocabulary.size)
    for token_id in path:
        reference.accept_token(token_id)
        matcher.accept_token(token_id)
        assert state(matcher, vocabulary.size) == state(reference, vocabulary.size)


@pytest.mark.parametrize("pattern", [r".*\d€", r"(z*q*)*[^qz]", r"([a-pr-z0-9A-Z_]|q+[a-pr-z0-9A-Z_])*€"])
def test_texts_that_could_be_pivots_of_each_other(pattern: str) -> None:
    """Looking for the pivot of a shape once led back to that shape, until the stack was used up."""
    texts = ["bbab", "z", "zq", "qz", "5", "5€"]
    vocabulary = Vocabulary([*(text.encode() for text in texts), b""], eos_ids=[6])
    grammar = regex_grammar(pattern)
    reference = ReferenceMatcher(grammar, vocabulary)
    matchers = {name: make(grammar, vocabulary) for name, make in FAST.items()}
    for token in (0, 1, 3, 2, 4, 5):
        legal = reference.allowed_token_ids()
        for name, matcher in matchers.items():
            assert state(matcher, vocabulary.size)[0] == legal, name
        if token in legal:
            for matcher in (reference, *matchers.values()):
                matcher.accept_token(token)
