"""Stage 2: merge the segments' lists of one position, weigh and cut them, in float64.

One block a position. The largest keys of 32 groups of lists give a floor, exactly as in
stage 1: at least 20 keys reach it, and every one of the best 20 does. What reaches the
floor is ranked by counting. Then `steps` finishes, the same text as on the CPU.

`draw` ends an ordinary sampling step. `store` ends stage 2 of a verification: it
leaves p for `verify`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import rng, steps
from ..layout import GREEDY_WIDTH, MAX_CANDIDATES, Flag
from .device import NOTHING, ONLY_BAD, SIMULATED, cuda, key_token, key_value

__all__ = ["MAX_SEGMENTS", "THREADS", "draw", "store"]

THREADS = 32 if SIMULATED else 128
_GROUPS = 32
_LAST = MAX_CANDIDATES - 1
_HEADS = _GROUPS + 2  # the maxima, the floor, the largest
_LISTS_PER_GROUP = 4
MAX_SEGMENTS = _GROUPS * _LISTS_PER_GROUP
"""So that all keys that reach the floor fit the buffer: 20 groups of 4 lists of 20 keys at most."""
_BUFFER = MAX_CANDIDATES * _LISTS_PER_GROUP * MAX_CANDIDATES
_NON_FINITE, _EMPTY_MASK, _DEAD_END = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK), int(Flag.DEAD_END)

uniform_bits = cuda.jit(device=True)(rng.uniform_bits)
truncate = cuda.jit(device=True)(steps.truncate)
draw_index = cuda.jit(device=True)(steps.draw)


class _Scratch(NamedTuple):
    """Shared memory: merged keys, the best of them, group maxima (one more: the floor), weights, the fill."""

    keys: Any
    best: Any
    heads: Any
    weights: Any
    fill: Any


@cuda.jit(device=True)
def _floor(lists, scratch, tid):  # type: ignore[no-untyped-def]
    """The 20th largest of 32 group maxima, NOTHING if fewer groups have a key. Also the largest of all."""
    if tid < _GROUPS:
        top = np.int64(NOTHING)
        for one in range(tid, lists.shape[0], _GROUPS):
            top = max(top, lists[one, 0])
        scratch.heads[tid] = top
    if tid == 0:
        scratch.fill[0] = 0
    cuda.syncthreads()
    if tid < _GROUPS:
        top = scratch.heads[tid]
        rank = 0
        for other in range(_GROUPS):
            head = scratch.heads[other]
            rank += head > top or (head == top and other < tid)
        if rank == _LAST:
            scratch.heads[_GROUPS] = top
        if rank == 0:
            scratch.heads[_GROUPS + 1] = top
    cuda.syncthreads()
    return max(scratch.heads[_GROUPS], np.int64(ONLY_BAD + 1))


@cuda.jit(device=True)
def _merge(lists, scratch, tid):  # type: ignore[no-untyped-def]
    """Sort the best 20 keys of all lists into `best`; returns how many there are."""
    floor = _floor(lists, scratch, tid)
    for one in range(tid, lists.shape[0], THREADS):
        for place in range(MAX_CANDIDATES):
            key = lists[one, place]
            if key < floor:
                break  # the lists are sorted
            scratch.keys[cuda.atomic.add(scratch.fill, 0, 1)] = key
    cuda.syncthreads()
    fill = scratch.fill[0]
    for i in range(tid, fill, THREADS):
        key = scratch.keys[i]
        rank = 0
        for j in range(fill):
            rank += scratch.keys[j] > key
        if rank < MAX_CANDIDATES:
            scratch.best[rank] = key
    cuda.syncthreads()
    return min(fill, np.int32(MAX_CANDIDATES))


@cuda.jit(device=True)
def _weigh(lists, row, scratch, tid):  # type: ignore[no-untyped-def]
    """Candidates and weights of one position; returns (how many, flags). Each thread weighs one."""
    count = _merge(lists, scratch, tid)
    if count == 0:
        seen = scratch.heads[_GROUPS + 1] == ONLY_BAD
        return np.int32(0), np.int32(_NON_FINITE if seen else _EMPTY_MASK)
    top = np.float64(key_value(scratch.best[0]))
    if top == math.inf:
        return np.int32(0), np.int32(_NON_FINITE)
    temperature = row["temperature"]
    limit = np.int32(GREEDY_WIDTH) if temperature <= 0.0 else row["top_k"]
    count = min(count, limit)
    if tid < count:
        weight = 1.0
        if temperature > 0.0:
            weight = math.exp((np.float64(key_value(scratch.best[tid])) - top) / temperature)
        scratch.weights[tid] = weight
    cuda.syncthreads()
    return np.int32(count), np.int32(0)


@cuda.jit(device=True)
def _scratch():  # type: ignore[no-untyped-def]
    return _Scratch(
        cuda.shared.array(_BUFFER, np.int64),
        cuda.shared.array(MAX_CANDIDATES, np.int64),
        cuda.shared.array(_HEADS, np.int64),
        cuda.shared.array(MAX_CANDIDATES, np.float64),
        cuda.shared.array(1, np.int32),
    )


@cuda.jit
def draw(rows, lists, result):  # type: ignore[no-untyped-def]
    """Sample: rows ROW[B], lists int64[B, 1, segments, 20] -> result. B blocks of THREADS threads."""
    b, tid = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    row = rows[b]
    scratch = _scratch()
    count, problem = _weigh(lists[b, 0], row, scratch, tid)
    if row["dead_ends"] & np.uint64(1):
        problem = np.int32(_DEAD_END)
    if tid == 0:
        token = np.int32(0)
        if problem == 0:
            kept = truncate(scratch.weights, count, row["top_p"], row["min_p"])
            bits = uniform_bits(row["seed"], row["position"], row["purpose"], 0)
            token = key_token(scratch.best[draw_index(scratch.weights, kept, bits * rng.UNIFORM_SCALE)])
        result.tokens[b, 0] = token
        result.counts[b] = 1
        result.flags[b] = problem


@cuda.jit
def store(rows, lists, targets):  # type: ignore[no-untyped-def]
    """Verify, stage 2: lists int64[B, P, segments, 20] -> targets. Grid (P, B), THREADS threads."""
    b, position, tid = cuda.blockIdx.y, cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    row = rows[b]
    if position > row["extent"]:
        return
    scratch = _scratch()
    count, problem = _weigh(lists[b, position], row, scratch, tid)
    if tid < count:
        targets.ids[b, position, tid] = key_token(scratch.best[tid])
        targets.weights[b, position, tid] = scratch.weights[tid]
    if tid == 0:
        kept = np.int32(0)
        if problem == 0:
            kept = np.int32(truncate(scratch.weights, count, row["top_p"], row["min_p"]))
        targets.kept[b, position] = kept
        targets.flags[b, position] = problem
