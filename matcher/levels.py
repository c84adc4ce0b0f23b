"""The stack of a walk through the trie: a level for each list of children that the walk is in the middle of.

Three kinds of levels follow one another on it: those of the general walk (`matcher.scan`), those that are skimmed
(`matcher.skim`), and those of a chain (`matcher.chain`).
"""

from __future__ import annotations

from .jit import int64, kernel
from .tables import DEAD, child_bytes, stack
from .worklist import Heap

NO_CHILD = -3
"""Not a place in a list, and not one of the statuses of a kernel."""
FIRST, END = 0, 1
"""Columns of `stack`: the places of the children in the trie's list of children, [FIRST, END)."""
NEXT = 2
"""The place of the next one. Where a set lists its moves, it tells which of these is next (`scan.enter`); in a chain it
is a byte."""
HERE, OTHER = 3, 4
"""The set at their parent, and the pivot's set there. In a chain HERE is a set whose only item differs in nothing but
the state."""
STATE = 5
"""The state in place of a set, in a chain; NO_STATE elsewhere."""
NO_STATE = -1
BASE, LESS = 6, 7
"""Of a level that is skimmed: the base; how many characters begin on the way to its node, or LEVEL_NEEDS."""
LEVEL_NEEDS = -1
"""Nothing rises: bytes lead back to the set."""
SKIMMED = -1
"""The FIRST of a level that is skimmed, which is not needed there."""


@kernel
def begin_level(h: Heap, level: int, first: int, end: int, number: int, other: int) -> None:
    """Begin with the children [first, end) of a node, at which there are these sets, at a level of the stack."""
    at = stack(h)
    at[level, FIRST] = first
    at[level, END] = end
    at[level, NEXT] = first
    at[level, HERE] = number
    at[level, OTHER] = other
    at[level, STATE] = NO_STATE


@kernel
def begin_skimmed(h: Heap, level: int, first: int, end: int, number: int, base: int, less: int) -> None:
    """The same for a level that is skimmed."""
    begin_level(h, level, first, end, number, DEAD)
    at = stack(h)
    at[level, FIRST] = SKIMMED
    at[level, BASE] = base
    at[level, LESS] = less


@kernel
def begin_link(h: Heap, level: int, first: int, end: int, number: int, state: int) -> None:
    """The same for a level of a chain; it goes from the first byte on."""
    begin_level(h, level, first, end, number, DEAD)
    at = stack(h)
    at[level, NEXT] = 0
    at[level, STATE] = state


@kernel
def find_byte(h: Heap, first: int, end: int, byte: int) -> int:
    """The place of a byte among the children [first, end) of a node, or NO_CHILD (binary search)."""
    bytes_of = child_bytes(h)
    while first < end:
        middle = (first + end) // 2
        if bytes_of[middle] == byte:
            return int64(middle)
        if bytes_of[middle] < byte:
            first = middle + 1
        else:
            end = middle
    return NO_CHILD
