"""Plain steps: most bytes of a text lead from one item to one item, and nothing else happens.

In a keyword, a key or a string there are no calls to predict and no frames to complete. Then the step of an Earley
set is that of an automaton: no worklists, and over the bytes of a token no sets in between. And a set without
calls is its own closure: nothing is predicted when it is expanded, and to be stepped over a byte once it need not be.
"""

from __future__ import annotations

from typing import Any

from .jit import int64, kernel
from .sets import intern, singleton
from .tables import (
    BYTE,
    BYTES_ONLY,
    DEAD,
    FALLBACK,
    FEATURES,
    OFF_PLAIN,
    edges,
    head,
    items,
    sets,
    states,
    token_data,
)
from .worklist import STEP, Heap, begin, push

NOT_PLAIN, NOWHERE = -3, -4
"""No states or sets, and not among the statuses of a kernel."""
FEW = 4
"""In sets of more items, one of them usually makes a call."""


@kernel
def plain_target(h: Heap, at: int, byte: int) -> int:
    """The state after one byte, if an item in state `at` does nothing else over it, NOWHERE if none, or NOT_PLAIN.

    It has one edge for the byte and makes no calls, and where the edge leads nothing is completed or counted.
    """
    state = states(h)[at]
    if not state["flags"] & BYTES_ONLY or head(h)[FEATURES] & OFF_PLAIN:
        return NOT_PLAIN
    target = edge_target(h, state, byte)
    if target == NOWHERE and state["edge_count"] > 0:
        last = edges(h)[state["first_edge"] + state["edge_count"] - 1]
        if last["kind"] == FALLBACK:
            target = edge_target(h, states(h)[last["target"]], byte)
    if target < 0:
        return target
    after = states(h)[target]
    if after["flags"] & ~BYTES_ONLY or after["edge_count"] == 0:
        return NOT_PLAIN
    return int64(target)


@kernel
def edge_target(h: Heap, state: Any, byte: int) -> int:
    """Where the one BYTE edge leads that takes a byte, NOWHERE if there is none, or NOT_PLAIN if there are several."""
    target = int64(NOWHERE)
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["kind"] == BYTE and edge["low"] <= byte <= edge["high"]:
            if target != NOWHERE:
                return NOT_PLAIN
            target = int64(edge["target"])
    return target


@kernel
def is_flat(h: Heap, number: int) -> bool:
    """Whether only byte edges leave the items of a set, so that it is its own closure."""
    if head(h)[FEATURES] & OFF_PLAIN:
        return False
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        if not states(h)[items(h)[i]["state"]]["flags"] & BYTES_ONLY:
            return False
    return True


@kernel
def plain_step(h: Heap, number: int, byte: int) -> int:
    """The step from a set whose items each go one way or none, without completions. NOT_PLAIN for others, or FULL."""
    record = sets(h)[number]
    if record["size"] == 1:
        item = items(h)[record["first"]]
        target = plain_target(h, item["state"], byte)
        if target >= 0:
            return singleton(h, target, item["goal"], item["origin"], item["count"])
        return int64(DEAD) if target == NOWHERE else target
    if record["size"] > FEW:
        return NOT_PLAIN
    for i in range(record["first"], record["first"] + record["size"]):
        if plain_target(h, items(h)[i]["state"], byte) == NOT_PLAIN:
            return NOT_PLAIN
    begin(h, STEP)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        target = plain_target(h, item["state"], byte)
        if target != NOWHERE:
            push(h, STEP, target, item["goal"], item["origin"], item["count"])
    return intern(h)


@kernel
def plain_run(h: Heap, number: int, first: int, end: int) -> tuple[int, int]:
    """Plain steps from a set over the bytes [first, end) of `token_data`, without the sets in between.

    Returns the set (or FULL) and the place of the first byte that was not taken.
    """
    record = sets(h)[number]
    if record["size"] != 1:
        return number, first
    item = items(h)[record["first"]]
    at = int64(item["state"])
    place = first
    while place < end:
        target = plain_target(h, at, token_data(h)[place])
        if target < 0:
            break
        at = target
        place += 1
    if place == first:
        return number, first
    return singleton(h, at, item["goal"], item["origin"], item["count"]), place
