"""Token sets as packed bit rows: the one format in which masks travel.

A row over a domain of V token ids is `ceil(V / 32)` little-endian 32-bit words; bit
`id % 32` of word `id // 32` is 1 where the token is allowed, and the bits past V are 0.
Several rows are one C-contiguous `uint32[rows, words]` array.

Rows belong to the caller. `as_row` and `as_rows` are the border: they check a buffer
once and hand out a `uint32` view of the same memory, whether the buffer is a numpy
array or a torch CPU tensor (which reaches numpy through its array protocol, without a
copy and without importing torch here).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORD_BITS", "Words", "allocate", "as_row", "as_rows", "is_allowed", "pack", "unpack", "words_for"]

WORD_BITS = 32
"""Token ids in one word of a row."""

Words = NDArray[np.uint32]
"""A row `uint32[words]`, or rows `uint32[rows, words]`."""

_PLAIN = np.dtype("<u4")
_WORD_TYPES = (_PLAIN, np.dtype("<i4"))


def words_for(size: int) -> int:
    """How many words a row over `size` token ids takes."""
    return -(-size // WORD_BITS)


def allocate(rows: int, size: int) -> Words:
    """`rows` rows over `size` token ids, nothing allowed yet."""
    return np.zeros((rows, words_for(size)), dtype=np.uint32)


def pack(ids: Iterable[int] | NDArray[Any], size: int) -> Words:
    """The row over `size` token ids that allows exactly `ids`, in any order.

    Raises ValueError for an id outside the domain.
    """
    chosen = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
    outside = chosen[(chosen < 0) | (chosen >= size)]
    if outside.size:
        raise ValueError(f"token id {outside[0]} is outside the domain of {size} ids")
    flags = np.zeros(words_for(size) * WORD_BITS, dtype=np.bool_)
    flags[chosen] = True
    return np.packbits(flags, bitorder="little").view(_PLAIN)


def unpack(row: Words, size: int) -> NDArray[np.int64]:
    """The token ids that `row` allows, ascending.

    Raises ValueError if a bit past `size` is set, since such a row is damaged.
    """
    words = np.ascontiguousarray(row, dtype=_PLAIN)
    if words.shape != (words_for(size),):
        raise ValueError(f"a row over {size} ids has {words_for(size)} words, not shape {words.shape}")
    ids = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    if ids.size and ids[-1] >= size:
        raise ValueError(f"bit {ids[-1]} is set in a row over {size} ids")
    return ids


def is_allowed(row: Words, token_id: int) -> bool:
    """Whether `row` allows `token_id`, which lies in its domain."""
    return bool(int(row[token_id // WORD_BITS]) >> (token_id % WORD_BITS) & 1)


def as_row(buffer: Any, size: int) -> Words:
    """A writable uint32 view of a caller's row over `size` token ids.

    `buffer` is a C-contiguous one-dimensional uint32 or int32 array of exactly
    `words_for(size)` words, or a CPU tensor of that kind; int32 words hold the same bits.
    Raises TypeError for another kind of buffer and ValueError for another shape.
    """
    return _as_words(buffer, (words_for(size),))


def address_of(row: Words) -> int:
    """Where a row that can be written to is in memory; `row.ctypes.data` takes four times as long."""
    return ctypes.addressof(ctypes.c_char.from_buffer(row))  # type: ignore[arg-type]


def as_rows(buffer: Any, rows: int, size: int) -> Words:
    """The same for `rows` rows, shape `[rows, words_for(size)]`."""
    return _as_words(buffer, (rows, words_for(size)))


def _as_words(buffer: Any, shape: tuple[int, ...]) -> Words:
    array = buffer if isinstance(buffer, np.ndarray) else _view_of_tensor(buffer)
    dtype = array.dtype
    if dtype is not _PLAIN and dtype not in _WORD_TYPES:
        raise TypeError(f"a mask row holds little-endian uint32 or int32 words, not {dtype}")
    if array.shape != shape:
        raise ValueError(f"the mask buffer has shape {array.shape}, but {shape} is needed")
    flags = array.flags
    if not flags.c_contiguous:
        raise ValueError("the mask buffer is not contiguous")
    if not flags.writeable:
        raise ValueError("the mask buffer is read-only")
    return array if dtype is _PLAIN else array.view(_PLAIN)


def _view_of_tensor(buffer: Any) -> NDArray[Any]:
    """The memory of a CPU tensor as an array; refuses what numpy could only copy."""
    if not hasattr(buffer, "__dlpack__"):
        raise TypeError(f"a mask row is a numpy array or a CPU tensor, not {type(buffer).__name__}")
    try:
        view = buffer.numpy() if hasattr(buffer, "numpy") else np.from_dlpack(buffer)
    except (TypeError, RuntimeError, BufferError) as error:
        raise TypeError(f"this {type(buffer).__name__} cannot be viewed as CPU memory: {error}") from error
    return np.asarray(view)
