"""Device functions that all kernels share: number formats and sort keys.

Keys. A candidate is one int64: the float's order in the upper half, the token's complement
in the lower. All keys of a row are distinct, "better" is one integer comparison, and
(value descending, id ascending) comes out by itself:

    key = order(z) << 32 | (0x7fffffff - token)
    order(z): the bits of z as int32, negative numbers flipped so that order follows value; -0 is +0

NaN and -inf never get a key. Two small keys are not candidates: NOTHING (no legal token was
seen) and ONLY_BAD (legal tokens were seen, none with a finite value).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import config
from numba import cuda as _cuda

cuda: Any = _cuda  # untyped upstream; the name must stay `cuda`, the simulator replaces it

# Small batches are small grids; that is not worth a warning at every launch shape.
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]

SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]
if SIMULATED:
    from . import twins as _machine
else:
    from . import ptx as _machine  # type: ignore[no-redef]
machine: Any = _machine

__all__ = [
    "FORMATS",
    "NOTHING",
    "ONLY_BAD",
    "SIMULATED",
    "VECTORS",
    "Format",
    "below",
    "cuda",
    "kernel_of",
    "key_of",
    "key_token",
    "key_value",
    "load_vectors",
    "load_words",
    "penalise",
    "rank_of",
    "sync_warp",
]

NOTHING = -(1 << 63)
ONLY_BAD = NOTHING + 1
MINUS_INFINITY = np.float32(-math.inf)

_KEY_SHIFT = 32
_TOKEN_MASK = 0x7FFFFFFF
_SIGN_FLIP = np.int32(0x7FFFFFFF)
_MINUS_ZERO = -1  # the order that -0.0 would have

bits_to_float, float_to_bits, penalise = machine.bits_to_float, machine.float_to_bits, machine.penalise
load_vectors, load_words, sync_warp, VECTORS = (
    machine.load_vectors,
    machine.load_words,
    machine.sync_warp,
    machine.VECTORS,
)


class Format(NamedTuple):
    """A number format of logits: `vector` numbers fill the 16 bytes that a thread loads at once."""

    vector: int
    per_word: int  # numbers in a 32-bit register
    peak: Callable[..., Any]  # the largest number of a vector
    above: Callable[..., Any]  # one bit for each number above a bar
    value: Callable[..., Any]  # (register, place in the register) -> float32


def _device(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True)(function)


def kernel_of(registers: int) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: compile a kernel with at most this many registers a thread.

    A multiprocessor has 65,536: with 64 it runs 4 blocks of 256 threads at once, with 80 it runs 3.
    """
    return cuda.jit if SIMULATED else cuda.jit(max_registers=registers)  # type: ignore[no-any-return]


@_device
def _value_f32(register, place):  # type: ignore[no-untyped-def]
    return machine.bits_to_float(register)


@_device
def _value_bf16(register, place):  # type: ignore[no-untyped-def]
    if place == 0:
        return machine.bits_to_float(np.int32(register << 16))
    return machine.bits_to_float(np.int32(register & np.int32(-65536)))


@_device
def _value_f16(register, place):  # type: ignore[no-untyped-def]
    return machine.half_to_float(np.int32(register >> (16 * place)))


FORMATS = {
    "float32": Format(4, 1, machine.peak_f32, machine.above_f32, _value_f32),
    "bfloat16": Format(8, 2, machine.peak_bf16, machine.above_bf16, _value_bf16),
    "float16": Format(8, 2, machine.peak_f16, machine.above_f16, _value_f16),
}


@_device
def key_of(value, token):  # type: ignore[no-untyped-def]
    """The sort key of a token with this (not NaN) value."""
    order = float_to_bits(value)
    if order < 0:
        order = np.int32(order ^ _SIGN_FLIP)
    if order == _MINUS_ZERO:
        order = np.int32(0)
    return (np.int64(order) << _KEY_SHIFT) | np.int64(_TOKEN_MASK - token)


@_device
def key_value(key):  # type: ignore[no-untyped-def]
    """The value in a key."""
    order = np.int32(key >> _KEY_SHIFT)
    if order < 0:
        order = np.int32(order ^ _SIGN_FLIP)
    return bits_to_float(order)


@_device
def key_token(key):  # type: ignore[no-untyped-def]
    """The token in a key."""
    return np.int32(_TOKEN_MASK - (key & _TOKEN_MASK))


@_device
def rank_of(keys, fill, key):  # type: ignore[no-untyped-def]
    """How many of the first `fill` keys are larger than this one.

    This and the other hot loops count with `while` and unsigned indices: for `range` numba
    keeps a second counter, and for a signed index it adds code for negative ones.
    """
    rank, j, length = np.uint32(0), np.uint32(0), np.uint32(fill)
    while j < length:
        if keys[j] > key:
            rank = np.uint32(rank + np.uint32(1))
        j = np.uint32(j + np.uint32(1))
    return rank


@_device
def below(value):  # type: ignore[no-untyped-def]
    """The next float32 below a value that is not NaN, so that x > below(v) means x >= v; -inf for -inf."""
    if not value > MINUS_INFINITY:
        return MINUS_INFINITY
    key = key_of(value, 0) - (np.int64(1) << _KEY_SHIFT)
    if np.int32(key >> _KEY_SHIFT) == _MINUS_ZERO:  # that would be -0.0, which is not below +0.0
        key -= np.int64(1) << _KEY_SHIFT
    return key_value(key)
