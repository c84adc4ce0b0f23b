"""IPv6 addresses (RFC 4291, section 2.2) as an automaton, explored state by state.

    1:2:3:4:5:6:7:8        eight groups of one to four hexadecimal digits
    1::7:8    ::    1::    "::" stands once for at least one group of zeros
    ::ffff:192.0.2.1       the last two groups may be an IPv4 address

An expression has to list the places where "::" may stand, and what reads it follows all of them at once. A
reader need only count: how many groups may still begin, and how many digits the last one has. Its one doubt is
whether digits are a group or the first part of an IPv4 address, so the automaton of those runs alongside.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from infernix.gbnf.grammar import Automaton, Ranges

from .digits import explore

__all__ = ["ipv6", "with_part"]

GROUPS, DIGITS = 8, 4
QUAD_GROUPS = 2
"""An IPv4 address stands for so many groups."""
LETTERS: Ranges = ((ord("A"), ord("F")), (ord("a"), ord("f")))
COLON, DOT = ord(":"), ord(".")
NO_QUAD = -1


class _Read(NamedTuple):
    """What has been read: `left` groups may still begin, the last one has `digits`, and behind it are `colons`.

    `quad` is where the IPv4 automaton is if the last group may be the beginning of an address; with `dotted` it is one.
    """

    left: int
    compressed: bool = False
    digits: int = 0
    colons: int = 0
    quad: int = NO_QUAD
    dotted: bool = False


def with_part(whole: Automaton, code: int, part: Automaton) -> Automaton:
    """`whole` with the texts of `part` where it has one certain character.

    Where that may stand, nothing else may, and what follows it begins with no character of the part.
    """
    edges = list(whole.edges)
    for state, row in enumerate(whole.edges):
        if all(low != code for low, _, _ in row):
            continue
        ((_, _, after),) = row
        # The first state of the part takes the place of this one, the others come last.
        places = [state, *range(len(edges), len(edges) + len(part.edges) - 1)]
        rows = [[(low, high, places[target]) for low, high, target in own] for own in part.edges]
        for end in part.accepting:
            rows[end] += whole.edges[after]
        edges[state], *added = (tuple(sorted(own)) for own in rows)
        edges += added
    return Automaton(tuple(edges), whole.accepting)


def ipv6(ipv4: Automaton) -> Automaton:
    """All IPv6 addresses, given the automaton of all IPv4 addresses."""

    @cache
    def quad_edges(state: int) -> list[tuple[int, int, int]]:
        """The digits cut into ranges that the IPv4 automaton does not tell apart."""
        edges = [edge for edge in ipv4.edges[state] if edge[0] != DOT] if state != NO_QUAD else []
        starts = {ord("0"), *(low for low, _, _ in edges), *(high + 1 for _, high, _ in edges)} - {ord("9") + 1}
        cuts = [*sorted(starts), ord("9") + 1]
        targets = [next((target for a, b, target in edges if a <= low <= b), NO_QUAD) for low in cuts]
        return [(low, after - 1, target) for low, after, target in zip(cuts, cuts[1:], targets, strict=False)]

    def edges_of(state: NamedTuple) -> Iterator[tuple[int, int, NamedTuple]]:
        assert isinstance(state, _Read)
        if state.dotted:
            for low, high, target in ipv4.edges[state.quad]:
                yield low, high, state._replace(quad=target)
            return
        yield from _colon(state)
        at_first_colon = state.left == GROUPS and state.colons == 1
        begins = not state.digits and state.left > 0 and not at_first_colon
        if begins or 0 < state.digits < DIGITS:
            group = state._replace(left=state.left - begins, digits=state.digits + 1, colons=0, quad=NO_QUAD)
            for low, high in LETTERS:
                yield low, high, group
            quad = 0 if begins and _may_be_quad(state) else state.quad
            for low, high, target in quad_edges(quad):
                yield low, high, group._replace(quad=target)
        if state.quad != NO_QUAD:
            for low, high, target in ipv4.edges[state.quad]:
                if low == DOT:
                    yield low, high, _Read(0, quad=target, dotted=True)

    def accepts(state: NamedTuple) -> bool:
        assert isinstance(state, _Read)
        if state.dotted:
            return state.quad in ipv4.accepting
        return state.colons == len("::") or (state.digits > 0 and (state.compressed or state.left == 0))

    found = explore(_Read(GROUPS), edges_of, accepts)
    assert isinstance(found, Automaton)
    return found


def _colon(state: _Read) -> Iterator[tuple[int, int, _Read]]:
    """A colon behind a group or at the beginning; or the second one of "::", which takes a group's place."""
    if state.colons == 1 and not state.compressed:
        yield COLON, COLON, _Read(state.left - 1, compressed=True, colons=2)
    elif not state.colons and state.left:
        yield COLON, COLON, _Read(state.left, state.compressed, colons=1)


def _may_be_quad(state: _Read) -> bool:
    """Whether an IPv4 address may begin here: at the end of the groups, which "::" leaves open."""
    return state.left >= QUAD_GROUPS if state.compressed else state.left == QUAD_GROUPS
