"""Describing a mask: a short list of integers that determines it.

A set's shape (`matcher.shape`) says what it allows as far as its context does not matter.
The rest is worked out here:

* For each exit into a hole, complete the hole's goal in its real origin. What the set that follows
  allows below the exit is a *tail* (`matcher.tails`), which has exits again.
* For each rule called from the start, the same with the shape of its beginning.
* With a symbolic count, let the set have done c units. A token that needs u more is legal if
  c + u <= maximum; leaving after u units, if also minimum <= c + u. Tokens are sorted by u,
  so each context takes a slice: no work grows with the bounds.

The description is 1 if the text may end, the number of components, three words for each
component (shape, budget, mask of its pivot), then four for each tail with tokens: its number, its budget,
and the least and the most units that its tokens may have used. The components are the shapes of the
set's parts and of the rules called from them.
"""

from __future__ import annotations

from .calls import called, first_step
from .earley import complete
from .jit import int64, kernel, linked
from .parts import divide, least_count, list_holes, symbolic_counter
from .scan import NO_PIVOT
from .tables import (
    DEAD,
    FULL,
    HAS_EXIT,
    KEY_SIZE,
    LINK_DESCRIBE,
    LINK_DESCRIBE_BELOW,
    arena,
    below,
    counters,
    groups,
    head,
    holes,
    key,
    sets,
    shapes,
    tails,
)
from .tails import tail_of
from .worklist import Heap, stop

ALL_UNITS = 1 << 29
"""A slice's upper bound that excludes nothing."""
NO_BUDGET = -1
NO_MASK = -1
END_WORD, COMPONENTS_WORD, FIRST_COMPONENT = 0, 1, 2
TRIPLE, QUAD = 3, 4


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
    return stop(h) if head(h)[KEY_SIZE] >= len(key(h)) else 0


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
    write_key(h, NO_MASK if pivot == NO_PIVOT else sets(h)[pivot_set(h, shape, component)]["mask"])


@kernel
def pivot_set(h: Heap, shape: int, component: int) -> int:
    """The set of a component's pivot, which is that of its shape in context. FULL without room."""
    record = shapes(h)[shape]
    return first_step(h, component, record["pivot"], record["call_first"], record["call_size"])


@kernel
def describe_exits(h: Heap, component: int) -> int:
    """Describe what is alive below the exits of a component. Returns 0 or FULL."""
    shape = int64(sets(h)[component]["shape"])
    record = shapes(h)[shape]
    least, most = component_units(h, component, shape)
    for g in range(record["group_first"], record["group_first"] + record["group_size"]):
        group = groups(h)[g]
        if group["hole"] < list_holes(h, component):  # once more: describing a tail lists others
            goal, origin = holes(h)[group["hole"], 0], holes(h)[group["hole"], 1]
            after = complete(h, origin, goal)
            if after == FULL:
                return FULL
            if after != DEAD and group["counted"]:
                after = describe_below(h, group["branch"], after, least, most)
            elif after != DEAD:
                after = describe_below(h, group["branch"], after, 0, ALL_UNITS)
            if after == FULL:
                return FULL
    return 0


@linked(LINK_DESCRIBE_BELOW)
def describe_below(h: Heap, branch: int, number: int, least: int, most: int) -> int:
    """Describe what a set allows below a branch, with tokens that have used `least` to `most` units. 0 or FULL.

    Its parts have tails there; what is completed in a tail leads to further sets, below inner branches.
    """
    size = add_below(h, branch, number, 0)
    done = 0
    while done < size:
        branch = int64(below(h)[done, 0])
        number = int64(below(h)[done, 1])
        done += 1
        if divide(h, number) == FULL:
            return FULL
        record = sets(h)[number]
        for p in range(record["part_first"], record["part_first"] + record["part_size"]):
            part = int64(arena(h)[p])
            tail = tail_of(h, branch, part)
            if tail == FULL:
                return FULL
            size = describe_tail(h, tail, part, least, most, size)
            for c in range(tails(h)[tail]["call_first"], tails(h)[tail]["call_first"] + tails(h)[tail]["call_size"]):
                start = called(h, part, arena(h)[c])
                tail_of_call = int64(FULL)
                if start != FULL and size != FULL:
                    tail_of_call = tail_of(h, branch, start)
                if tail_of_call == FULL:
                    return FULL
                size = describe_tail(h, tail_of_call, start, least, most, size)
            if size == FULL:
                return FULL
    return 0


@kernel
def add_below(h: Heap, branch: int, number: int, size: int) -> int:
    """Note a branch and a set that are to be described, unless they are noted. How many there are now, or FULL."""
    todo = below(h)
    for i in range(size):
        if todo[i, 0] == branch and todo[i, 1] == number:
            return size
    if size >= len(todo):
        return stop(h)
    todo[size, 0] = branch
    todo[size, 1] = number
    return size + 1


@kernel
def describe_tail(h: Heap, tail: int, component: int, least: int, most: int, size: int) -> int:
    """Describe what the tail of a component contributes, and note what is below its exits. The new size or FULL.

    `least` and `most` are about the units of tokens, before the exit; the component may have a counter of its own.
    """
    if size == FULL:
        return FULL
    record = tails(h)[tail]
    own_least, own_most = int64(0), int64(ALL_UNITS)
    if record["symbolic"]:
        counter = symbolic_counter(h, component)
        own_least, own_most = units_left(h, counter, least_count(h, component, counter))
    if record["alive_size"] > 0 and least <= record["most_units"] and most >= record["least_units"]:
        write_key(h, tail)
        write_key(h, NO_BUDGET if own_most >= record["max_need"] else own_most)
        write_key(h, max(least, int64(record["least_units"])))
        write_key(h, min(most, int64(record["most_units"])))
    used = list_holes(h, component)
    for x in range(record["exit_first"], record["exit_first"] + 4 * record["exit_size"], 4):
        hole = int64(arena(h)[x + 1])
        units = int64(arena(h)[x + 3])
        if hole >= used or (arena(h)[x + 2] and not own_least <= units <= own_most):
            continue
        after = complete(h, holes(h)[hole, 1], holes(h)[hole, 0])
        if after == FULL:
            return FULL
        if after != DEAD:
            size = add_below(h, arena(h)[x], after, size)
            if size == FULL:
                return FULL
    return size
