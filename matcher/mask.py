"""From an Earley set to the tokens that may come next.

The vocabulary is one byte trie in preorder (`matcher.trie`), so "which tokens can follow
set N" is one forward scan: keep the set for each depth, jump over the subtree where it is
dead. But inside a free string nearly all of 600,000 nodes are alive, and the scan takes
milliseconds. So it is done once for a *shape*, and finished in context:

**Shape.** Rename the origins of a set's items to holes #0, #1, ... in order of first
appearance, and, if all counted items count units of one counter, make the count symbolic.
That abstract set is interned like any other and stands for all sets that differ only in
what surrounds them. Equal automata have equal states in all grammars of a vocabulary, so
the JSON string is walked once for all of them.

**Walk.** One scan of the trie from the abstract set (`walk_shape`) gives the *base*: the
tokens that stay inside or end exactly where a frame is completed, whatever the context;
and the *exits*: trie nodes with children at which a goal is completed into a hole.

**Context.** What follows an exit depends on the real origin only: complete the goal there
and go on below the node. All exits with one hole and goal go on from the same set, so
their subtrees are merged, lazily, into one trie of *branches*, and walked together.

**Counters.** Let a set have done c units, and a token need u more of them. The token is
legal if c + u <= maximum; leaving after u units is legal if also minimum <= c + u. So
tokens are sorted by u, and each context takes a slice: no work grows with the bounds.

**Description.** A mask is determined by its shape, the slice of the base, whether the text
may end, and the branches that were alive. This list of integers is the key under which
finished masks are stored, dense or sparse, for all grammars of the vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .earley import (
    STEP,
    Header,
    begin,
    complete,
    expand,
    intern,
    mix,
    push,
    step,
)
from .jit import kernel, words_at
from .tables import (
    BOTTOM,
    DEAD,
    EXIT,
    FULL,
    HAS_EXIT,
    HAS_TOKENS,
    KEY_SIZE,
    MAX_ROWS,
    N_ARENA,
    N_BRANCHES,
    N_GROUPS,
    N_MASKS,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    OFF_MEMO,
    OFF_SHAPES,
    OFF_SYMBOLIC,
    FEATURES,
    SYMBOLIC,
    TOKEN,
    UNKNOWN,
    WORDS,
    arena,
    bits,
    branches,
    counters,
    edges,
    eos_ids,
    exits,
    found,
    groups,
    holes,
    items,
    key,
    mask_index,
    masks,
    moves,
    path,
    rows,
    sets,
    shapes,
    states,
    token_sets,
    trie_byte,
    trie_depth,
    trie_end,
    trie_ids,
    trie_tokens,
)

SPARSE_LIMIT = 400
"""Masks with at most so many tokens are kept as lists of words, the others as rows."""
MAX_SPREAD = 64
"""A set whose counts differ by more than this keeps them concrete."""
ALL_UNITS = 1 << 29
"""A slice's upper bound that excludes nothing."""


@kernel
def take(h: Header, size: int) -> int:
    """Take `size` free words of the arena. Returns the first, or FULL."""
    first = h[N_ARENA]
    if first + size > len(arena(h)):
        return FULL
    h[N_ARENA] = first + size
    return first


# ── Shapes ──────────────────────────────────────────────────────────────────────────────


@kernel
def symbolic_counter(h: Header, number: int) -> int:
    """The counter whose count may be symbolic in the shape of a set, or -1.

    All counted items must count the same counter, its bounds must still matter, and no
    token edge may leave the set (their tokens would need units too).
    """
    record = sets(h)[number]
    if h[FEATURES] & (OFF_SHAPES | OFF_SYMBOLIC) or record["flags"] & HAS_TOKENS:
        return -1
    counter = -1
    least = np.int64(SYMBOLIC)
    most = np.int64(0)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        own = states(h)[item["state"]]["counter"]
        if own < 0:
            continue
        if counter >= 0 and own != counter:
            return -1
        counter = np.int64(own)
        least = min(least, np.int64(item["count"]))
        most = max(most, np.int64(item["count"]))
    if counter < 0 or most - least > MAX_SPREAD:
        return -1
    bounds = counters(h)[counter]
    if bounds["maximum"] < 0 and least >= bounds["minimum"]:
        return -1
    return counter


@kernel
def least_count(h: Header, number: int, counter: int) -> int:
    """The least count of the items of a set that count `counter`."""
    record = sets(h)[number]
    least = np.int64(SYMBOLIC)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if states(h)[item["state"]]["counter"] == counter:
            least = min(least, np.int64(item["count"]))
    return least


@kernel
def hole_of(h: Header, origin: int, used: int) -> int:
    """The hole that stands for `origin` among the `used` known ones, or `used` if it is new."""
    for hole in range(used):
        if holes(h)[hole] == origin:
            return hole
    return used


@kernel
def list_holes(h: Header, number: int) -> int:
    """Fill `holes` with the origins of a set's items in order of first appearance. Returns how many."""
    if h[FEATURES] & OFF_SHAPES:
        holes(h)[0] = BOTTOM
        return 1
    used = 0
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] != EXIT:
            hole = hole_of(h, item["origin"], used)
            if hole == used:
                holes(h)[used] = item["origin"]
                used += 1
    return used


@kernel
def abstract(h: Header, number: int, counter: int) -> int:
    """The abstract set of a set: origins renamed to holes, `counter` made symbolic. FULL without room."""
    if h[FEATURES] & OFF_SHAPES:
        return number
    used = list_holes(h, number)
    base = least_count(h, number, counter) if counter >= 0 else np.int64(0)
    begin(h, STEP)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            continue
        count = np.int64(item["count"])
        if counter >= 0 and states(h)[item["state"]]["counter"] == counter:
            count = count - base + SYMBOLIC
        push(h, STEP, item["state"], item["goal"], -1 - hole_of(h, item["origin"], used), count)
    return intern(h)


@kernel
def shape_of(h: Header, number: int) -> int:
    """The shape of a set, walked if it is new. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["shape"] >= 0:
        return np.int64(record["shape"])
    if expand(h, number) == FULL:
        return FULL
    counter = symbolic_counter(h, number)
    image = abstract(h, number, counter)
    if image == FULL:
        return FULL
    shape = np.int64(sets(h)[image]["shape"])
    if shape < 0:
        shape = walk_shape(h, image, counter)
        if shape < 0:
            return shape
        sets(h)[image]["shape"] = shape
    record["shape"] = shape
    return shape


# ── The walk ────────────────────────────────────────────────────────────────────────────


@kernel
def walk_shape(h: Header, image: int, counter: int) -> int:
    """Walk the trie from an abstract set and store what was found. Returns the shape, FULL or NO_ROW."""
    shape = h[N_SHAPES]
    if shape >= len(shapes(h)):
        return FULL
    if h[N_ROWS] >= h[MAX_ROWS]:
        return NO_ROW
    if expand(h, image) == FULL:
        return FULL
    n_found, n_exits = scan_trie(h, image)
    if n_found < 0:
        return FULL
    record = shapes(h)[shape]
    record["set"] = image
    record["counter"] = counter
    if store_groups(h, shape, n_exits) == FULL or store_base(h, shape, n_found) == FULL:
        return FULL
    h[N_SHAPES] = shape + 1
    return shape


@kernel
def scan_trie(h: Header, image: int) -> tuple[int, int]:
    """Scan the trie in preorder from a set; fill `found` and `exits`. Returns how many, or (FULL, FULL)."""
    byte = trie_byte(h)
    depth = trie_depth(h)
    end = trie_end(h)
    first_token = trie_tokens(h)
    ids = trie_ids(h)
    row = moves(h)
    sets_at = path(h)
    hits = found(h)
    sets_at[0, 0] = image
    n_found = 0
    n_exits = 0
    node = 1
    while node < len(byte):
        before = sets_at[depth[node] - 1, 0]
        after = row[before, byte[node]]
        if after == UNKNOWN:
            after = step(h, before, byte[node])
            if after == FULL:
                return FULL, FULL
        if after == DEAD:
            node = end[node]
            continue
        sets_at[depth[node], 0] = after
        record = sets(h)[after]
        for t in range(first_token[node], first_token[node + 1]):
            hits[n_found, 0] = ids[t]
            hits[n_found, 1] = record["need"]
            n_found += 1
        if record["flags"] & HAS_EXIT and end[node] > node + 1:
            n_exits = record_exits(h, node, after, n_exits)
            if n_exits == FULL:
                return FULL, FULL
        node += 1
    return n_found, n_exits


@kernel
def record_exits(h: Header, node: int, number: int, n_exits: int) -> int:
    """Append the exit items of a set, reached at a trie node with children. Returns how many there are now."""
    list_ = exits(h)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            if n_exits >= len(list_):
                return FULL
            list_[n_exits, 0] = node
            list_[n_exits, 1] = -1 - item["origin"]
            list_[n_exits, 2] = item["goal"]
            list_[n_exits, 3] = item["count"] - SYMBOLIC if item["count"] >= SYMBOLIC else 0
            n_exits += 1
    return n_exits


@kernel
def store_groups(h: Header, shape: int, n_exits: int) -> int:
    """Group the exits by hole and goal, each group sorted by units, as root branches. Returns 0 or FULL."""
    first = h[N_GROUPS]
    used = first
    most_units = 0
    for x in range(n_exits):
        exit_ = exits(h)[x]
        most_units = max(most_units, np.int64(exit_[3]))
        known = False
        for g in range(first, used):
            group = groups(h)[g]
            if group["hole"] == exit_[1] and group["goal"] == exit_[2]:
                known = True
        if not known:
            if used >= len(groups(h)):
                return FULL
            groups(h)[used]["hole"] = exit_[1]
            groups(h)[used]["goal"] = exit_[2]
            used += 1
    for g in range(first, used):
        if store_root(h, g, n_exits, most_units) == FULL:
            return FULL
    shapes(h)[shape]["group_first"] = first
    shapes(h)[shape]["group_size"] = used - first
    h[N_GROUPS] = used
    return 0


@kernel
def store_root(h: Header, g: int, n_exits: int, most_units: int) -> int:
    """Store the exits of group `g` as the members of its root branch. Returns 0 or FULL."""
    group = groups(h)[g]
    first = take(h, 2 * n_exits)
    branch = h[N_BRANCHES]
    if first == FULL or branch >= len(branches(h)):
        return FULL
    size = 0
    words = arena(h)
    for units in range(most_units + 1):
        for x in range(n_exits):
            exit_ = exits(h)[x]
            if exit_[3] == units and exit_[1] == group["hole"] and exit_[2] == group["goal"]:
                words[first + 2 * size] = exit_[0]
                words[first + 2 * size + 1] = units
                size += 1
    h[N_ARENA] = first + 2 * size
    record = branches(h)[branch]
    record["member_first"] = first
    record["member_size"] = size
    record["token_size"] = 0
    record["child_size"] = -1
    group["branch"] = branch
    h[N_BRANCHES] = branch + 1
    return 0


@kernel
def store_base(h: Header, shape: int, n_found: int) -> int:
    """Store the tokens found by the walk, and those of token edges, as the shape's base. Returns 0 or FULL."""
    record = shapes(h)[shape]
    has_tokens = sets(h)[record["set"]]["flags"] & HAS_TOKENS
    most = np.int64(0)
    for i in range(n_found):
        most = max(most, np.int64(found(h)[i, 1]))
    record["max_need"] = most
    record["base_row"] = -1
    record["base_size"] = 0
    sparse = n_found <= SPARSE_LIMIT and not has_tokens
    if sparse or record["counter"] >= 0:
        if sort_by_need(h, shape, n_found) == FULL:
            return FULL
    if not sparse:
        row = words_at(rows(h)[h[N_ROWS]], h[WORDS])
        row[:] = 0
        for i in range(n_found):
            set_bit(row, found(h)[i, 0])
        if has_tokens:
            add_token_edges(h, record["set"], row)
        record["base_row"] = h[N_ROWS]
        h[N_ROWS] += 1
    return 0


@kernel
def set_bit(row: np.ndarray, token: int) -> None:
    """Allow a token in a mask row."""
    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@kernel
def sort_by_need(h: Header, shape: int, n_found: int) -> int:
    """Store the found tokens in the arena by ascending need, and how many need at most u. Returns 0 or FULL."""
    record = shapes(h)[shape]
    levels = np.int64(record["max_need"]) + 1
    need_first = take(h, levels)
    base_first = take(h, n_found)
    if need_first == FULL or base_first == FULL:
        return FULL
    words = arena(h)
    for u in range(levels):
        words[need_first + u] = 0
    for i in range(n_found):
        words[need_first + found(h)[i, 1]] += 1
    # Counting sort: turn the counts into starts, place the tokens; starts then become ends.
    start = 0
    for u in range(levels):
        count = words[need_first + u]
        words[need_first + u] = start
        start += count
    for i in range(n_found):
        u = found(h)[i, 1]
        words[base_first + words[need_first + u]] = found(h)[i, 0]
        words[need_first + u] += 1
    record["need_first"] = need_first
    record["base_first"] = base_first
    record["base_size"] = n_found
    return 0


@kernel
def add_token_edges(h: Header, number: int, row: np.ndarray) -> None:
    """Allow in `row` every token that a token edge leaving the set takes."""
    record = sets(h)[number]
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        state = states(h)[items(h)[i]["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == TOKEN:
                allowed = words_at(token_sets(h)[edge["low"]], h[WORDS])
                for w in range(h[WORDS]):
                    row[w] |= allowed[w]


# ── Branches ────────────────────────────────────────────────────────────────────────────


@kernel
def expand_branch(h: Header, number: int) -> int:
    """Merge the children of all members of a branch by their bytes. Returns 0 or FULL."""
    branch = branches(h)[number]
    if branch["child_size"] >= 0:
        return 0
    member_count = np.zeros(256, np.int64)
    token_count = np.zeros(256, np.int64)
    count_children(h, number, member_count, token_count)
    used = 0
    for byte in range(256):
        if token_count[byte] + member_count[byte] > 0:
            used += 1
    child_first = take(h, 2 * used)
    if child_first == FULL or h[N_BRANCHES] + used > len(branches(h)):
        return FULL
    first_branch = h[N_BRANCHES]
    c = 0
    for byte in range(256):
        if token_count[byte] + member_count[byte] > 0:
            members = take(h, 2 * member_count[byte])
            tokens = take(h, 2 * token_count[byte])
            if members == FULL or tokens == FULL:
                return FULL
            child = branches(h)[first_branch + c]
            child["member_first"] = members
            child["member_size"] = 0
            child["token_first"] = tokens
            child["token_size"] = 0
            child["child_size"] = -1
            arena(h)[child_first + 2 * c] = byte
            arena(h)[child_first + 2 * c + 1] = first_branch + c
            member_count[byte] = first_branch + c  # from here on: the branch of each byte
            c += 1
    fill_children(h, number, member_count)
    branch["child_first"] = child_first
    branch["child_size"] = used
    h[N_BRANCHES] = first_branch + used
    return 0


@kernel
def count_children(h: Header, number: int, member_count: np.ndarray, token_count: np.ndarray) -> None:
    """Count, for each byte, the children of a branch's members that have children or tokens."""
    branch = branches(h)[number]
    end = trie_end(h)
    for m in range(branch["member_size"]):
        node = arena(h)[branch["member_first"] + 2 * m]
        child = node + 1
        while child < end[node]:
            byte = trie_byte(h)[child]
            if end[child] > child + 1:
                member_count[byte] += 1
            token_count[byte] += trie_tokens(h)[child + 1] - trie_tokens(h)[child]
            child = end[child]


@kernel
def fill_children(h: Header, number: int, branch_of: np.ndarray) -> None:
    """Hand the children of a branch's members to the branches of their bytes, in order of units."""
    branch = branches(h)[number]
    end = trie_end(h)
    words = arena(h)
    for m in range(branch["member_size"]):
        node = words[branch["member_first"] + 2 * m]
        units = words[branch["member_first"] + 2 * m + 1]
        child = node + 1
        while child < end[node]:
            into = branches(h)[branch_of[trie_byte(h)[child]]]
            if end[child] > child + 1:
                words[into["member_first"] + 2 * into["member_size"]] = child
                words[into["member_first"] + 2 * into["member_size"] + 1] = units
                into["member_size"] += 1
            for t in range(trie_tokens(h)[child], trie_tokens(h)[child + 1]):
                words[into["token_first"] + 2 * into["token_size"]] = trie_ids(h)[t]
                words[into["token_first"] + 2 * into["token_size"] + 1] = units
                into["token_size"] += 1
            child = end[child]


# ── Context ─────────────────────────────────────────────────────────────────────────────


@kernel
def write_key(h: Header, value: int) -> None:
    """Append to the description of a mask."""
    key(h)[h[KEY_SIZE]] = value
    h[KEY_SIZE] += 1


@kernel
def describe(h: Header, number: int, shape: int) -> int:
    """Write the description of a set's mask into `key`. Returns 0 or FULL.

    key = shape, 1 if the text may end, budget (-1: not symbolic), then for each alive
    branch with tokens: its number, and the first and the end of the slice of its tokens.
    """
    record = shapes(h)[shape]
    least = np.int64(0)
    most = np.int64(ALL_UNITS)
    budget = np.int64(-1)
    if record["counter"] >= 0:
        bounds = counters(h)[record["counter"]]
        done = least_count(h, number, record["counter"])
        least = max(np.int64(0), bounds["minimum"] - done)
        if bounds["maximum"] >= 0:
            most = bounds["maximum"] - done
        budget = min(most, np.int64(record["max_need"]))
    h[KEY_SIZE] = 0
    write_key(h, shape)
    write_key(h, 1 if sets(h)[number]["flags"] & HAS_EXIT else 0)
    write_key(h, budget)
    used = list_holes(h, number)
    for g in range(record["group_first"], record["group_first"] + record["group_size"]):
        group = groups(h)[g]
        if group["hole"] < used:
            after = complete(h, holes(h)[group["hole"]], group["goal"])
            if after == FULL:
                return FULL
            if after != DEAD and follow(h, group["branch"], after, least, most) == FULL:
                return FULL
    return 0


@kernel
def follow(h: Header, branch: int, number: int, least: int, most: int) -> int:
    """Walk the branches below an exit from the set that follows it; describe what is alive.

    Only tokens whose units lie in [least, most] count. Returns 0 or FULL.
    """
    stack = path(h)
    stack[0, 0] = branch
    stack[0, 1] = number
    size = 1
    while size > 0:
        size -= 1
        branch = stack[size, 0]
        before = stack[size, 1]
        if expand_branch(h, branch) == FULL or expand(h, before) == FULL:
            return FULL
        first = branches(h)[branch]["child_first"]
        for c in range(branches(h)[branch]["child_size"]):
            byte = arena(h)[first + 2 * c]
            after = np.int64(moves(h)[before, byte])
            if after == DEAD:
                continue
            if after == UNKNOWN:
                after = step(h, before, byte)
                if after == FULL:
                    return FULL
            child = np.int64(arena(h)[first + 2 * c + 1])
            if h[KEY_SIZE] + 3 > len(key(h)) or size >= len(stack):
                return FULL
            describe_branch(h, child, least, most)
            if branches(h)[child]["member_size"] > 0:
                stack[size, 0] = child
                stack[size, 1] = after
                size += 1
    return 0


@kernel
def describe_branch(h: Header, number: int, least: int, most: int) -> None:
    """Add to the description the tokens of an alive branch whose units lie in [least, most]."""
    branch = branches(h)[number]
    words = arena(h)
    first = np.int64(0)
    end = np.int64(branch["token_size"])
    while first < end and words[branch["token_first"] + 2 * first + 1] < least:
        first += 1
    while first < end and words[branch["token_first"] + 2 * end - 1] > most:
        end -= 1
    if first < end:
        write_key(h, number)
        write_key(h, first)
        write_key(h, end)


# ── Finished masks ──────────────────────────────────────────────────────────────────────


@kernel
def mask_of(h: Header, number: int) -> int:
    """The finished mask of a set. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["mask"] >= 0 and not h[FEATURES] & OFF_MEMO:
        return np.int64(record["mask"])
    shape = shape_of(h, number)
    if shape < 0:
        return shape
    if describe(h, number, shape) == FULL:
        return FULL
    mask = find_mask(h)
    if mask >= 0:
        record["mask"] = mask
    return mask


@kernel
def find_mask(h: Header) -> int:
    """The mask that `key` describes: a stored one, or a new one. FULL or NO_ROW without room."""
    size = h[KEY_SIZE]
    digest = np.int64(size)
    for i in range(size):
        digest = mix(digest * 31 + key(h)[i] + 1)
    index = mask_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != 0:
        if has_key(h, index[slot] - 1, digest):
            return np.int64(index[slot] - 1)
        slot = (slot + 1) & limit
    if h[N_ROWS] >= h[MAX_ROWS]:
        return NO_ROW
    mask = h[N_MASKS]
    first = take(h, size)
    if first == FULL or mask >= len(masks(h)):
        return FULL
    for i in range(size):
        arena(h)[first + i] = key(h)[i]
    record = masks(h)[mask]
    record["key_first"] = first
    record["key_size"] = size
    record["hash"] = digest
    if build_mask(h, mask) == FULL:
        return FULL
    h[N_MASKS] = mask + 1
    index[slot] = mask + 1
    return mask


@kernel
def has_key(h: Header, mask: int, digest: int) -> bool:
    """Whether a stored mask has exactly the description in `key`."""
    record = masks(h)[mask]
    if record["hash"] != digest or record["key_size"] != h[KEY_SIZE]:
        return False
    for i in range(h[KEY_SIZE]):
        if arena(h)[record["key_first"] + i] != key(h)[i]:
            return False
    return True


@kernel
def base_count(h: Header, shape: int, budget: int) -> int:
    """How many tokens of a shape's base, sorted by need, need at most `budget` units."""
    record = shapes(h)[shape]
    if budget < 0 or budget >= record["max_need"]:
        return np.int64(record["base_size"])
    return np.int64(arena(h)[record["need_first"] + budget])


@kernel
def build_mask(h: Header, mask: int) -> int:
    """Build the mask that `key` describes, sparse if it is small. Returns 0 or FULL."""
    shape = np.int64(key(h)[0])
    budget = np.int64(key(h)[2])
    record = shapes(h)[shape]
    limited = budget >= 0 and budget < record["max_need"]
    inside = base_count(h, shape, budget)
    total = inside + len(eos_ids(h))
    for i in range(3, h[KEY_SIZE], 3):
        total += key(h)[i + 2] - key(h)[i + 1]
    if total <= SPARSE_LIMIT and (limited or record["base_row"] < 0):
        return build_sparse(h, mask, inside)
    row = words_at(rows(h)[h[N_ROWS]], h[WORDS])
    if record["base_row"] >= 0 and not limited:
        row[:] = words_at(rows(h)[record["base_row"]], h[WORDS])
    else:
        row[:] = 0
        for i in range(record["base_first"], record["base_first"] + inside):
            set_bit(row, arena(h)[i])
    add_outside(h, row)
    masks(h)[mask]["row"] = h[N_ROWS]
    h[N_ROWS] += 1
    return 0


@kernel
def add_outside(h: Header, row: np.ndarray) -> None:
    """Allow in `row` the described tokens that leave the shape, and EOS where the text may end."""
    if key(h)[1]:
        for i in range(len(eos_ids(h))):
            set_bit(row, eos_ids(h)[i])
    for i in range(3, h[KEY_SIZE], 3):
        first = branches(h)[key(h)[i]]["token_first"]
        for t in range(key(h)[i + 1], key(h)[i + 2]):
            set_bit(row, arena(h)[first + 2 * t])


@kernel
def build_sparse(h: Header, mask: int, inside: int) -> int:
    """Build a small mask as pairs (word index, word bits). Returns 0 or FULL."""
    row = bits(h)
    record = shapes(h)[key(h)[0]]
    first = h[N_ARENA]
    if first + 2 * (SPARSE_LIMIT + 1) > len(arena(h)):
        return FULL
    for i in range(record["base_first"], record["base_first"] + inside):
        set_bit(row, arena(h)[i])
    add_outside(h, row)
    # The same tokens once more: each one's word, when first met, is moved into the list.
    size = 0
    for i in range(record["base_first"], record["base_first"] + inside):
        size = move_word(h, first, size, arena(h)[i] >> 5)
    if key(h)[1]:
        for i in range(len(eos_ids(h))):
            size = move_word(h, first, size, eos_ids(h)[i] >> 5)
    for i in range(3, h[KEY_SIZE], 3):
        tokens = branches(h)[key(h)[i]]["token_first"]
        for t in range(key(h)[i + 1], key(h)[i + 2]):
            size = move_word(h, first, size, arena(h)[tokens + 2 * t] >> 5)
    h[N_ARENA] = first + 2 * size
    masks(h)[mask]["row"] = -1
    masks(h)[mask]["first"] = first
    masks(h)[mask]["size"] = size
    return 0


@kernel
def move_word(h: Header, first: int, size: int, word: int) -> int:
    """Move a word of the scratch row, if it is not zero, to the list at `first`. Returns the list's size."""
    value = bits(h)[word]
    if value == 0:
        return size
    bits(h)[word] = 0
    arena(h)[first + 2 * size] = word
    arena(h)[first + 2 * size + 1] = np.int64(value) if value < 0x80000000 else np.int64(value) - 0x100000000
    return size + 1


@kernel
def write_mask(h: Header, mask: int, out: np.ndarray) -> None:
    """Write a finished mask into a caller's row `uint32[words]`."""
    record = masks(h)[mask]
    if record["row"] >= 0:
        out[:] = words_at(rows(h)[record["row"]], h[WORDS])
        return
    out[:] = 0
    for i in range(record["first"], record["first"] + 2 * record["size"], 2):
        out[arena(h)[i]] = np.uint32(np.int64(arena(h)[i + 1]) & 0xFFFFFFFF)


@kernel
def fill(h: Header, number: int, out: np.ndarray) -> int:
    """Write the mask of a set into `out`. Returns the mask, or FULL or NO_ROW without room."""
    mask = mask_of(h, number)
    if mask >= 0:
        write_mask(h, mask, out)
    return mask
