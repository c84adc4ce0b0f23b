"""Describing a mask: a short list of integers that determines it.

A set's shape (`matcher.shape`) says what it allows as far as its context does not matter.
The rest is worked out here:

* For each exit into a hole, complete the hole's goal in its real origin, and walk the merged
  trie below (`matcher.branch`) from the set that follows (`follow`).
* For each rule called from the start, the same with the shape of its beginning.
* With a symbolic count, let the set have done c units. A token that needs u more is legal if
  c + u <= maximum; leaving after u units, if also minimum <= c + u. Tokens are sorted by u,
  so each context takes a slice: no work grows with the bounds.

The description is 1 if the text may end, the number of components, three words for each
component (shape, budget, mask of its pivot), then three for each alive branch with tokens: its
number, and the first and the end of a slice of its tokens. The components are the shapes of the
set's parts and of the rules called from them.
"""

from __future__ import annotations

from typing import Any

from .branch import BY_BYTE, NO_BRANCH, child_by_byte, expand_branch, find_child, limit, take
from .earley import complete, expand, step
from .jit import int64, kernel, linked
from .moves import known_move
from .parts import least_count, list_holes, symbolic_counter
from .scan import NO_PIVOT, first_step
from .sets import intern
from .tables import (
    DEAD,
    DEAD_ROW,
    FULL,
    HAS_EXIT,
    KEY_SIZE,
    LINK_DESCRIBE,
    LINK_FOLLOW,
    N_FOLLOWS,
    UNKNOWN,
    arena,
    branches,
    counters,
    follows,
    groups,
    head,
    holes,
    key,
    narrow,
    path,
    rules,
    sets,
    shapes,
)
from .worklist import STEP, Heap, begin, mix, push

ALL_UNITS = 1 << 29
"""A slice's upper bound that excludes nothing."""
NO_BUDGET = -1
NO_MASK = -1
LONG_FOLLOW = 32
"""More alive branches than this below one exit are remembered."""
END_WORD, COMPONENTS_WORD, FIRST_COMPONENT = 0, 1, 2
TRIPLE = 3


@kernel
def write_key(h: Heap, value: int) -> None:
    """Append to the description of a mask. What has no room is dropped; `describe` notices."""
    size = head(h)[KEY_SIZE]
    if size < len(key(h)):
        key(h)[size] = value
        head(h)[KEY_SIZE] = size + 1


@kernel
def units_left(h: Heap, counter: int, done: int) -> tuple[int, int]:
    """How many units more a counter must count at least and may count at most, with `done` done."""
    if counter < 0:
        return int64(0), int64(ALL_UNITS)
    bounds = counters(h)[counter]
    least = max(int64(0), bounds["minimum"] - done)
    most = int64(ALL_UNITS)
    if bounds["maximum"] >= 0:
        most = bounds["maximum"] - done
    return least, most


@kernel
def budget_of(h: Heap, shape: int, most: int) -> int:
    """What `most` units mean for the base of a shape: NO_BUDGET if all of it is allowed."""
    record = shapes(h)[shape]
    if not record["symbolic"] or most >= record["max_need"]:
        return NO_BUDGET
    return most


@linked(LINK_DESCRIBE)
def describe(h: Heap, number: int) -> int:
    """Write the description of a set's mask into `key`; `prepare` has done its components. Returns 0 or FULL."""
    record = sets(h)[number]
    head(h)[KEY_SIZE] = 0
    write_key(h, 1 if record["flags"] & HAS_EXIT else 0)
    write_key(h, 0)
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        describe_component(h, part)
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            describe_component(h, called(h, part, arena(h)[c]))
    key(h)[COMPONENTS_WORD] = (head(h)[KEY_SIZE] - FIRST_COMPONENT) // TRIPLE
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        if describe_exits(h, part) == FULL:
            return FULL
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            if describe_exits(h, called(h, part, arena(h)[c])) == FULL:
                return FULL
    return FULL if head(h)[KEY_SIZE] >= len(key(h)) else 0


@kernel
def called(h: Heap, part: int, rule: int) -> int:
    """The set of the beginning of a rule called from a part. FULL without room."""
    begin(h, STEP)
    push(h, STEP, rules(h)[rule], rule, part, 0)
    return intern(h)


@kernel
def component_units(h: Heap, component: int, shape: int) -> tuple[int, int]:
    """How many units more a component must and may count, if its shape is symbolic."""
    if not shapes(h)[shape]["symbolic"]:
        return int64(0), int64(ALL_UNITS)
    counter = symbolic_counter(h, component)
    return units_left(h, counter, least_count(h, component, counter))


@kernel
def describe_component(h: Heap, component: int) -> None:
    """Describe what the shape of a component contributes."""
    shape = int64(sets(h)[component]["shape"])
    _, most = component_units(h, component, shape)
    write_key(h, shape)
    write_key(h, budget_of(h, shape, most))
    pivot = shapes(h)[shape]["pivot"]
    write_key(h, NO_MASK if pivot == NO_PIVOT else sets(h)[first_step(h, shape, component, pivot)]["mask"])


@kernel
def describe_exits(h: Heap, component: int) -> int:
    """Describe what is alive below the exits of a component. Returns 0 or FULL."""
    shape = int64(sets(h)[component]["shape"])
    record = shapes(h)[shape]
    least, most = component_units(h, component, shape)
    used = list_holes(h, component)
    for g in range(record["group_first"], record["group_first"] + record["group_size"]):
        group = groups(h)[g]
        if group["hole"] < used:
            goal, origin = holes(h)[group["hole"], 0], holes(h)[group["hole"], 1]
            if leave(h, group, origin, goal, least, most) == FULL:
                return FULL
    return 0


@kernel
def leave(h: Heap, group: Any, origin: int, goal: int, least: int, most: int) -> int:
    """Describe what is alive below a group's exits once `goal` is completed for `origin`. Returns 0 or FULL."""
    branch = int64(group["branch"])
    if not group["counted"]:
        least, most = int64(0), int64(ALL_UNITS)
    after = complete(h, origin, goal)
    if after == FULL:
        return FULL
    if after == DEAD:
        return 0
    memo = follows(h)
    last = len(memo) - 1
    slot = mix(int64(branch) * 65599 + after) & last
    while memo[slot, 0] != 0:
        if memo[slot, 0] == branch + 1 and memo[slot, 1] == after:
            for i in range(memo[slot, 2], memo[slot, 2] + memo[slot, 3]):
                describe_branch(h, arena(h)[i], least, most)
            return 0
        slot = (slot + 1) & last
    size = follow(h, branch, after)
    if size == FULL:
        return FULL
    for i in range(size):
        describe_branch(h, path(h)[i, 0], least, most)
    if size <= limit(h, LONG_FOLLOW):
        return 0
    first = take(h, size)
    if first == FULL or 2 * head(h)[N_FOLLOWS] > last:
        return FULL
    for i in range(size):
        arena(h)[first + i] = path(h)[i, 0]
    memo[slot, 0] = branch + 1
    memo[slot, 1] = after
    memo[slot, 2] = first
    memo[slot, 3] = size
    head(h)[N_FOLLOWS] += 1
    return 0


@linked(LINK_FOLLOW)
def follow(h: Heap, branch: int, number: int) -> int:
    """Walk the branches below an exit from the set that follows it.

    Leaves the alive branches in the first column of `path` and returns how many, or FULL.
    """
    found = path(h)
    found[0, 0] = branch
    found[0, 1] = number
    size = 1
    done = 0
    while done < size:
        branch = found[done, 0]
        before = found[done, 1]
        done += 1
        if branches(h)[branch]["member_size"] == 0:
            continue
        if expand_branch(h, branch) == FULL or expand(h, before) == FULL:
            return FULL
        record = sets(h)[before]
        if record["row"] == DEAD_ROW:
            for i in range(record["narrow"]):
                size = follow_byte(h, branch, before, narrow(h)[before, i], size)
        elif branches(h)[branch]["child_size"] == BY_BYTE:
            for byte in range(256):
                size = follow_byte(h, branch, before, byte, size)
        else:
            first = branches(h)[branch]["child_first"]
            for c in range(branches(h)[branch]["child_size"]):
                size = follow_child(h, arena(h)[first + 2 * c + 1], before, arena(h)[first + 2 * c], size)
        if size == FULL:
            return FULL
    return size


@kernel
def follow_byte(h: Heap, branch: int, before: int, byte: int, size: int) -> int:
    """Follow one byte, if the branch has a child for it. The new size of `path`, or FULL."""
    if size == FULL or known_move(h, before, byte) == DEAD:
        return size
    if branches(h)[branch]["child_size"] == BY_BYTE:
        child = child_by_byte(h, branch, byte)
    else:
        child = find_child(h, branch, byte)
    if child == NO_BRANCH:
        return size
    return FULL if child == FULL else follow_child(h, child, before, byte, size)


@kernel
def follow_child(h: Heap, child: int, before: int, byte: int, size: int) -> int:
    """Put a child on `path`, with the set after its byte, if that is alive. The new size of `path`, or FULL."""
    if size == FULL:
        return FULL
    after = known_move(h, before, byte)
    if after == UNKNOWN:
        after = step(h, before, byte)
    if after == DEAD:
        return size
    if after == FULL or size >= len(path(h)):
        return FULL
    path(h)[size, 0] = child
    path(h)[size, 1] = after
    return size + 1


@kernel
def describe_branch(h: Heap, number: int, least: int, most: int) -> None:
    """Add to the description the tokens of an alive branch whose units lie in [least, most]."""
    branch = branches(h)[number]
    words = arena(h)
    first = int64(0)
    end = int64(branch["token_size"])
    while first < end and words[branch["token_first"] + 2 * first + 1] < least:
        first += 1
    while first < end and words[branch["token_first"] + 2 * end - 1] > most:
        end -= 1
    if first < end:
        write_key(h, number)
        write_key(h, first)
        write_key(h, end)
