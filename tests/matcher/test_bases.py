"""What the descriptions of several masks have in common is a base for them."""

from __future__ import annotations

import pytest
from tests.matcher.matchers import allowed

from infernix import Matcher
from infernix.gbnf.parser import parse_gbnf
from infernix.matcher import tables
from infernix.matcher.compile import compile_grammar
from infernix.matcher.vocabulary import Vocabulary

LETTERS = [bytes([code]) for code in range(ord("A"), ord("Z") + 1)]
PAIRS = [first + second for first in LETTERS[:3] for second in LETTERS]
SPARSE = 32
"""One token in each word of a mask."""
SHARED = """
many ::= [A-Z] [A-Z]
root ::= "1" ("x" | many) "." | "2" ("y" | many) "." | "3" ("z" | many) "." | "4" many "."
"""


def sparse_vocabulary() -> Vocabulary:
    tokens = [b""] * (SPARSE * 200)
    for place, token in enumerate([*map(bytes, zip(b"1234xyz")), *LETTERS, *PAIRS]):
        tokens[SPARSE * place] = token
    return Vocabulary(tokens, eos_ids=[SPARSE * 199])


def listed_words(vocabulary: Vocabulary, features: int) -> list[int]:
    """How many words of the masks after 1, 2, 3 and 4 differ from their base; each mask is compared with the tokens."""
    compiled = compile_grammar(parse_gbnf(SHARED), vocabulary, features=features)
    sizes = []
    for first, own in zip(b"1234", [b"x", b"y", b"z", None]):
        matcher = Matcher(compiled)
        matcher.accept_bytes(bytes([first]))
        wanted = {token for token in (*LETTERS, *PAIRS) if token != own} | ({own} if own else set())
        assert {vocabulary.token_bytes(token) for token in allowed(matcher, vocabulary.size)} == wanted
        mask = int(matcher.heap.arrays["sets"]["mask"][matcher.number])
        sizes.append(int(matcher.heap.arrays["masks"]["size"][mask]))
    return sizes


def test_the_second_mask_makes_the_base() -> None:
    """The first lists everything, the others what is their own; the fourth is the base itself."""
    assert listed_words(sparse_vocabulary(), 0) == [len(LETTERS) + len(PAIRS) + 1, 1, 1, 0]


def test_bases_can_be_switched_off() -> None:
    most = len(LETTERS) + len(PAIRS) + 1
    assert listed_words(sparse_vocabulary(), tables.OFF_BASES) == [most, most, most, most - 1]


@pytest.mark.parametrize("features", [tables.SMALL_LIMITS, tables.SMALL_LIMITS | tables.OFF_PARTS])
def test_bases_of_little(features: int) -> None:
    """With low limits nearly everything has a base; the masks are compared in there."""
    assert len(listed_words(sparse_vocabulary(), features)) == 4
