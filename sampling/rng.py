"""The random numbers of sampling: a counter, hashed. No state, so nothing to save or to roll back.

    k = sm(seed xor u32(position) * D1B54A32D192ED03)
    k = sm(k xor (u32(purpose) << 21) xor u32(sub) * 2545F4914F6CDD1D)
    u = (k >> 40) / 2**24                                            in [0, 1)

`sm` is splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014): add the golden ratio, then two xor-shift-multiplies. Everything
is modulo 2**64. A number depends on the request's seed, on the token's logical position
and on what it is for; it never depends on the row of the batch, on the batch's size, or
on how many numbers were drawn before. Speculation and preemption therefore cannot
shift a request's random stream.

Three forms, bit for bit equal: `uniform` (Python integers), `uniforms` (numpy arrays)
and `uniform_bits` (one function for numba's CPU and CUDA compilers).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .jit import word64

__all__ = ["UNIFORM_SCALE", "splitmix64", "uniform", "uniform_bits", "uniforms"]

_MASK64 = (1 << 64) - 1
_MASK32 = (1 << 32) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_POSITION = 0xD1B54A32D192ED03
_SUB = 0x2545F4914F6CDD1D
_PURPOSE_SHIFT = 21
_DROPPED_BITS = 40

UNIFORM_SCALE = 1.0 / (1 << 24)
"""A uniform number is a 24-bit integer times this: exact in float32 and in float64."""


def splitmix64(value: int) -> int:
    """One step of splitmix64 on a 64-bit unsigned integer.

    >>> hex(splitmix64(0))
    '0xe220a8397b1dcdaf'
    """
    value = (value + _GOLDEN) & _MASK64
    value = ((value ^ value >> 30) * _MIX_1) & _MASK64
    value = ((value ^ value >> 27) * _MIX_2) & _MASK64
    return value ^ value >> 31


def uniform(seed: int, position: int, purpose: int, sub: int = 0) -> float:
    """The uniform number in [0, 1) for this counter. Negative positions wrap as unsigned 32-bit values."""
    key = splitmix64((seed & _MASK64) ^ ((position & _MASK32) * _POSITION & _MASK64))
    key = splitmix64(key ^ ((purpose & _MASK32) << _PURPOSE_SHIFT) ^ ((sub & _MASK32) * _SUB & _MASK64))
    return (key >> _DROPPED_BITS) * UNIFORM_SCALE


def _splitmix64_array(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = value + np.uint64(_GOLDEN)
    value = (value ^ value >> np.uint64(30)) * np.uint64(_MIX_1)
    value = (value ^ value >> np.uint64(27)) * np.uint64(_MIX_2)
    return value ^ value >> np.uint64(31)


def uniforms(
    seed: npt.ArrayLike, position: npt.ArrayLike, purpose: npt.ArrayLike, sub: npt.ArrayLike = 0
) -> npt.NDArray[np.float64]:
    """`uniform` over broadcast arrays: seeds are uint64, the rest any integers."""
    lanes = [np.atleast_1d(np.asarray(lane)) for lane in (position, purpose, sub)]
    place, use, part = (lane.astype(np.int64).astype(np.uint64) & np.uint64(_MASK32) for lane in lanes)
    seeds = np.atleast_1d(np.asarray(seed, np.uint64))
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the point
        key = _splitmix64_array(seeds ^ place * np.uint64(_POSITION))
        key = _splitmix64_array(key ^ use << np.uint64(_PURPOSE_SHIFT) ^ part * np.uint64(_SUB))
    return (key >> np.uint64(_DROPPED_BITS)).astype(np.float64) * UNIFORM_SCALE


# The same constants as machine words, for the compiled form below.
_WORD = word64(_MASK64)
_LANE = word64(_MASK32)
_GOLDEN_WORD, _MIX_1_WORD, _MIX_2_WORD = word64(_GOLDEN), word64(_MIX_1), word64(_MIX_2)
_POSITION_WORD, _SUB_WORD = word64(_POSITION), word64(_SUB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = word64(30), word64(27), word64(31)
_PURPOSE_WORD, _DROPPED_WORD = word64(_PURPOSE_SHIFT), word64(_DROPPED_BITS)


def uniform_bits(seed: Any, position: Any, purpose: Any, sub: Any) -> Any:
    """The 24 bits of `uniform`, in the subset that numba compiles for the CPU and for CUDA.

    A leaf: it calls nothing, so that both compilers can take it as it stands.
    """
    key = word64(seed) ^ (((word64(position) & _LANE) * _POSITION_WORD) & _WORD)
    for is_last in range(2):
        if is_last:
            key = key ^ ((word64(purpose) & _LANE) << _PURPOSE_WORD)
            key = key ^ (((word64(sub) & _LANE) * _SUB_WORD) & _WORD)
        key = (key + _GOLDEN_WORD) & _WORD
        key = ((key ^ (key >> _SHIFT_30)) * _MIX_1_WORD) & _WORD
        key = ((key ^ (key >> _SHIFT_27)) * _MIX_2_WORD) & _WORD
        key = key ^ (key >> _SHIFT_31)
    return key >> _DROPPED_WORD
