"""Skimming: what lies below a node at which a set loops, in one go.

Of a set that a byte leads back to itself, most of the subtree usually is texts of such bytes. The walk goes through
these with its set at hand, and looks at nothing but the bytes and the kinds of characters of siblings, which lie side
by side. Only where a byte leads elsewhere the general walk takes over again, for that child's subtree.
"""

from __future__ import annotations

from .characters import INSIDE
from .earley import step
from .families import takes_all
from .jit import int64, kernel
from .loops import ALONE, LEVEL, RISING, settled, stays
from .moves import has_exceptions, known_move
from .ranges import add_exits, add_found
from .tables import (
    DEAD,
    DEAD_ROW,
    FEATURES,
    FULL,
    HAS_EXIT,
    NEXT_LEVEL,
    OFF_SKIMMING,
    UNKNOWN,
    VISITED,
    child_bytes,
    children,
    families,
    head,
    loops,
    moves,
    sets,
    stack,
    subtrees,
)
from .worklist import Heap

NO_CHILD = -3
"""Not a place in a list, and not one of the statuses of a kernel."""
FIRST, END, NEXT, HERE, OTHER = 0, 1, 2, 3, 4
"""Columns of `stack`."""
STATE = 5
"""A column of `stack` that only chains use (`matcher.chain`); NO_STATE elsewhere."""
NO_STATE = -1
SKIMMED = -1
"""The FIRST of a level that is skimmed; its NEXT is a place in the list of children."""


@kernel
def can_skim(h: Heap, number: int, byte: int) -> int:
    """Whether a set (expanded) loops, and all its moves are in its row: 1, 0 or FULL. `byte` has led to it."""
    record = sets(h)[number]
    if record["row"] == DEAD_ROW or record["narrow"] > 0 or head(h)[FEATURES] & OFF_SKIMMING:
        return 0
    if has_exceptions(h, number):
        return 0
    if byte >= 0x80:
        return int(loops(h)[number]["loops"] != 0)
    after = known_move(h, number, byte)
    if after == UNKNOWN:
        after = step(h, number, byte)
    return FULL if after == FULL else int(after == number)


@kernel
def begin_skimming(h: Heap, level: int, first: int, end: int, number: int) -> None:
    """Begin with the children [first, end) of a node, at which a set loops, at a level of the stack."""
    at = stack(h)
    at[level, FIRST] = SKIMMED
    at[level, END] = end
    at[level, NEXT] = first
    at[level, HERE] = number
    at[level, OTHER] = DEAD
    at[level, STATE] = NO_STATE


@kernel
def skim(h: Heap, level: int) -> int:
    """Pass the children to which the set of a level loops, and what it loops to below them, up to the next other child.

    Returns the place of that child, NO_CHILD if there is none, or FULL. Its level is in NEXT_LEVEL then: there is one
    for each list of siblings, and those that are through are left.
    """
    at = stack(h)
    bytes_ = child_bytes(h)
    below = subtrees(h)
    number = int64(at[level, HERE])
    row = moves(h)[sets(h)[number]["row"]]
    place = int64(at[level, NEXT])
    end = int64(at[level, END])
    first = start(h, place, end)  # the first node and the first token of what is passed
    token = start_token(h, place, end)
    while True:
        if place == end:
            if at[level - 1, FIRST] == SKIMMED and at[level - 1, HERE] == number:
                level -= 1
                place = int64(at[level, NEXT])
                end = int64(at[level, END])
                continue
            head(h)[NEXT_LEVEL] = level
            last = children(h)[end - 1]
            status = add_passed(h, number, first, int64(last["end"]), token, int64(last["end_token"]))
            return FULL if status == FULL else NO_CHILD
        byte = bytes_[place]
        after = int64(row[byte])
        kinds = int64(below[place]["kinds"])
        target = after
        if kinds & INSIDE and after != DEAD and after != UNKNOWN:
            target = settled(h, after, children(h)[place]["way"])
        mode = int64(ALONE)
        if target == number:
            mode = is_passed(h, number, kinds & ~INSIDE, place)
        if target == FULL or mode == FULL:
            return FULL
        place += 1
        if mode == LEVEL:
            continue
        at[level, NEXT] = place
        if after == number and not kinds & INSIDE:
            level += 1
            end = int64(below[place - 1]["end"])
            place = int64(below[place - 1]["first"])
            begin_skimming(h, level, place, end, number)
            continue
        child = children(h)[place - 1]
        if add_passed(h, number, first, int64(child["node"]), token, int64(child["first_token"])) == FULL:
            return FULL
        if after != DEAD:
            head(h)[NEXT_LEVEL] = level
            return place - 1
        first = int64(child["end"])
        token = int64(child["end_token"])


@kernel
def start(h: Heap, place: int, end: int) -> int:
    """The node at which a list of children goes on: that of the one at `place`, or the one after the list."""
    return int64(children(h)[place]["node"]) if place < end else int64(children(h)[end - 1]["end"])


@kernel
def start_token(h: Heap, place: int, end: int) -> int:
    """The same for the tokens."""
    return int64(children(h)[place]["first_token"]) if place < end else int64(children(h)[end - 1]["end_token"])


@kernel
def is_passed(h: Heap, number: int, kinds: int, place: int) -> int:
    """Whether all texts below a child that leads a set back to itself may follow it too: LEVEL, ALONE or FULL.

    As `stays` and `takes_all` tell; they are not called where it is known what they say.
    """
    known = loops(h)[number]
    if (kinds & ~known["loops"]) == 0 and (kinds & known["raises"]) == 0:
        return LEVEL
    may_stay = (kinds & ~known["loops"] & known["asked"]) == 0
    others = families(h)[number]
    if not may_stay and others["depth"] != 0 and (kinds & ~others["kinds"]) != 0:
        return ALONE
    head(h)[VISITED] += 1
    most = children(h)[place]["most"]
    mode = int64(ALONE)
    if may_stay:
        mode = stays(h, number, kinds, most)
    if mode == ALONE:
        mode = takes_all(h, number, kinds, most)
    return mode if mode != RISING else ALONE


@kernel
def add_passed(h: Heap, number: int, first: int, end: int, token: int, end_token: int) -> int:
    """Add the tokens and the exits of a set at nodes [first, end), to all of which it loops. Returns 0 or FULL."""
    if first == end:
        return 0
    record = sets(h)[number]
    if record["flags"] & HAS_EXIT and add_exits(h, first, end, number, 0, LEVEL) == FULL:
        return FULL
    return add_found(h, token, end_token, int64(record["need"]), False)


@kernel
def find_byte(h: Heap, first: int, end: int, byte: int) -> int:
    """The place of a byte among the children [first, end) of a node, or NO_CHILD (binary search)."""
    bytes_of = child_bytes(h)
    while first < end:
        middle = (first + end) // 2
        if bytes_of[middle] == byte:
            return int64(middle)
        if bytes_of[middle] < byte:
            first = middle + 1
        else:
            end = middle
    return NO_CHILD
