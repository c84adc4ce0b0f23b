"""Stage 3 of a verification: accept drafts, then draw the correction or the bonus.

One block a request, one thread a column. Every thread decides about its own column, for
the random numbers depend on nothing but the position; the round ends at the first
column that stops it: a dead end, a column without a distribution, a rejection, or the
column after the last draft. The block then finishes that column together.
"""

from __future__ import annotations

import numpy as np

from .. import rng, steps
from ..layout import MAX_CANDIDATES, MAX_DRAFTS, PROPOSAL_WIDTH, Flag, Purpose
from .device import cuda
from .finish import draw_index, uniform_bits

__all__ = ["THREADS", "verify"]

THREADS = MAX_DRAFTS + 1
_NON_FINITE, _DEAD_END = int(Flag.NON_FINITE), int(Flag.DEAD_END)
_ACCEPT, _CORRECTION, _BONUS = int(Purpose.ACCEPT), int(Purpose.CORRECTION), int(Purpose.BONUS)
_ONE_HOT = 1.0

_total = cuda.jit(device=True)(steps.total)
_find = cuda.jit(device=True)(steps.find)
_accepts = cuda.jit(device=True)(steps.accepts)
_is_distribution = cuda.jit(device=True)(steps.is_distribution)


@cuda.jit(device=True)
def _problem(row, proposal, targets, b, column):  # type: ignore[no-untyped-def]
    """Flags of one column."""
    if (row["dead_ends"] >> np.uint64(column)) & np.uint64(1):
        return np.int32(_DEAD_END)
    flags = targets.flags[b, column]
    sparse = column < row["extent"] and row["temperature"] > 0.0
    if flags == 0 and sparse:
        shares = proposal.q_shares[b, column]
        if not _is_distribution(shares, shares.shape[0]):
            flags = np.int32(_NON_FINITE)
    return flags


@cuda.jit(device=True)
def _is_accepted(row, proposal, targets, b, column):  # type: ignore[no-untyped-def]
    """Whether the draft of a column is accepted."""
    draft = proposal.drafts[b, column]
    weights, kept = targets.weights[b, column], targets.kept[b, column]
    place = _find(targets.ids[b, column], kept, draft)
    if row["temperature"] <= 0.0:
        return place == 0
    chance = 0.0
    if place >= 0:
        chance = weights[place] / _total(weights, kept)
    share = _ONE_HOT
    q_ids = proposal.q_ids[b, column]
    if q_ids.shape[0] > 0:
        proposed = _find(q_ids, q_ids.shape[0], draft)
        share = np.float64(proposal.q_shares[b, column, proposed]) if proposed >= 0 else 0.0
    bits = uniform_bits(row["seed"], row["position"] + column + 1, _ACCEPT, 0)
    return _accepts(chance, share, bits * rng.UNIFORM_SCALE)


@cuda.jit(device=True)
def _residual(proposal, targets, b, column, is_bonus, place):  # type: ignore[no-untyped-def]
    """The weight of candidate `place` for the token that ends the round: p, or what is left of it."""
    weight = targets.weights[b, column, place]
    if is_bonus:
        return weight
    token = targets.ids[b, column, place]
    if proposal.q_ids.shape[2] == 0:
        return 0.0 if token == proposal.drafts[b, column] else weight
    share = 0.0
    for i in range(PROPOSAL_WIDTH):
        if proposal.q_ids[b, column, i] == token:
            share = np.float64(proposal.q_shares[b, column, i])
    rest = weight / _total(targets.weights[b, column], targets.kept[b, column]) - share
    return rest if rest > 0.0 else 0.0


@cuda.jit(device=True)
def _ending(row, targets, weights, b, column, is_bonus):  # type: ignore[no-untyped-def]
    """Draw the correction or the bonus."""
    u = 0.0
    if row["temperature"] > 0.0:
        purpose = _BONUS if is_bonus else _CORRECTION
        u = uniform_bits(row["seed"], row["position"] + column + 1, purpose, 0) * rng.UNIFORM_SCALE
    return targets.ids[b, column, draw_index(weights, targets.kept[b, column], u)]


@cuda.jit
def verify(rows, proposal, targets, result):  # type: ignore[no-untyped-def]
    """rows ROW[B], proposal `Proposal`, targets `Targets` -> result. B blocks of THREADS threads."""
    b, column = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    row = rows[b]
    extent = row["extent"]
    end = cuda.shared.array(1, np.int32)
    weights = cuda.shared.array(MAX_CANDIDATES, np.float64)
    if column == 0:
        end[0] = extent
    cuda.syncthreads()
    problem = np.int32(0)
    if column <= extent:
        problem = _problem(row, proposal, targets, b, column)
        if problem != 0 or (column < extent and not _is_accepted(row, proposal, targets, b, column)):
            cuda.atomic.min(end, 0, column)
    cuda.syncthreads()
    last = end[0]
    is_bonus = last == extent
    if column < targets.kept[b, last]:
        weights[column] = _residual(proposal, targets, b, last, is_bonus, column)
    cuda.syncthreads()
    if column < result.tokens.shape[1]:
        token = np.int32(0)
        if column < last:
            token = proposal.drafts[b, column]
        elif column == last:
            result.counts[b] = last + 1
            result.flags[b] = problem
            if problem == 0:
                token = _ending(row, targets, weights, b, last, is_bonus)
        result.tokens[b, column] = token
