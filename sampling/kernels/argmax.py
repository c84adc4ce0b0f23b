"""Greedy batches: the best legal token of every position, in one kernel.

Each thread keeps its best key, a block reduces them, and the blocks of a position combine
theirs with an atomic maximum. The last block to arrive (a ticket counter tells) takes the
result out and resets maximum and counter, so that the next launch, or the next replay
of a graph, finds them as this one did.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..layout import Flag
from .column import column_at, legal_bits, reader
from .device import (
    MINUS_INFINITY,
    NOTHING,
    ONLY_BAD,
    SIMULATED,
    cuda,
    key_of,
    key_token,
    key_value,
    streaming_kernel,
)

__all__ = ["THREADS", "build"]

THREADS = 32 if SIMULATED else 256
_NON_FINITE, _EMPTY_MASK, _DEAD_END = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK), int(Flag.DEAD_END)
_UNROLL = 4  # vectors that a thread has in flight


@cuda.jit(device=True)
def _answer(best, row, b, position):  # type: ignore[no-untyped-def]
    """Write the token and flags of a position whose blocks have all arrived."""
    best.tickets[b, position] = 0
    key = cuda.atomic.exch(best.keys, (b, position), np.int64(NOTHING))
    token, flags = np.int32(0), np.int32(0)
    if (row["dead_ends"] >> np.uint64(position)) & np.uint64(1):
        flags = np.int32(_DEAD_END)
    elif key == NOTHING:
        flags = np.int32(_EMPTY_MASK)
    elif key == ONLY_BAD or key_value(key) == math.inf:
        flags = np.int32(_NON_FINITE)
    else:
        token = key_token(key)
    best.targets.ids[b, position, 0] = token
    best.targets.weights[b, position, 0] = 1.0
    best.targets.kept[b, position] = 0 if flags else 1
    best.targets.flags[b, position] = flags
    if position == 0:
        best.result.tokens[b, 0] = token
        best.result.counts[b] = 1
        best.result.flags[b] = flags


@cache
def build(kind: str) -> Any:
    """The kernel for logits of one format.

    argmax(inputs, vocab_size, pitch, best): inputs `Inputs`, pitch int32s between rows of
    logits, best `Best`. Launch with grid (segments, P, B) and THREADS threads.
    """
    vector, load, peak, value_of, raw_of = reader(kind)
    tile_tokens = THREADS * vector

    @cuda.jit(device=True)
    def consider(inputs, column, loaded, bits, token, key, bar):  # type: ignore[no-untyped-def]
        """The better of a thread's best and a vector; `bar` is the value of the best."""
        if bits != 0 and (column.lifts or peak(loaded) > bar):
            for place in range(vector):
                if (bits >> place) & 1 and (column.lifts or raw_of(loaded, place) > bar):
                    value = value_of(inputs, column, loaded, token, place)
                    if value > bar:  # a thread's ids grow, so an equal value is not better
                        key, bar = key_of(value, token + place), value
        return key, bar

    @cuda.jit(device=True)
    def scan(inputs, column, token, stop):  # type: ignore[no-untyped-def]
        """The best key of this thread's share of a segment."""
        key, bar, seen = np.int64(NOTHING), MINUS_INFINITY, np.int32(0)
        while token < stop:
            one, two, three = token + tile_tokens, token + 2 * tile_tokens, token + 3 * tile_tokens
            bits_0 = legal_bits(inputs, column, token, stop, vector)
            bits_1 = legal_bits(inputs, column, one, stop, vector)
            bits_2 = legal_bits(inputs, column, two, stop, vector)
            bits_3 = legal_bits(inputs, column, three, stop, vector)
            loaded_0 = load(inputs, column, token, bits_0)
            loaded_1 = load(inputs, column, one, bits_1)
            loaded_2 = load(inputs, column, two, bits_2)
            loaded_3 = load(inputs, column, three, bits_3)
            seen |= bits_0 | bits_1 | bits_2 | bits_3
            key, bar = consider(inputs, column, loaded_0, bits_0, token, key, bar)
            key, bar = consider(inputs, column, loaded_1, bits_1, one, key, bar)
            key, bar = consider(inputs, column, loaded_2, bits_2, two, key, bar)
            key, bar = consider(inputs, column, loaded_3, bits_3, three, key, bar)
            token += np.int32(_UNROLL * tile_tokens)
        if key == NOTHING and seen != 0:
            key = np.int64(ONLY_BAD)
        return key

    @streaming_kernel
    def argmax(inputs, vocab_size, pitch, best):  # type: ignore[no-untyped-def]
        tid = np.int32(cuda.threadIdx.x)
        b, position = cuda.blockIdx.z, cuda.blockIdx.y
        row = inputs.rows[b]
        if position > row["extent"]:
            return
        column = column_at(inputs, b, position, b * cuda.gridDim.y + position, pitch)
        tiles = (vocab_size + tile_tokens - 1) // tile_tokens
        share = (tiles + cuda.gridDim.x - 1) // cuda.gridDim.x * tile_tokens
        start = np.int32(cuda.blockIdx.x * share)
        keys = cuda.shared.array(THREADS, np.int64)
        stop = np.int32(min(start + share, vocab_size))
        keys[tid] = scan(inputs, column, start + tid * np.int32(vector), stop)
        width = THREADS // 2
        while width > 0:
            cuda.syncthreads()
            if tid < width:
                keys[tid] = max(keys[tid], keys[tid + width])
            width //= 2
        if tid == 0:
            cuda.atomic.max(best.keys, (b, position), keys[0])
            cuda.threadfence()
            if cuda.atomic.add(best.tickets, (b, position), 1) == cuda.gridDim.x - 1:
                _answer(best, row, b, position)

    return argmax
