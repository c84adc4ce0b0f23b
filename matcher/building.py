"""Building a mask from its description.

A mask is a *base* row, or none, with a list of words that differ from it. The base is a row of a shape, or of what
the description has in common with others (`matcher.common`); so a mask in which a free text is followed by one
thing or another costs a short list. What differs too much gets a row of its own.
"""

from __future__ import annotations

import numpy as np

from .branch import limit
from .common import changes_of_pivot, is_large_component
from .describe import END_WORD, FIRST_COMPONENT, NO_BUDGET, NO_MASK, QUAD, TRIPLE
from .described import base_count, end_of_alive, first_alive, first_quad, has_list
from .jit import int64, kernel, words_at
from .listing import LISTED_LIMIT, begin_list, change, end_list, touch, write_words
from .tables import (
    FULL,
    KEY_SIZE,
    N_ARENA,
    N_ROWS,
    WORDS,
    arena,
    bits,
    branches,
    eos_ids,
    head,
    key,
    masks,
    rows,
    shapes,
    tails,
    trie_ids,
)
from .words import add_words, clear_bit, clear_words, copy_words, set_bit
from .worklist import Heap

NO_ANCHOR = -1
NO_BASE = -4
"""Not a mask, and not one of the statuses of a kernel."""


@kernel
def build_mask(h: Heap, mask: int, base: int, most: int) -> int:
    """Build the mask that `key` describes, on another one if `base` is not NO_BASE. Returns 0 or FULL.

    At most `most` tokens are listed, or the mask gets a row.
    """
    if base != NO_BASE:
        changes = count_beside(h) + masks(h)[base]["size"]
        if changes <= most:
            return build_on(h, mask, base, changes)
    listed = int64(0)  # tokens at hand as lists
    unlisted = 0
    anchor = int64(NO_ANCHOR)  # the component whose row becomes the base
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if has_list(h, i):
            listed += base_count(h, key(h)[i], key(h)[i + 1])
        else:
            unlisted += 1
            anchor = i
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        listed += tails(h)[key(h)[i]]["tokens"]
    changes = listed
    if unlisted == 0:
        anchor = largest_base(h)
        if anchor != NO_ANCHOR:
            listed -= base_count(h, key(h)[anchor], key(h)[anchor + 1])
    if anchor != NO_ANCHOR:
        with_anchor = listed + changes_of_anchor(h, anchor)
        if unlisted == 1 or with_anchor < changes:
            changes = with_anchor
        else:
            anchor = NO_ANCHOR
    if anchor == NO_ANCHOR:
        most = min(most, limit(h, LISTED_LIMIT))
    if unlisted <= 1 and changes <= most:
        return build_listed(h, mask, anchor, changes)
    row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
    clear_words(row)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if key(h)[i + 2] != NO_MASK:
            add_pivot(h, key(h)[i], key(h)[i + 2], row)
        add_base(h, i, row)
    add_outside(h, row)
    masks(h)[mask]["row"] = head(h)[N_ROWS]
    masks(h)[mask]["size"] = 0
    head(h)[N_ROWS] += 1
    return 0


@kernel
def largest_base(h: Heap) -> int:
    """The component with the largest base that has a row too, or NO_ANCHOR."""
    best = int64(NO_ANCHOR)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        record = shapes(h)[key(h)[i]]
        if record["base_row"] >= 0 and (
            best == NO_ANCHOR or record["base_size"] > shapes(h)[key(h)[best]]["base_size"]
        ):
            best = int64(i)
    return best


@kernel
def changes_of_anchor(h: Heap, anchor: int) -> int:
    """How many tokens of its base row a component does not allow, and what it allows besides."""
    record = shapes(h)[key(h)[anchor]]
    if key(h)[anchor + 2] == NO_MASK:
        budget = key(h)[anchor + 1]
        return 0 if budget == NO_BUDGET else record["base_size"] - base_count(h, key(h)[anchor], budget)
    if record["base_row"] >= 0:
        return int64(LISTED_LIMIT) + 1  # two rows
    return changes_of_pivot(h, anchor)


@kernel
def add_base(h: Heap, component: int, row: np.ndarray) -> None:
    """Allow in `row` what a component allows without its pivot."""
    shape = key(h)[component]
    budget = key(h)[component + 1]
    record = shapes(h)[shape]
    if record["base_row"] >= 0 and budget == NO_BUDGET:
        add_words(row, words_at(rows(h)[record["base_row"]], head(h)[WORDS]))
        return
    allowed = base_count(h, shape, budget)
    first = int64(record["base_first"])
    if record["base_row"] < 0 or 2 * allowed < record["base_size"]:
        for t in range(first, first + allowed):
            set_bit(row, arena(h)[t])
        return
    # Nearly all of a large base: start from its row and take out the few that need too much.
    scratch = bits(h)
    copy_words(scratch, words_at(rows(h)[record["base_row"]], head(h)[WORDS]))
    for t in range(first + allowed, first + record["base_size"]):
        clear_bit(scratch, arena(h)[t])
    add_words(row, scratch)
    clear_words(scratch)


@kernel
def add_pivot(h: Heap, shape: int, mask: int, row: np.ndarray) -> None:
    """Allow in `row` a pivot's mask without what does not hold for this shape: EOS, and the cleared tokens."""
    scratch = bits(h)
    write_words(h, mask, scratch)
    for i in range(len(eos_ids(h))):
        clear_bit(scratch, eos_ids(h)[i])
    record = shapes(h)[shape]
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        for t in range(arena(h)[i], arena(h)[i + 1]):
            clear_bit(scratch, trie_ids(h)[t])
    add_words(row, scratch)
    clear_words(scratch)


@kernel
def add_outside(h: Heap, row: np.ndarray) -> None:
    """Allow in `row` the described tokens that leave their shape, and EOS where the text may end."""
    if key(h)[END_WORD]:
        for i in range(len(eos_ids(h))):
            set_bit(row, eos_ids(h)[i])
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        for a in range(first_alive(h, i), end_of_alive(h, i), 2):
            branch = branches(h)[arena(h)[a]]
            for t in range(branch["token_first"], branch["token_first"] + 2 * branch["token_size"], 2):
                if key(h)[i + 2] <= arena(h)[t + 1] <= key(h)[i + 3]:
                    set_bit(row, arena(h)[t])


# ── Listing the words that differ ───────────────────────────────────────────────────────


@kernel
def build_listed(h: Heap, mask: int, anchor: int, changes: int) -> int:
    """Build a mask as pairs (word index, word) that differ from the anchor's row. Returns 0 or FULL."""
    if head(h)[N_ARENA] + 2 * (changes + 2 * len(eos_ids(h))) > len(arena(h)):
        return FULL
    begin_list(h, mask, -1)
    if anchor != NO_ANCHOR:
        list_anchor(h, mask, anchor)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if i != anchor or key(h)[i + 2] != NO_MASK:
            list_base(h, mask, i)
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        list_tail(h, mask, i)
    finish_list(h, mask)
    return 0


@kernel
def list_base(h: Heap, mask: int, component: int) -> None:
    """List the tokens of a component that are at hand as a list."""
    start = int64(shapes(h)[key(h)[component]]["base_first"])
    for t in range(start, start + base_count(h, key(h)[component], key(h)[component + 1])):
        change(h, mask, arena(h)[t], True)


@kernel
def list_tail(h: Heap, mask: int, quad: int) -> None:
    """List the tokens of a described tail."""
    for a in range(first_alive(h, quad), end_of_alive(h, quad), 2):
        branch = branches(h)[arena(h)[a]]
        for t in range(branch["token_first"], branch["token_first"] + 2 * branch["token_size"], 2):
            if key(h)[quad + 2] <= arena(h)[t + 1] <= key(h)[quad + 3]:
                change(h, mask, arena(h)[t], True)


@kernel
def finish_list(h: Heap, mask: int) -> None:
    """List EOS, if the text may end, and end the list."""
    if key(h)[END_WORD]:
        for i in range(len(eos_ids(h))):
            change(h, mask, eos_ids(h)[i], True)
    end_list(h, mask)


@kernel
def list_anchor(h: Heap, mask: int, anchor: int) -> None:
    """Take the row of a component as the base, and list what it has too much."""
    record = shapes(h)[key(h)[anchor]]
    if key(h)[anchor + 2] == NO_MASK:
        masks(h)[mask]["row"] = record["base_row"]
        if key(h)[anchor + 1] != NO_BUDGET:
            start = record["base_first"] + base_count(h, key(h)[anchor], key(h)[anchor + 1])
            for t in range(start, record["base_first"] + record["base_size"]):
                change(h, mask, arena(h)[t], False)
        return
    list_mask(h, mask, key(h)[anchor + 2])
    for i in range(len(eos_ids(h))):
        change(h, mask, eos_ids(h)[i], False)
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        for t in range(arena(h)[i], arena(h)[i + 1]):
            change(h, mask, trie_ids(h)[t], False)


@kernel
def list_mask(h: Heap, mask: int, other: int) -> None:
    """Begin the list of a mask as that of another one, with its base."""
    source = masks(h)[other]
    masks(h)[mask]["row"] = source["row"]
    for i in range(source["first"], source["first"] + 2 * source["size"], 2):
        touch(h, mask, arena(h)[i])
        bits(h)[arena(h)[i]] = np.uint32(int64(arena(h)[i + 1]) & 0xFFFFFFFF)


# ── Building on what is common ──────────────────────────────────────────────────────────


@kernel
def count_beside(h: Heap) -> int:
    """How many tokens are allowed beside the large components (`matcher.common`)."""
    tokens = int64(0)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if not is_large_component(h, i):
            tokens += base_count(h, key(h)[i], key(h)[i + 1])
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        tokens += tails(h)[key(h)[i]]["tokens"]
    return tokens


@kernel
def build_on(h: Heap, mask: int, base: int, changes: int) -> int:
    """Build a mask as what a base allows, and all but the large components. Returns 0 or FULL."""
    if head(h)[N_ARENA] + 2 * (changes + len(eos_ids(h))) > len(arena(h)):
        return FULL
    begin_list(h, mask, -1)
    list_mask(h, mask, base)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if not is_large_component(h, i):
            list_base(h, mask, i)
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        list_tail(h, mask, i)
    finish_list(h, mask)
    return 0
