"""Mask rows as words: plain loops, since a slice assignment would compile to much more code."""

from __future__ import annotations

import numpy as np

from .jit import kernel


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
def any_word(row: np.ndarray) -> bool:
    """Whether a mask row allows any token."""
    for w in range(len(row)):
        if row[w] != 0:
            return True
    return False


@kernel
def set_bit(row: np.ndarray, token: int) -> None:
    """Allow a token in a mask row."""
    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)


@kernel
def clear_bit(row: np.ndarray, token: int) -> None:
    """Forbid a token in a mask row."""
    row[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))
