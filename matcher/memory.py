"""Memory for large arrays: zeroed, private to the process, taken from the system where it is touched.

Kernels jump around in megabytes of tables, and half of what a jump costs on an ordinary machine is the
look-up of its page. So large arrays ask for pages of 2 MiB, which also come 512 times as seldom.
"""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infernix.gbnf.errors import LimitError

__all__ = ["LARGE_PAGE", "MAPPED_BYTES", "copied", "touch", "zeros"]

PAGE = 4096
MAPPED_BYTES = 1 << 16
"""Arrays of so many bytes are mapped."""
LARGE_PAGE = 1 << 21


def zeros(shape: tuple[int, ...], dtype: Any, large_pages: bool = True) -> NDArray[Any]:
    """A zeroed array; memory is taken only where it is touched, at least a page.

    Large arrays are mapped: from `np.zeros` they might be memory used before, and be cleared in full.
    Raises LimitError if the system has no memory.
    """
    size = np.dtype(dtype).itemsize * math.prod(shape)
    if size < MAPPED_BYTES:
        return np.zeros(shape, dtype=dtype)
    # Private: a forked process must not write into its parent's sets.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        pages = mmap.mmap(-1, size, **private)
    except OSError as error:
        raise LimitError("there is no memory left for this grammar and text") from error
    if large_pages and size >= LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without large pages has small ones
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=dtype, count=math.prod(shape)).reshape(shape)


def copied(array: NDArray[Any]) -> NDArray[Any]:
    """A copy of an array in such memory. Raises LimitError if the system has none."""
    copy = zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def touch(array: NDArray[Any], limit: int) -> None:
    """Write to the first `limit` bytes of an array what is there, so that the system gives them real memory now."""
    data = array.reshape(-1).view(np.uint8)
    pages = data[: min(limit, len(data)) : PAGE]
    pages |= 0
