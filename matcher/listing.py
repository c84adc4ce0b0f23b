"""Masks as lists: the words that differ from a base row, with their values.

While a list is being made, the words stand in `bits` and `touched` tells which they are; both are all zero again at
its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import int64, kernel, words_at
from .tables import N_ARENA, WORDS, arena, bits, head, masks, rows, touched
from .words import clear_bit, clear_words, copy_words, set_bit
from .worklist import Heap

LISTED_LIMIT = 1000
"""At most so many tokens may differ from the base row, or the mask gets a row of its own."""


@kernel
def begin_list(h: Heap, mask: int, row: int) -> None:
    """Begin a mask that differs from a base row, or from nothing (-1), by words that will be listed in the arena."""
    record = masks(h)[mask]
    record["row"] = row
    record["first"] = head(h)[N_ARENA]
    record["size"] = 0


@kernel
def touch(h: Heap, mask: int, word: int) -> None:
    """List a word of a mask that is being built, and copy it from the base into `bits`."""
    if touched(h)[word]:
        return
    touched(h)[word] = 1
    record = masks(h)[mask]
    if record["row"] >= 0:
        bits(h)[word] = words_at(rows(h)[record["row"]], head(h)[WORDS])[word]
    arena(h)[record["first"] + 2 * record["size"]] = word
    record["size"] += 1


@kernel
def change(h: Heap, mask: int, token: int, allowed: bool) -> None:
    """Allow or forbid a token in a mask that is being built."""
    touch(h, mask, token >> 5)
    if allowed:
        set_bit(bits(h), token)
    else:
        clear_bit(bits(h), token)


@kernel
def end_list(h: Heap, mask: int) -> None:
    """Write the values of the listed words beside them."""
    record = masks(h)[mask]
    end = record["first"] + 2 * record["size"]
    for i in range(record["first"], end, 2):
        word = arena(h)[i]
        value = int64(bits(h)[word])
        arena(h)[i + 1] = value if value < 0x80000000 else value - 0x100000000
        bits(h)[word] = 0
        touched(h)[word] = 0
    head(h)[N_ARENA] = end


@kernel
def write_words(h: Heap, mask: int, out: Any) -> None:
    """Write a finished mask into a row `uint32[words]`."""
    record = masks(h)[mask]
    if record["row"] >= 0:
        copy_words(out, words_at(rows(h)[record["row"]], head(h)[WORDS]))
    else:
        clear_words(out)
    for i in range(record["first"], record["first"] + 2 * record["size"], 2):
        out[arena(h)[i]] = np.uint32(int64(arena(h)[i + 1]) & 0xFFFFFFFF)
