"""From a description to a mask: found if it was built before, or built.

A mask is a *base* row, or none, with a list of words that differ from it. The base is a row of a shape,
so a mask in which a free text is followed by one thing or another costs a short list. What differs too
much gets a row of its own. Stored masks serve all grammars of the vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .branch import limit, take
from .calls import called
from .describe import (
    COMPONENTS_WORD,
    END_WORD,
    FIRST_COMPONENT,
    NO_BUDGET,
    NO_MASK,
    QUAD,
    TRIPLE,
    describe,
    pivot_set,
)
from .jit import entry, int64, kernel, linked, words_at
from .listing import LISTED_LIMIT, begin_list, change, end_list, touch
from .parts import divide
from .scan import NO_PIVOT
from .shape import shape_of
from .tables import (
    ARENA_STOP,
    FEATURES,
    FULL,
    ITEMS_STOP,
    KEY_SIZE,
    LINK_FIND_MASK,
    MAX_ROWS,
    N_ARENA,
    N_ITEMS,
    N_MASKS,
    N_ROWS,
    N_TAILS,
    NO_ROW,
    OFF_MEMO,
    STOPPED,
    TAILS_STOP,
    VOCABULARY_SIZE,
    WORDS,
    arena,
    bits,
    branches,
    eos_ids,
    head,
    items,
    key,
    mask_index,
    masks,
    rows,
    sets,
    shapes,
    tails,
    trie_ids,
)
from .whole import is_whole, whole_mask
from .words import add_words, clear_bit, clear_words, copy_words, set_bit
from .worklist import Heap, mix

MASK_WORDS, MASK_WORDS_PER_TOKEN = 1 << 16, 2
"""How many words of the arena one mask may take, and how many more for each token of the vocabulary, before it is
given up (`matcher.whole`)."""
MASK_ITEMS = 1 << 14
"""How many items of Earley sets it may take."""
MASK_TAILS = 64
"""How many tails may be walked for one mask before it is given up. Those of a hundred real schemas need 14 at most."""
NO_ANCHOR = -1
NOTHING = -3
"""The handle of the mask that allows no token. Not one of the statuses of a kernel."""


@kernel
def mask_of(h: Heap, number: int) -> int:
    """The finished mask of a set. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["mask"] >= 0 and not head(h)[FEATURES] & OFF_MEMO:
        return int64(record["mask"])
    if divide(h, number) == FULL:
        return FULL
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        status = prepare(h, part)
        if status < 0:
            return status
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            status = prepare(h, called(h, part, arena(h)[c]))
            if status < 0:
                return status
    return described_mask(h, number)


@kernel
def prepare(h: Heap, component: int) -> int:
    """See to it that a component has its shape, and the pivot of the shape its mask. 0, FULL or NO_ROW."""
    if component == FULL:
        return FULL
    shape = shape_of(h, component)
    if shape < 0:
        return shape
    if shapes(h)[shape]["pivot"] == NO_PIVOT:
        return 0
    pivot = pivot_set(h, shape, component)
    if pivot == FULL:
        return FULL
    mask = plain_mask(h, pivot)
    return mask if mask < 0 else 0


@kernel
def described_mask(h: Heap, number: int) -> int:
    """The mask of a set whose parts have shapes, and their pivots masks. FULL or NO_ROW without room."""
    status = describe(h, number)
    if status < 0:
        return status
    mask = find_mask(h)
    if mask >= 0:
        sets(h)[number]["mask"] = mask
    return mask


@kernel
def plain_mask(h: Heap, number: int) -> int:
    """The mask of a pivot: one item, whose shape has no pivot and no calls. FULL or NO_ROW without room."""
    if sets(h)[number]["mask"] >= 0:
        return int64(sets(h)[number]["mask"])
    if divide(h, number) == FULL:
        return FULL
    shape = shape_of(h, number)
    if shape < 0:
        return shape
    return described_mask(h, number)


@linked(LINK_FIND_MASK)
def find_mask(h: Heap) -> int:
    """The mask that `key` describes: a stored one, or a new one. FULL or NO_ROW without room."""
    size = head(h)[KEY_SIZE]
    digest = int64(size)
    for i in range(size):
        digest = mix(digest * 31 + key(h)[i] + 1)
    index = mask_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != 0:
        if has_key(h, index[slot] - 1, digest):
            return int64(index[slot] - 1)
        slot = (slot + 1) & limit
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    mask = head(h)[N_MASKS]
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
    head(h)[N_MASKS] = mask + 1
    index[slot] = mask + 1
    return mask


@kernel
def has_key(h: Heap, mask: int, digest: int) -> bool:
    """Whether a stored mask has exactly the description in `key`."""
    record = masks(h)[mask]
    if record["hash"] != digest or record["key_size"] != head(h)[KEY_SIZE]:
        return False
    for i in range(head(h)[KEY_SIZE]):
        if arena(h)[record["key_first"] + i] != key(h)[i]:
            return False
    return True


# ── Building ────────────────────────────────────────────────────────────────────────────


@kernel
def base_count(h: Heap, shape: int, budget: int) -> int:
    """How many tokens of a shape's base, sorted by need, a budget allows."""
    record = shapes(h)[shape]
    if budget == NO_BUDGET:
        return int64(record["base_size"])
    return int64(arena(h)[record["need_first"] + budget])


@kernel
def has_list(h: Heap, component: int) -> bool:
    """Whether what a component of the description in `key` allows is at hand as a list."""
    shape = key(h)[component]
    return bool(
        key(h)[component + 2] == NO_MASK and (key(h)[component + 1] != NO_BUDGET or shapes(h)[shape]["base_row"] < 0)
    )


@kernel
def first_quad(h: Heap) -> int:
    """Where the tails begin in `key`."""
    return FIRST_COMPONENT + TRIPLE * int64(key(h)[COMPONENTS_WORD])


@kernel
def build_mask(h: Heap, mask: int) -> int:
    """Build the mask that `key` describes. Returns 0 or FULL."""
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
    most = limit(h, LISTED_LIMIT) if anchor == NO_ANCHOR else LISTED_LIMIT
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
    changes = int64(record["base_size"]) + masks(h)[key(h)[anchor + 2]]["size"]
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        changes += arena(h)[i + 1] - arena(h)[i]
    return changes


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
    write_mask(h, mask, scratch)
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


@kernel
def first_alive(h: Heap, quad: int) -> int:
    """Where in the arena the alive branches of a described tail begin."""
    return int64(tails(h)[key(h)[quad]]["alive_first"])


@kernel
def end_of_alive(h: Heap, quad: int) -> int:
    """Where those end that its budget allows: they are in order of need."""
    record = tails(h)[key(h)[quad]]
    end = int64(record["alive_first"] + 2 * record["alive_size"])
    if key(h)[quad + 1] != NO_BUDGET:
        while end > record["alive_first"] and arena(h)[end - 1] > key(h)[quad + 1]:
            end -= 2
    return end


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
            start = shapes(h)[key(h)[i]]["base_first"]
            for t in range(start, start + base_count(h, key(h)[i], key(h)[i + 1])):
                change(h, mask, arena(h)[t], True)
    if key(h)[END_WORD]:
        for i in range(len(eos_ids(h))):
            change(h, mask, eos_ids(h)[i], True)
    for i in range(first_quad(h), head(h)[KEY_SIZE], QUAD):
        for a in range(first_alive(h, i), end_of_alive(h, i), 2):
            branch = branches(h)[arena(h)[a]]
            for t in range(branch["token_first"], branch["token_first"] + 2 * branch["token_size"], 2):
                if key(h)[i + 2] <= arena(h)[t + 1] <= key(h)[i + 3]:
                    change(h, mask, arena(h)[t], True)
    end_list(h, mask)
    return 0


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
    pivot = masks(h)[key(h)[anchor + 2]]
    masks(h)[mask]["row"] = pivot["row"]
    for i in range(pivot["first"], pivot["first"] + 2 * pivot["size"], 2):
        touch(h, mask, arena(h)[i])
        bits(h)[arena(h)[i]] = np.uint32(int64(arena(h)[i + 1]) & 0xFFFFFFFF)
    for i in range(len(eos_ids(h))):
        change(h, mask, eos_ids(h)[i], False)
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        for t in range(arena(h)[i], arena(h)[i + 1]):
            change(h, mask, trie_ids(h)[t], False)


# ── Writing ─────────────────────────────────────────────────────────────────────────────


@entry
def write_mask(h: Heap, mask: int, out: Any) -> None:
    """Write a finished mask into a caller's row `uint32[words]`."""
    record = masks(h)[mask]
    if record["row"] >= 0:
        copy_words(out, words_at(rows(h)[record["row"]], head(h)[WORDS]))
    else:
        clear_words(out)
    for i in range(record["first"], record["first"] + 2 * record["size"], 2):
        out[arena(h)[i]] = np.uint32(int64(arena(h)[i + 1]) & 0xFFFFFFFF)


@kernel
def affordable_mask(h: Heap, number: int) -> int:
    """The mask of a set by way of shapes. FULL without room, and (STOPPED) if it takes too much; or NO_ROW."""
    most = MASK_WORDS + MASK_WORDS_PER_TOKEN * head(h)[VOCABULARY_SIZE]
    head(h)[ARENA_STOP] = head(h)[N_ARENA] + most
    head(h)[TAILS_STOP] = head(h)[N_TAILS] + MASK_TAILS
    head(h)[ITEMS_STOP] = min(head(h)[N_ITEMS] + MASK_ITEMS, len(items(h)))
    head(h)[STOPPED] = 0
    mask = mask_of(h, number)
    head(h)[ARENA_STOP] = len(arena(h))
    head(h)[TAILS_STOP] = len(tails(h))
    head(h)[ITEMS_STOP] = len(items(h))
    return mask


@entry
def fill(h: Heap, number: int, out: Any) -> int:
    """Write the mask of a set into `out`.

    Returns a handle for next time: twice the number of a mask with listed words, one more than twice the number
    of the dense row that the mask is, NOTHING if it allows no token. FULL or NO_ROW without room.
    """
    mask = int64(sets(h)[number]["mask"])
    if mask < 0 and is_whole(h, number):
        mask = whole_mask(h, number)
    elif mask < 0 or head(h)[FEATURES] & OFF_MEMO:
        mask = affordable_mask(h, number)
        if mask == FULL and head(h)[STOPPED]:
            mask = whole_mask(h, number)
    if mask < 0:
        return mask
    write_mask(h, mask, out)
    record = masks(h)[mask]
    if record["size"] > 0:
        return 2 * mask
    return 2 * record["row"] + 1 if record["row"] >= 0 else NOTHING
