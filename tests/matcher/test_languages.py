"""Matchers accept exactly the language that brute force enumerates.

`enumeration.py` works out all sentences up to a length from the definition. A matcher must
reach the end on these and no others, and a text is a legal prefix if it begins one of them.
The converse, that nothing else is a legal prefix, is tested where the language is finite,
so that the enumeration is all of it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from tests.matcher.enumeration import Enumerator, spellings
from tests.matcher.matchers import Factory, every_matcher
from tests.matcher.strategies import cases, grammars
from tests.vocabularies import byte_level

from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Automaton,
    Expression,
    Grammar,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    alternatives,
    char_class,
    repeat,
    sequence,
)
from infernix.matcher.vocabulary import Vocabulary

A, B, C = Literal("a"), Literal("b"), Literal("c")
ROOT, X, Y = RuleRef("root"), RuleRef("x"), RuleRef("y")


def grammar_of(root: Expression, **rules: Expression) -> Grammar:
    return Grammar((Rule("root", root), *(Rule(name, body) for name, body in rules.items())))


INFINITE: dict[str, tuple[Grammar, set[str]]] = {
    "left recursion": (
        grammar_of(alternatives([sequence([ROOT, A]), B])),
        {"b", "ba", "baa", "baaa"},
    ),
    "right recursion": (
        grammar_of(alternatives([sequence([A, ROOT]), EMPTY])),
        {"", "a", "aa", "aaa", "aaaa"},
    ),
    "centre recursion": (
        grammar_of(alternatives([sequence([A, ROOT, B]), EMPTY])),
        {"", "ab", "aabb"},
    ),
    "mutual tail recursion": (
        grammar_of(X, x=alternatives([sequence([A, Y]), EMPTY]), y=sequence([B, X])),
        {"", "ab", "abab"},
    ),
    "hidden left recursion": (
        grammar_of(alternatives([sequence([repeat(B, 0, 1), ROOT, A]), C])),
        {"c", "ca", "bca", "caa", "bcaa", "caaa"},
    ),
    "ambiguous": (
        grammar_of(alternatives([sequence([ROOT, ROOT]), A, EMPTY])),
        {"", "a", "aa", "aaa", "aaaa"},
    ),
    "cyclic": (grammar_of(alternatives([X, A]), x=alternatives([ROOT, B])), {"a", "b"}),
    "a star of a nullable": (
        grammar_of(repeat(repeat(A, 0, 1), 0, None)),
        {"", "a", "aa", "aaa", "aaaa"},
    ),
    "at least two": (grammar_of(repeat(A, 2, None)), {"aa", "aaa", "aaaa"}),
    "palindromes": (
        grammar_of(alternatives([sequence([A, ROOT, A]), sequence([B, ROOT, B]), EMPTY])),
        {"", "aa", "bb", "aaaa", "bbbb", "abba", "baab"},
    ),
    "an unproductive choice": (
        grammar_of(alternatives([sequence([A, X]), sequence([B, ROOT]), C]), x=sequence([B, X])),
        {"c", "bc", "bbc", "bbbc"},
    ),
    "a cyclic automaton": (
        grammar_of(Automaton((((97, 97, 1),), ((98, 98, 0),)), frozenset([0]))),
        {"", "ab", "abab"},
    ),
}

FINITE: dict[str, tuple[Grammar, set[str]]] = {
    "count": (grammar_of(repeat(A, 1, 3)), {"a", "aa", "aaa"}),
    "count of a choice": (
        grammar_of(repeat(alternatives([A, Literal("bc")]), 2, 2)),
        {"aa", "abc", "bca", "bcbc"},
    ),
    "count of a nullable": (grammar_of(repeat(repeat(A, 0, 2), 2, 2)), {"", "a", "aa", "aaa", "aaaa"}),
    "count of a count": (
        grammar_of(repeat(repeat(A, 2, 2), 1, 2)),
        {"aa", "aaaa"},
    ),
    "count of the empty text": (grammar_of(Repeat(EMPTY, 3, 5)), {""}),
    "count from nothing": (grammar_of(sequence([Repeat(NOTHING, 0, 2), A])), {"a"}),
    "an unproductive tail": (grammar_of(alternatives([sequence([A, NOTHING]), B])), {"b"}),
    "a shared beginning": (grammar_of(alternatives([Literal("ab"), Literal("ac"), A])), {"ab", "ac", "a"}),
    "characters of every length": (
        grammar_of(sequence([char_class([(ord(c), ord(c)) for c in "é€😀"]), A])),
        {"éa", "€a", "😀a"},
    ),
    "an automaton that falls back": (
        # c from state 0 is taken by its own edge, which leads nowhere; b falls back.
        grammar_of(Automaton((((97, 97, 1), (99, 99, 3)), (), ((97, 99, 1),), ()), frozenset([1]), (2, -1, -1, -1))),
        {"a", "b"},
    ),
    "an automaton with a dead state": (
        grammar_of(Automaton((((97, 97, 1), (98, 98, 2)), ((99, 99, 3),), ((97, 98, 2),), ()), frozenset([3]))),
        {"ac"},
    ),
}

LONGEST = 4
ALPHABET = "abcé€😀"


def ends(matcher: Any, text: bytes) -> bool | None:
    """Whether the text is a sentence; None if it is not even a legal prefix."""
    matcher.reset()
    try:
        matcher.accept_bytes(text)
    except TokenRejected:
        return None
    return bool(matcher.can_end())


@pytest.mark.parametrize("name", INFINITE)
def test_enumeration_of_infinite_languages(name: str) -> None:
    """The oracle itself, against sets written down by hand."""
    grammar, expected = INFINITE[name]
    assert Enumerator(grammar, LONGEST, "abc").sentences == {tuple(text.encode()) for text in expected}


@pytest.mark.parametrize("name", FINITE)
def test_enumeration_of_finite_languages(name: str) -> None:
    grammar, expected = FINITE[name]
    assert Enumerator(grammar, 8, ALPHABET).sentences == {tuple(text.encode()) for text in expected}


@every_matcher
@pytest.mark.parametrize("name", INFINITE)
def test_infinite_languages(make: Factory, name: str) -> None:
    grammar, _ = INFINITE[name]
    sentences = Enumerator(grammar, LONGEST, "abc").sentences
    matcher = make(grammar, byte_level())
    for length in range(LONGEST + 1):
        for text in product(b"abc", repeat=length):
            verdict = ends(matcher, bytes(text))
            assert bool(verdict) == (text in sentences), text
            if any(sentence[:length] == text for sentence in sentences):
                assert verdict is not None, text


@every_matcher
@pytest.mark.parametrize("name", FINITE)
def test_finite_languages(make: Factory, name: str) -> None:
    grammar, _ = FINITE[name]
    sentences = Enumerator(grammar, 8, ALPHABET).sentences
    matcher = make(grammar, byte_level())
    prefixes = {sentence[:n] for sentence in sentences for n in range(len(sentence) + 1)}
    for prefix in prefixes:
        assert ends(matcher, bytes(prefix)) == (prefix in sentences)
        for byte in range(256):
            if (*prefix, byte) not in prefixes:
                assert ends(matcher, bytes((*prefix, byte))) is None


@every_matcher
@given(grammar=grammars())
def test_random_languages(make: Factory, grammar: Grammar) -> None:
    """Membership of every short text, and every beginning of a short sentence is a legal prefix."""
    alphabet, longest = "aé", 4
    sentences = Enumerator(grammar, longest, alphabet).sentences
    matcher = make(grammar, byte_level())
    units = ["", *alphabet]
    texts = {"".join(parts).encode() for parts in product(units, repeat=longest)}
    for text in (text for text in texts if len(text) <= longest):
        assert bool(ends(matcher, text)) == (tuple(text) in sentences), text
    for prefix in {sentence[:n] for sentence in sentences for n in range(len(sentence) + 1)}:
        assert ends(matcher, bytes(prefix)) is not None, prefix


@every_matcher
@given(case=cases())
def test_token_languages(make: Factory, case: tuple[Grammar, Vocabulary]) -> None:
    """Sequences of at most two tokens, by bytes or whole, against the enumerated symbol sequences."""
    grammar, vocabulary = case
    alphabet, longest = "abé", 3
    sentences = Enumerator(grammar, longest, alphabet, vocabulary).sentences
    domain = range(vocabulary.size)
    known = [i for i in domain if is_text(vocabulary.token_bytes(i), alphabet, longest)]
    matcher = make(grammar, vocabulary)
    for tokens in [(), *product(known, repeat=1), *product(known[:6], repeat=2)]:
        readings = spellings(tokens, vocabulary)
        if any(len(reading) > longest for reading in readings):
            continue
        matcher.reset()
        try:
            for token_id in tokens:
                matcher.accept_token(token_id)
            verdict = matcher.can_end() and not matcher.is_terminated()
        except TokenRejected:
            verdict = False
        assert verdict == bool(readings & sentences), tokens


def is_text(token: bytes, alphabet: str, longest: int) -> bool:
    """Whether a token is made of characters of the alphabet, few enough to enumerate."""
    try:
        return len(token) <= longest and set(token.decode()) <= set(alphabet)
    except UnicodeDecodeError:
        return False
