"""The walk: depth first through the trie from an abstract set.

The set of each depth is on a stack. A subtree is skipped where the set is dead, and where a pivot has the same
set (`matcher.shape`). It is taken as a whole where all its characters lead from the set back to itself, or to its
*shift*, the same set with higher counts (`matcher.loops`).

Where a set loops the walk skims the nodes (`matcher.skim`). What is found goes into lists of ranges
(`matcher.ranges`).
"""

from __future__ import annotations

from typing import Any

from .branch import limit
from .calls import first_step
from .chain import begin_chain, begins_chain, follow_chain
from .characters import INSIDE
from .earley import expand, step
from .families import PRICE, takes_all
from .jit import int64, kernel, linked
from .levels import END, FIRST, HERE, NEXT, NO_CHILD, NO_STATE, OTHER, SKIMMED, STATE, begin_level, find_byte
from .loops import ALONE, LEVEL, RISING, settled, stays
from .moves import has_exceptions, known_move
from .ranges import add_exits, add_found
from .skim import begin_skimming, can_skim, skim
from .tables import (
    DEAD,
    DEAD_ROW,
    FULL,
    HAS_EXIT,
    LINK_SCAN,
    N_CLEARED,
    N_EXITS,
    N_FOUND,
    NEXT_FAMILY,
    NEXT_LEVEL,
    UNKNOWN,
    VISITED,
    arena,
    child_bytes,
    children,
    cleared,
    covers,
    head,
    narrow,
    sets,
    shapes,
    stack,
    subtrees,
    trie_nodes,
)
from .worklist import Heap, stop

WHOLE_SUBTREE = 4
"""Subtrees of at most so many nodes are walked without asking whether that is needed."""
NO_PIVOT = 256
"""Not a byte: the mask is not derived from another one."""
NO_COVER = -3
"""Not the number of a cover, and not one of the statuses of a kernel."""


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
    head(h)[N_FOUND] = 0
    head(h)[N_EXITS] = 0
    n_cleared = 0
    covered, covered_end = int64(0), int64(0)
    if cover != NO_COVER:
        covered = int64(covers(h)[cover]["first"])
        covered_end = covered + 2 * covers(h)[cover]["size"]
    head(h)[VISITED] = 0
    head(h)[NEXT_FAMILY] = limit(h, PRICE)
    level = int64(0)
    alone = cover == NO_COVER and other == DEAD
    if alone and begins_chain(h, image):
        begin_chain(h, level, int64(0), int64(trie_nodes(h)[1]["first_child"]), image)
    elif enter(h, 0, 0, trie_nodes(h)[1]["first_child"], image, other) == FULL:
        return FULL
    if other != DEAD and shapes(h)[shape]["call_size"] > 0:
        at[0, NEXT] = 0  # there the walk does not make all moves of the set
    while level >= 0:
        if at[level, STATE] != NO_STATE:
            place = follow_chain(h, level)
            level = int64(head(h)[NEXT_LEVEL])
        elif at[level, FIRST] == SKIMMED:
            place = skim(h, level)
            level = int64(head(h)[NEXT_LEVEL])
        else:
            place = next_child(h, level)
        if place == FULL:
            return FULL
        if place == NO_CHILD:
            level -= 1
            continue
        before = int64(at[level, HERE])
        other = int64(at[level, OTHER])
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
        head(h)[VISITED] += 1
        child = siblings[place]
        kinds = int64(subtrees(h)[place]["kinds"])
        node = int64(child["node"])
        end = int64(child["end"])
        if after != DEAD and other != DEAD:
            agree = takes_all(h, after, kinds, child["most"])
            if agree == LEVEL:
                agree = takes_all(h, other, kinds, child["most"])
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
            target = after
            if kinds & INSIDE:
                target = settled(h, after, child["way"])
            if target != DEAD and target != FULL:
                mode = whole_subtree(h, target, kinds & ~INSIDE, child["most"])
            if target == FULL or mode == FULL:
                return FULL
            if mode != ALONE:
                after = target
        following = node + 1 if mode == ALONE else end
        record = sets(h)[after]
        before_it = child["begun"] if mode == RISING else 0
        last = child["end_token"] if following == end else child["end_own"]
        if add_found(h, child["first_token"], last, int64(record["need"] - before_it), mode == RISING) == FULL:
            return FULL
        if record["flags"] & HAS_EXIT and end > node + 1:
            if add_exits(h, node, following, after, before_it, mode) == FULL:
                return FULL
        if following < end:
            level += 1
            below = subtrees(h)[place]
            loops_here = int64(0)
            alone = cover == NO_COVER and other == DEAD
            if alone and begins_chain(h, after):
                begin_chain(h, level, below["first"], below["end"], after)
                continue
            if alone and not kinds & INSIDE and end > node + limit(h, WHOLE_SUBTREE):
                loops_here = can_skim(h, after, byte)
            if loops_here == FULL:
                return FULL
            if loops_here == 1:
                begin_skimming(h, level, below["first"], below["end"], after, int64(child["begun"]))
            elif enter(h, level, below["first"], below["end"], after, other) == FULL:
                return FULL
    head(h)[N_CLEARED] = n_cleared
    return 0


@kernel
def whole_subtree(h: Heap, number: int, kinds: int, most: int) -> int:
    """Whether all texts of a subtree can follow a set, as `stays` and `takes_all` tell. ALONE if not, or FULL.

    Sets with few moves and sets with exceptions are not asked for each kind of characters.
    """
    if expand(h, number) == FULL:
        return FULL
    if sets(h)[number]["row"] == DEAD_ROW or has_exceptions(h, number):
        return ALONE
    mode = stays(h, number, kinds, most)
    if mode == ALONE:
        mode = takes_all(h, number, kinds, most)
    return mode


@kernel
def is_covered(h: Heap, child: Any, range_: int) -> bool:
    """Whether the tokens of a child's subtree all are in a range of a cover."""
    return bool(arena(h)[range_] <= child["first_token"] and child["end_token"] <= arena(h)[range_ + 1])


@kernel
def enter(h: Heap, level: int, first: int, end: int, number: int, other: int) -> int:
    """Begin with the children [first, end) of a node at a level of the stack. Returns 0 or FULL.

    The next child is a place in the trie's list of children. But if few bytes can follow, or few that lead elsewhere
    than from the pivot's set, they are looked up there instead: place p of the set's narrow moves is then noted
    as -1 - p.
    """
    if sets(h)[number]["closure_size"] < 0 and expand(h, number) == FULL:
        return FULL
    if other != DEAD and sets(h)[other]["closure_size"] < 0 and expand(h, other) == FULL:
        return FULL
    begin_level(h, level, first, end, number, other)
    record = sets(h)[other]  # DEAD has the row DEAD_ROW, and no moves of its own
    if sets(h)[number]["row"] == record["row"] and record["narrow"] == 0:
        stack(h)[level, NEXT] = -1
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
