"""What the description of a mask has in common with other descriptions.

The large components of a mask (free texts, white space, any key but some) come from standard rules, and come again
in the next set. The small ones are particular: the rest of a literal, a few digits. So the large ones alone make a
description too. Where they amount to many words that would be listed, its mask is a base for others.
"""

from __future__ import annotations

from .branch import limit
from .describe import COMPONENTS_WORD, END_WORD, FIRST_COMPONENT, NO_MASK, TRIPLE
from .described import base_count, first_quad, has_list
from .jit import int64, kernel
from .tables import KEY_SIZE, arena, head, key, masks, shapes
from .worklist import Heap

LARGE = 24
"""A component of so many tokens is large."""
WORTH_A_BASE = 48
"""Together they are worth a base if so many tokens would have to be listed."""


@kernel
def keep_common(h: Heap) -> bool:
    """Reduce the description in `key` to its large components. False if that is all, or they are not worth a base."""
    size = head(h)[KEY_SIZE]
    kept = FIRST_COMPONENT
    unlisted = 0
    listed = int64(0)
    for i in range(FIRST_COMPONENT, first_quad(h), TRIPLE):
        if not is_large_component(h, i):
            continue
        if has_list(h, i):
            listed += changes_of_list(h, i)
        else:
            unlisted += 1
            listed += changes_of_pivot(h, i)
        for k in range(TRIPLE):
            key(h)[kept + k] = key(h)[i + k]
        kept += TRIPLE
    key(h)[COMPONENTS_WORD] = (kept - FIRST_COMPONENT) // TRIPLE
    others = kept < size or key(h)[END_WORD] != 0
    key(h)[END_WORD] = 0
    head(h)[KEY_SIZE] = kept
    return others and (unlisted > 1 or listed >= limit(h, WORTH_A_BASE))


@kernel
def is_large_component(h: Heap, component: int) -> bool:
    """Whether a component of the description in `key` is a row, or a long list."""
    return not has_list(h, component) or base_count(h, key(h)[component], key(h)[component + 1]) >= limit(h, LARGE)


@kernel
def changes_of_list(h: Heap, component: int) -> int:
    """How many tokens of a component would be listed: those it allows, or those of its row that it does not."""
    record = shapes(h)[key(h)[component]]
    count = base_count(h, key(h)[component], key(h)[component + 1])
    if record["base_row"] >= 0:
        count = min(count, record["base_size"] - count)
    return count


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
