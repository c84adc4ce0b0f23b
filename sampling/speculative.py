"""Speculative verification on the CPU: accept drafts, then a correction or a bonus.

The rule is that of Leviathan et al. (2023) and Chen et al. (2023): with p the target's
distribution and q the one that the draft d was drawn from, accept d with probability
min(1, p(d) / q(d)); after a rejection draw from (p - q)+. The outcome is then distributed as
p, whatever q is. A greedy draft has a one-hot q: accept with probability p(d), else draw
from p without d.

q is never changed afterwards. An illegal draft has p(d) = 0 and is rejected like any
other; dropping it and drawing from p instead would double-count (see the contract's
counter-example, in the tests by name).

The columns of a round are walked in order and the walk stops at the first rejection:
columns that are never reached are never read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import steps
from .cpu import UNIT, Batch, Output, Support, new_output, new_support, pick, row_counts, target, uniform_bits
from .jit import compiled
from .layout import Flag, Purpose

__all__ = ["Drafts", "accept"]

_NON_FINITE, _DEAD_END = int(Flag.NON_FINITE), int(Flag.DEAD_END)
_ACCEPT, _CORRECTION, _BONUS = int(Purpose.ACCEPT), int(Purpose.CORRECTION), int(Purpose.BONUS)
_ONE_HOT = 1.0  # q of the draft itself, when the proposal was greedy

_total = compiled(steps.total)
_find = compiled(steps.find)
_accepts = compiled(steps.accepts)
_is_distribution = compiled(steps.is_distribution)
_subtract_proposal = compiled(steps.subtract_proposal)


class Drafts(NamedTuple):
    """The proposals of a round: K drafts a row, of which `rows[b]["extent"]` are real.

    tokens  int32[B, K];  q_ids  int32[B, K, 16];  q_shares  float32[B, K, 16]
    A one-hot q has q_ids and q_shares of shape [B, K, 0].
    """

    tokens: npt.NDArray[np.int32]
    q_ids: npt.NDArray[np.int32]
    q_shares: npt.NDArray[np.float32]


@compiled
def _verify(support: Support, count: int, row: Any, place: int, draft: int, q_ids: Any, q_shares: Any) -> Any:
    """Whether the draft is accepted; if not, the weights become those of the correction."""
    index = _find(support.ids, count, draft)
    if row["temperature"] <= 0.0:
        return index == 0
    chance = support.weights[index] / _total(support.weights, count) if index >= 0 else 0.0
    share = _ONE_HOT
    if len(q_ids) > 0:
        proposed = _find(q_ids, len(q_ids), draft)
        share = np.float64(q_shares[proposed]) if proposed >= 0 else 0.0
    if _accepts(chance, share, uniform_bits(row["seed"], place, _ACCEPT, 0) * UNIT):
        return True
    if len(q_ids) > 0:
        _subtract_proposal(support.weights, support.ids, count, q_ids, q_shares)
    elif index >= 0:
        support.weights[index] = 0.0
    return False


@compiled
def _accept_row(support: Support, batch: Batch, drafts: Drafts, b: int, out: Output) -> int:
    """Verify one row's drafts in order; writes its tokens and count, returns its flags."""
    row = batch.rows[b]
    counts = row_counts(batch, b)
    extent = min(max(row["extent"], 0), drafts.tokens.shape[1])
    for i in range(extent + 1):
        out.counts[b] = i + 1
        if (row["dead_ends"] >> np.uint64(i)) & np.uint64(1):
            return _DEAD_END
        count, flags = target(support, batch, b, i, counts)
        sparse = i < extent and row["temperature"] > 0.0
        if flags == 0 and sparse and not _is_distribution(drafts.q_shares[b, i], drafts.q_shares.shape[2]):
            flags = _NON_FINITE
        if flags != 0:
            return flags
        place = row["position"] + i + 1
        if i == extent:
            out.tokens[b, i] = pick(support, count, row, place, _BONUS)
            return 0
        draft = drafts.tokens[b, i]
        if not _verify(support, count, row, place, draft, drafts.q_ids[b, i], drafts.q_shares[b, i]):
            out.tokens[b, i] = pick(support, count, row, place, _CORRECTION)
            return 0
        out.tokens[b, i] = draft
        if len(counts) > 0:
            counts[draft] += 1
    return 0


@compiled
def _accept(batch: Batch, drafts: Drafts, out: Output) -> None:
    support = new_support()
    for b in range(len(batch.rows)):
        out.flags[b] = _accept_row(support, batch, drafts, b, out)


def accept(batch: Batch, drafts: Drafts) -> Output:
    """Verify the drafts of each row against its positions, as `contract.accept_row` defines it.

    Needs batch.logits with K + 1 positions, K <= 63.
    """
    out = new_output(batch)
    with np.errstate(all="ignore"):
        _accept(batch, drafts, out)
    return out
