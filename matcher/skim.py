"""Skimming: what lies below a node at which a set loops, in one go.

Of a set that a byte leads back to itself, or to its shift (`matcher.loops`), most of the subtree usually is texts of
such bytes. The walk goes through these with its set at hand, and looks at nothing but the bytes and the kinds of
characters of siblings, which lie side by side. Only where a byte leads elsewhere the general walk takes over again, for
that child's subtree.

What is passed has the needs and the exits of the *base*, the set with which skimming began. Where it leads to shifts,
they rise with each character.
"""

from __future__ import annotations

from typing import Any

from .characters import INSIDE
from .earley import expand, step
from .families import takes_all
from .jit import int64, kernel
from .levels import BASE, END, FIRST, HERE, LESS, LEVEL_NEEDS, NEXT, NO_CHILD, SKIMMED, begin_skimmed
from .loops import ALONE, LEVEL, RISING, is_shift, is_symbolic, settled, stays
from .moves import has_exceptions, known_move
from .ranges import add_exits, add_found
from .tables import (
    DEAD,
    DEAD_ROW,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
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


@kernel
def can_skim(h: Heap, number: int, byte: int) -> int:
    """Whether a set (expanded) loops, and all its moves are in its row: 1, 0 or FULL.

    It loops if the byte that has led to it leads back to it. After the last byte of a longer character, which begins
    none, it does if some kind of characters is known to.
    """
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
    return FULL if after == FULL else int(leads_back(h, number, after, is_rising(h, number)))


@kernel
def is_rising(h: Heap, number: int) -> bool:
    """Whether what is skimmed from a set leads to its shifts."""
    return bool(sets(h)[number]["flags"] & HAS_SYMBOLIC) and is_symbolic(h, number)


@kernel
def leads_back(h: Heap, number: int, after: int, rising: bool) -> bool:
    """Whether a set after some character is the set before it, or if `rising` the shift of that."""
    if not rising or after == DEAD or after == UNKNOWN:
        return bool(after == number)
    if sets(h)[after]["shift_of"] == number:
        return True
    if not is_shift(h, number, after):
        return False
    if sets(h)[after]["shift_of"] == 0:
        sets(h)[after]["shift_of"] = number
    return True


@kernel
def begin_skimming(h: Heap, level: int, first: int, end: int, number: int, begun: int) -> None:
    """Begin with the children [first, end) of a node that is after so many characters, where a set loops: the base."""
    begin_skimmed(h, level, first, end, number, number, begun if is_rising(h, number) else LEVEL_NEEDS)


@kernel
def skim(h: Heap, level: int) -> int:
    """Pass the children to which the set of a level loops, and what it loops to below them, up to the next other child.

    Returns the place of that child, NO_CHILD if there is none, or FULL. Its level is in NEXT_LEVEL then: there is one
    for each list of siblings, and those that are through are left.
    """
    at = stack(h)
    bytes_ = child_bytes(h)
    below = subtrees(h)
    base = int64(at[level, BASE])
    less = int64(at[level, LESS])
    rising = less != LEVEL_NEEDS
    number = int64(at[level, HERE])
    row = moves(h)[sets(h)[number]["row"]]
    place = int64(at[level, NEXT])
    end = int64(at[level, END])
    first, token = starts_at(h, place, end)  # the first node and the first token of what is passed
    while True:
        if place == end:
            if at[level - 1, FIRST] == SKIMMED and at[level - 1, BASE] == base and at[level - 1, LESS] == less:
                level -= 1
                number = int64(at[level, HERE])
                row = moves(h)[sets(h)[number]["row"]]
                place = int64(at[level, NEXT])
                end = int64(at[level, END])
                continue
            head(h)[NEXT_LEVEL] = level
            last = children(h)[end - 1]
            status = add_passed(h, level, first, int64(last["end"]), token, int64(last["end_token"]))
            return FULL if status == FULL else NO_CHILD
        byte = bytes_[place]
        after = int64(row[byte])
        kinds = int64(below[place]["kinds"])
        target = after
        if kinds & INSIDE and after != DEAD and after != UNKNOWN:
            target = settled(h, after, children(h)[place]["way"])
        if target == FULL:
            return FULL
        back = leads_back(h, number, target, rising)
        mode = is_passed(h, target, kinds & ~INSIDE, place) if back else int64(ALONE)
        if mode == FULL:
            return FULL
        place += 1
        if mode != ALONE:
            continue
        at[level, NEXT] = place
        if back and not kinds & INSIDE:
            status = int64(1) if after == number else continues(h, after)
            if status == FULL:
                return FULL
            if status == 1:
                level += 1
                end = int64(below[place - 1]["end"])
                place = int64(below[place - 1]["first"])
                begin_skimmed(h, level, place, end, after, base, less)
                number = after
                row = moves(h)[sets(h)[number]["row"]]
                continue
        child = children(h)[place - 1]
        if add_passed(h, level, first, int64(child["node"]), token, int64(child["first_token"])) == FULL:
            return FULL
        if after != DEAD:
            head(h)[NEXT_LEVEL] = level
            return place - 1
        first = int64(child["end"])
        token = int64(child["end_token"])


@kernel
def continues(h: Heap, after: int) -> int:
    """Whether the shift of a set can be skimmed from as well: 1, 0 or FULL. It has exceptions no more than the set."""
    if expand(h, after) == FULL:
        return FULL
    record = sets(h)[after]
    return int(record["row"] != DEAD_ROW and record["narrow"] == 0)


@kernel
def starts_at(h: Heap, place: int, end: int) -> Any:
    """Where a list of children goes on, as (node, token): with the child at `place`, or after the list."""
    if place < end:
        return int64(children(h)[place]["node"]), int64(children(h)[place]["first_token"])
    return int64(children(h)[end - 1]["end"]), int64(children(h)[end - 1]["end_token"])


@kernel
def is_passed(h: Heap, number: int, kinds: int, place: int) -> int:
    """Whether all texts below a child may follow the set or the shift to which it leads back. ALONE if not, or FULL.

    As `stays` and `takes_all` tell; they are not called where it is known what they say. Anything but ALONE means yes.
    """
    known = loops(h)[number]
    if (kinds & ~known["loops"]) == 0 and ((kinds & known["raises"]) == 0 or sets(h)[number]["flags"] & HAS_SYMBOLIC):
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
    return mode


@kernel
def add_passed(h: Heap, level: int, first: int, end: int, token: int, end_token: int) -> int:
    """Add the tokens of nodes [first, end), passed at a level, and the exits of its base there. Returns 0 or FULL."""
    if first == end:
        return 0
    base = int64(stack(h)[level, BASE])
    less = int64(stack(h)[level, LESS])
    record = sets(h)[base]
    rising = less != LEVEL_NEEDS
    if not rising:
        less = int64(0)
    if record["flags"] & HAS_EXIT and add_exits(h, first, end, base, less, RISING if rising else LEVEL) == FULL:
        return FULL
    return add_found(h, token, end_token, int64(record["need"] - less), rising)
