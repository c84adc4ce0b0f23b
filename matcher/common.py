"""What the description of a mask has in common with other descriptions.

The large parts of a mask (free texts, white space, any key but some) come from standard rules, and come again in the
next set. The small ones are particular: the rest of a literal, a few digits. So the large parts alone make a
description too. Where they amount to many words that would be listed, its mask is a base for others.
"""

from __future__ import annotations

from .branch import limit
from .describe import COMPONENTS_WORD, END_WORD, FIRST_COMPONENT, NO_MASK, QUAD, TRIPLE
from .described import base_count, first_quad, has_list
from .jit import int64, kernel
from .tables import KEY_SIZE, arena, head, key, masks, shapes, tails
from .worklist import Heap

LARGE_PART = 24
"""A part of so many tokens is large."""
WORTH_A_BASE = 48
"""Together they are worth a base if so many tokens would have to be listed."""


@kernel
def keep_common(h: Heap) -> bool:
    """Reduce the description in `key` to its large parts. False if it has no others, or they are not worth a base."""
    parts_end = first_quad(h)
    size = head(h)[KEY_SIZE]
    kept = FIRST_COMPONENT
    unlisted = 0
    listed = int64(0)
    for i in range(FIRST_COMPONENT, parts_end, TRIPLE):
        if not is_large_component(h, i):
            continue
        if has_list(h, i):
            listed += base_count(h, key(h)[i], key(h)[i + 1])
        else:
            unlisted += 1
            listed += changes_of_pivot(h, i)
        for k in range(TRIPLE):
            key(h)[kept + k] = key(h)[i + k]
        kept += TRIPLE
    key(h)[COMPONENTS_WORD] = (kept - FIRST_COMPONENT) // TRIPLE
    for i in range(parts_end, size, QUAD):
        if not is_large_tail(h, i):
            continue
        listed += tails(h)[key(h)[i]]["tokens"]
        for k in range(QUAD):
            key(h)[kept + k] = key(h)[i + k]
        kept += QUAD
    others = kept < size or key(h)[END_WORD] != 0
    key(h)[END_WORD] = 0
    head(h)[KEY_SIZE] = kept
    return others and (unlisted > 1 or listed >= limit(h, WORTH_A_BASE))


@kernel
def is_large_component(h: Heap, component: int) -> bool:
    """Whether a component of the description in `key` is a row, or a long list."""
    return not has_list(h, component) or base_count(h, key(h)[component], key(h)[component + 1]) >= limit(h, LARGE_PART)


@kernel
def is_large_tail(h: Heap, quad: int) -> bool:
    """Whether a described tail has many tokens."""
    return bool(tails(h)[key(h)[quad]]["tokens"] >= limit(h, LARGE_PART))


@kernel
def changes_of_pivot(h: Heap, component: int) -> int:
    """How many tokens of its pivot's base row a component does not allow, and what it allows besides."""
    if key(h)[component + 2] == NO_MASK:
        return int64(0)
    record = shapes(h)[key(h)[component]]
    changes = int64(record["base_size"]) + masks(h)[key(h)[component + 2]]["size"]
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        changes += arena(h)[i + 1] - arena(h)[i]
    return changes
