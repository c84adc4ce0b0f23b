"""Twins of `ptx.py` in plain Python, for the CUDA simulator. Same names, same meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "bits_to_float",
    "float_to_bits",
    "half_to_float",
    "load_vector",
    "peak_bf16",
    "peak_f16",
    "peak_f32",
    "penalise",
]

_LANES = 4
_HIGH = 0xFFFF0000


def load_vector(array: Any, offset: int, wanted: int) -> tuple[Any, ...]:
    """Four int32 from `offset`; what must not be read comes back as NaN in every format."""
    return tuple(array[offset + lane] if wanted else np.int32(-1) for lane in range(_LANES))


def bits_to_float(bits: int) -> np.float32:
    """The float32 with these bits (of which the low 32 count)."""
    return np.uint32(int(bits) & 0xFFFFFFFF).view(np.float32)


def float_to_bits(value: Any) -> np.int32:
    """The bits of a float32 as int32."""
    return np.float32(value).view(np.int32)


def half_to_float(register: int) -> np.float32:
    """The lower half of a register as float16."""
    return np.float32(np.uint16(int(register) & 0xFFFF).view(np.float16))


def _largest(values: list[np.float32]) -> np.float32:
    numbers = [value for value in values if not np.isnan(value)]
    return max(numbers) if numbers else np.float32(np.nan)


def peak_f32(a: int, b: int, c: int, d: int) -> np.float32:
    """The largest of four float32, NaN ignored."""
    return _largest([bits_to_float(word) for word in (a, b, c, d)])


def peak_bf16(a: int, b: int, c: int, d: int) -> np.float32:
    """The largest of eight bfloat16, NaN ignored."""
    words = [int(word) for word in (a, b, c, d)]
    return _largest([bits_to_float(half) for word in words for half in (word << 16, word & _HIGH)])


def peak_f16(a: int, b: int, c: int, d: int) -> np.float32:
    """The largest of eight float16, NaN ignored."""
    words = [int(word) for word in (a, b, c, d)]
    return _largest([half_to_float(half) for word in words for half in (word, word >> 16)])


def penalise(value: np.float32, count: int, presence: np.float32, frequency: np.float32) -> np.float32:
    """z = (l - presence [c > 0]) - frequency c in float32, each operation rounded."""
    if count > 0:
        value = np.float32(value - presence)
    return np.float32(value - np.float32(frequency * np.float32(count)))
