"""The one door to numba: how kernels are compiled, where they are cached, how they see memory.

`kernel` compiles a function to machine code that releases the GIL. Compiled code is kept
in the user's cache folder under a digest of *every* kernel source: numba itself only
watches a function's own file, so an edit of a helper would leave its callers stale.

With `NUMBA_DISABLE_JIT=1` the same source runs as plain Python. Nothing in a kernel may
therefore depend on machine arithmetic: integers are kept far from overflow.

**Memory.** Passing an array into compiled code costs about 0.15 us, and the matcher has
two dozen arrays. So a kernel takes a single array, the *heap header* `h`: a row of int64
that holds the address and length of each array, then a few counters. `array_view` makes
the function that opens one of them; inside compiled code that is two loads.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic
from platformdirs import user_cache_path

__all__ = ["JIT", "array_view", "cache_folder", "kernel", "open_arrays", "words_at"]

JIT = not numba.config.DISABLE_JIT
"""False when kernels run as plain Python (`NUMBA_DISABLE_JIT=1`)."""

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_folder() -> Path:
    """The user's cache folder of Infernix; `INFERNIX_CACHE` overrides it."""
    override = os.environ.get("INFERNIX_CACHE")
    return Path(override) if override else user_cache_path("infernix")


def _sources_digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source:
            digest.update(path.name.encode())
            digest.update(source)
    return digest.hexdigest()[:16]


KERNEL_FOLDER = cache_folder() / "kernels" / _sources_digest()


def kernel(function: Function) -> Function:
    """Compile `function` on first call; the result is cached on disk between processes."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(KERNEL_FOLDER)
    try:
        compiled: Function = numba.njit(cache=True, nogil=True, boundscheck=None)(function)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """An integer address as a pointer that `carray` understands."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


open_arrays: dict[int, list[np.ndarray]] = {}
"""Without JIT an address is of no use: the arrays of the header whose number is in word 0."""


def array_view(slot: int, dtype: Any, columns: int = 0) -> Callable[[np.ndarray], Any]:
    """The function that opens array number `slot` of a header: header -> array.

    Words `1 + 2 * slot` and `2 + 2 * slot` of the header hold its address and its number of
    rows. `columns` gives a second dimension.
    """
    word = 1 + 2 * slot
    if not JIT:

        def view(h: np.ndarray) -> Any:
            return open_arrays[int(h[0])][slot]

    elif columns:

        @kernel
        def view(h: np.ndarray) -> Any:
            return carray(_pointer(h[word]), (h[word + 1], columns), dtype)

    else:

        @kernel
        def view(h: np.ndarray) -> Any:
            return carray(_pointer(h[word]), (h[word + 1],), dtype)

    return view


if JIT:

    @kernel
    def words_at(address: int, count: int) -> Any:
        """`count` 32-bit words at an address: a mask row that is not part of a heap array."""
        return carray(_pointer(address), (count,), np.uint32)

else:

    def words_at(address: int, count: int) -> Any:
        """`count` 32-bit words at an address, without JIT."""
        return np.ctypeslib.as_array((ctypes.c_uint32 * int(count)).from_address(int(address)))
