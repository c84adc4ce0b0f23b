"""Twins of `ptx.py` in plain Python, for the CUDA simulator. Same names, same meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda as _cuda

cuda: Any = _cuda

__all__ = [
    "VECTORS",
    "above_bf16",
    "above_f16",
    "above_f32",
    "bits_to_float",
    "float_to_bits",
    "half_to_float",
    "load_vectors",
    "load_words",
    "peak_bf16",
    "peak_f16",
    "peak_f32",
    "penalise",
    "sync_warp",
]

VECTORS = 4
_LANES = 4
_WORD_BYTES = 4
_HIGH = 0xFFFF0000


def load_vectors(distance: int) -> Any:
    """(array, offset, wanted 0..3) -> 16 int32; what must not be read comes back as NaN in every format."""
    step = distance // _WORD_BYTES

    def load(array: Any, offset: int, *wanted: int) -> tuple[Any, ...]:
        places = [(offset + vector * step + lane, vector) for vector in range(VECTORS) for lane in range(_LANES)]
        return tuple(array[place] if wanted[vector] else np.int32(-1) for place, vector in places)

    return load


def load_words(distance: int) -> Any:
    """(array, offset) -> 4 int32 of a uint32 array."""
    step = distance // _WORD_BYTES

    def load(array: Any, offset: int) -> tuple[Any, ...]:
        flat = array.reshape(-1)
        return tuple(np.uint32(flat[offset + vector * step]).view(np.int32) for vector in range(VECTORS))

    return load


def bits_to_float(bits: int) -> np.float32:
    """The float32 with these bits (of which the low 32 count)."""
    return np.uint32(int(bits) & 0xFFFFFFFF).view(np.float32)


def float_to_bits(value: Any) -> np.int32:
    """The bits of a float32 as int32."""
    return np.float32(value).view(np.int32)


def half_to_float(register: int) -> np.float32:
    """The lower half of a register as float16."""
    return np.float32(np.uint16(int(register) & 0xFFFF).view(np.float16))


def _unpack_f32(words: tuple[int, ...]) -> list[np.float32]:
    return [bits_to_float(word) for word in words]


def _unpack_bf16(words: tuple[int, ...]) -> list[np.float32]:
    return [bits_to_float(half) for word in words for half in (int(word) << 16, int(word) & _HIGH)]


def _unpack_f16(words: tuple[int, ...]) -> list[np.float32]:
    return [half_to_float(half) for word in words for half in (int(word), int(word) >> 16)]


def _peak_of(unpack: Any) -> Any:
    """The largest number of a vector, NaN ignored."""

    def peak(*words: int) -> np.float32:
        numbers = [value for value in unpack(words) if not np.isnan(value)]
        return max(numbers) if numbers else np.float32(np.nan)

    return peak


def _above_of(unpack: Any) -> Any:
    """Which numbers of a vector are above a bar, as bits."""

    def above(a: int, b: int, c: int, d: int, bar: float) -> np.int32:
        return np.int32(sum(1 << place for place, value in enumerate(unpack((a, b, c, d))) if value > bar))

    return above


peak_f32, peak_bf16, peak_f16 = (_peak_of(unpack) for unpack in (_unpack_f32, _unpack_bf16, _unpack_f16))
above_f32, above_bf16, above_f16 = (_above_of(unpack) for unpack in (_unpack_f32, _unpack_bf16, _unpack_f16))


def penalise(value: np.float32, count: int, presence: np.float32, frequency: np.float32) -> np.float32:
    """z = (l - presence [c > 0]) - frequency c in float32, each operation rounded."""
    if count > 0:
        value = np.float32(value - presence)
    return np.float32(value - np.float32(frequency * np.float32(count)))


@cuda.jit(device=True)
def sync_warp():  # type: ignore[no-untyped-def]
    """Simulated blocks that use this have one warp."""
    cuda.syncthreads()
