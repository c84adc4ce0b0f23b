"""From a set to the abstract sets whose shapes make up its mask: holes, symbolic counts, parts.

**Holes.** A frame's goal and origin matter only when it is completed. Rename the pairs
(goal, origin) of a set's items to holes #0, #1, ... in order of first appearance. That
abstract set is interned like any other.

**Symbolic counts.** If all counted items of a set count the same counter, their counts are
taken as "as many as it was, plus k", and each token's need of units is recorded.

**Parts.** The items of a set have nothing to do with each other, so a set allows what its parts
allow. The items of one counter are one part and a few others each their own, because a string with a
bound, say, is shared by many grammars, while what follows the string is not.
"""

from __future__ import annotations

from .branch import take
from .jit import int64, kernel, linked
from .sets import intern
from .tables import (
    BOTTOM,
    EXIT,
    FEATURES,
    FULL,
    HAS_TOKENS,
    LINK_DIVIDE,
    OFF_PARTS,
    OFF_SHAPES,
    OFF_SYMBOLIC,
    SYMBOLIC,
    arena,
    counters,
    head,
    holes,
    items,
    sets,
    states,
)
from .worklist import STEP, Heap, begin, push

MAX_SPREAD = 64
"""A set whose counts differ by more than this keeps them concrete."""
SINGLE_ITEMS = 3
"""At most so many counters, and so many items that count nothing, have a part each."""
MANY_ITEMS = 64
"""Larger sets are not divided by counters."""
NO_COUNTER = -1


@kernel
def symbolic_counter(h: Heap, number: int) -> int:
    """The counter whose count may be symbolic in the shape of a set, or NO_COUNTER.

    All counted items must count the same counter, its bounds must still matter, and no
    token edge may leave the set (their tokens would need units too).
    """
    record = sets(h)[number]
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_SYMBOLIC) or record["flags"] & HAS_TOKENS:
        return NO_COUNTER
    counter = int64(NO_COUNTER)
    least = int64(SYMBOLIC)
    most = int64(0)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        own = states(h)[item["state"]]["counter"]
        if own < 0:
            continue
        if counter >= 0 and own != counter:
            return NO_COUNTER
        counter = int64(own)
        least = min(least, int64(item["count"]))
        most = max(most, int64(item["count"]))
    if counter < 0 or most - least > MAX_SPREAD:
        return NO_COUNTER
    bounds = counters(h)[counter]
    if bounds["maximum"] < 0 and least >= bounds["minimum"]:
        return NO_COUNTER
    return counter


@kernel
def least_count(h: Heap, number: int, counter: int) -> int:
    """The least count of the items of a set that count `counter`."""
    record = sets(h)[number]
    least = int64(SYMBOLIC)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if states(h)[item["state"]]["counter"] == counter:
            least = min(least, int64(item["count"]))
    return least


@kernel
def hole_of(h: Heap, goal: int, origin: int, used: int) -> int:
    """The hole that stands for (goal, origin) among the `used` known ones, or `used` if it is new."""
    known = holes(h)
    for hole in range(used):
        if known[hole, 0] == goal and known[hole, 1] == origin:
            return hole
    return used


@kernel
def list_holes(h: Heap, number: int) -> int:
    """Fill `holes` for a set, in order of first appearance. Returns how many there are."""
    if head(h)[FEATURES] & OFF_SHAPES:
        holes(h)[0, 0] = 0
        holes(h)[0, 1] = BOTTOM
        return 1
    used = 0
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] != EXIT:
            hole = hole_of(h, item["goal"], item["origin"], used)
            if hole == used:
                holes(h)[used, 0] = item["goal"]
                holes(h)[used, 1] = item["origin"]
                used += 1
    return used


@kernel
def abstract(h: Heap, number: int, counter: int) -> int:
    """The abstract set of a set: goals and origins are holes, `counter` is symbolic. FULL without room."""
    if head(h)[FEATURES] & OFF_SHAPES:
        return number
    used = list_holes(h, number)
    base = least_count(h, number, counter) if counter >= 0 else int64(0)
    begin(h, STEP)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            continue
        state = states(h)[item["state"]]
        hole = hole_of(h, item["goal"], item["origin"], used)
        if state["counter"] < 0:
            push(h, STEP, state["twin"], 0, -1 - hole, item["count"])
        elif counter >= 0:
            push(h, STEP, state["twin"], 0, -1 - hole, item["count"] - base + SYMBOLIC)
        else:
            push(h, STEP, item["state"], 0, -1 - hole, item["count"])
    return intern(h)


@kernel
def collapse(h: Heap, number: int) -> int:
    """The items of a set as if they were all on the way to one hole, their counts as they are. FULL without room."""
    begin(h, STEP)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] != EXIT:
            state = states(h)[item["state"]]
            push(h, STEP, item["state"] if state["counter"] >= 0 else state["twin"], 0, BOTTOM, item["count"])
    return intern(h)


@linked(LINK_DIVIDE)
def divide(h: Heap, number: int) -> int:
    """Divide a set into the parts whose shapes make up its mask. Returns 0 or FULL."""
    record = sets(h)[number]
    if record["part_size"] > 0:
        return 0
    first = take(h, 2 * SINGLE_ITEMS)
    if first == FULL:
        return FULL
    counted = count_counters(h, number)
    others = count_others(h, number)
    parts = counted + (others if others <= SINGLE_ITEMS else 1)
    whole = parts <= 1 or counted > SINGLE_ITEMS or head(h)[FEATURES] & (OFF_SHAPES | OFF_PARTS)
    size = 0
    if whole:
        arena(h)[first] = number
        size = 1
    for i in range(record["size"]):
        item = items(h)[record["first"] + i]
        if whole or size == FULL or item["state"] == EXIT:
            continue
        counter = states(h)[item["state"]]["counter"]
        if counter >= 0 and is_first(h, number, i, counter):
            size = add_part(h, number, counter, -1, first, size)
        elif counter < 0 and others <= SINGLE_ITEMS:
            size = add_part(h, number, NO_COUNTER, i, first, size)
        elif counter < 0 and is_first(h, number, i, NO_COUNTER):
            size = add_part(h, number, NO_COUNTER, -1, first, size)
    if size == FULL:
        return FULL
    record["part_first"] = first
    record["part_size"] = size
    return 0


@kernel
def is_first(h: Heap, number: int, place: int, counter: int) -> bool:
    """Whether no item of a set before `place` counts this counter, or none at all for NO_COUNTER."""
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + place):
        if items(h)[i]["state"] != EXIT and states(h)[items(h)[i]["state"]]["counter"] == counter:
            return False
    return True


@kernel
def count_counters(h: Heap, number: int) -> int:
    """How many different counters the items of a set count; in a very large set, that is too many."""
    record = sets(h)[number]
    if record["size"] > MANY_ITEMS:
        return int64(SINGLE_ITEMS) + 1
    count = int64(0)
    for i in range(record["size"]):
        item = items(h)[record["first"] + i]
        counter = states(h)[item["state"]]["counter"]
        if item["state"] != EXIT and counter >= 0 and is_first(h, number, i, counter):
            count += 1
    return count


@kernel
def count_others(h: Heap, number: int) -> int:
    """How many items of a set count nothing."""
    record = sets(h)[number]
    count = int64(0)
    for i in range(record["first"], record["first"] + record["size"]):
        if items(h)[i]["state"] != EXIT and states(h)[items(h)[i]["state"]]["counter"] < 0:
            count += 1
    return count


@kernel
def add_part(h: Heap, number: int, counter: int, only: int, first: int, size: int) -> int:
    """Add the items that count `counter` (or the one at place `only`) as a part. The new size or FULL."""
    record = sets(h)[number]
    begin(h, STEP)
    for i in range(record["size"]):
        item = items(h)[record["first"] + i]
        if item["state"] != EXIT and (i == only or (only < 0 and states(h)[item["state"]]["counter"] == counter)):
            push(h, STEP, item["state"], item["goal"], item["origin"], item["count"])
    part = intern(h)
    if part == FULL:
        return FULL
    arena(h)[first + size] = part
    return size + 1
