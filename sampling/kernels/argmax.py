"""Greedy batches: the best legal token of every position, in one kernel.

As `select`, but with one key instead of a buffer: the first tile's largest value is the
first bar, and each phase compares with the best key before it. The blocks of a position
combine theirs with an atomic maximum. The last block to arrive (a ticket counter tells)
takes the result out and resets maximum and counter, so that the next launch, or the next
replay of a graph, finds them as this one did.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..layout import Flag
from . import stream
from .column import column_at, segment_of
from .device import (
    MINUS_INFINITY,
    NOTHING,
    ONLY_BAD,
    below,
    cuda,
    kernel_of,
    key_token,
    key_value,
)
from .stream import PEAKS, THREADS, group_floor

__all__ = ["REGISTERS", "THREADS", "build"]

REGISTERS = 64  # four blocks of 256 threads on a multiprocessor

_NON_FINITE, _EMPTY_MASK, _DEAD_END = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK), int(Flag.DEAD_END)
_FIRST_PHASE = 4
_PHASE_GROWTH = 4
_FIRST = 0  # the rank of the largest


@cuda.jit(device=True)
def _collect(best_key, key, floor):  # type: ignore[no-untyped-def]
    """Few keys get here, so an atomic in shared memory is cheap."""
    if key > floor:
        cuda.atomic.max(best_key, 0, key)


@cuda.jit(device=True)
def _answer(inputs, best, b, position):  # type: ignore[no-untyped-def]
    """Write what is decided about a position whose blocks have all arrived."""
    best.tickets[b, position] = 0
    key = cuda.atomic.exch(best.keys, (b, position), np.int64(NOTHING))
    row = inputs.rows[b]
    token, flags = np.int32(0), np.int32(0)
    if (row["dead_ends"] >> np.uint64(position)) & np.uint64(1):
        flags = np.int32(_DEAD_END)
    elif key == NOTHING:
        flags = np.int32(_EMPTY_MASK)
    elif key == ONLY_BAD or key_value(key) == math.inf:
        flags = np.int32(_NON_FINITE)
    else:
        token = key_token(key)
    verdicts = best.verdicts
    verdicts.endings[b, position] = token
    verdicts.flags[b, position] = flags
    is_draft = flags == 0 and position < row["extent"]
    verdicts.accepted[b, position] = is_draft and inputs.drafts[b, position] == token
    if position == 0:
        best.result.tokens[b, 0] = token
        best.result.counts[b] = 1
        best.result.flags[b] = flags


@cache
def build(kind: str) -> Any:
    """The kernel for logits of one format.

    argmax(inputs, shape, best): inputs `Inputs`, shape `Shape`, best `Best`. Launch with grid
    (segments, P, B) and THREADS threads.
    """
    vector, tile_tokens, first_vector, top_of, offer_one, _, run = stream.build(kind, _collect)

    @kernel_of(REGISTERS)
    def argmax(inputs, shape, best):  # type: ignore[no-untyped-def]
        tid = np.int32(cuda.threadIdx.x)
        b, position = np.int32(cuda.blockIdx.z), np.int32(cuda.blockIdx.y)
        base = np.int64(b * np.int32(cuda.gridDim.y) + position) * shape.pitch
        segment = segment_of(shape)
        loaded = first_vector(inputs, base, segment, tid)
        if position > inputs.rows[b]["extent"]:
            return
        peaks = cuda.shared.array(PEAKS, np.float32)
        best_key = cuda.shared.array(1, np.int64)
        if tid == 0:
            best_key[0] = NOTHING
        column = column_at(inputs, b, position, base)
        seen, top = top_of(inputs, column, segment, loaded, tid)
        bar = below(group_floor(peaks, top, _FIRST, tid))
        if top > bar:
            token = np.int32(segment.start + tid * np.int32(vector))
            offer_one(inputs, column, best_key, loaded, seen, token, bar, np.int64(ONLY_BAD))
        begin = np.int32(min(segment.start + np.int32(tile_tokens), segment.stop))
        span = np.int32(_FIRST_PHASE * tile_tokens)
        while begin < segment.stop:
            cuda.syncthreads()
            floor = max(best_key[0], np.int64(ONLY_BAD))
            bar = key_value(floor) if floor > ONLY_BAD else MINUS_INFINITY
            cuda.syncthreads()
            end = np.int32(min(begin + span, segment.stop))
            seen |= run(inputs, column, best_key, begin, end, tid, bar, floor)
            begin, span = end, np.int32(span * _PHASE_GROWTH)
        any_legal = cuda.syncthreads_or(seen)
        if tid == 0:
            key = best_key[0]
            if key == NOTHING and any_legal:
                key = np.int64(ONLY_BAD)
            cuda.atomic.max(best.keys, (b, position), key)
            cuda.threadfence()
            if cuda.atomic.add(best.tickets, (b, position), 1) == cuda.gridDim.x - 1:
                _answer(inputs, best, b, position)

    return argmax
