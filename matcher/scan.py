"""The walk: depth first through the trie from an abstract set.

The set of each depth is on a stack. A subtree is skipped where the set is dead, and where a pivot has the same
set (`matcher.shape`). It is taken as a whole where all its characters lead from the set back to itself, or to its
*shift*, the same set with higher counts (`matcher.loops`).

What is found goes into two lists of ranges, since neighbours usually share their fate:

    found   (first, end, need, rising)                tokens `trie_ids[first:end]`
    exits   (first, end, hole, counted, units, mode)  trie nodes [first, end), those with children

`rising`: each character that a token begins adds one to its need. The modes of exits: ALONE, one node;
LEVEL, all nodes that are not inside a character; RISING, the same, and each character adds one to the units.
"""

from __future__ import annotations

from typing import Any

from .branch import limit
from .calls import first_step
from .earley import expand, step
from .families import PRICE, takes_all
from .jit import int64, kernel, linked
from .loops import ALONE, LEVEL, RISING, stays
from .moves import has_exceptions, known_move
from .tables import (
    DEAD,
    DEAD_ROW,
    EXIT,
    FULL,
    HAS_EXIT,
    LINK_SCAN,
    N_CLEARED,
    N_EXITS,
    N_FOUND,
    NEXT_FAMILY,
    SYMBOLIC,
    UNKNOWN,
    arena,
    child_bytes,
    children,
    cleared,
    covers,
    exits,
    found,
    head,
    items,
    narrow,
    sets,
    shapes,
    stack,
    token_begun,
    trie_nodes,
)
from .worklist import Heap, stop

WHOLE_SUBTREE = 4
"""Subtrees of fewer nodes are walked without asking whether that is needed."""
NO_PIVOT = 256
"""Not a byte: the mask is not derived from another one."""
NO_COVER = -3
"""Not the number of a cover, and not one of the statuses of a kernel."""
NO_CHILD = -3
"""Not a place in a list, and not one of the statuses of a kernel."""
FIRST, END, NEXT, HERE, OTHER = 0, 1, 2, 3, 4
"""Columns of `stack`."""


@linked(LINK_SCAN)
def scan_trie(h: Heap, shape: int, image: int, other: int, cover: int) -> int:
    """Walk the trie depth first from a set; fill `found`, `exits` and `cleared`.

    `other` is the set after the shape's pivot, or DEAD. A second set is then kept for each depth, and
    subtrees where both agree are left to it; where they differ, its tokens are cleared. With a cover (or NO_COVER),
    subtrees of which it has all tokens are left to that. Returns 0 or FULL; how many entries each list has is in
    N_FOUND, N_EXITS and N_CLEARED.
    """
    at = stack(h)
    siblings = children(h)
    n_found = int64(0)
    n_exits = int64(0)
    n_cleared = 0
    covered, covered_end = int64(0), int64(0)
    if cover != NO_COVER:
        covered = int64(covers(h)[cover]["first"])
        covered_end = covered + 2 * covers(h)[cover]["size"]
    visits = 0
    head(h)[NEXT_FAMILY] = limit(h, PRICE)
    level = 0
    if enter(h, 0, 0, trie_nodes(h)[1]["first_child"], image, other) == FULL:
        return FULL
    while level >= 0:
        before = int64(at[level, HERE])
        other = int64(at[level, OTHER])
        place = next_child(h, level)
        if place == NO_CHILD:
            level -= 1
            continue
        while covered < covered_end and arena(h)[covered + 1] <= siblings[place]["first_token"]:
            covered += 2
        if covered < covered_end and is_covered(h, siblings[place], covered):
            continue
        byte = child_bytes(h)[place]
        after = int64(DEAD)
        if before != DEAD:
            after = known_move(h, before, byte)
            if after == UNKNOWN:
                after = step(h, before, byte)
            if level == 0 and after != DEAD:
                after = first_step(h, image, byte, shapes(h)[shape]["call_first"], shapes(h)[shape]["call_size"])
        if other != DEAD:
            other = step(h, other, byte)
        if after == FULL or other == FULL:
            return FULL
        if after == other:
            continue
        visits += 1
        child = siblings[place]
        node = int64(child["node"])
        end = int64(child["end"])
        if after != DEAD and other != DEAD:
            agree = takes_all(h, after, child["kinds"], child["most"], visits)
            if agree == LEVEL:
                agree = takes_all(h, other, child["kinds"], child["most"], visits)
            if agree == FULL:
                return FULL
            if agree == LEVEL:
                continue
        if after == DEAD or (other != DEAD and sets(h)[other]["flags"] & HAS_EXIT):
            # What the pivot says about this subtree does not hold here.
            if n_cleared >= len(cleared(h)):
                return stop(h)
            cleared(h)[n_cleared, 0] = child["first_token"]
            cleared(h)[n_cleared, 1] = child["end_token"]
            n_cleared += 1
            other = int64(DEAD)
        if after == DEAD:
            continue
        mode = int64(ALONE)
        if other == DEAD and end > node + limit(h, WHOLE_SUBTREE):
            mode = whole_subtree(h, after, child, visits)
            if mode == FULL:
                return FULL
        following = node + 1 if mode == ALONE else end
        record = sets(h)[after]
        before_it = child["begun"] if mode == RISING else 0
        last = child["end_token"] if following == end else siblings[child["first_child"]]["first_token"]
        n_found = add_found(h, n_found, child["first_token"], last, record["need"] - before_it, mode == RISING)
        if record["flags"] & HAS_EXIT and end > node + 1:
            n_exits = add_exits(h, node, following, after, before_it, mode, n_exits)
        if n_found == FULL or n_exits == FULL:
            return FULL
        if following < end:
            level += 1
            if enter(h, level, child["first_child"], child["end_child"], after, other) == FULL:
                return FULL
    head(h)[N_FOUND] = n_found
    head(h)[N_EXITS] = n_exits
    head(h)[N_CLEARED] = n_cleared
    return 0


@kernel
def whole_subtree(h: Heap, number: int, child: Any, visits: int) -> int:
    """Whether all texts of a child's subtree can follow a set, as `stays` and `takes_all` tell. ALONE if not, or FULL.

    Those with few moves and those with exceptions are not asked for each kind of characters.
    """
    if expand(h, number) == FULL:
        return FULL
    if sets(h)[number]["row"] == DEAD_ROW or has_exceptions(h, number):
        return ALONE
    mode = stays(h, number, child["kinds"], child["most"])
    if mode == ALONE:
        mode = takes_all(h, number, child["kinds"], child["most"], visits)
    return mode


@kernel
def is_covered(h: Heap, child: Any, range_: int) -> bool:
    """Whether the tokens of a child's subtree all are in a range of a cover."""
    return bool(arena(h)[range_] <= child["first_token"] and child["end_token"] <= arena(h)[range_ + 1])


@kernel
def enter(h: Heap, level: int, first: int, end: int, number: int, other: int) -> int:
    """Begin with the children [first, end) of a node at a level of the stack. Returns 0 or FULL.

    The next child is a place in the trie's list of children. But if few bytes can follow, they are looked up
    there instead: place p of the set's narrow moves is then noted as -1 - p.
    """
    if sets(h)[number]["closure_size"] < 0 and expand(h, number) == FULL:
        return FULL
    at = stack(h)
    at[level, FIRST] = first
    at[level, END] = end
    at[level, NEXT] = first
    at[level, HERE] = number
    at[level, OTHER] = other
    if other == DEAD and sets(h)[number]["row"] == DEAD_ROW:
        at[level, NEXT] = -1
    return 0


@kernel
def next_child(h: Heap, level: int) -> int:
    """The place of the next child to visit in the trie's list of children, or NO_CHILD."""
    at = stack(h)[level]
    child = int64(at[NEXT])
    if child >= 0:
        at[NEXT] = child + 1
        return child if child < at[END] else int64(NO_CHILD)
    number = at[HERE]
    place = -1 - child
    while place < sets(h)[number]["narrow"]:
        found_at = find_byte(h, at[FIRST], at[END], narrow(h)[number, place])
        place += 1
        if found_at != NO_CHILD:
            at[NEXT] = -1 - place
            return found_at
    return NO_CHILD


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


# ── Ranges ──────────────────────────────────────────────────────────────────────────────


@kernel
def add_found(h: Heap, size: int, first: int, end: int, need: int, rising: bool) -> int:
    """Add tokens in trie order to `found`. Returns how many entries it has now, or FULL."""
    if first == end:
        return size
    hits = found(h)
    if size > 0 and hits[size - 1, 1] == first and hits[size - 1, 2] == need and hits[size - 1, 3] == rising:
        hits[size - 1, 1] = end
        return size
    if size >= len(hits):
        return stop(h)
    hits[size, 0] = first
    hits[size, 1] = end
    hits[size, 2] = need
    hits[size, 3] = rising
    return size + 1


@kernel
def need_of(h: Heap, place: int, token: int) -> int:
    """The need of the token at a place of `trie_ids`, which is in an entry of `found`."""
    entry_ = found(h)[place]
    return int64(entry_[2] + token_begun(h)[token]) if entry_[3] else int64(entry_[2])


@kernel
def add_exits(h: Heap, first: int, end: int, number: int, less: int, mode: int, size: int) -> int:
    """Add the exit items of a set, reached at trie nodes [first, end), to `exits`. How many there are now, or FULL.

    `less` is taken off the units, which rise from there on with the characters begun.
    """
    out = exits(h)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            if size >= len(out):
                return stop(h)
            counted = item["count"] >= SYMBOLIC
            out[size, 0] = first
            out[size, 1] = end
            out[size, 2] = -1 - item["origin"]
            out[size, 3] = counted
            out[size, 4] = item["count"] - SYMBOLIC - less if counted else 0
            out[size, 5] = LEVEL if mode == RISING and not counted else mode
            size += 1
    return size
