"""From a description to a mask: found if it was built before, or built (`matcher.building`).

Stored masks serve all grammars of the vocabulary. The masks of many sets differ in little: after each comma of an
object, any white space may follow and any key that is not declared, and then there are the few beginnings of
one name or another. So what a description shares with others (`matcher.common`) is a mask of its own, from
which those are built.
"""

from __future__ import annotations

import numpy as np

from .branch import limit, take
from .building import NO_BASE, build_mask
from .calls import called
from .common import keep_common
from .describe import describe, pivot_set
from .jit import entry, int64, kernel, linked, words_at
from .listing import LISTED_LIMIT, write_words
from .parts import divide
from .scan import NO_PIVOT
from .shape import shape_of
from .tables import (
    ARENA_STOP,
    CARRIED,
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
    OFF_BASES,
    OFF_MEMO,
    STOPPED,
    TAILS_STOP,
    VOCABULARY_SIZE,
    WORDS,
    arena,
    head,
    items,
    key,
    mask_index,
    masks,
    sets,
    shapes,
    tails,
)
from .whole import is_whole, whole_mask
from .words import any_word
from .worklist import Heap, mix

MASK_WORDS, MASK_WORDS_PER_TOKEN = 1 << 16, 2
"""How many words of the arena one mask may take, and how many more for each token of the vocabulary, before it is
given up (`matcher.whole`)."""
MASK_ITEMS = 1 << 14
"""How many items of Earley sets it may take."""
MASK_TAILS = 64
"""How many tails may be walked for one mask before it is given up. Those of a hundred real schemas need 14 at most."""
LISTED_IN_BASE = 32
"""A base with more listed words gets a row."""
UNBUILT = -1
"""The size of a mask of which only the description is stored."""
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
    mask = known_mask(h)
    if mask >= 0 and masks(h)[mask]["size"] != UNBUILT:
        return mask
    if mask < 0:
        mask = store_key(h)
        if mask == FULL:
            return FULL
    base = common_base(h)
    if base < 0 and base != NO_BASE:
        return base
    load_key(h, mask)
    return build(h, mask, base, LISTED_LIMIT)


@kernel
def common_base(h: Heap) -> int:
    """The mask of what the description in `key` has in common with others, if it is worth a base, or NO_BASE.

    It is built when it is asked for the second time. FULL or NO_ROW without room. Spoils `key`.
    """
    if head(h)[FEATURES] & OFF_BASES or not keep_common(h):
        return NO_BASE
    mask = known_mask(h)
    if mask < 0:
        return FULL if store_key(h) == FULL else NO_BASE
    if masks(h)[mask]["size"] != UNBUILT:
        return mask
    return build(h, mask, NO_BASE, limit(h, LISTED_IN_BASE))


@kernel
def build(h: Heap, mask: int, base: int, most: int) -> int:
    """Build a mask whose description is in `key`. Returns its number, FULL or NO_ROW."""
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    return mask if build_mask(h, mask, base, most) != FULL else FULL


# ── Descriptions ────────────────────────────────────────────────────────────────────────


@kernel
def key_hash(h: Heap) -> int:
    """A hash of the description in `key`."""
    size = head(h)[KEY_SIZE]
    digest = int64(size)
    for i in range(size):
        digest = mix(digest * 31 + key(h)[i] + 1)
    return digest


@kernel
def known_mask(h: Heap) -> int:
    """The mask with the description in `key`, which may be UNBUILT, or NO_BASE if there is none."""
    digest = key_hash(h)
    index = mask_index(h)
    last = len(index) - 1
    slot = digest & last
    while index[slot] != 0:
        if has_key(h, index[slot] - 1, digest):
            return int64(index[slot] - 1)
        slot = (slot + 1) & last
    return NO_BASE


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


@kernel
def store_key(h: Heap) -> int:
    """Number the mask that `key` describes, UNBUILT; it is not known yet. FULL without room."""
    size = head(h)[KEY_SIZE]
    mask = head(h)[N_MASKS]
    if mask >= len(masks(h)):
        return FULL
    first = take(h, size)
    if first == FULL:
        return FULL
    for i in range(size):
        arena(h)[first + i] = key(h)[i]
    record = masks(h)[mask]
    record["row"] = -1
    record["size"] = UNBUILT
    record["key_first"] = first
    record["key_size"] = size
    record["hash"] = key_hash(h)
    head(h)[N_MASKS] = mask + 1
    index = mask_index(h)
    last = len(index) - 1
    slot = record["hash"] & last
    while index[slot] != 0:
        slot = (slot + 1) & last
    index[slot] = mask + 1
    return int64(mask)


@kernel
def load_key(h: Heap, mask: int) -> None:
    """Put the description of a stored mask into `key`."""
    record = masks(h)[mask]
    head(h)[KEY_SIZE] = record["key_size"]
    for i in range(record["key_size"]):
        key(h)[i] = arena(h)[record["key_first"] + i]


# ── Writing ─────────────────────────────────────────────────────────────────────────────


@entry
def write_mask(h: Heap, mask: int, out: int) -> int:
    """Write a finished mask into a caller's row, `uint32[words]` at an address. Returns 0."""
    write_words(h, mask, words_at(out, head(h)[WORDS]))
    return 0


@kernel
def allows_nothing(h: Heap, mask: int, row: np.ndarray) -> bool:
    """Whether a finished mask, which is written out in `row`, allows no token.

    It may be kept as no mask at all, as a row that is empty, or as a list of words that are zero.
    """
    record = masks(h)[mask]
    for i in range(record["first"], record["first"] + 2 * record["size"], 2):
        if arena(h)[i + 1] != 0:
            return False
    return not any_word(row)


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
def fill(h: Heap, number: int, out: int) -> int:
    """Write the mask of a set into the row at address `out`.

    Returns a handle for next time: twice the number of a mask with listed words, one more than twice the number
    of the dense row that the mask is, NOTHING if it allows no token. FULL or NO_ROW without room.
    """
    if head(h)[CARRIED]:
        return FULL
    mask = int64(sets(h)[number]["mask"])
    if mask < 0 and is_whole(h, number):
        mask = whole_mask(h, number)
    elif mask < 0 or head(h)[FEATURES] & OFF_MEMO:
        mask = affordable_mask(h, number)
        if mask == FULL and head(h)[STOPPED]:
            mask = whole_mask(h, number)
    if mask < 0:
        return mask
    row = words_at(out, head(h)[WORDS])
    write_words(h, mask, row)
    if allows_nothing(h, mask, row):
        return NOTHING
    record = masks(h)[mask]
    return 2 * mask if record["size"] > 0 else 2 * record["row"] + 1
