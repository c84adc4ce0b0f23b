"""Stage 1: the best 20 legal tokens of each segment of a row, in one pass over its logits.

The grid is (segments, positions, rows). A block keeps a buffer of keys in shared memory
and a *floor*, the 20th best key so far; a token that is not above the floor costs one
comparison for its whole 16-byte vector. A mask byte of zero skips the load.

    first tile   32 group maxima; the 20th best of them is a first floor: at least 20 tokens reach it
    phases       stream 3, 12, 48, ... tiles without a barrier, appending keys above the floor;
                 then sort the buffer down to 20 and raise the floor. Each phase is 3 times what
                 was seen before it, so about 60 keys are appended, whatever its length
    overflow     the buffer's 512 keys did not suffice (sorted logits, for one): the phase is
                 repeated in steps of one token a thread, with a sort after each, which cannot overflow

So the worst input costs a constant factor more, and no input can give a wrong answer.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..layout import MAX_CANDIDATES
from .column import column_at, legal_bits, reader
from .device import (
    MINUS_INFINITY,
    NOTHING,
    ONLY_BAD,
    SIMULATED,
    below,
    cuda,
    key_of,
    key_value,
    streaming_kernel,
)

__all__ = ["THREADS", "build"]

THREADS = 32 if SIMULATED else 256
_GROUPS = 32
_BUFFER = 512
_FIRST_PHASE = 3  # tiles after the first one
_PHASE_GROWTH = 4
_UNROLL = 4  # vectors that a thread has in flight
_LAST = MAX_CANDIDATES - 1
_PEAKS = max(THREADS, _GROUPS + 1)


class _Scratch(NamedTuple):
    """Shared memory of a block: the key buffer, its sorted best, its fill, and the group maxima."""

    keys: Any
    best: Any
    fill: Any
    peaks: Any


@cuda.jit(device=True)
def _compact(scratch, tid):  # type: ignore[no-untyped-def]
    """Sort the buffer's best 20 to its front: a key's rank is how many keys are larger."""
    cuda.syncthreads()
    fill = min(scratch.fill[0], np.int32(_BUFFER))
    for i in range(tid, fill, THREADS):
        key = scratch.keys[i]
        rank = 0
        for j in range(fill):
            rank += scratch.keys[j] > key
        if rank < MAX_CANDIDATES:
            scratch.best[rank] = key
    cuda.syncthreads()
    kept = min(fill, np.int32(MAX_CANDIDATES))
    if tid < kept:
        scratch.keys[tid] = scratch.best[tid]
    if tid == 0:
        scratch.fill[0] = kept
    cuda.syncthreads()
    return kept


@cuda.jit(device=True)
def _floor(scratch, kept):  # type: ignore[no-untyped-def]
    """The key that a newcomer must beat."""
    return scratch.keys[_LAST] if kept == MAX_CANDIDATES else np.int64(ONLY_BAD)


@cuda.jit(device=True)
def _group_floor(scratch, tid):  # type: ignore[no-untyped-def]
    """The 20th largest of 32 group maxima of `peaks`; -inf if fewer groups have a value."""
    cuda.syncthreads()
    top = MINUS_INFINITY
    if tid < _GROUPS:
        for member in range(tid, THREADS, _GROUPS):
            top = max(top, scratch.peaks[member])
    cuda.syncthreads()
    if tid < _GROUPS:
        scratch.peaks[tid] = top
    cuda.syncthreads()
    if tid < _GROUPS:
        rank = 0
        for other in range(_GROUPS):
            peak = scratch.peaks[other]
            rank += peak > top or (peak == top and other < tid)
        if rank == _LAST:
            scratch.peaks[_GROUPS] = top
    cuda.syncthreads()
    return scratch.peaks[_GROUPS]


@cache
def build(kind: str) -> Any:
    """The kernel for logits of one format ("float32", "bfloat16" or "float16").

    select(inputs, vocab_size, pitch, lists): inputs `Inputs`; pitch int32s between rows of
    logits; lists int64[B, P, segments, 20] receives each segment's keys, best first, padded
    with NOTHING (or one ONLY_BAD). Launch with grid (segments, P, B) and THREADS threads.
    """
    vector, load, peak, value_of, raw_of = reader(kind)
    tile_tokens = THREADS * vector

    @cuda.jit(device=True)
    def append(scratch, value, token, floor):  # type: ignore[no-untyped-def]
        """Put a token into the buffer if it beats the floor; `fill` counts also what found no room."""
        if value > MINUS_INFINITY:
            key = key_of(value, token)
            if key > floor:
                slot = cuda.atomic.add(scratch.fill, 0, 1)
                if slot < _BUFFER:
                    scratch.keys[slot] = key

    @cuda.jit(device=True)
    def offer(inputs, column, scratch, loaded, bits, token, bar, floor):  # type: ignore[no-untyped-def]
        """Offer the legal tokens of a loaded vector; logits not above the bar are passed over."""
        if bits == 0 or not (column.lifts or peak(loaded) > bar):
            return
        for place in range(vector):
            if (bits >> place) & 1:
                if column.lifts or raw_of(loaded, place) > bar:
                    append(scratch, value_of(inputs, column, loaded, token, place), token + place, floor)

    @cuda.jit(device=True)
    def legal_peak(inputs, column, loaded, bits, token):  # type: ignore[no-untyped-def]
        """The largest z of the legal tokens of a vector, -inf if there is none."""
        top = MINUS_INFINITY
        for place in range(vector):
            if (bits >> place) & 1:
                value = value_of(inputs, column, loaded, token, place)
                if value > top:
                    top = value
        return top

    @cuda.jit(device=True)
    def first_tile(inputs, column, scratch, token, stop, tid):  # type: ignore[no-untyped-def]
        bits = legal_bits(inputs, column, token, stop, vector)
        loaded = load(inputs, column, token, bits)
        scratch.peaks[tid] = legal_peak(inputs, column, loaded, bits, token)
        bar = below(_group_floor(scratch, tid))
        floor = np.int64(ONLY_BAD)
        if bar > MINUS_INFINITY:
            floor = key_of(bar, 0)  # the largest key of that value
        offer(inputs, column, scratch, loaded, bits, token, bar, floor)
        return bits

    @cuda.jit(device=True)
    def phase(inputs, column, scratch, token, stop, kept):  # type: ignore[no-untyped-def]
        """Stream tokens up to `stop`, four vectors a thread at a time, without a barrier."""
        floor = _floor(scratch, kept)
        # Ids only grow from here, so an equal value never beats the floor: the bar is strict.
        bar = key_value(floor) if kept == MAX_CANDIDATES else MINUS_INFINITY
        seen = np.int32(0)
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
            offer(inputs, column, scratch, loaded_0, bits_0, token, bar, floor)
            offer(inputs, column, scratch, loaded_1, bits_1, one, bar, floor)
            offer(inputs, column, scratch, loaded_2, bits_2, two, bar, floor)
            offer(inputs, column, scratch, loaded_3, bits_3, three, bar, floor)
            token += np.int32(_UNROLL * tile_tokens)
        return seen

    @cuda.jit(device=True)
    def careful(inputs, column, scratch, start, stop, tid, kept):  # type: ignore[no-untyped-def]
        """The same, one token a thread between sorts: at most 20 + THREADS keys, which always fit."""
        cuda.syncthreads()
        if tid == 0:
            scratch.fill[0] = kept
        cuda.syncthreads()
        for tile in range(start, stop, tile_tokens):
            token = np.int32(tile + tid * vector)
            bits = legal_bits(inputs, column, token, stop, vector)
            loaded = load(inputs, column, token, bits)
            for place in range(vector):
                floor = _floor(scratch, kept)
                if (bits >> place) & 1:
                    value = value_of(inputs, column, loaded, token, place)
                    append(scratch, value, token + place, floor)
                kept = _compact(scratch, tid)
        return kept

    @streaming_kernel
    def select(inputs, vocab_size, pitch, lists):  # type: ignore[no-untyped-def]
        tid = np.int32(cuda.threadIdx.x)
        b, position = cuda.blockIdx.z, cuda.blockIdx.y
        if position > inputs.rows[b]["extent"]:
            return  # a column past the row's drafts: nobody reads its list
        scratch = _Scratch(
            cuda.shared.array(_BUFFER, np.int64),
            cuda.shared.array(MAX_CANDIDATES, np.int64),
            cuda.shared.array(1, np.int32),
            cuda.shared.array(_PEAKS, np.float32),
        )
        column = column_at(inputs, b, position, b * cuda.gridDim.y + position, pitch)
        if tid == 0:
            scratch.fill[0] = 0
        # The segment of this block, in tokens; segments are whole tiles.
        tiles = (vocab_size + tile_tokens - 1) // tile_tokens
        share = (tiles + cuda.gridDim.x - 1) // cuda.gridDim.x * tile_tokens
        start = np.int32(cuda.blockIdx.x * share)
        stop = np.int32(min(start + share, vocab_size))
        offset = tid * np.int32(vector)
        end = np.int32(min(start + tile_tokens, stop))
        seen = first_tile(inputs, column, scratch, start + offset, end, tid)
        kept, begin, span = np.int32(0), start, np.int32(_FIRST_PHASE * tile_tokens)
        while True:
            cuda.syncthreads()
            if scratch.fill[0] > _BUFFER:
                kept = careful(inputs, column, scratch, begin, end, tid, kept)
            else:
                kept = _compact(scratch, tid)
            begin = end
            if begin >= stop:
                break
            end = np.int32(min(begin + span, stop))
            span *= np.int32(_PHASE_GROWTH)
            seen |= phase(inputs, column, scratch, begin + offset, end, kept)
        any_legal = cuda.syncthreads_or(seen)
        if tid < MAX_CANDIDATES:
            empty = np.int64(ONLY_BAD) if any_legal and tid == 0 else np.int64(NOTHING)
            lists[b, position, cuda.blockIdx.x, tid] = scratch.keys[tid] if tid < kept else empty

    return select
