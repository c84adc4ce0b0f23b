"""Shapes: what a set allows, as far as that does not depend on what surrounds it.

The vocabulary is one byte trie in preorder (`matcher.trie`), so "which tokens can follow
set N" is one forward scan: keep the set for each depth, jump over the subtree where it is
dead. But inside a free string nearly all of 600,000 nodes are alive, and the scan takes
milliseconds. So it is done for a *shape*, once for all sets that share it.

**Holes.** A frame's goal and origin matter only when it is completed. Rename the pairs
(goal, origin) of a set's items to holes #0, #1, ... in order of first appearance. That
abstract set is interned like any other. Walking from it finds the *base*: the tokens that
stay inside, or end exactly where a frame is completed, whatever the context; and the
*exits*: trie nodes with children at which a frame is completed into a hole.

**Calls.** A rule called from the start of a set is a frame whose hole is known: rule and
set. So its tokens are those of the shape of its beginning, which all callers share: white
space, the JSON string, any value. A rule is walked with its caller only where much can
follow it (`is_text`), since what follows an exit is worked out in every context.

**Parts.** The items of a set have nothing to do with each other, so a set allows what its parts
allow. Counted items are one part and a few others each their own, because a string with a
bound, say, is shared by many grammars, while what follows the string is not.

**Symbolic counts.** If all counted items of a set count the same counter, their counts are
taken as "as many as it was, plus k", and each token's need of units is recorded.

**Pivots.** Where a free text begins with exceptions, such as a key that must not be one of a few
names, most of its trie is that of the text without them. Walk both at once and stop where
they agree; the mask is then derived from the other one's, which is shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .branch import store_groups, take
from .earley import (
    STEP,
    Heap,
    begin,
    complete,
    expand,
    intern,
    push,
    scan_item,
    settle,
    step,
)
from .jit import int64, kernel, linked, words_at
from .tables import (
    BOTTOM,
    DEAD,
    EXIT,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_TOKENS,
    LINK_DIVIDE,
    LINK_SHAPE_OF,
    LINK_WALK,
    MAX_ROWS,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    OFF_CALLS,
    OFF_PARTS,
    OFF_PIVOT,
    OFF_SHAPES,
    OFF_SYMBOLIC,
    SYMBOLIC,
    TOKEN,
    UNKNOWN,
    WORDS,
    arena,
    cleared,
    counters,
    edges,
    exits,
    found,
    head,
    holes,
    items,
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
    waits,
)

SPARSE_LIMIT = 400
"""Masks with at most so many tokens are kept as lists of words, the others as rows."""
MAX_SPREAD = 64
"""A set whose counts differ by more than this keeps them concrete."""
SINGLE_ITEMS = 3
"""At most so many items become a part each."""
TEXT_BYTES = 40
"""A set that so many bytes can follow reads free text."""
NO_COUNTER = -1
NO_PIVOT = 256
"""Not a byte: the mask is not derived from another one."""


# ── From a set to its abstract set ──────────────────────────────────────────────────────


@kernel
def symbolic_counter(h: Heap, number: int) -> int:
    """The counter whose count may be symbolic in the shape of a set, or NO_COUNTER.

    All counted items must count the same counter, its bounds must still matter, and no
    token edge may leave the set (their tokens would need units too).
    """
    record = sets(h)[number]
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_SYMBOLIC) or record["flags"] & HAS_TOKENS:
        return NO_COUNTER
    counter = int64(NO_COUNTER)
    least = int64(SYMBOLIC)
    most = int64(0)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        own = states(h)[item["state"]]["counter"]
        if own < 0:
            continue
        if counter >= 0 and own != counter:
            return NO_COUNTER
        counter = int64(own)
        least = min(least, int64(item["count"]))
        most = max(most, int64(item["count"]))
    if counter < 0 or most - least > MAX_SPREAD:
        return NO_COUNTER
    bounds = counters(h)[counter]
    if bounds["maximum"] < 0 and least >= bounds["minimum"]:
        return NO_COUNTER
    return counter


@kernel
def least_count(h: Heap, number: int, counter: int) -> int:
    """The least count of the items of a set that count `counter`."""
    record = sets(h)[number]
    least = int64(SYMBOLIC)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if states(h)[item["state"]]["counter"] == counter:
            least = min(least, int64(item["count"]))
    return least


@kernel
def hole_of(h: Heap, goal: int, origin: int, used: int) -> int:
    """The hole that stands for (goal, origin) among the `used` known ones, or `used` if it is new."""
    known = holes(h)
    for hole in range(used):
        if known[hole, 0] == goal and known[hole, 1] == origin:
            return hole
    return used


@kernel
def list_holes(h: Heap, number: int) -> int:
    """Fill `holes` for a set, in order of first appearance. Returns how many there are."""
    if head(h)[FEATURES] & OFF_SHAPES:
        holes(h)[0, 0] = 0
        holes(h)[0, 1] = BOTTOM
        return 1
    used = 0
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] != EXIT:
            hole = hole_of(h, item["goal"], item["origin"], used)
            if hole == used:
                holes(h)[used, 0] = item["goal"]
                holes(h)[used, 1] = item["origin"]
                used += 1
    return used


@kernel
def abstract(h: Heap, number: int, counter: int) -> int:
    """The abstract set of a set: goals and origins are holes, `counter` is symbolic. FULL without room."""
    if head(h)[FEATURES] & OFF_SHAPES:
        return number
    used = list_holes(h, number)
    base = least_count(h, number, counter) if counter >= 0 else int64(0)
    begin(h, STEP)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            continue
        state = states(h)[item["state"]]
        hole = hole_of(h, item["goal"], item["origin"], used)
        if state["counter"] < 0:
            push(h, STEP, state["twin"], 0, -1 - hole, item["count"])
        elif counter >= 0:
            push(h, STEP, state["twin"], 0, -1 - hole, item["count"] - base + SYMBOLIC)
        else:
            push(h, STEP, item["state"], 0, -1 - hole, item["count"])
    return intern(h)


@kernel
def is_counted(h: Heap, item: Any, counter: int) -> bool:
    """Whether an item counts `counter`."""
    return counter >= 0 and states(h)[item["state"]]["counter"] == counter


@linked(LINK_DIVIDE)
def divide(h: Heap, number: int) -> int:
    """Divide a set into the parts whose shapes make up its mask. Returns 0 or FULL."""
    record = sets(h)[number]
    if record["part_size"] > 0:
        return 0
    counter = symbolic_counter(h, number)
    others = 0
    counted = 0
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if is_counted(h, item, counter):
            counted += 1
        elif item["state"] != EXIT:
            others += 1
    whole = counted == 0 and (others <= 1 or others > SINGLE_ITEMS)
    if whole or (counted > 0 and others == 0) or head(h)[FEATURES] & (OFF_SHAPES | OFF_PARTS):
        first = take(h, 1)
        if first == FULL:
            return FULL
        arena(h)[first] = number
        record["part_first"] = first
        record["part_size"] = 1
        return 0
    first = take(h, SINGLE_ITEMS + 1)
    if first == FULL:
        return FULL
    size = 0
    if counted > 0:
        size = add_part(h, number, counter, True, -1, first, size)
    if others > SINGLE_ITEMS:
        size = add_part(h, number, counter, False, -1, first, size)
    else:
        for i in range(record["size"]):
            item = items(h)[record["first"] + i]
            if size != FULL and item["state"] != EXIT and not is_counted(h, item, counter):
                size = add_part(h, number, counter, False, i, first, size)
    if size == FULL:
        return FULL
    record["part_first"] = first
    record["part_size"] = size
    return 0


@kernel
def add_part(h: Heap, number: int, counter: int, counted: bool, only: int, first: int, size: int) -> int:
    """Add the counted or the other items of a set (or the one at place `only`) as a part. The new size or FULL."""
    record = sets(h)[number]
    begin(h, STEP)
    for i in range(record["size"]):
        item = items(h)[record["first"] + i]
        if only >= 0 and i != only:
            continue
        if item["state"] != EXIT and is_counted(h, item, counter) == counted:
            push(h, STEP, item["state"], item["goal"], item["origin"], item["count"])
    part = intern(h)
    if part == FULL or size == FULL:
        return FULL
    arena(h)[first + size] = part
    return size + 1


@linked(LINK_SHAPE_OF)
def shape_of(h: Heap, number: int) -> int:
    """The shape of a set, walked if it is new. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["shape"] >= 0:
        return int64(record["shape"])
    if expand(h, number) == FULL:
        return FULL
    counter = symbolic_counter(h, number)
    image = abstract(h, number, counter)
    if image == FULL:
        return FULL
    shape = shape_of_image(h, image, 1 if counter >= 0 else 0)
    if shape >= 0:
        record["shape"] = shape
    return shape


@kernel
def shape_of_image(h: Heap, image: int, symbolic: int) -> int:
    """The shape of an abstract set, walked if it is new. FULL or NO_ROW without room."""
    known = int64(sets(h)[image]["shape"])
    if known >= 0 and shapes(h)[known]["set"] == image:
        return known
    shape = walk_shape(h, image, symbolic)
    if shape >= 0:
        sets(h)[image]["shape"] = shape
    return shape


# ── What can be left to other shapes ────────────────────────────────────────────────────


@kernel
def is_text(h: Heap, number: int) -> bool:
    """Whether a set (expanded) reads free text: many different bytes can follow."""
    row = moves(h)[number]
    alive = 0
    for byte in range(256):
        if row[byte] != DEAD:
            alive += 1
    return alive >= TEXT_BYTES


@kernel
def list_calls(h: Heap, shape: int, image: int) -> int:
    """List in the arena the rules called from an abstract set that need not be walked with it. 0 or FULL."""
    record = shapes(h)[shape]
    record["call_size"] = 0
    record["call_first"] = 0
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_CALLS):
        return 0
    source = sets(h)[image]
    first = take(h, source["wait_size"])
    if first == FULL:
        return FULL
    listed = arena(h)
    size = 0
    for w in range(source["wait_first"], source["wait_first"] + source["wait_size"]):
        rule = int64(waits(h)[w]["rule"])
        if is_listed(h, rule, first, size):
            continue
        after = complete(h, image, rule)
        if after == FULL:
            return FULL
        if after != DEAD and expand(h, after) == FULL:
            return FULL
        if after != DEAD and not is_text(h, after):
            listed[first + size] = rule
            size += 1
    record["call_first"] = first
    record["call_size"] = size
    return 0


@kernel
def is_listed(h: Heap, rule: int, first: int, size: int) -> bool:
    """Whether a rule is among the `size` words of the arena from `first`."""
    for i in range(first, first + size):
        if arena(h)[i] == rule:
            return True
    return False


@kernel
def first_step(h: Heap, shape: int, image: int, byte: int) -> int:
    """The set after the first byte, without the rules whose own shapes complete this one. FULL without room."""
    record = shapes(h)[shape]
    if record["call_size"] == 0:
        return step(h, image, byte)
    if moves(h)[image, byte] == DEAD:
        return DEAD
    begin(h, STEP)
    source = sets(h)[image]
    for i in range(source["closure_first"], source["closure_first"] + source["closure_size"]):
        item = items(h)[i]
        if item["origin"] == image and is_listed(h, item["goal"], record["call_first"], record["call_size"]):
            continue
        scan_item(h, byte, item["state"], item["goal"], item["origin"], item["count"])
    return settle(h)


@kernel
def pivot_of(h: Heap, shape: int, image: int) -> int:
    """A byte after which an abstract set reads a text that goes on with that byte forever, or NO_PIVOT.

    The set after it is one item, so that its shape is the same in every context, and is not
    derived from a pivot itself. FULL or NO_ROW without room.
    """
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_PIVOT) or shapes(h)[shape]["symbolic"] or not is_text(h, image):
        return NO_PIVOT
    for byte in (0x7A, 0x71, 0x30, 0x5F):  # z q 0 _
        after = first_step(h, shape, image, byte)
        if after == FULL:
            return FULL
        if after == DEAD or after == image:
            continue
        following = step(h, after, byte)
        if following == FULL:
            return FULL
        plain = following == after and sets(h)[after]["size"] == 1 and not sets(h)[after]["flags"] & HAS_TOKENS
        if plain and is_text(h, after):
            shape_after = shape_of(h, after)
            if shape_after < 0:
                return shape_after
            record = shapes(h)[shape_after]
            if record["pivot"] == NO_PIVOT and record["call_size"] == 0:
                return byte
    return NO_PIVOT


# ── The walk ────────────────────────────────────────────────────────────────────────────


@linked(LINK_WALK)
def walk_shape(h: Heap, image: int, symbolic: int) -> int:
    """Walk the trie from an abstract set and store what was found. Returns the shape, FULL or NO_ROW."""
    shape = head(h)[N_SHAPES]
    if shape >= len(shapes(h)) or expand(h, image) == FULL:
        return FULL
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    record = shapes(h)[shape]
    record["set"] = image
    record["symbolic"] = symbolic
    if list_calls(h, shape, image) == FULL:
        return FULL
    pivot = pivot_of(h, shape, image)
    if pivot < 0:
        return pivot
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    if head(h)[N_SHAPES] != shape:
        # The pivot's shape has taken the place: begin again, with that one known.
        return walk_shape(h, image, symbolic)
    record["pivot"] = pivot
    n_found, n_exits, n_cleared = scan_trie(h, shape, image, pivot)
    if n_found == FULL:
        return FULL
    if store_cleared(h, shape, n_cleared) == FULL:
        return FULL
    if store_groups(h, shape, n_exits) == FULL or store_base(h, shape, n_found) == FULL:
        return FULL
    head(h)[N_SHAPES] = shape + 1
    return shape


@kernel
def scan_trie(h: Heap, shape: int, image: int, pivot: int) -> tuple[int, int, int]:
    """Scan the trie in preorder from a set; fill `found`, `exits` and `cleared`.

    With a pivot, a second set is kept for each depth, and subtrees where both agree are left
    to it; where they differ, its tokens are cleared. Returns how many, or three times FULL.
    """
    byte = trie_byte(h)
    depth = trie_depth(h)
    end = trie_end(h)
    first_token = trie_tokens(h)
    ids = trie_ids(h)
    row = moves(h)
    at = path(h)
    hits = found(h)
    at[0, 0] = image
    at[0, 1] = DEAD
    if pivot != NO_PIVOT:
        at[0, 1] = first_step(h, shape, image, pivot)
    n_found = 0
    n_exits = 0
    n_cleared = 0
    node = 1
    while node < len(byte):
        before = at[depth[node] - 1, 0]
        after = DEAD
        if depth[node] == 1:
            after = first_step(h, shape, image, byte[node])
        elif before != DEAD:
            after = int64(row[before, byte[node]])
            if after == UNKNOWN:
                after = step(h, before, byte[node])
        other = int64(at[depth[node] - 1, 1])
        if other != DEAD:
            other = step(h, other, byte[node])
        if after == FULL or other == FULL:
            return FULL, FULL, FULL
        if after == other:
            node = end[node]
            continue
        if after == DEAD or (other != DEAD and sets(h)[other]["flags"] & HAS_EXIT):
            # What the pivot says about this subtree does not hold here.
            if n_cleared >= len(cleared(h)):
                return FULL, FULL, FULL
            cleared(h)[n_cleared, 0] = first_token[node]
            cleared(h)[n_cleared, 1] = first_token[end[node]]
            n_cleared += 1
            other = DEAD
        if after == DEAD:
            node = end[node]
            continue
        at[depth[node], 0] = after
        at[depth[node], 1] = other
        record = sets(h)[after]
        for t in range(first_token[node], first_token[node + 1]):
            hits[n_found, 0] = ids[t]
            hits[n_found, 1] = record["need"]
            n_found += 1
        if record["flags"] & HAS_EXIT and end[node] > node + 1:
            n_exits = record_exits(h, node, after, n_exits)
            if n_exits == FULL:
                return FULL, FULL, FULL
        node += 1
    return n_found, n_exits, n_cleared


@kernel
def record_exits(h: Heap, node: int, number: int, n_exits: int) -> int:
    """Append the exit items of a set, reached at a trie node with children. Returns how many there are now."""
    out = exits(h)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            if n_exits >= len(out):
                return FULL
            out[n_exits, 0] = node
            out[n_exits, 1] = -1 - item["origin"]
            out[n_exits, 2] = 1 if item["count"] >= SYMBOLIC else 0
            out[n_exits, 3] = item["count"] - SYMBOLIC if item["count"] >= SYMBOLIC else 0
            n_exits += 1
    return n_exits


# ── Storing what was found ──────────────────────────────────────────────────────────────


@kernel
def store_cleared(h: Heap, shape: int, n_cleared: int) -> int:
    """Store the ranges of tokens to take out of the pivot's mask. Returns 0 or FULL."""
    first = take(h, 2 * n_cleared)
    if first == FULL:
        return FULL
    for i in range(n_cleared):
        arena(h)[first + 2 * i] = cleared(h)[i, 0]
        arena(h)[first + 2 * i + 1] = cleared(h)[i, 1]
    shapes(h)[shape]["clear_first"] = first
    shapes(h)[shape]["clear_size"] = n_cleared
    return 0


@kernel
def store_base(h: Heap, shape: int, n_found: int) -> int:
    """Store the tokens found by the walk, and those of token edges, as the shape's base. Returns 0 or FULL."""
    record = shapes(h)[shape]
    has_tokens = sets(h)[record["set"]]["flags"] & HAS_TOKENS
    most = int64(0)
    for i in range(n_found):
        most = max(most, int64(found(h)[i, 1]))
    record["max_need"] = most
    record["base_row"] = -1
    record["base_size"] = 0
    sparse = n_found <= SPARSE_LIMIT and not has_tokens
    if sparse or record["symbolic"]:
        if sort_by_need(h, shape, n_found) == FULL:
            return FULL
    if not sparse:
        row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
        clear_words(row)
        for i in range(n_found):
            set_bit(row, found(h)[i, 0])
        if has_tokens:
            add_token_edges(h, record["set"], row)
        record["base_row"] = head(h)[N_ROWS]
        head(h)[N_ROWS] += 1
    return 0


# Plain loops: a slice assignment would compile to much more code.


@kernel
def clear_words(row: np.ndarray) -> None:
    """Forbid every token in a mask row."""
    for w in range(len(row)):
        row[w] = 0


@kernel
def copy_words(row: np.ndarray, source: np.ndarray) -> None:
    """Copy a mask row."""
    for w in range(len(row)):
        row[w] = source[w]


@kernel
def add_words(row: np.ndarray, source: np.ndarray) -> None:
    """Allow in `row` what `source` allows."""
    for w in range(len(row)):
        row[w] |= source[w]


@kernel
def set_bit(row: np.ndarray, token: int) -> None:
    """Allow a token in a mask row."""
    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@kernel
def sort_by_need(h: Heap, shape: int, n_found: int) -> int:
    """Store the found tokens in the arena by ascending need, and how many need at most u. Returns 0 or FULL."""
    record = shapes(h)[shape]
    levels = int64(record["max_need"]) + 1
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
def add_token_edges(h: Heap, number: int, row: np.ndarray) -> None:
    """Allow in `row` every token that a token edge leaving the set takes."""
    record = sets(h)[number]
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        state = states(h)[items(h)[i]["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == TOKEN:
                add_words(row, words_at(token_sets(h)[edge["low"]], head(h)[WORDS]))
