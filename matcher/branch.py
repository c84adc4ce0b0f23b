"""Branches: the trie below many exits at once.

All exits of a shape into one hole go on from the same set, whatever the context, so their
subtrees are merged into one trie and walked together. A branch is a node of it: the trie
nodes it stands for (those with children; childless ones have done their part), and the
tokens that end there. Its children are worked out the first time a walk reaches it.

Where few bytes can follow, the children of a branch with many members are not merged: a child is worked
out for one byte at a time, by looking that up below each member. A text that may end anywhere has
exits all over the trie. Then the root branch keeps ranges of nodes, and all its children are worked out in this
way: by looking, for each node of that byte, whether its parent is in a range.

With a symbolic count, each exit has used some units. Members and tokens are kept in order of
units, so that a context with its bounds takes a slice.
"""

from __future__ import annotations

from typing import Any

from .jit import int64, kernel, linked
from .levels import NO_CHILD, find_byte
from .loops import ALONE, RISING
from .tables import (
    ARENA_STOP,
    FEATURES,
    FULL,
    LINK_CHILD_BY_BYTE,
    LINK_EXPAND_BRANCH,
    N_ARENA,
    N_BRANCHES,
    N_GROUPS,
    SMALL_LIMITS,
    arena,
    branches,
    byte_begin,
    child_bytes,
    children,
    exits,
    groups,
    head,
    nodes_of_byte,
    shapes,
    tallies,
    trie_ids,
    trie_nodes,
    trie_parent,
)
from .worklist import Heap, stop

LARGE = 2048
"""A group with exits at more trie nodes keeps them as ranges."""
SEVERAL = 8
"""A branch of at most so many members is expanded whatever can follow."""
UNEXPANDED, MEMBERS_BY_BYTE, RANGES_BY_BYTE = -1, -2, -3
"""Values of a branch's `child_size`. By byte: `child_first` is a table of 256 branches, each 0 until it is known."""
NO_BRANCH = -3
"""No child, and not one of the statuses of a kernel."""


@kernel
def limit(h: Heap, usual: int) -> int:
    """A limit between small and large, which tests lower to meet both cases."""
    return min(usual, 2) if head(h)[FEATURES] & SMALL_LIMITS else usual


@kernel
def take(h: Heap, size: int) -> int:
    """Take `size` free words of the arena. Returns the first, or FULL."""
    first = head(h)[N_ARENA]
    if first + size > len(arena(h)):
        return FULL
    if first + size > head(h)[ARENA_STOP]:
        return stop(h)
    head(h)[N_ARENA] = first + size
    return first


# ── Roots ───────────────────────────────────────────────────────────────────────────────


@kernel
def store_groups(h: Heap, shape: int, n_exits: int) -> int:
    """Group the exits by hole and counting, each group a root branch. Returns 0 or FULL."""
    most_hole = -1
    for x in range(n_exits):
        most_hole = max(most_hole, int64(exits(h)[x, 2]))
    first = head(h)[N_GROUPS]
    for hole in range(most_hole + 1):
        for counted in range(2):
            if store_root(h, hole, counted, n_exits) == FULL:
                return FULL
    shapes(h)[shape]["group_first"] = first
    shapes(h)[shape]["group_size"] = head(h)[N_GROUPS] - first
    return 0


@kernel
def store_root(h: Heap, hole: int, counted: int, n_exits: int) -> int:
    """Store the exits of one group, if there are any. Returns 0 or FULL."""
    ranges = int64(0)
    nodes = int64(0)
    end = int64(0)
    apart = True  # with units of several lengths, a node may have exits after different numbers of them
    for x in range(n_exits):
        if exits(h)[x, 2] == hole and exits(h)[x, 3] == counted:
            ranges += 1
            nodes += exits(h)[x, 1] - exits(h)[x, 0]
            apart = apart and exits(h)[x, 0] >= end
            end = int64(exits(h)[x, 1])
    if ranges == 0:
        return 0
    branch = head(h)[N_BRANCHES]
    if branch >= len(branches(h)) or head(h)[N_GROUPS] >= len(groups(h)):
        return FULL
    if nodes > limit(h, LARGE) and apart:
        status = store_ranges(h, branch, hole, counted, n_exits, ranges)
    else:
        status = store_members(h, branch, hole, counted, n_exits, nodes)
    if status == FULL:
        return FULL
    branches(h)[branch]["token_size"] = 0
    head(h)[N_BRANCHES] = branch + 1
    group = groups(h)[head(h)[N_GROUPS]]
    group["hole"] = hole
    group["counted"] = counted
    group["branch"] = branch
    head(h)[N_GROUPS] += 1
    return 0


@kernel
def store_ranges(h: Heap, branch: int, hole: int, counted: int, n_exits: int, ranges: int) -> int:
    """A root branch of many exits: (first node, end, units, mode), in order of nodes. Returns 0 or FULL."""
    first = take(h, 4 * ranges)
    if first == FULL or open_table(h, branch, RANGES_BY_BYTE) == FULL:
        return FULL
    words = arena(h)
    at = first
    for x in range(n_exits):
        if exits(h)[x, 2] == hole and exits(h)[x, 3] == counted:
            words[at] = exits(h)[x, 0]
            words[at + 1] = exits(h)[x, 1]
            words[at + 2] = exits(h)[x, 4]
            words[at + 3] = exits(h)[x, 5]
            at += 4
    record = branches(h)[branch]
    record["member_first"] = first
    record["member_size"] = ranges
    return 0


@kernel
def open_table(h: Heap, branch: int, kind: int) -> int:
    """Let the children of a branch be worked out by byte. Returns 0 or FULL."""
    table = take(h, 256)
    if table == FULL:
        return FULL
    for byte in range(256):
        arena(h)[table + byte] = 0
    branches(h)[branch]["child_first"] = table
    branches(h)[branch]["child_size"] = kind
    return 0


@kernel
def units_at(h: Heap, node: int, units: int, mode: int) -> int:
    """The units at a trie node of a range of exits; -1 if there is no exit, since it is inside a character."""
    if mode == ALONE:
        return int64(units)
    if trie_nodes(h)[node]["way"] != 0:
        return int64(-1)
    return int64(units + trie_nodes(h)[node]["begun"]) if mode == RISING else int64(units)


@kernel
def store_members(h: Heap, branch: int, hole: int, counted: int, n_exits: int, nodes: int) -> int:
    """A root branch of few exits: pairs (node, units) in order of units (counting sort). Returns 0 or FULL."""
    starts = tallies(h)
    first = take(h, 2 * nodes)
    if first == FULL:
        return FULL
    most = int64(-1)
    for x in range(n_exits):
        if exits(h)[x, 2] == hole and exits(h)[x, 3] == counted:
            for node in range(exits(h)[x, 0], exits(h)[x, 1]):
                units = units_at(h, node, exits(h)[x, 4], exits(h)[x, 5])
                if units >= 0:
                    while most < units:
                        most += 1
                        starts[most, 0] = 0
                    starts[units, 0] += 1
    size = int64(0)
    for u in range(most + 1):
        more = starts[u, 0]
        starts[u, 0] = size
        size += more
    for x in range(n_exits):
        if exits(h)[x, 2] == hole and exits(h)[x, 3] == counted:
            for node in range(exits(h)[x, 0], exits(h)[x, 1]):
                units = units_at(h, node, exits(h)[x, 4], exits(h)[x, 5])
                if units >= 0:
                    at = first + 2 * starts[units, 0]
                    starts[units, 0] += 1
                    arena(h)[at] = node
                    arena(h)[at + 1] = units
    record = branches(h)[branch]
    record["member_first"] = first
    record["member_size"] = size
    record["child_size"] = UNEXPANDED
    return 0


# ── Children ────────────────────────────────────────────────────────────────────────────

MEMBERS, TOKENS = 0, 1
"""Columns of `tallies`: of each byte's branch, first how many members and tokens, then (MEMBERS) its number."""


@kernel
def find_child(h: Heap, number: int, byte: int) -> int:
    """The child of an expanded branch for a byte, or NO_BRANCH (binary search)."""
    branch = branches(h)[number]
    low = int64(0)
    high = int64(branch["child_size"])
    while low < high:
        middle = (low + high) // 2
        at = arena(h)[branch["child_first"] + 2 * middle]
        if at == byte:
            return int64(arena(h)[branch["child_first"] + 2 * middle + 1])
        if at < byte:
            low = middle + 1
        else:
            high = middle
    return NO_BRANCH


@linked(LINK_EXPAND_BRANCH)
def expand_branch(h: Heap, number: int, few: int) -> int:
    """Merge the children of all members of a branch by their bytes. Returns 0 or FULL.

    Where `few` bytes can follow, those of many members are left to `child_by_byte`.
    """
    branch = branches(h)[number]
    if branch["child_size"] != UNEXPANDED:
        return 0
    if few and branch["member_size"] > limit(h, SEVERAL):
        return open_table(h, number, MEMBERS_BY_BYTE)
    if branch["member_size"] == 1:
        return expand_only_member(h, number)
    count_children(h, number)
    tally = tallies(h)
    used = 0
    for byte in range(256):
        if tally[byte, MEMBERS] + tally[byte, TOKENS] > 0:
            used += 1
    child_first = take(h, 2 * used)
    first_branch = head(h)[N_BRANCHES]
    if child_first == FULL or first_branch + used > len(branches(h)):
        return FULL
    c = 0
    for byte in range(256):
        if tally[byte, MEMBERS] + tally[byte, TOKENS] > 0:
            if new_branch(h, first_branch + c, tally[byte, MEMBERS], tally[byte, TOKENS]) == FULL:
                return FULL
            arena(h)[child_first + 2 * c] = byte
            arena(h)[child_first + 2 * c + 1] = first_branch + c
            tally[byte, MEMBERS] = first_branch + c
            c += 1
    fill_children(h, number)
    branch["child_first"] = child_first
    branch["child_size"] = used
    head(h)[N_BRANCHES] = first_branch + used
    return 0


@kernel
def expand_only_member(h: Heap, number: int) -> int:
    """The same where nothing is to be merged, as below most branches: the children are those of the trie, in order."""
    branch = branches(h)[number]
    node = arena(h)[branch["member_first"]]
    units = arena(h)[branch["member_first"] + 1]
    first = int64(trie_nodes(h)[node]["first_child"])
    size = trie_nodes(h)[node + 1]["first_child"] - first
    first_branch = head(h)[N_BRANCHES]
    child_first = take(h, 2 * size)
    if child_first == FULL or first_branch + size > len(branches(h)):
        return FULL
    for c in range(size):
        child = children(h)[first + c]
        members = int64(child["end"] > child["node"] + 1)
        if new_branch(h, first_branch + c, members, int64(child["end_own"] - child["first_token"])) == FULL:
            return FULL
        add_child(h, first_branch + c, child, units)
        arena(h)[child_first + 2 * c] = child_bytes(h)[first + c]
        arena(h)[child_first + 2 * c + 1] = first_branch + c
    branch["child_first"] = child_first
    branch["child_size"] = size
    head(h)[N_BRANCHES] = first_branch + size
    return 0


@kernel
def new_branch(h: Heap, number: int, members: int, tokens: int) -> int:
    """An empty branch with room for so many members and tokens. Returns 0 or FULL."""
    member_first = take(h, 2 * members)
    token_first = take(h, 2 * tokens)
    if member_first == FULL or token_first == FULL:
        return FULL
    record = branches(h)[number]
    record["member_first"] = member_first
    record["member_size"] = 0
    record["token_first"] = token_first
    record["token_size"] = 0
    record["child_size"] = UNEXPANDED
    return 0


@kernel
def add_child(h: Heap, branch: int, child: Any, units: int) -> None:
    """Put a child into a branch that has room for it: as a member if it has children itself, and its tokens."""
    words = arena(h)
    into = branches(h)[branch]
    if child["end"] > child["node"] + 1:
        words[into["member_first"] + 2 * into["member_size"]] = child["node"]
        words[into["member_first"] + 2 * into["member_size"] + 1] = units
        into["member_size"] += 1
    for t in range(child["first_token"], child["end_own"]):
        words[into["token_first"] + 2 * into["token_size"]] = trie_ids(h)[t]
        words[into["token_first"] + 2 * into["token_size"] + 1] = units
        into["token_size"] += 1


@kernel
def count_children(h: Heap, number: int) -> None:
    """Count, for each byte, the children of a branch's members that have children or tokens."""
    branch = branches(h)[number]
    tally = tallies(h)
    for byte in range(256):
        tally[byte, MEMBERS] = 0
        tally[byte, TOKENS] = 0
    for m in range(branch["member_size"]):
        node = arena(h)[branch["member_first"] + 2 * m]
        for c in range(trie_nodes(h)[node]["first_child"], trie_nodes(h)[node + 1]["first_child"]):
            byte = child_bytes(h)[c]
            child = children(h)[c]
            if child["end"] > child["node"] + 1:
                tally[byte, MEMBERS] += 1
            tally[byte, TOKENS] += child["end_own"] - child["first_token"]


@kernel
def fill_children(h: Heap, number: int) -> None:
    """Hand the children of a branch's members to the branches of their bytes, in order of units."""
    branch = branches(h)[number]
    for m in range(branch["member_size"]):
        node = arena(h)[branch["member_first"] + 2 * m]
        units = arena(h)[branch["member_first"] + 2 * m + 1]
        for c in range(trie_nodes(h)[node]["first_child"], trie_nodes(h)[node + 1]["first_child"]):
            add_child(h, tallies(h)[child_bytes(h)[c], MEMBERS], children(h)[c], units)


# ── Children by byte ────────────────────────────────────────────────────────────────────


@linked(LINK_CHILD_BY_BYTE)
def child_by_byte(h: Heap, number: int, byte: int) -> int:
    """The child for a byte, or NO_BRANCH, of a branch with a table; worked out once. FULL without room."""
    place = branches(h)[number]["child_first"] + byte
    known = int64(arena(h)[place])
    if known != 0:
        return known
    in_ranges = branches(h)[number]["child_size"] == RANGES_BY_BYTE
    members, tokens = count_nodes(h, number, byte) if in_ranges else count_below(h, number, byte)
    child = head(h)[N_BRANCHES]
    if members + tokens == 0:
        arena(h)[place] = NO_BRANCH
        return NO_BRANCH
    if child >= len(branches(h)) or new_branch(h, child, members, tokens) == FULL:
        return FULL
    head(h)[N_BRANCHES] = child + 1
    if in_ranges:
        place_nodes(h, number, byte, child, members, tokens)
    else:
        place_below(h, number, byte, child)
    arena(h)[place] = child
    return child


@kernel
def find_below(h: Heap, node: int, byte: int) -> int:
    """The place of a byte among the children of a trie node, or NO_CHILD."""
    return find_byte(h, int64(trie_nodes(h)[node]["first_child"]), int64(trie_nodes(h)[node + 1]["first_child"]), byte)


@kernel
def count_below(h: Heap, number: int, byte: int) -> tuple[int, int]:
    """Count the members and tokens of the child of a branch of members."""
    branch = branches(h)[number]
    members = int64(0)
    tokens = int64(0)
    for m in range(branch["member_first"], branch["member_first"] + 2 * branch["member_size"], 2):
        place = find_below(h, int64(arena(h)[m]), byte)
        if place != NO_CHILD:
            child = children(h)[place]
            members += child["end"] > child["node"] + 1
            tokens += child["end_own"] - child["first_token"]
    return members, tokens


@kernel
def place_below(h: Heap, number: int, byte: int, child: int) -> None:
    """Put the nodes of a byte below the members of a branch into its child, in order of units."""
    branch = branches(h)[number]
    for m in range(branch["member_first"], branch["member_first"] + 2 * branch["member_size"], 2):
        place = find_below(h, int64(arena(h)[m]), byte)
        if place != NO_CHILD:
            add_child(h, child, children(h)[place], arena(h)[m + 1])


@kernel
def range_of(h: Heap, number: int, node: int) -> int:
    """The units at a node that is in a range of a large root, or -1 (binary search)."""
    branch = branches(h)[number]
    words = arena(h)
    low = int64(0)
    high = int64(branch["member_size"])
    while low < high:
        middle = (low + high) // 2
        at = branch["member_first"] + 4 * middle
        if node < words[at]:
            high = middle
        elif node >= words[at + 1]:
            low = middle + 1
        else:
            return units_at(h, node, words[at + 2], words[at + 3])
    return int64(-1)


@kernel
def count_nodes(h: Heap, number: int, byte: int) -> tuple[int, int]:
    """Count the members and tokens of a large root's child, and leave in `tallies` where each unit's begin."""
    starts = tallies(h)
    for u in range(len(starts)):
        starts[u, MEMBERS] = 0
        starts[u, TOKENS] = 0
    for n in range(byte_begin(h)[byte], byte_begin(h)[byte + 1]):
        node = nodes_of_byte(h)[n]
        units = range_of(h, number, trie_parent(h)[node])
        if units >= 0:
            if trie_nodes(h)[node]["end"] > node + 1:
                starts[units, MEMBERS] += 1
            starts[units, TOKENS] += trie_nodes(h)[node + 1]["first_token"] - trie_nodes(h)[node]["first_token"]
    members = int64(0)
    tokens = int64(0)
    for u in range(len(starts)):
        more_members = starts[u, MEMBERS]
        more_tokens = starts[u, TOKENS]
        starts[u, MEMBERS] = members
        starts[u, TOKENS] = tokens
        members += more_members
        tokens += more_tokens
    return members, tokens


@kernel
def place_nodes(h: Heap, number: int, byte: int, child: int, members: int, tokens: int) -> None:
    """Put the nodes of a byte below a large root into its child, each at the next place of its units."""
    starts = tallies(h)
    into = branches(h)[child]
    words = arena(h)
    for n in range(byte_begin(h)[byte], byte_begin(h)[byte + 1]):
        node = nodes_of_byte(h)[n]
        units = range_of(h, number, trie_parent(h)[node])
        if units < 0:
            continue
        if trie_nodes(h)[node]["end"] > node + 1:
            at = into["member_first"] + 2 * starts[units, MEMBERS]
            words[at] = node
            words[at + 1] = units
            starts[units, MEMBERS] += 1
        for t in range(trie_nodes(h)[node]["first_token"], trie_nodes(h)[node + 1]["first_token"]):
            at = into["token_first"] + 2 * starts[units, TOKENS]
            words[at] = trie_ids(h)[t]
            words[at + 1] = units
            starts[units, TOKENS] += 1
    into["member_size"] = members
    into["token_size"] = tokens
