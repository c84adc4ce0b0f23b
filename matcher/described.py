"""Reading a description: the components and tails that `key` holds (`matcher.describe`)."""

from __future__ import annotations

from .describe import COMPONENTS_WORD, FIRST_COMPONENT, NO_BUDGET, NO_MASK, TRIPLE
from .jit import int64, kernel
from .tables import arena, key, shapes, tails
from .worklist import Heap


@kernel
def first_quad(h: Heap) -> int:
    """Where the tails begin in `key`."""
    return FIRST_COMPONENT + TRIPLE * int64(key(h)[COMPONENTS_WORD])


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
