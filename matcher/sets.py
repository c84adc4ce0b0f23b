"""Interning: equal Earley sets are stored once, and named by a small integer.

A set is its *kernel*, a sorted tuple of items with a way on. Its closure and its moves are worked
out when they are first needed (`matcher.earley`).
"""

from __future__ import annotations

from typing import Any

from .jit import int64, kernel, linked
from .needs import units_needed
from .tables import (
    AGENDA_SIZE,
    DEAD,
    EXIT,
    FIRST_SET,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    ITEMS_STOP,
    LINK_INTERN,
    N_ITEMS,
    N_SETS,
    SYMBOLIC,
    UNKNOWN,
    UNKNOWN_ROW,
    agenda,
    counters,
    head,
    items,
    set_index,
    sets,
    states,
)
from .worklist import STEP, Heap, is_item, is_open, item_hash, mix, stop


@kernel
def comes_before(a: Any, b: Any) -> bool:
    """The order of the items of a set: by state, goal, origin, count.

    Counts come last, so that items which differ only in their count are neighbours.
    """
    if a["state"] != b["state"]:
        return bool(a["state"] < b["state"])
    if a["goal"] != b["goal"]:
        return bool(a["goal"] < b["goal"])
    if a["origin"] != b["origin"]:
        return bool(a["origin"] < b["origin"])
    return bool(a["count"] < b["count"])


@kernel
def swap(todo: Any, i: int, j: int) -> None:
    """Exchange two items of the STEP worklist."""
    a = todo[i, STEP]
    b = todo[j, STEP]
    state, goal, origin, count = a["state"], a["goal"], a["origin"], a["count"]
    a["state"], a["goal"], a["origin"], a["count"] = b["state"], b["goal"], b["origin"], b["count"]
    b["state"], b["goal"], b["origin"], b["count"] = state, goal, origin, count


@kernel
def sort_agenda(todo: Any, size: int) -> None:
    """Sort the first `size` items of the STEP worklist (Shell's method, Knuth's gaps)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            j = i
            while j >= gap and comes_before(todo[j, STEP], todo[j - gap, STEP]):
                swap(todo, j, j - gap)
                j -= gap
        gap //= 3


@kernel
def keep_items(h: Heap) -> int:
    """Reduce the STEP worklist to the items a set keeps: those with a way on, and exits.

    Returns how many there are; they are sorted and not dominated.
    """
    todo = agenda(h)
    kept = 0
    for i in range(head(h)[AGENDA_SIZE + STEP]):
        item = todo[i, STEP]
        edge_count = states(h)[item["state"]]["edge_count"]
        if item["state"] == EXIT or (edge_count > 0 and is_open(h, item["state"], item["count"])):
            if kept != i:
                swap(todo, kept, i)
            kept += 1
    sort_agenda(todo, kept)
    size = 0
    for i in range(kept):
        if size > 0 and is_dominated(h, todo[size - 1, STEP], todo[i, STEP]):
            continue
        if size != i:
            swap(todo, size, i)
        size += 1
    return size


@kernel
def is_dominated(h: Heap, a: Any, b: Any) -> bool:
    """Whether `a`, the predecessor of `b` in a sorted set, can do whatever `b` can.

    They differ only in their counts, `a` has fewer units, and that is already enough.
    """
    if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"]:
        return False
    counter = states(h)[a["state"]]["counter"]
    if counter < 0 or b["count"] >= SYMBOLIC:
        return False
    return bool(a["count"] >= counters(h)[counter]["minimum"])


@linked(LINK_INTERN)
def intern(h: Heap) -> int:
    """The number of the set whose items are on the STEP worklist: an old one, or a new one.

    Returns DEAD for no items, FULL without room.
    """
    todo = agenda(h)
    size = keep_items(h)
    if size == 0:
        return DEAD
    digest = int64(size)
    for i in range(size):
        item = todo[i, STEP]
        digest = mix(digest * 31 + item_hash(item["state"], item["goal"], item["origin"], item["count"]))
    index = set_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != UNKNOWN:
        if holds_agenda(h, index[slot], size, digest):
            return int(index[slot])
        slot = (slot + 1) & limit
    number = new_set(h, size, digest)
    if number != FULL:
        index[slot] = number
    return number


@kernel
def holds_agenda(h: Heap, number: int, size: int, digest: int) -> bool:
    """Whether set `number` consists of exactly the first `size` items of the STEP worklist."""
    record = sets(h)[number]
    if record["hash"] != digest or record["size"] != size:
        return False
    todo = agenda(h)
    stored = items(h)
    for i in range(size):
        a = stored[record["first"] + i]
        b = todo[i, STEP]
        if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"] or a["count"] != b["count"]:
            return False
    return True


@kernel
def new_set(h: Heap, size: int, digest: int) -> int:
    """Store the first `size` items of the STEP worklist as a new set. Returns its number or FULL."""
    number = head(h)[N_SETS]
    first = head(h)[N_ITEMS]
    stored = items(h)
    # With no more sets than that, the index stays at most half full.
    if number >= len(sets(h)) or first + size > len(stored):
        return FULL
    if first + size > head(h)[ITEMS_STOP]:
        return stop(h)
    todo = agenda(h)
    flags = 0
    for i in range(size):
        item = todo[i, STEP]
        stored[first + i]["state"] = item["state"]
        stored[first + i]["goal"] = item["goal"]
        stored[first + i]["origin"] = item["origin"]
        stored[first + i]["count"] = item["count"]
        if item["state"] == EXIT:
            flags |= HAS_EXIT
        if item["count"] >= SYMBOLIC:
            flags |= HAS_SYMBOLIC
        elif item["origin"] >= FIRST_SET:
            flags |= sets(h)[item["origin"]]["flags"] & HAS_SYMBOLIC
    describe_set(h, number, size, digest, flags)
    return number


@kernel
def describe_set(h: Heap, number: int, size: int, digest: int, flags: int) -> None:
    """Fill the record of the newest set, whose items are stored already."""
    record = sets(h)[number]
    record["first"] = head(h)[N_ITEMS]
    record["size"] = size
    record["hash"] = digest
    record["flags"] = flags
    record["closure_size"] = -1
    record["shape"] = -1
    record["part_size"] = 0
    record["mask"] = -1
    record["row"] = UNKNOWN_ROW
    record["narrow"] = 0
    record["shift_of"] = 0
    head(h)[N_ITEMS] += size
    head(h)[N_SETS] = number + 1
    record["need"] = units_needed(h, number) if flags & HAS_SYMBOLIC else 0


@kernel
def singleton(h: Heap, state: int, goal: int, origin: int, count: int) -> int:
    """The number of the set of one item that has a way on, without the use of a worklist. FULL without room."""
    digest = mix(31 + item_hash(state, goal, origin, count))
    index = set_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != UNKNOWN:
        record = sets(h)[index[slot]]
        if record["hash"] == digest and record["size"] == 1:
            item = items(h)[record["first"]]
            if is_item(item, state, goal, origin, count):
                return int64(index[slot])
        slot = (slot + 1) & limit
    number = head(h)[N_SETS]
    first = head(h)[N_ITEMS]
    if number >= len(sets(h)) or first >= len(items(h)):
        return FULL
    if first >= head(h)[ITEMS_STOP]:
        return stop(h)
    stored = items(h)[first]
    stored["state"] = state
    stored["goal"] = goal
    stored["origin"] = origin
    stored["count"] = count
    flags = 0
    if count >= SYMBOLIC:
        flags = HAS_SYMBOLIC
    elif origin >= FIRST_SET:
        flags = sets(h)[origin]["flags"] & HAS_SYMBOLIC
    describe_set(h, number, 1, digest, flags)
    index[slot] = number
    return number
