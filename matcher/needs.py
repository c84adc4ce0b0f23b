"""Needed units: how many units of a symbolic counter must have been allowed for an item to be alive.

Only sets of walks have symbolic counts (`matcher.shape`). A token is legal in a context if the
context allows as many units as the set after the token needs.
"""

from __future__ import annotations

from .jit import int64, kernel
from .tables import EXIT, FIRST_SET, HAS_SYMBOLIC, LOOP, SYMBOLIC, items, sets, states, waits
from .worklist import Heap


@kernel
def origin_need(h: Heap, goal: int, origin: int) -> int:
    """The least need of the items of closure(origin) that wait for `goal`; 0 if none is symbolic."""
    if origin < FIRST_SET or not sets(h)[origin]["flags"] & HAS_SYMBOLIC:
        return int64(0)
    record = sets(h)[origin]
    least = int64(SYMBOLIC)
    for w in range(record["wait_first"], record["wait_first"] + record["wait_size"]):
        wait = waits(h)[w]
        if wait["rule"] == goal:
            least = min(least, int64(wait["need"]))
    return least


@kernel
def wait_need(h: Heap, goal: int, origin: int, count: int) -> int:
    """How many units must have been allowed for a waiting item: with a symbolic count, it has begun one."""
    if count >= SYMBOLIC:
        return int64(count) - SYMBOLIC + 1
    return origin_need(h, goal, origin)


@kernel
def item_need(h: Heap, state: int, goal: int, origin: int, count: int) -> int:
    """How many units of the symbolic counter must have been allowed for this item to be alive.

    An item at the loop state has done `count` units; one inside the body has begun another.
    A frame that a symbolic frame waits for is alive as long as the latter is.
    """
    if count >= SYMBOLIC and (state == EXIT or states(h)[state]["flags"] & LOOP):
        return int64(count) - SYMBOLIC
    return wait_need(h, goal, origin, count)


@kernel
def settle_needs(h: Heap, number: int) -> None:
    """Work out the needs of a set's waiting items.

    Those of frames that were predicted here depend on each other; they settle from above.
    """
    record = sets(h)[number]
    first, end = record["wait_first"], record["wait_first"] + record["wait_size"]
    waiting = waits(h)
    for w in range(first, end):
        wait = waiting[w]
        if wait["origin"] == number and wait["count"] < SYMBOLIC:
            waiting[w]["need"] = SYMBOLIC
        else:
            waiting[w]["need"] = wait_need(h, wait["goal"], wait["origin"], wait["count"])
    changed = True
    while changed:
        changed = False
        for w in range(first, end):
            wait = waiting[w]
            if wait["origin"] == number and wait["count"] < SYMBOLIC:
                least = origin_need(h, wait["goal"], number)
                if least < wait["need"]:
                    waiting[w]["need"] = least
                    changed = True


@kernel
def units_needed(h: Heap, number: int) -> int:
    """The least need of the items of a set: its texts are possible if so many units are allowed."""
    record = sets(h)[number]
    least = int64(SYMBOLIC)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        least = min(least, item_need(h, item["state"], item["goal"], item["origin"], item["count"]))
    return least
