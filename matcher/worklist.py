"""Worklists: the items that an Earley step or closure has found so far, each once.

There are two of items, since completing an item in the middle of a step may need a closure, and one of the
frames (goal, origin) that a step has completed. A worklist is a column of `agenda`, in order of arrival. A short
one is searched; a longer one has a hash table in `seen` beside it.
"""

from __future__ import annotations

from typing import Any

from .jit import int64, kernel
from .tables import (
    AGENDA_SIZE,
    FINAL,
    FULL,
    LOOP,
    OVERFLOW,
    STAMP,
    STOPPED,
    SYMBOLIC,
    UNIT_END,
    WORK_LEFT,
    agenda,
    counters,
    head,
    seen,
    states,
)

Heap = int
"""The address of the heap header, which every kernel takes as `h` (see `matcher.jit`)."""

STEP, CLOSURE, COMPLETED = 0, 1, 2
"""The worklists."""

SHORT = 16
"""A worklist of so many items gets a hash table."""

_LOW_31 = 0x7FFFFFFF
_ODD = 0x5BD1E995  # any odd 31-bit number with well-mixed bits


@kernel
def mix(value: int) -> int:
    """Scatter the bits of a non-negative number below 2^62; the result is below 2^31."""
    value = (value ^ (value >> 31)) & _LOW_31
    value = value * _ODD
    return (value ^ (value >> 29)) & _LOW_31


@kernel
def item_hash(state: int, goal: int, origin: int, count: int) -> int:
    """A hash of an item, below 2^31. No factor can overflow: fields are below 2^31."""
    low = int64(state) * 31 + int64(goal) * 1013
    high = int64(origin + 64) * 8191 + int64(count) * 131071
    return mix(mix(low & 0x3FFFFFFFFFFFFFF) + (high & 0x3FFFFFFFFFFFFFF))


@kernel
def begin(h: Heap, lane: int) -> None:
    """Empty a worklist. Old entries of its hash table die because the stamp moves past them."""
    head(h)[STAMP + lane] += head(h)[AGENDA_SIZE + lane]
    head(h)[AGENDA_SIZE + lane] = 0


@kernel
def push(h: Heap, lane: int, state: int, goal: int, origin: int, count: int) -> None:
    """Put an item on a worklist unless it is there already; sets OVERFLOW if there is no room, or no work left."""
    record = states(h)[state]
    if record["flags"] & UNIT_END:
        counter = counters(h)[record["counter"]]
        state = counter["loop"]
        if count >= SYMBOLIC:
            count += 1
        elif counter["maximum"] >= 0 or count < counter["minimum"]:
            count += 1
    todo = agenda(h)
    size = head(h)[AGENDA_SIZE + lane]
    if size < SHORT:
        for i in range(size):
            if is_item(todo[i, lane], state, goal, origin, count):
                return
    elif not enter_seen(h, lane, size, state, goal, origin, count):
        return
    if size + 1 >= len(todo):
        head(h)[OVERFLOW] = 1
        return
    todo[size, lane]["state"] = state
    todo[size, lane]["goal"] = goal
    todo[size, lane]["origin"] = origin
    todo[size, lane]["count"] = count
    head(h)[AGENDA_SIZE + lane] = size + 1
    if size + 1 == SHORT:
        for i in range(SHORT):
            item = todo[i, lane]
            enter_seen(h, lane, i, item["state"], item["goal"], item["origin"], item["count"])


@kernel
def stop(h: Heap) -> int:
    """Note that the mask being built takes too much (`matcher.whole`), and return FULL."""
    head(h)[STOPPED] = 1
    return FULL


@kernel
def is_item(item: Any, state: int, goal: int, origin: int, count: int) -> bool:
    """Whether an item has these four fields."""
    return bool(item["state"] == state and item["goal"] == goal and item["origin"] == origin and item["count"] == count)


@kernel
def enter_seen(h: Heap, lane: int, place: int, state: int, goal: int, origin: int, count: int) -> bool:
    """Enter the item at `place` of a worklist into its hash table. False if an equal one is there."""
    head(h)[WORK_LEFT] -= 1
    if head(h)[WORK_LEFT] < 0:
        head(h)[OVERFLOW] = 1
    table = seen(h)
    base = head(h)[STAMP + lane]
    limit = len(table) - 1
    slot = item_hash(state, goal, origin, count) & limit
    while table[slot, lane] >= base:
        if is_item(agenda(h)[table[slot, lane] - base, lane], state, goal, origin, count):
            return False
        slot = (slot + 1) & limit
    table[slot, lane] = base + place
    return True


@kernel
def is_open(h: Heap, state: int, count: int) -> bool:
    """Whether the edges of a state may be taken: a counted rule's loop closes at its maximum."""
    record = states(h)[state]
    if record["flags"] & LOOP and count < SYMBOLIC:
        maximum = counters(h)[record["counter"]]["maximum"]
        return maximum < 0 or count < maximum
    return True


@kernel
def is_final(h: Heap, state: int, count: int) -> bool:
    """Whether an item in this state completes its goal."""
    record = states(h)[state]
    if record["flags"] & FINAL:
        return True
    if record["flags"] & LOOP:
        return count >= SYMBOLIC or count >= counters(h)[record["counter"]]["minimum"]
    return False
