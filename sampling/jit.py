"""How the sampling functions are compiled, for the CPU and for CUDA, from the same text.

`compiled` is numba's `njit` with a disk cache that notices every edit: numba itself only
watches the file of the function, so the cache folder is named by a digest of all the
sources of this folder. `word64` is the type of 64-bit modular arithmetic: a machine word
when compiled, a Python integer (which the masks in the code keep to 64 bits) when the
same text runs uncompiled, under NUMBA_DISABLE_JIT=1 and in the CUDA simulator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from infernix.matcher.kernel_cache import cache_folder, kept_in

__all__ = ["PLAIN", "compiled", "word64"]

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = bool(numba.config.DISABLE_JIT)
"""Whether the kernels run as ordinary Python."""

word64: type = int if PLAIN else np.uint64


@cache
def _cache_folder() -> Path:
    """A cache folder that belongs to exactly these sources and this numba."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return cache_folder() / "sampling" / digest.hexdigest()[:16]


def compiled(function: F) -> F:
    """Compile for the CPU: no Python objects, no lock held, machine code kept on disk."""
    if PLAIN:
        return function
    with kept_in(_cache_folder()):
        return cast(F, numba.njit(cache=True, nogil=True)(function))
