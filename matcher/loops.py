"""Loops: which characters lead from a set back to itself, or to its shift.

The *shift* of a set has one unit more in each of its symbolic counts. Bounds play no part in symbolic
counts, so a step from the shift of a set leads to the shift of where the step from the set leads: what
loops once, loops for ever. This needs every item to have a symbolic count, and no origin but holes.
"""

from __future__ import annotations

from .characters import BROKEN, first_tail
from .earley import step
from .jit import int64, kernel, linked
from .tables import (
    DEAD,
    FEATURES,
    FULL,
    HAS_EXIT,
    LINK_ASK,
    OFF_LOOPS,
    SYMBOLIC,
    UNKNOWN,
    byte_kinds,
    head,
    items,
    sets,
)
from .worklist import Heap

ALONE, LEVEL, RISING = 0, 1, 2
"""What `stays` returns: some character leads elsewhere; all lead back; all lead to the shift."""


@kernel
def stays(h: Heap, number: int, kinds: int) -> int:
    """Whether all characters of some kinds (bits) lead from a set back to itself or to its shift. Or FULL."""
    record = sets(h)[number]
    if head(h)[FEATURES] & OFF_LOOPS or (kinds & record["asked"] & ~record["loops"]) != 0:
        return ALONE
    unknown = int64(kinds & ~record["asked"])
    if unknown != 0:
        status = ask(h, number, unknown)
        if status != 1:
            return FULL if status == FULL else ALONE
    return RISING if is_shiftable(h, number) else LEVEL


@linked(LINK_ASK)
def ask(h: Heap, number: int, kinds: int) -> int:
    """Find out about kinds that were not asked for yet, up to the first that does not loop. 1, 0 or FULL."""
    record = sets(h)[number]
    for kind in range(BROKEN + 1):
        if (kinds >> kind) & 1:
            loops = kind_loops(h, number, kind)
            if loops == FULL:
                return FULL
            record["asked"] |= int64(1) << kind
            if loops == 0:
                return 0
            record["loops"] |= int64(1) << kind
    return 1


@kernel
def kind_loops(h: Heap, number: int, kind: int) -> int:
    """Whether all characters of one kind lead from a set to the same place, itself or its shift: 1, 0 or FULL."""
    shiftable = is_shiftable(h, number)
    target = int64(DEAD)
    for byte in range(256):
        if byte_kinds(h)[byte] != kind:
            continue
        after = step(h, number, byte)
        if after == FULL:
            return FULL
        low, high, tails = first_tail(byte)
        if target == DEAD:
            target = first_end(h, after, low, tails)
            if target == FULL:
                return FULL
            if target == DEAD or not (is_shift(h, number, target) if shiftable else target == number):
                return 0
        status = all_lead(h, after, low, high, tails, target)
        if status != 1:
            return status
    return 0 if target == DEAD else 1


@kernel
def is_shiftable(h: Heap, number: int) -> bool:
    """Whether all items of a set have symbolic counts and holes for origins."""
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["count"] < SYMBOLIC or item["origin"] >= 0:
            return False
    return True


@kernel
def is_shift(h: Heap, number: int, other: int) -> bool:
    """Whether one set is the shift of another."""
    record = sets(h)[number]
    shifted = sets(h)[other]
    if record["size"] != shifted["size"]:
        return False
    for i in range(record["size"]):
        a = items(h)[record["first"] + i]
        b = items(h)[shifted["first"] + i]
        if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"]:
            return False
        if a["count"] + 1 != b["count"]:
            return False
    return True


@kernel
def first_end(h: Heap, after: int, low: int, tails: int) -> int:
    """The set after one of the characters whose first byte led to `after`. FULL without room."""
    for tail in range(tails):
        if after == FULL or after == DEAD:
            return after
        after = step(h, after, low if tail == 0 else 0x80)
    return after


@kernel
def all_lead(h: Heap, after: int, low: int, high: int, tails: int, target: int) -> int:
    """Whether all ways to go on with so many continuation bytes lead to `target`: 1, 0 or FULL.

    The sets on the way must be alive as long as the target, and have no exits.
    """
    if tails == 0:
        return int64(after == target)
    if not is_inner(h, after, target):
        return 0
    previous = int64(UNKNOWN)
    for byte in range(low, high + 1):
        following = step(h, after, byte)
        if following != previous:
            if following == FULL:
                return FULL
            previous = following
            status = two_lead(h, following, tails - 1, target)
            if status != 1:
                return status
    return 1


@kernel
def two_lead(h: Heap, after: int, tails: int, target: int) -> int:
    """The same for at most two continuation bytes."""
    if tails == 0:
        return int64(after == target)
    if not is_inner(h, after, target):
        return 0
    previous = int64(UNKNOWN)
    for byte in range(0x80, 0xC0):
        following = step(h, after, byte)
        if following != previous:
            if following == FULL:
                return FULL
            previous = following
            status = one_leads(h, following, tails - 1, target)
            if status != 1:
                return status
    return 1


@kernel
def one_leads(h: Heap, after: int, tails: int, target: int) -> int:
    """The same for at most one continuation byte."""
    if tails == 0:
        return int64(after == target)
    if not is_inner(h, after, target):
        return 0
    for byte in range(0x80, 0xC0):
        following = step(h, after, byte)
        if following != target:
            return FULL if following == FULL else 0
    return 1


@kernel
def is_inner(h: Heap, number: int, target: int) -> bool:
    """Whether a set inside a character is as good as the target, apart from the character's missing bytes."""
    if number == DEAD:
        return False
    return bool(not sets(h)[number]["flags"] & HAS_EXIT and sets(h)[number]["need"] == sets(h)[target]["need"])
