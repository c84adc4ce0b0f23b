"""Chains: the nodes below one at which a set spells a word, without a set for each of them.

A keyword, or the names of an object's members, lead through many states of an automaton, and over most bytes nothing
else happens (`matcher.plain`): the set is one item, and only its state changes. So the walk keeps the state. The few
bytes that may follow are looked up among the children. Where a byte does more, or leads to a free text, the item
becomes a set, and the general walk takes over for that child's subtree.
"""

from __future__ import annotations

from .jit import int64, kernel
from .levels import END, FIRST, HERE, NEXT, NO_CHILD, NO_STATE, STATE, begin_link, find_byte
from .plain import plain_target
from .ranges import add_found
from .sets import singleton
from .tables import (
    BYTE,
    BYTES_ONLY,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    NARROW,
    NEXT_LEVEL,
    OFF_PLAIN,
    children,
    edges,
    head,
    items,
    sets,
    stack,
    states,
    subtrees,
)
from .worklist import Heap

NO_BYTE = 256
"""Not a byte."""


@kernel
def is_link(h: Heap, at: int) -> bool:
    """Whether a state is left by edges for a few bytes, and nothing else happens in it."""
    state = states(h)[at]
    if state["flags"] != BYTES_ONLY or state["edge_count"] == 0 or state["edge_count"] > NARROW:
        return False
    width = int64(0)
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["kind"] != BYTE:
            return False
        width += edge["high"] - edge["low"] + 1
    return bool(width <= NARROW)


@kernel
def begins_chain(h: Heap, number: int) -> bool:
    """Whether a set is one item in such a state. None of its counts may be symbolic, which would have needs."""
    record = sets(h)[number]
    if record["size"] != 1 or record["flags"] & (HAS_SYMBOLIC | HAS_EXIT) or head(h)[FEATURES] & OFF_PLAIN:
        return False
    return is_link(h, int64(items(h)[record["first"]]["state"]))


@kernel
def begin_chain(h: Heap, level: int, first: int, end: int, number: int) -> None:
    """Begin with the children [first, end) of a node, at which a set begins a chain, at a level of the stack."""
    begin_link(h, level, first, end, number, int64(items(h)[sets(h)[number]["first"]]["state"]))


@kernel
def follow_chain(h: Heap, level: int) -> int:
    """Pass the children that a chain leads to, and what it leads to below them, up to the next one that needs a set.

    Returns the place of that child, NO_CHILD if there is none, or FULL. Its level is in NEXT_LEVEL then, with its
    parent's set: there is one for each list of children, and those that are through are left.
    """
    at = stack(h)
    while True:
        state = int64(at[level, STATE])
        byte = next_byte(h, state, int64(at[level, NEXT]))
        if byte == NO_BYTE:
            if level > 0 and at[level - 1, STATE] != NO_STATE:
                level -= 1
                continue
            head(h)[NEXT_LEVEL] = level
            return NO_CHILD
        at[level, NEXT] = byte + 1
        place = find_byte(h, int64(at[level, FIRST]), int64(at[level, END]), byte)
        if place == NO_CHILD:
            continue
        target = plain_target(h, state, byte)
        if target < 0 or not is_link(h, target):
            item = items(h)[sets(h)[at[level, HERE]]["first"]]
            number = singleton(h, state, item["goal"], item["origin"], item["count"])
            at[level, HERE] = number
            head(h)[NEXT_LEVEL] = level
            return FULL if number == FULL else place
        child = children(h)[place]
        need = int64(sets(h)[at[level, HERE]]["need"])
        if add_found(h, child["first_token"], child["end_own"], need, False) == FULL:
            return FULL
        below = subtrees(h)[place]
        if below["first"] < below["end"]:
            begin_link(h, level + 1, below["first"], below["end"], int64(at[level, HERE]), target)
            level += 1


@kernel
def next_byte(h: Heap, at: int, least: int) -> int:
    """The lowest byte, from `least` on, that an edge of a state takes, or NO_BYTE."""
    state = states(h)[at]
    lowest = int64(NO_BYTE)
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["high"] >= least:
            lowest = min(lowest, max(int64(edge["low"]), least))
    return lowest
