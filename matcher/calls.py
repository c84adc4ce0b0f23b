"""Calls from the start of a set: which rules are left to shapes of their own, and what remains.

A rule called from the start of a set is a frame whose hole is known: rule and set. So its tokens
are those of the shape of its beginning, which all callers share: white space, the JSON string, any
value. A rule is walked with its caller only where much can follow it (`is_text`), since what follows an exit
is worked out in every context.
"""

from __future__ import annotations

from .branch import limit
from .earley import complete, expand, scan_item, settle, step
from .jit import int64, kernel, linked
from .moves import known_move
from .sets import intern
from .tables import (
    DEAD,
    DEAD_ROW,
    FEATURES,
    FULL,
    LINK_LIST_CALLS,
    N_ARENA,
    OFF_CALLS,
    OFF_SHAPES,
    arena,
    head,
    items,
    rules,
    sets,
    waits,
)
from .worklist import STEP, Heap, begin, push

TEXT_BYTES = 40
"""A set that so many bytes can follow reads free text."""


@kernel
def is_text(h: Heap, number: int) -> bool:
    """Whether a set (expanded) reads free text: many different bytes can follow."""
    if sets(h)[number]["row"] == DEAD_ROW:
        return False
    alive = 0
    for byte in range(256):
        if known_move(h, number, byte) != DEAD:
            alive += 1
    return alive >= limit(h, TEXT_BYTES)


@linked(LINK_LIST_CALLS)
def list_calls(h: Heap, image: int) -> int:
    """List in the arena the rules called from an abstract set that need not be walked with it. How many, or FULL."""
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_CALLS):
        return 0
    if expand(h, image) == FULL:
        return FULL
    source = sets(h)[image]
    first = head(h)[N_ARENA]
    if first + source["wait_size"] > len(arena(h)):
        return FULL
    size = int64(0)
    for w in range(source["wait_first"], source["wait_first"] + source["wait_size"]):
        rule = int64(waits(h)[w]["rule"])
        if is_listed(h, rule, first, size):
            continue
        after = complete(h, image, rule)
        if after == FULL or (after != DEAD and expand(h, after) == FULL):
            return FULL
        if after != DEAD and not is_text(h, after):
            arena(h)[first + size] = rule
            size += 1
    head(h)[N_ARENA] = first + size
    return size


@kernel
def is_listed(h: Heap, rule: int, first: int, size: int) -> bool:
    """Whether a rule is among the `size` words of the arena from `first`."""
    for i in range(first, first + size):
        if arena(h)[i] == rule:
            return True
    return False


@kernel
def first_step(h: Heap, number: int, byte: int, call_first: int, call_size: int) -> int:
    """The set after the first byte, without the rules that are left to other shapes. FULL without room.

    `number` is an abstract set, or one that has it; the words of the arena from `call_first` are its calls.
    """
    if call_size == 0 or known_move(h, number, byte) == DEAD:
        return step(h, number, byte)
    if expand(h, number) == FULL:
        return FULL
    begin(h, STEP)
    source = sets(h)[number]
    for i in range(source["closure_first"], source["closure_first"] + source["closure_size"]):
        item = items(h)[i]
        if item["origin"] == number and is_listed(h, item["goal"], call_first, call_size):
            continue
        scan_item(h, byte, item["state"], item["goal"], item["origin"], item["count"])
    return settle(h)


@kernel
def called(h: Heap, part: int, rule: int) -> int:
    """The set of the beginning of a rule called from a part. FULL without room."""
    begin(h, STEP)
    push(h, STEP, rules(h)[rule], rule, part, 0)
    return intern(h)
