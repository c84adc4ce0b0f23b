"""Stage 2: one block a position turns its candidates into a decision.

`draw` ends an ordinary sampling step. `judge` decides everything about one position of a
verification, without knowing whether it will be reached: is its draft accepted, and which
token ends the round here if not. That is possible because the random numbers depend on
nothing but the position; and it leaves little for `verify`, which finds the first
position that ends the round.
"""

from __future__ import annotations

import math

import numpy as np

from .. import steps
from ..layout import PROPOSAL_WIDTH, Flag, Purpose
from .device import cuda, key_token, sync_warp
from .merge import (
    THREADS,
    WARP,
    add_up,
    first_drawn,
    merge,
    new_scratch,
    read_settings,
    truncate,
    uniform,
    weigh,
)

__all__ = ["THREADS", "draw", "judge"]

_NON_FINITE, _DEAD_END = int(Flag.NON_FINITE), int(Flag.DEAD_END)
_ACCEPT, _CORRECTION, _BONUS = int(Purpose.ACCEPT), int(Purpose.CORRECTION), int(Purpose.BONUS)
_ONE_HOT = 1.0
_PLACE, _PROBLEM = 3, 4  # of Scratch.marks
_NOWHERE = -1

_accepts = cuda.jit(device=True)(steps.accepts)


@cuda.jit(device=True)
def _is_dead_end(row, position):  # type: ignore[no-untyped-def]
    return (row.dead_ends >> np.uint64(position)) & np.uint64(1)


@cuda.jit
def draw(rows, lists, result):  # type: ignore[no-untyped-def]
    """Sample: rows ROW[B], lists int64[B, 1, segments * 20] -> result. B blocks of THREADS threads."""
    b, tid = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    row = read_settings(rows, b)
    u = uniform(row, row.position, row.purpose)
    scratch = new_scratch()
    count = merge(lists[b, 0], scratch, tid)
    if tid < WARP:
        count, problem = weigh(row, scratch, count, tid)
        if _is_dead_end(row, 0):
            problem = np.int32(_DEAD_END)
        token = np.int32(0)
        if problem == 0:
            kept = truncate(row, scratch, count, tid)
            token = key_token(scratch.best[first_drawn(scratch, kept, u, tid)])
        if tid == 0:
            result.tokens[b, 0] = token
            result.counts[b] = 1
            result.flags[b] = problem


@cuda.jit(device=True)
def _read_proposal(proposal, scratch, b, position, draft, lane):  # type: ignore[no-untyped-def]
    """Copy q of one position; returns (q of the draft, flags): a q that is no distribution is flagged."""
    sync_warp()  # others may still read what is written next
    if proposal.q_ids.shape[2] == 0:
        return _ONE_HOT, np.int32(0)
    if lane == 0:
        scratch.marks[_PLACE] = _NOWHERE
        scratch.marks[_PROBLEM] = 0
    sync_warp()
    if lane < PROPOSAL_WIDTH:
        token, share = proposal.q_ids[b, position, lane], proposal.q_shares[b, position, lane]
        scratch.q_ids[lane], scratch.q_shares[lane] = token, share
        if token == draft:
            scratch.marks[_PLACE] = lane
        if not (share >= 0.0 and share < math.inf):
            cuda.atomic.max(scratch.marks, _PROBLEM, _NON_FINITE)
    sync_warp()
    place, problem = scratch.marks[_PLACE], scratch.marks[_PROBLEM]
    share = np.float64(scratch.q_shares[place]) if place != _NOWHERE else 0.0
    return share, np.int32(problem)


@cuda.jit(device=True)
def _find(scratch, kept, draft, lane):  # type: ignore[no-untyped-def]
    """The place of the draft among the kept candidates, or -1."""
    sync_warp()
    if lane == 0:
        scratch.marks[_PLACE] = _NOWHERE
    sync_warp()
    if lane < kept and key_token(scratch.best[lane]) == draft:
        scratch.marks[_PLACE] = lane
    sync_warp()
    return scratch.marks[_PLACE]


@cuda.jit(device=True)
def _leave_residual(proposal, scratch, kept, place, lane):  # type: ignore[no-untyped-def]
    """After a rejection: p without the draft, or (p - q)+, into the weights and sums."""
    mass = scratch.sums[kept - 1]
    if lane < kept:
        if proposal.q_ids.shape[2] == 0:
            if lane == place:
                scratch.weights[lane] = 0.0
        else:
            token = key_token(scratch.best[lane])
            rest = scratch.weights[lane] / mass
            for i in range(PROPOSAL_WIDTH):
                if scratch.q_ids[i] == token:
                    rest -= np.float64(scratch.q_shares[i])
            scratch.weights[lane] = rest if rest > 0.0 else 0.0
    add_up(scratch, kept, lane)


@cuda.jit(device=True)
def _decide(row, proposal, scratch, b, position, kept, lane):  # type: ignore[no-untyped-def]
    """(accepted, ending, flags) of a position whose distribution is in the scratch."""
    place_in_text = row.position + position + 1
    if position == row.extent:
        drawn = first_drawn(scratch, kept, uniform(row, place_in_text, _BONUS), lane)
        return False, key_token(scratch.best[drawn]), np.int32(0)
    draft = proposal.drafts[b, position]
    place = _find(scratch, kept, draft, lane)
    if row.temperature <= 0.0:
        return place == 0, key_token(scratch.best[0]), np.int32(0)
    chance = scratch.weights[place] / scratch.sums[kept - 1] if place != _NOWHERE else 0.0
    share, problem = _read_proposal(proposal, scratch, b, position, draft, lane)
    if problem != 0:
        return False, np.int32(0), problem
    if _accepts(chance, share, uniform(row, place_in_text, _ACCEPT)):
        return True, np.int32(0), np.int32(0)
    _leave_residual(proposal, scratch, kept, place, lane)
    drawn = first_drawn(scratch, kept, uniform(row, place_in_text, _CORRECTION), lane)
    return False, key_token(scratch.best[drawn]), np.int32(0)


@cuda.jit
def judge(rows, proposal, lists, verdicts):  # type: ignore[no-untyped-def]
    """Verify, stage 2: lists int64[B, P, segments * 20] -> verdicts. Grid (P, B), THREADS threads."""
    b, position, tid = cuda.blockIdx.y, cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    row = read_settings(rows, b)
    if position > row.extent:
        return
    scratch = new_scratch()
    count = merge(lists[b, position], scratch, tid)
    if tid < WARP:
        accepted, ending = False, np.int32(0)
        count, problem = weigh(row, scratch, count, tid)
        if _is_dead_end(row, position):
            problem = np.int32(_DEAD_END)
        if problem == 0:
            kept = truncate(row, scratch, count, tid)
            accepted, ending, problem = _decide(row, proposal, scratch, b, position, kept, tid)
        if tid == 0:
            verdicts.accepted[b, position] = accepted
            verdicts.endings[b, position] = ending
            verdicts.flags[b, position] = problem
