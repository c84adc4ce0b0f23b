"""Branches: the trie below many exits at once.

All exits of a shape into one hole go on from the same set, whatever the context, so their
subtrees are merged into one trie and walked together. A branch is a node of it: the trie
nodes it stands for (those with children; childless ones have done their part), and the
tokens that end there. Its children are worked out the first time a walk reaches it.

With a symbolic count, each exit has used some units. Members and tokens are kept in order of
units, so that a context with its bounds takes a slice.
"""

from __future__ import annotations

from .earley import Heap
from .jit import int64, kernel
from .tables import (
    FULL,
    N_ARENA,
    N_BRANCHES,
    N_GROUPS,
    arena,
    branches,
    exits,
    groups,
    head,
    shapes,
    tallies,
    trie_byte,
    trie_end,
    trie_ids,
    trie_tokens,
)


@kernel
def take(h: Heap, size: int) -> int:
    """Take `size` free words of the arena. Returns the first, or FULL."""
    first = head(h)[N_ARENA]
    if first + size > len(arena(h)):
        return FULL
    head(h)[N_ARENA] = first + size
    return first


@kernel
def store_groups(h: Heap, shape: int, n_exits: int) -> int:
    """Group the exits by hole and counting, each group in order of units, as root branches. 0 or FULL."""
    most_hole = -1
    most_units = 0
    for x in range(n_exits):
        most_hole = max(most_hole, int64(exits(h)[x, 1]))
        most_units = max(most_units, int64(exits(h)[x, 3]))
    first = head(h)[N_GROUPS]
    for hole in range(most_hole + 1):
        for counted in range(2):
            if store_root(h, hole, counted, n_exits, most_units) == FULL:
                return FULL
    shapes(h)[shape]["group_first"] = first
    shapes(h)[shape]["group_size"] = head(h)[N_GROUPS] - first
    return 0


@kernel
def store_root(h: Heap, hole: int, counted: int, n_exits: int, most_units: int) -> int:
    """Store the exits of one group, if there are any (counting sort by units). Returns 0 or FULL."""
    starts = tallies(h)
    for u in range(most_units + 2):
        starts[u, 0] = 0
    for x in range(n_exits):
        if exits(h)[x, 1] == hole and exits(h)[x, 2] == counted:
            starts[exits(h)[x, 3] + 1, 0] += 1
    for u in range(1, most_units + 2):
        starts[u, 0] += starts[u - 1, 0]
    size = starts[most_units + 1, 0]
    if size == 0:
        return 0
    first = take(h, 2 * size)
    branch = head(h)[N_BRANCHES]
    if first == FULL or branch >= len(branches(h)) or head(h)[N_GROUPS] >= len(groups(h)):
        return FULL
    for x in range(n_exits):
        if exits(h)[x, 1] == hole and exits(h)[x, 2] == counted:
            units = exits(h)[x, 3]
            at = first + 2 * starts[units, 0]
            starts[units, 0] += 1
            arena(h)[at] = exits(h)[x, 0]
            arena(h)[at + 1] = units
    record = branches(h)[branch]
    record["member_first"] = first
    record["member_size"] = size
    record["token_size"] = 0
    record["child_size"] = -1
    head(h)[N_BRANCHES] = branch + 1
    groups(h)[head(h)[N_GROUPS]]["hole"] = hole
    groups(h)[head(h)[N_GROUPS]]["counted"] = counted
    groups(h)[head(h)[N_GROUPS]]["branch"] = branch
    head(h)[N_GROUPS] += 1
    return 0


MEMBERS, TOKENS = 0, 1
"""Columns of `tallies`: of each byte's branch, first how many members and tokens, then (MEMBERS) its number."""


@kernel
def expand_branch(h: Heap, number: int) -> int:
    """Merge the children of all members of a branch by their bytes. Returns 0 or FULL."""
    branch = branches(h)[number]
    if branch["child_size"] >= 0:
        return 0
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
    record["child_size"] = -1
    return 0


@kernel
def count_children(h: Heap, number: int) -> None:
    """Count, for each byte, the children of a branch's members that have children or tokens."""
    branch = branches(h)[number]
    tally = tallies(h)
    end = trie_end(h)
    for byte in range(256):
        tally[byte, MEMBERS] = 0
        tally[byte, TOKENS] = 0
    for m in range(branch["member_size"]):
        node = arena(h)[branch["member_first"] + 2 * m]
        child = node + 1
        while child < end[node]:
            byte = trie_byte(h)[child]
            if end[child] > child + 1:
                tally[byte, MEMBERS] += 1
            tally[byte, TOKENS] += trie_tokens(h)[child + 1] - trie_tokens(h)[child]
            child = end[child]


@kernel
def fill_children(h: Heap, number: int) -> None:
    """Hand the children of a branch's members to the branches of their bytes, in order of units."""
    branch = branches(h)[number]
    end = trie_end(h)
    words = arena(h)
    for m in range(branch["member_size"]):
        node = words[branch["member_first"] + 2 * m]
        units = words[branch["member_first"] + 2 * m + 1]
        child = node + 1
        while child < end[node]:
            into = branches(h)[tallies(h)[trie_byte(h)[child], MEMBERS]]
            if end[child] > child + 1:
                words[into["member_first"] + 2 * into["member_size"]] = child
                words[into["member_first"] + 2 * into["member_size"] + 1] = units
                into["member_size"] += 1
            for t in range(trie_tokens(h)[child], trie_tokens(h)[child + 1]):
                words[into["token_first"] + 2 * into["token_size"]] = trie_ids(h)[t]
                words[into["token_first"] + 2 * into["token_size"] + 1] = units
                into["token_size"] += 1
            child = end[child]
