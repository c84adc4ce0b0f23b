"""Skimming and chains: subtrees that are gone through without a set for each node."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.matcher.matchers import FAST, allowed, state

from infernix import Matcher, Vocabulary
from infernix.gbnf import parse_gbnf
from infernix.gbnf.errors import TokenRejected
from infernix.matcher import tables
from infernix.matcher.compile import compile_grammar
from infernix.matcher.reference import ReferenceMatcher

TEXTS = ["".join(p) for n in range(1, 6) for p in product("ab", repeat=n)]
TEXTS += ["".join(p) for n in range(1, 4) for p in product("ab.é中", repeat=n) if set(p) - {"a", "b"}]
TEXTS += ["a" * n for n in range(6, 15)] + [text * n for text in ("éa", "aéé", "中b", "ab.") for n in range(2, 5)]
PARTIAL = [
    b"\xc3",
    b"\xe4",
    b"\xe4\xb8",
    b"ab\xe4\xb8",
    b"\xa9a",
    b"\xb8\xada.",
    b"\xada",
    b"a\xc3\xa9\xe4",
    b"\xff",
    b"a\x80",
]
TOKENS = [text.encode() for text in TEXTS] + PARTIAL
VOCABULARY = Vocabulary([*TOKENS, b"</s>"], eos_ids=[len(TOKENS)])
STARTS = ["", "a", "b.", "é", "a中"]

UNITS = [
    "[abd-m]",
    "[ab]",
    "[^.]",
    "[^a]",
    "[b-zé]",
    "[^é]",
    "[abd-m中]",
    '[abd-m] "é"*',
    '"a" [^a]*',
    '("b"+ | "." "a"?)',
    "[a-fÀ-߿]",
]
"""Most of them take only some characters of a kind, so that no subtree is taken as a whole."""


@st.composite
def looping(draw: st.DrawFn) -> str:
    """A grammar with texts that go on for long, bounded or not, and that end in several ways."""
    unit, other = (f"({draw(st.sampled_from(UNITS))})" for _ in range(2))
    least = draw(st.integers(0, 3))
    most = draw(st.sampled_from(["", str(least + 2), str(least + 9), str(least + 200)]))
    repeated = f"{unit}{{{least},{most}}}"
    forms = [
        f'{repeated} "."?',
        f'({repeated} "." {other})*',
        f"{other}* | {repeated} | [^] [ab]*",
        f'"a"? {repeated} "é" {repeated}',
        f"word+\nword ::= {repeated} [.é]",
    ]
    return "root ::= " + draw(st.sampled_from(forms))


@pytest.mark.parametrize("name", ["fast", "without skimming", "without loops", "without families", "small limits"])
@given(source=looping(), start=st.sampled_from(STARTS), walk=st.data())
def test_masks_equal_the_reference(name: str, source: str, start: str, walk: st.DataObject) -> None:
    grammar = parse_gbnf(source)
    reference, matcher = ReferenceMatcher(grammar, VOCABULARY), FAST[name](grammar, VOCABULARY)
    if start:
        try:
            reference.accept_bytes(start.encode())
        except TokenRejected:
            return
        matcher.accept_bytes(start.encode())
    for _ in range(4):
        expected = state(reference, VOCABULARY.size)
        assert state(matcher, VOCABULARY.size) == expected
        legal = [token for token in expected[0] if token not in VOCABULARY.eos_ids]
        if not legal:
            break
        token = walk.draw(st.sampled_from(legal))
        reference.accept_token(token)
        matcher.accept_token(token)


def after_a_mask(source: str, text: bytes, word: int, features: int = 0) -> int:
    """What a mask adds to a word of the header of a new vocabulary's heap; or leaves there, if it is set anew."""
    vocabulary = Vocabulary([*TOKENS, b"</s>"], eos_ids=[len(TOKENS)])
    matcher = Matcher(compile_grammar(parse_gbnf(source), vocabulary, features=features))
    matcher.accept_bytes(text)
    before = int(matcher.heap.header[word]) if word == tables.N_SETS else 0
    assert allowed(matcher, vocabulary.size) == reference_mask(source, text)
    return int(matcher.heap.header[word]) - before


def reference_mask(source: str, text: bytes) -> list[int]:
    """The ids that the reference allows after a text."""
    reference = ReferenceMatcher(parse_gbnf(source), VOCABULARY)
    reference.accept_bytes(text)
    return reference.allowed_token_ids()


@pytest.mark.parametrize("source", ["root ::= [abd-m]+ [.]", 'root ::= ([abd-m] | "中")* "."'])
def test_what_loops_is_skimmed(source: str) -> None:
    """The class takes all 62 words over "ab", but not the kind of the letters, so they are gone through one by one."""
    skimmed = after_a_mask(source, b"a", tables.VISITED)
    assert skimmed < after_a_mask(source, b"a", tables.VISITED, tables.OFF_SKIMMING)


def test_a_chain_makes_no_sets() -> None:
    source = 'root ::= "ababa" | "abbba" | "babab" | "bbbbb.a" | "aaaaa"'
    assert 2 * after_a_mask(source, b"", tables.N_SETS) < after_a_mask(source, b"", tables.N_SETS, tables.OFF_PLAIN)
