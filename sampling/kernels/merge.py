"""From the segments' lists of a position to its candidates, weights and running sums.

A block merges: the largest keys of 32 groups give a floor that at least 20 keys reach, as
in stage 1, and what reaches it is ranked by counting. Then one warp goes on alone, a
thread a candidate. A running sum is added up from the start by each thread, in the order
of the CPU path: a tree would be no faster at this length and would round differently.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import rng
from ..layout import GREEDY_WIDTH, MAX_CANDIDATES, PROPOSAL_WIDTH, Flag
from .device import NOTHING, ONLY_BAD, SIMULATED, cuda, key_value, rank_of, sync_warp

__all__ = [
    "MAX_SEGMENTS",
    "THREADS",
    "WARP",
    "Scratch",
    "add_up",
    "first_drawn",
    "merge",
    "new_scratch",
    "read_settings",
    "truncate",
    "uniform",
    "weigh",
]

THREADS = 32 if SIMULATED else 256
WARP = 32
_LAST = MAX_CANDIDATES - 1
MAX_SEGMENTS = 160
"""So that the keys that reach the floor fit: 20 groups of at most MAX_SEGMENTS * 20 / 32 keys."""
_BUFFER = MAX_CANDIDATES * -(-MAX_SEGMENTS * MAX_CANDIDATES // WARP)
_KEYS_PER_THREAD = -(-MAX_SEGMENTS * MAX_CANDIDATES // THREADS)
_HEADS = WARP + 2  # the group maxima, the floor, the largest
_MARKS = 5
_FILL, _KEPT, _DRAWN, _PLACE, _PROBLEM = range(_MARKS)
_NON_FINITE, _EMPTY_MASK = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK)

_uniform_bits = cuda.jit(device=True)(rng.uniform_bits)


class Settings(NamedTuple):
    """A row's record, read once at the start: later each field would cost a trip to memory."""

    temperature: Any
    top_p: Any
    min_p: Any
    seed: Any
    dead_ends: Any
    top_k: Any
    position: Any
    extent: Any
    purpose: Any


class Scratch(NamedTuple):
    """Shared memory of a block.

    keys     int64[...], what reached the floor;  heads  int64[34]
    best     int64[20], the candidates' keys, best first
    weights, sums  float64[20], of the candidates, and their running sums
    marks    int32[5]: fill of keys, candidates kept, candidate drawn, place of the draft, flags
    q_ids, q_shares  int32[16], float32[16]: the draft distribution
    """

    keys: Any
    heads: Any
    best: Any
    weights: Any
    sums: Any
    marks: Any
    q_ids: Any
    q_shares: Any


@cuda.jit(device=True)
def new_scratch():  # type: ignore[no-untyped-def]
    """Allocate the shared memory."""
    return Scratch(
        cuda.shared.array(_BUFFER, np.int64),
        cuda.shared.array(_HEADS, np.int64),
        cuda.shared.array(MAX_CANDIDATES, np.int64),
        cuda.shared.array(MAX_CANDIDATES, np.float64),
        cuda.shared.array(MAX_CANDIDATES, np.float64),
        cuda.shared.array(_MARKS, np.int32),
        cuda.shared.array(PROPOSAL_WIDTH, np.int32),
        cuda.shared.array(PROPOSAL_WIDTH, np.float32),
    )


@cuda.jit(device=True)
def read_settings(rows, b):  # type: ignore[no-untyped-def]
    """The settings of a row."""
    row = rows[b]
    return Settings(
        row["temperature"],
        row["top_p"],
        row["min_p"],
        row["seed"],
        row["dead_ends"],
        row["top_k"],
        row["position"],
        row["extent"],
        row["purpose"],
    )


@cuda.jit(device=True)
def uniform(row, position, purpose):  # type: ignore[no-untyped-def]
    """The random number of a position and purpose; 0 for a greedy row, which draws the only candidate."""
    if row.temperature <= 0.0:
        return 0.0
    return _uniform_bits(row.seed, position, purpose, 0) * rng.UNIFORM_SCALE


@cuda.jit(device=True)
def _load(lists, mine, tid):  # type: ignore[no-untyped-def]
    """A thread's keys, all loads in flight at once; returns the largest."""
    top = np.int64(NOTHING)
    length = np.uint32(lists.shape[0])
    for i in range(_KEYS_PER_THREAD):
        place = np.uint32(tid + i * THREADS)
        mine[i] = NOTHING
        if place < length:
            mine[i] = lists[place]
    for i in range(_KEYS_PER_THREAD):
        top = max(top, mine[i])
    return top


@cuda.jit(device=True)
def _floor(scratch, top, tid):  # type: ignore[no-untyped-def]
    """The 20th largest of 32 group maxima, at least above ONLY_BAD; heads[33] is the largest key."""
    scratch.keys[tid] = top
    if tid == 0:
        scratch.marks[_FILL] = 0
    cuda.syncthreads()
    if tid < WARP:
        for group in range(1, THREADS // WARP):
            top = max(top, scratch.keys[np.uint32(tid + group * WARP)])
        scratch.heads[tid] = top
        sync_warp()
        rank = np.int32(0)
        for other in range(WARP):
            head = scratch.heads[other]
            if head > top or (head == top and other < tid):
                rank = np.int32(rank + 1)
        if rank == _LAST:
            scratch.heads[WARP] = top
        if rank == 0:
            scratch.heads[WARP + 1] = top
    cuda.syncthreads()
    return max(scratch.heads[WARP], np.int64(ONLY_BAD + 1))


@cuda.jit(device=True)
def _single(lists, scratch, tid):  # type: ignore[no-untyped-def]
    """One segment: its list is the answer already."""
    is_key = np.int32(0)
    if tid < MAX_CANDIDATES:
        key = lists[tid]
        scratch.best[tid] = key
        is_key = np.int32(key > ONLY_BAD)
        if tid == 0:
            scratch.heads[WARP + 1] = key
    return np.int32(cuda.syncthreads_count(is_key))


@cuda.jit(device=True)
def merge(lists, scratch, tid):  # type: ignore[no-untyped-def]
    """Sort the best 20 of a position's keys into `best`; returns how many there are. For the whole block."""
    if lists.shape[0] == MAX_CANDIDATES:
        return _single(lists, scratch, tid)
    mine = cuda.local.array(_KEYS_PER_THREAD, np.int64)  # unrolled loops keep it in registers
    floor = _floor(scratch, _load(lists, mine, tid), tid)
    for i in range(_KEYS_PER_THREAD):
        if mine[i] >= floor:
            scratch.keys[np.uint32(cuda.atomic.add(scratch.marks, _FILL, 1))] = mine[i]
    cuda.syncthreads()
    fill = np.uint32(scratch.marks[_FILL])
    place = np.uint32(tid)
    while place < fill:
        key = scratch.keys[place]
        rank = rank_of(scratch.keys, fill, key)
        if rank < MAX_CANDIDATES:
            scratch.best[rank] = key
        place = np.uint32(place + np.uint32(THREADS))
    cuda.syncthreads()
    return np.int32(min(fill, np.uint32(MAX_CANDIDATES)))


@cuda.jit(device=True)
def add_up(scratch, count, lane):  # type: ignore[no-untyped-def]
    """sums[j] = weights[0] + ... + weights[j], added in that order."""
    sync_warp()
    if lane < count:
        total = scratch.weights[0]
        for j in range(1, MAX_CANDIDATES):  # a fixed length, so that the loads run ahead of the sum
            if j <= lane:
                total += scratch.weights[j]
        scratch.sums[lane] = total
    sync_warp()


@cuda.jit(device=True)
def weigh(row, scratch, count, lane):  # type: ignore[no-untyped-def]
    """Weights and sums of the candidates; returns (candidates, flags). For one warp, as all below."""
    if count == 0:
        seen = scratch.heads[WARP + 1] == ONLY_BAD
        return np.int32(0), np.int32(_NON_FINITE if seen else _EMPTY_MASK)
    top = np.float64(key_value(scratch.best[0]))
    if top == math.inf:
        return np.int32(0), np.int32(_NON_FINITE)
    temperature = row.temperature
    limit = np.int32(GREEDY_WIDTH) if temperature <= 0.0 else row.top_k
    count = min(count, limit)
    if lane < count:
        weight = 1.0
        if temperature > 0.0:
            weight = math.exp((np.float64(key_value(scratch.best[lane])) - top) / temperature)
        scratch.weights[lane] = weight
    add_up(scratch, count, lane)
    return np.int32(count), np.int32(0)


@cuda.jit(device=True)
def truncate(row, scratch, count, lane):  # type: ignore[no-untyped-def]
    """How many candidates min-p and top-p keep: the first place where the walk of `steps.truncate` stops."""
    if lane == 0:
        scratch.marks[_KEPT] = count
    sync_warp()
    if lane < count:
        min_p, top_p = row.min_p, row.top_p
        if min_p > 0.0 and scratch.weights[lane] < min_p * scratch.weights[0]:
            cuda.atomic.min(scratch.marks, _KEPT, lane)
        elif top_p < 1.0 and scratch.sums[lane] >= top_p * scratch.sums[count - 1]:
            cuda.atomic.min(scratch.marks, _KEPT, lane + 1)
    sync_warp()
    return scratch.marks[_KEPT]


@cuda.jit(device=True)
def first_drawn(scratch, count, u, lane):  # type: ignore[no-untyped-def]
    """The first j with u * mass < sums[j], as `steps.draw`; 0 if there is no mass."""
    if lane == 0:
        scratch.marks[_DRAWN] = MAX_CANDIDATES
    sync_warp()
    if lane < count and u * scratch.sums[count - 1] < scratch.sums[lane]:
        cuda.atomic.min(scratch.marks, _DRAWN, lane)
    sync_warp()
    drawn = scratch.marks[_DRAWN]
    return drawn if drawn < MAX_CANDIDATES else np.int32(0)
