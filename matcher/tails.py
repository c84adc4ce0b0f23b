"""Tails: what an abstract set allows below a branch, worked out once for all contexts.

What a shape is for the whole trie, a tail is for the part of it below an exit: which inner branches are alive,
with the units that they need, and where a frame is completed into a hole again. So the text after one closing
quote is walked once, whatever surrounds the string, and however often a counter has counted.
"""

from __future__ import annotations

from .branch import NO_BRANCH, UNEXPANDED, child_by_byte, expand_branch, find_child, new_branch, take
from .calls import first_step, list_calls
from .earley import expand, know_tokens, step
from .jit import entry, int64, kernel, linked
from .moves import known_move
from .parts import abstract, symbolic_counter
from .sets import intern
from .tables import (
    DEAD,
    DEAD_ROW,
    EXIT,
    FULL,
    HAS_EXIT,
    LINK_WALK_TAIL,
    N_ARENA,
    N_BRANCHES,
    N_SHAPES,
    N_TAILS,
    SYMBOLIC,
    TAILS_STOP,
    UNKNOWN,
    arena,
    branches,
    exits,
    head,
    items,
    narrow,
    path,
    sets,
    shapes,
    tail_index,
    tails,
    tallies,
)
from .worklist import STEP, Heap, begin, mix, push, stop

NEED, UNITS = 0, 1
"""Columns of `tallies`."""
EXIT_BRANCH, HOLE, COUNTED, UNITS_AT_EXIT, OPEN = 0, 1, 2, 3, 4
"""Columns of `exits` here."""


@kernel
def tail_of(h: Heap, branch: int, component: int) -> int:
    """The tail of a component below a branch, walked if it is new. FULL without room."""
    if know_tokens(h, component) == FULL:
        return FULL
    counter = symbolic_counter(h, component)
    image = abstract(h, component, counter)
    if image == FULL:
        return FULL
    index = tail_index(h)
    last = len(index) - 1
    slot = mix(int64(branch) * 65599 + image) & last
    while index[slot] != 0:
        record = tails(h)[index[slot] - 1]
        if record["branch"] == branch and record["set"] == image:
            return int64(index[slot] - 1)
        slot = (slot + 1) & last
    tail = walk_tail(h, branch, image, 1 if counter >= 0 else 0)
    if tail != FULL:
        enter_tail(h, tail)
    return tail


@entry
def carry_over(h: Heap, old: Heap) -> int:
    """Make the abstract sets of all shapes and tails, which two heaps share, known to a new heap. Returns 0 or FULL.

    They have holes for origins, so their items are the same everywhere.
    """
    for shape in range(head(h)[N_SHAPES]):
        image = shapes(h)[shape]["set"]
        if image != DEAD:
            image = adopt_from(h, old, image)
        if image == FULL:
            return FULL
        sets(h)[image]["shape"] = shape
        shapes(h)[shape]["set"] = image
    for tail in range(head(h)[N_TAILS]):
        image = adopt_from(h, old, tails(h)[tail]["set"])
        if image == FULL:
            return FULL
        tails(h)[tail]["set"] = image
        enter_tail(h, tail)
    return 0


@kernel
def adopt_from(h: Heap, old: Heap, number: int) -> int:
    """The number that a set of another heap, without origins, has in this one. FULL without room."""
    begin(h, STEP)
    record = sets(old)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(old)[i]
        push(h, STEP, item["state"], item["goal"], item["origin"], item["count"])
    return intern(h)


@kernel
def enter_tail(h: Heap, tail: int) -> None:
    """Enter a new tail into the index, which is never more than half full."""
    record = tails(h)[tail]
    index = tail_index(h)
    last = len(index) - 1
    slot = mix(int64(record["branch"]) * 65599 + record["set"]) & last
    while index[slot] != 0:
        slot = (slot + 1) & last
    index[slot] = tail + 1


@linked(LINK_WALK_TAIL)
def walk_tail(h: Heap, branch: int, image: int, symbolic: int) -> int:
    """Walk the branches below a branch from an abstract set. Returns the new tail, or FULL."""
    tail = head(h)[N_TAILS]
    if tail >= len(tails(h)):
        return FULL
    if tail >= head(h)[TAILS_STOP]:
        return stop(h)
    record = tails(h)[tail]
    record["branch"] = branch
    record["set"] = image
    record["symbolic"] = symbolic
    record["call_first"] = head(h)[N_ARENA]
    record["call_size"] = list_calls(h, image)
    if record["call_size"] == FULL:
        return FULL
    size = find_alive(h, branch, image, record["call_first"], record["call_size"])
    if size == FULL or keep_alive(h, tail, size) == FULL or keep_exits(h, tail, size) == FULL:
        return FULL
    head(h)[N_TAILS] = tail + 1
    return tail


@kernel
def find_alive(h: Heap, branch: int, image: int, call_first: int, call_size: int) -> int:
    """Fill `path` with the alive branches and the sets there; the start comes first. Returns how many, or FULL."""
    found = path(h)
    found[0, 0] = branch
    found[0, 1] = image
    size = int64(1)
    done = 0
    while done < size:
        branch = int64(found[done, 0])
        before = int64(found[done, 1])
        done += 1
        if branches(h)[branch]["member_size"] == 0:
            continue
        if expand(h, before) == FULL:
            return FULL
        record = sets(h)[before]
        if expand_branch(h, branch, int64(record["row"] == DEAD_ROW)) == FULL:
            return FULL
        start = image if done == 1 else int64(DEAD)
        if record["row"] == DEAD_ROW:
            for i in range(record["narrow"]):
                size = follow_byte(h, branch, before, narrow(h)[before, i], size, start, call_first, call_size)
        elif branches(h)[branch]["child_size"] < UNEXPANDED:
            for byte in range(256):
                size = follow_byte(h, branch, before, byte, size, start, call_first, call_size)
        else:
            first = branches(h)[branch]["child_first"]
            for c in range(branches(h)[branch]["child_size"]):
                child = int64(arena(h)[first + 2 * c + 1])
                byte = int64(arena(h)[first + 2 * c])
                size = follow_child(h, child, before, byte, size, start, call_first, call_size)
        if size == FULL:
            return FULL
    return size


@kernel
def follow_byte(
    h: Heap, branch: int, before: int, byte: int, size: int, image: int, call_first: int, call_size: int
) -> int:
    """Follow one byte, if the branch has a child for it. The new size of `path`, or FULL."""
    if size == FULL or known_move(h, before, byte) == DEAD:
        return size
    if branches(h)[branch]["child_size"] < UNEXPANDED:
        child = child_by_byte(h, branch, byte)
    else:
        child = find_child(h, branch, byte)
    if child == NO_BRANCH:
        return size
    if child == FULL:
        return FULL
    return follow_child(h, child, before, byte, size, image, call_first, call_size)


@kernel
def follow_child(
    h: Heap, child: int, before: int, byte: int, size: int, image: int, call_first: int, call_size: int
) -> int:
    """Put a child on `path`, with the set after its byte, if that is alive. The new size of `path`, or FULL.

    From the start, `image` (DEAD elsewhere), the calls are left out.
    """
    if size == FULL:
        return FULL
    after = known_move(h, before, byte)
    if after == UNKNOWN:
        after = step(h, before, byte)
    if before == image and after != DEAD and after != FULL:
        after = first_step(h, image, byte, call_first, call_size)
    if after == DEAD:
        return size
    if after == FULL:
        return FULL
    if size >= len(path(h)):
        return stop(h)
    path(h)[size, 0] = child
    path(h)[size, 1] = after
    return size + 1


@kernel
def keep_alive(h: Heap, tail: int, size: int) -> int:
    """Store which branches with tokens are alive, in order of need (counting sort). Returns 0 or FULL."""
    record = tails(h)[tail]
    starts = tallies(h)
    most = int64(-1)
    alive = int64(0)
    tokens = int64(0)
    least_units = int64(SYMBOLIC)
    most_units = int64(0)
    for i in range(1, size):
        branch = branches(h)[path(h)[i, 0]]
        if branch["token_size"] == 0:
            continue
        need = int64(sets(h)[path(h)[i, 1]]["need"])
        while most < need:
            most += 1
            starts[most, NEED] = 0
        starts[need, NEED] += 1
        alive += 1
        tokens += branch["token_size"]
        least_units = min(least_units, int64(arena(h)[branch["token_first"] + 1]))
        most_units = max(most_units, int64(arena(h)[branch["token_first"] + 2 * branch["token_size"] - 1]))
    first = take(h, 2 * alive)
    if first == FULL:
        return FULL
    at = int64(0)
    for need in range(most + 1):
        more = starts[need, NEED]
        starts[need, NEED] = at
        at += more
    for i in range(1, size):
        if branches(h)[path(h)[i, 0]]["token_size"] > 0:
            need = int64(sets(h)[path(h)[i, 1]]["need"])
            at = first + 2 * starts[need, NEED]
            starts[need, NEED] += 1
            arena(h)[at] = path(h)[i, 0]
            arena(h)[at + 1] = need
    record["alive_first"] = first
    record["alive_size"] = alive
    record["tokens"] = tokens
    record["max_need"] = max(most, int64(0))
    record["least_units"] = least_units
    record["most_units"] = most_units
    return 0


# ── Exits of a tail ─────────────────────────────────────────────────────────────────────


@kernel
def keep_exits(h: Heap, tail: int, size: int) -> int:
    """Store where a frame is completed into a hole and tokens go on. Returns 0 or FULL.

    All exits into one hole with equal units go on alike, so their branches are merged into one.
    """
    record = tails(h)[tail]
    n = gather_exits(h, size)
    if n == FULL:
        return FULL
    groups_of = exits(h)
    record["exit_size"] = 0
    for x in range(n):
        if groups_of[x, OPEN]:
            record["exit_size"] += 1
            groups_of[x, EXIT_BRANCH] = merge_exits(h, x, n)
            if groups_of[x, EXIT_BRANCH] == FULL:
                return FULL
    at = take(h, 4 * record["exit_size"])
    if at == FULL:
        return FULL
    record["exit_first"] = at
    for x in range(n):
        if groups_of[x, OPEN]:
            for column in range(4):
                arena(h)[at + column] = groups_of[x, column]
            at += 4
    return 0


@kernel
def gather_exits(h: Heap, size: int) -> int:
    """Fill `exits` with (branch, hole, counted, units, open) of the walk in `path`. Returns how many, or FULL."""
    out = exits(h)
    n = int64(0)
    for i in range(1, size):
        reached = sets(h)[path(h)[i, 1]]
        if not reached["flags"] & HAS_EXIT or branches(h)[path(h)[i, 0]]["member_size"] == 0:
            continue
        for k in range(reached["first"], reached["first"] + reached["size"]):
            item = items(h)[k]
            if item["state"] == EXIT:
                if n >= len(out):
                    return stop(h)
                counted = item["count"] >= SYMBOLIC
                out[n, EXIT_BRANCH] = path(h)[i, 0]
                out[n, HOLE] = -1 - item["origin"]
                out[n, COUNTED] = counted
                out[n, UNITS_AT_EXIT] = item["count"] - SYMBOLIC if counted else 0
                out[n, OPEN] = 1
                n += 1
    return n


@kernel
def is_alike(h: Heap, x: int, y: int) -> bool:
    """Whether two exits go on alike."""
    a = exits(h)[x]
    b = exits(h)[y]
    return bool(a[HOLE] == b[HOLE] and a[COUNTED] == b[COUNTED] and a[UNITS_AT_EXIT] == b[UNITS_AT_EXIT])


@kernel
def merge_exits(h: Heap, x: int, n: int) -> int:
    """The branch for exit x and all later ones like it, which are closed. FULL without room."""
    group = exits(h)
    starts = tallies(h)
    members = int64(0)
    alike = 0
    most = int64(-1)
    for y in range(x, n):
        if group[y, OPEN] and is_alike(h, x, y):
            alike += 1
            branch = branches(h)[group[y, EXIT_BRANCH]]
            members += branch["member_size"]
            for m in range(branch["member_first"], branch["member_first"] + 2 * branch["member_size"], 2):
                while most < arena(h)[m + 1]:
                    most += 1
                    starts[most, UNITS] = 0
                starts[arena(h)[m + 1], UNITS] += 1
    if alike == 1:
        return int64(group[x, EXIT_BRANCH])
    merged = head(h)[N_BRANCHES]
    if merged >= len(branches(h)) or new_branch(h, merged, members, 0) == FULL:
        return FULL
    head(h)[N_BRANCHES] = merged + 1
    branches(h)[merged]["member_size"] = members
    first = branches(h)[merged]["member_first"]
    place = int64(0)
    for units in range(most + 1):
        more = starts[units, UNITS]
        starts[units, UNITS] = place
        place += more
    for y in range(x, n):
        if group[y, OPEN] and is_alike(h, x, y):
            branch = branches(h)[group[y, EXIT_BRANCH]]
            for m in range(branch["member_first"], branch["member_first"] + 2 * branch["member_size"], 2):
                units = arena(h)[m + 1]
                at = first + 2 * starts[units, UNITS]
                starts[units, UNITS] += 1
                arena(h)[at] = arena(h)[m]
                arena(h)[at + 1] = units
            if y > x:
                group[y, OPEN] = 0
    return merged
