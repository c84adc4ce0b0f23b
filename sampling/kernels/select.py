"""Stage 1: the best 20 legal tokens of each segment of a row, in one pass over its logits.

The grid is (segments, positions, rows). A block keeps a buffer of keys in shared memory
and a *floor*, the 20th best key so far:

    first tile   32 group maxima; the 20th best of them is a first floor: at least 20 tokens reach it
    phases       stream 4, 16, 64, ... tiles without a barrier, collecting keys above the floor; then
                 sort the buffer down to 20 and raise the floor. A phase is 4 times what was
                 seen before it, so about 80 keys are collected, whatever its length
    overflow     the buffer's 512 keys did not suffice (sorted logits, for one): the phase is
                 repeated in steps of one token a thread, with a sort after each, which cannot overflow

So the worst input costs a constant factor more, and no input can give a wrong answer.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..layout import MAX_CANDIDATES
from . import stream
from .column import column_at, segment_of
from .device import (
    MINUS_INFINITY,
    NOTHING,
    ONLY_BAD,
    below,
    cuda,
    kernel_of,
    key_of,
    key_value,
    rank_of,
)
from .stream import PEAKS, THREADS, group_floor

__all__ = ["REGISTERS", "THREADS", "build"]

REGISTERS = 64  # four blocks at once: while one sorts, others stream

_BUFFER = 512
_FIRST_PHASE = 4  # tiles after the first one: one round of loads
_PHASE_GROWTH = 4
_LAST = MAX_CANDIDATES - 1


class _Scratch(NamedTuple):
    """Shared memory of a block: the key buffer, its sorted best, its fill, group maxima, the floor.

    floor int64[1] is the key that a newcomer must beat. It is the 20th of `keys` if there are 20,
    but has a place of its own: that of a 20th key may be being written while others read the floor.
    """

    keys: Any
    best: Any
    fill: Any
    peaks: Any
    floor: Any


@cuda.jit(device=True)
def _collect(scratch, key, floor):  # type: ignore[no-untyped-def]
    """Put a key into the buffer if it beats the floor; `fill` counts also what finds no room."""
    if key > floor:
        slot = np.uint32(cuda.atomic.add(scratch.fill, 0, 1))
        if slot < _BUFFER:
            scratch.keys[slot] = key


@cuda.jit(device=True)
def _compact(scratch, tid):  # type: ignore[no-untyped-def]
    """Sort the buffer's best 20 to its front: a key's rank is how many keys are larger.

    All threads call it after a barrier; it ends with one.
    """
    fill = np.uint32(min(scratch.fill[0], np.int32(_BUFFER)))
    place = np.uint32(tid)
    while place < fill:
        key = scratch.keys[place]
        rank = rank_of(scratch.keys, fill, key)
        if rank < MAX_CANDIDATES:
            scratch.best[rank] = key
        place = np.uint32(place + np.uint32(THREADS))
    cuda.syncthreads()
    kept = np.int32(min(fill, np.uint32(MAX_CANDIDATES)))
    if tid < kept:
        scratch.keys[tid] = scratch.best[tid]
    if tid == 0:
        scratch.fill[0] = kept
        scratch.floor[0] = scratch.best[_LAST] if kept == MAX_CANDIDATES else np.int64(ONLY_BAD)
    cuda.syncthreads()
    return kept


@cache
def build(kind: str) -> Any:
    """The kernel for logits of one format ("float32", "bfloat16" or "float16").

    select(inputs, shape, lists): inputs `Inputs`, shape `Shape`; lists int64[B, P, segments * 20]
    receives each segment's keys, best first, padded with NOTHING (or one ONLY_BAD). Launch
    with grid (segments, P, B) and THREADS threads.
    """
    vector, tile_tokens, first_vector, top_of, offer_one, offer_token, run = stream.build(kind, _collect)

    @cuda.jit(device=True)
    def careful(inputs, column, scratch, start, stop, tid, kept):  # type: ignore[no-untyped-def]
        """One token a thread between sorts: at most 20 + THREADS keys, which always fit."""
        if tid == 0:
            scratch.fill[0] = kept
        cuda.syncthreads()
        token = start
        while token < stop:
            offer_token(inputs, column, scratch, np.int32(token + tid), stop, scratch.floor[0])
            cuda.syncthreads()
            kept = _compact(scratch, tid)
            token = np.int32(token + THREADS)
        return kept

    @cuda.jit(device=True)
    def first_tile(inputs, column, scratch, loaded, segment, tid):  # type: ignore[no-untyped-def]
        bits, top = top_of(inputs, column, segment, loaded, tid)
        bar = below(group_floor(scratch.peaks, top, _LAST, tid))
        if top > bar:
            floor = key_of(bar, 0) if bar > MINUS_INFINITY else np.int64(ONLY_BAD)
            token = np.int32(segment.start + tid * np.int32(vector))
            offer_one(inputs, column, scratch, loaded, bits, token, bar, floor)
        return bits

    @kernel_of(REGISTERS)
    def select(inputs, shape, lists):  # type: ignore[no-untyped-def]
        tid = np.int32(cuda.threadIdx.x)
        b, position = np.int32(cuda.blockIdx.z), np.int32(cuda.blockIdx.y)
        base = np.int64(b * np.int32(cuda.gridDim.y) + position) * shape.pitch
        segment = segment_of(shape)
        loaded = first_vector(inputs, base, segment, tid)
        if position > inputs.rows[b]["extent"]:
            return  # a column past the row's drafts: nobody reads its list
        scratch = _Scratch(
            cuda.shared.array(_BUFFER, np.int64),
            cuda.shared.array(MAX_CANDIDATES, np.int64),
            cuda.shared.array(1, np.int32),
            cuda.shared.array(PEAKS, np.float32),
            cuda.shared.array(1, np.int64),
        )
        if tid == 0:
            scratch.fill[0] = 0
            scratch.floor[0] = ONLY_BAD
        column = column_at(inputs, b, position, base)
        seen = first_tile(inputs, column, scratch, loaded, segment, tid)
        kept, begin, span = np.int32(0), segment.start, np.int32(_FIRST_PHASE * tile_tokens)
        end = np.int32(min(begin + np.int32(tile_tokens), segment.stop))
        while True:
            cuda.syncthreads()
            if scratch.fill[0] > _BUFFER:
                cuda.syncthreads()
                kept = careful(inputs, column, scratch, begin, end, tid, kept)
            else:
                kept = _compact(scratch, tid)
            begin = end
            if begin >= segment.stop:
                break
            end = np.int32(min(begin + span, segment.stop))
            span = np.int32(span * _PHASE_GROWTH)
            # Ids only grow from here, so an equal value never beats the floor: the bar is strict.
            floor = scratch.floor[0]
            bar = key_value(floor) if kept == MAX_CANDIDATES else MINUS_INFINITY
            seen |= run(inputs, column, scratch, begin, end, tid, bar, floor)
        any_legal = cuda.syncthreads_or(seen)
        if tid < MAX_CANDIDATES:
            empty = np.int64(ONLY_BAD) if any_legal and tid == 0 else np.int64(NOTHING)
            lists[b, position, cuda.blockIdx.x * MAX_CANDIDATES + tid] = scratch.keys[tid] if tid < kept else empty

    return select
