"""Shapes: what a set allows, as far as that does not depend on what surrounds it.

The vocabulary is one byte trie in preorder (`matcher.trie`), so "which tokens can follow
set N" is one forward scan (`matcher.scan`). Inside a free string nearly all of 600,000 nodes are
alive, and the scan takes milliseconds. So it is done for a *shape*, once for all sets that have the
same abstract set (`matcher.parts`). It finds the *base*: the tokens that stay inside, or end exactly
where a frame is completed, whatever the context; and the *exits*: trie nodes with children at which
a frame is completed into a hole.

**Calls.** A rule called from the start of a set is a frame whose hole is known: rule and
set. So its tokens are those of the shape of its beginning, which all callers share: white
space, the JSON string, any value. A rule is walked with its caller only where much can
follow it (`is_text`), since what follows an exit is worked out in every context.

**Pivots.** Where a free text begins with exceptions, such as a key that must not be one of a few
names, most of its trie is that of the text without them. Walk both at once and stop where
they agree; the mask is then derived from the other one's, which is shared.
"""

from __future__ import annotations

import numpy as np

from .branch import limit, store_groups, take
from .calls import first_step, is_text, list_calls
from .earley import expand, know_tokens, step
from .jit import int64, kernel, linked, words_at
from .parts import abstract, symbolic_counter
from .ranges import count_needs, most_need, place_tokens, write_found
from .scan import NO_COVER, NO_PIVOT, scan_trie
from .tables import (
    DEAD,
    FEATURES,
    FOR_PIVOT,
    FULL,
    HAS_TOKENS,
    LINK_SHAPE_OF,
    LINK_WALK,
    MAX_ROWS,
    N_ARENA,
    N_CLEARED,
    N_EXITS,
    N_FOUND,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    OFF_PIVOT,
    OFF_SHAPES,
    TOKEN,
    WORDS,
    arena,
    cleared,
    edges,
    found,
    head,
    items,
    rows,
    sets,
    shapes,
    states,
    token_sets,
)
from .words import add_words
from .worklist import Heap

SPARSE_LIMIT = 300
"""Bases of at most so many tokens are kept as lists only."""


@linked(LINK_SHAPE_OF)
def shape_of(h: Heap, number: int) -> int:
    """The shape of a set, walked if it is new. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["shape"] >= 0:
        return int64(record["shape"])
    if know_tokens(h, number) == FULL:
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


# ── Pivots ──────────────────────────────────────────────────────────────────────────────


@kernel
def pivot_of(h: Heap, shape: int, image: int) -> int:
    """A byte after which an abstract set reads a text that goes on with that byte forever, or NO_PIVOT.

    The set after it is one item, so that its shape is the same in every context, and is not
    derived from a pivot itself (two sets might be pivots of each other). FULL or NO_ROW without room.
    """
    if head(h)[FEATURES] & (OFF_SHAPES | OFF_PIVOT) or head(h)[FOR_PIVOT]:
        return NO_PIVOT
    if shapes(h)[shape]["symbolic"] or not is_text(h, image):
        return NO_PIVOT
    for byte in (0x7A, 0x71, 0x30, 0x5F):  # z q 0 _
        after = first_step(h, image, byte, shapes(h)[shape]["call_first"], shapes(h)[shape]["call_size"])
        if after == FULL:
            return FULL
        if after == DEAD or after == image:
            continue
        following = step(h, after, byte)
        if following == FULL:
            return FULL
        if expand(h, after) == FULL:
            return FULL
        plain = following == after and sets(h)[after]["size"] == 1 and not sets(h)[after]["flags"] & HAS_TOKENS
        if plain and is_text(h, after):
            head(h)[FOR_PIVOT] = 1
            shape_after = shape_of(h, after)
            head(h)[FOR_PIVOT] = 0
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
    record["call_first"] = head(h)[N_ARENA]
    record["call_size"] = list_calls(h, image)
    if record["call_size"] == FULL:
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
    other = int64(DEAD)
    if pivot != NO_PIVOT:
        other = first_step(h, image, pivot, record["call_first"], record["call_size"])
    if scan_trie(h, shape, image, other, NO_COVER) == FULL or store_cleared(h, shape, head(h)[N_CLEARED]) == FULL:
        return FULL
    if store_groups(h, shape, head(h)[N_EXITS]) == FULL or store_base(h, shape, head(h)[N_FOUND]) == FULL:
        return FULL
    head(h)[N_SHAPES] = shape + 1
    return shape


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
    tokens = int64(0)
    for i in range(n_found):
        tokens += found(h)[i, 1] - found(h)[i, 0]
    record["max_need"] = most_need(h, n_found)
    record["base_row"] = -1
    record["base_size"] = 0
    sparse = tokens <= limit(h, SPARSE_LIMIT) and not has_tokens
    if sparse or record["symbolic"]:
        if sort_by_need(h, shape, n_found, tokens) == FULL:
            return FULL
    if not sparse:
        row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
        write_found(h, row)
        if has_tokens:
            add_token_edges(h, record["set"], row)
        record["base_row"] = head(h)[N_ROWS]
        head(h)[N_ROWS] += 1
    return 0


@kernel
def sort_by_need(h: Heap, shape: int, n_found: int, tokens: int) -> int:
    """Store the found tokens in the arena by ascending need, and how many need at most u. Returns 0 or FULL."""
    record = shapes(h)[shape]
    levels = int64(record["max_need"]) + 1
    need_first = take(h, levels)
    base_first = take(h, tokens)
    if need_first == FULL or base_first == FULL:
        return FULL
    words = arena(h)
    for u in range(levels):
        words[need_first + u] = 0
    count_needs(h, n_found, need_first)
    # Counting sort: turn the counts into starts, place the tokens; starts then become ends.
    start = 0
    for u in range(levels):
        count = words[need_first + u]
        words[need_first + u] = start
        start += count
    place_tokens(h, n_found, need_first, base_first)
    record["need_first"] = need_first
    record["base_first"] = base_first
    record["base_size"] = tokens
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
