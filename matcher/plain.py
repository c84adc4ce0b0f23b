"""Plain steps: most bytes of a text lead from one item to one item, and nothing else happens.

In a keyword, a key or a string there are no calls to predict and no frames to complete. Then the step of an Earley
set is that of an automaton: no worklists, and over the bytes of a token no sets in between. And a set without
calls is its own closure, so it need not be expanded to be stepped over a byte once.
"""

from __future__ import annotations

from .jit import int64, kernel
from .sets import singleton
from .tables import BYTE, BYTES_ONLY, FEATURES, OFF_PLAIN, edges, head, items, sets, states, token_data
from .worklist import Heap

NOT_PLAIN = -3
"""No state or set, and not one of the statuses of a kernel."""


@kernel
def plain_target(h: Heap, at: int, byte: int) -> int:
    """The state after one byte, if an item in state `at` does nothing else over it, or NOT_PLAIN.

    It has one edge for the byte and makes no calls, and where the edge leads nothing is completed or counted.
    """
    state = states(h)[at]
    if not state["flags"] & BYTES_ONLY or head(h)[FEATURES] & OFF_PLAIN:
        return NOT_PLAIN
    target = int64(NOT_PLAIN)
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["kind"] == BYTE and edge["low"] <= byte <= edge["high"]:
            if target != NOT_PLAIN:
                return NOT_PLAIN
            target = int64(edge["target"])
    if target == NOT_PLAIN:
        return NOT_PLAIN
    after = states(h)[target]
    return NOT_PLAIN if after["flags"] & ~BYTES_ONLY or after["edge_count"] == 0 else target


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
    """The step from a set of one item to another such set, without worklists. NOT_PLAIN for all others, or FULL."""
    record = sets(h)[number]
    if record["size"] != 1:
        return NOT_PLAIN
    item = items(h)[record["first"]]
    target = plain_target(h, item["state"], byte)
    if target == NOT_PLAIN:
        return NOT_PLAIN
    return singleton(h, target, item["goal"], item["origin"], item["count"])


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
        if target == NOT_PLAIN:
            break
        at = target
        place += 1
    if place == first:
        return number, first
    return singleton(h, at, item["goal"], item["origin"], item["count"]), place
