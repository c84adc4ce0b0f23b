"""Members that may be absent: what their automata share, in tables and in sets."""

from __future__ import annotations

import pytest
from tests.matcher.matchers import allowed
from tests.matcher.test_compile import sizes

from infernix import Matcher
from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import Grammar, Literal, Rule, joined
from infernix.matcher.compile import compile_grammar
from infernix.matcher.spelling import COPY_GROWTH, COPY_SLACK
from infernix.matcher.tables import EPSILON
from infernix.matcher.vocabulary import Vocabulary

NAMES = [f"{i * 7919 % 10_000:04}-name" for i in range(1000)]


def members(names: list[str]) -> Grammar:
    """Any of the names in order, quoted, with commas between them."""
    return Grammar((Rule("root", joined([(Literal(f'"{name}"'), False) for name in names], Literal(","))),))


def test_what_may_follow_each_of_many_members_is_shared() -> None:
    """A new state for each byte of a name, however many may follow; the edges of those on its way are copied."""
    counts = {n: sizes(members(NAMES[:n]))[0] for n in (10, 100, 1000)}
    for n, (states, edges) in counts.items():
        # A state for each byte of a name and the quotes, and those where a name, or a comma, may come.
        assert states <= n * (len(NAMES[0]) + 2 + 2) + 2
        assert edges <= 5 * states
    assert counts[1000][0] <= 10 * counts[100][0]


def test_members_that_may_follow_are_one_item() -> None:
    """Wherever a name begins, the set has one item, not one for each name; the mask is still that of each name."""
    compiled = compile_grammar(members(NAMES[:50]), Vocabulary.byte_level())
    matcher = Matcher(compiled)
    matcher.accept_bytes(f'"{NAMES[0]}","{NAMES[20]}",'.encode())
    assert len(matcher.heap.items_of(matcher.number)) == 1
    matcher.accept_bytes(b'"')
    assert len(matcher.heap.items_of(matcher.number)) == 1
    assert allowed(matcher, 257) == sorted({ord(name[0]) for name in NAMES[21:50]})


def test_copies_of_edges_have_a_limit() -> None:
    """Many short names that part at once are copied again and again; from some point on epsilons lead there."""
    letters = [chr(code) for code in range(0x23, 0x7F)]
    names = [a + b for a in letters for b in letters[::3]]
    ((_, edges),) = sizes(members(names))
    spelled = sum(len(name.encode()) + 2 for name in names)
    assert edges <= (COPY_GROWTH + 1) * 2 * (spelled + 6 * len(names)) + COPY_SLACK
    compiled = compile_grammar(members(names), Vocabulary.byte_level())
    table = compiled.store.tables.arrays["edges"][: compiled.store.tables.used["edges"]]
    assert 0 < (table["kind"] == EPSILON).sum() <= len(names)
    matcher = Matcher(compiled)
    for text in (names[5], names[2800]), (names[0], names[1500], names[-1]):
        mark = matcher.mark()
        matcher.accept_bytes(",".join(f'"{name}"' for name in text).encode())
        assert matcher.can_end()
        matcher.rollback(mark)
    matcher.accept_bytes(f'"{names[2000]}"'.encode())
    with pytest.raises(TokenRejected):
        matcher.accept_bytes(f',"{names[1999]}"'.encode())
