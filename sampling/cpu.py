"""The CPU path: numba kernels over a batch, in float32, with the final steps in float64.

One pass over a row keeps the best k tokens in a sorted buffer of 20. Nearly every token
fails one comparison with the k-th best so far, and a mask word of zero skips 32 tokens
at once, so a row costs little more than reading it. Ids are visited in ascending
order and a newcomer must be strictly better, so equal values stay in order of id.

Verification walks the columns of a round and stops at the first rejection: columns that
are never reached are never read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import rng, steps
from .jit import compiled
from .layout import GREEDY_WIDTH, MAX_CANDIDATES, UNCONSTRAINED, WORD_BITS, Flag, Purpose

__all__ = ["Batch", "Drafts", "Output", "accept", "sample"]


class Batch(NamedTuple):
    """What a step reads: B rows, P positions a row, a vocabulary of V tokens.

    logits      float32[B, P, W], W >= V; columns past V are padding and never read
    counts      int32[B, V], how often each token was generated; int32[B, 0] if no row has penalties
    mask_index  int32[B, P], rows of mask_words, or UNCONSTRAINED
    mask_words  uint32[N, ceil(V/32)]
    rows        ROW[B]
    vocab_size  V
    """

    logits: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int32]
    mask_index: npt.NDArray[np.int32]
    mask_words: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.void]
    vocab_size: int


class Drafts(NamedTuple):
    """The proposals of a round: K drafts a row, of which `rows[b]["extent"]` are real.

    tokens  int32[B, K];  q_ids  int32[B, K, 16];  q_shares  float32[B, K, 16]
    A one-hot q has q_ids and q_shares of shape [B, K, 0].
    """

    tokens: npt.NDArray[np.int32]
    q_ids: npt.NDArray[np.int32]
    q_shares: npt.NDArray[np.float32]


class Output(NamedTuple):
    """What a step decides.

    tokens  int32[B, P], unused slots 0;  counts  int32[B], how many are licensed;  flags  int32[B] of `Flag`
    """

    tokens: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    flags: npt.NDArray[np.int32]


class _Support(NamedTuple):
    """Scratch for one position: the candidates, best first."""

    values: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float64]
    ids: npt.NDArray[np.int32]


_NON_FINITE, _EMPTY_MASK, _DEAD_END = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK), int(Flag.DEAD_END)
_ACCEPT, _CORRECTION, _BONUS = int(Purpose.ACCEPT), int(Purpose.CORRECTION), int(Purpose.BONUS)
_ALL_BITS = np.uint32(0xFFFFFFFF)
_U24 = rng.UNIFORM_SCALE
_ONE_HOT = 1.0  # q of the draft itself, when the proposal was greedy

_uniform_bits = compiled(rng.uniform_bits)
_weigh = compiled(steps.weigh)
_total = compiled(steps.total)
_truncate = compiled(steps.truncate)
_draw = compiled(steps.draw)
_find = compiled(steps.find)
_accepts = compiled(steps.accepts)
_is_distribution = compiled(steps.is_distribution)
_subtract_proposal = compiled(steps.subtract_proposal)


@compiled
def _insert(support: _Support, count: int, limit: int, value: Any, token: int) -> int:
    """Put a token among the best `limit`; the caller has checked that it belongs there."""
    place = count if count < limit else limit - 1
    while place > 0 and support.values[place - 1] < value:
        support.values[place] = support.values[place - 1]
        support.ids[place] = support.ids[place - 1]
        place -= 1
    support.values[place] = value
    support.ids[place] = token
    return min(count + 1, limit)


@compiled
def _scan_word(support: _Support, count: int, limit: int, block: Any, start: int, word: Any) -> int:
    """Offer the tokens of one mask word, block[i] being token start + i; returns the new count.

    Only finite values and +inf get in: NaN and -inf fail the comparison. -0.0 and
    +0.0 compare equal, so neither overtakes the other.
    """
    bound = np.float32(-math.inf) if count < limit else support.values[limit - 1]
    promising = 0  # a count without branches, which the compiler turns into vector code
    for bit in range(len(block)):
        promising += block[bit] > bound
    if promising == 0:
        return count
    for bit in range(len(block)):
        if block[bit] > bound and (word >> np.uint32(bit)) & np.uint32(1):
            count = _insert(support, count, limit, block[bit], start + bit)
            if count == limit:
                bound = support.values[limit - 1]
    return count


@compiled
def _penalise(block: Any, counts: Any, row: Any, out: Any) -> None:
    """z of up to 32 tokens: float32, every operation rounded."""
    presence, frequency = row["presence_penalty"], row["frequency_penalty"]
    for bit in range(len(block)):
        value = block[bit]
        if counts[bit] > 0:
            value = np.float32(value - presence)
        out[bit] = np.float32(value - np.float32(frequency * np.float32(counts[bit])))


@compiled
def _candidates(support: _Support, logits: Any, counts: Any, words: Any, row: Any) -> tuple[int, int]:
    """Fill the support with the best legal tokens of a row of exactly V logits; returns (count, flags).

    `counts` is empty for a row without penalties, `words` for an unconstrained row.
    """
    limit = GREEDY_WIDTH if row["temperature"] <= 0.0 else row["top_k"]
    penalised = np.empty(WORD_BITS, np.float32)
    count, seen = 0, np.uint32(0)
    for start in range(0, len(logits), WORD_BITS):
        width = min(WORD_BITS, len(logits) - start)
        word = words[start // WORD_BITS] if len(words) > 0 else _ALL_BITS
        word &= _ALL_BITS >> np.uint32(WORD_BITS - width)  # bits past V are nobody's
        if word == 0:
            continue
        seen |= word
        block = logits[start : start + width]
        if len(counts) > 0:
            _penalise(block, counts[start : start + width], row, penalised)
            block = penalised[:width]
        count = _scan_word(support, count, limit, block, start, word)
    if seen == 0:
        return 0, _EMPTY_MASK
    # The values are sorted, so if the first is finite they all are.
    if count == 0 or support.values[0] == math.inf:
        return 0, _NON_FINITE
    return count, 0


@compiled
def _target(support: _Support, batch: Batch, b: int, position: int, counts: Any) -> tuple[int, int]:
    """The target distribution of one position: the kept candidates with their weights; (count, flags)."""
    row = batch.rows[b]
    index = batch.mask_index[b, position]
    words = batch.mask_words[index] if index != UNCONSTRAINED else batch.mask_words[0, :0]
    logits = batch.logits[b, position, : batch.vocab_size]
    count, flags = _candidates(support, logits, counts, words, row)
    if flags != 0:
        return 0, flags
    if row["temperature"] <= 0.0:
        support.weights[0] = 1.0
        return 1, 0
    _weigh(support.values, count, row["temperature"], support.weights)
    return _truncate(support.weights, count, row["top_p"], row["min_p"]), 0


@compiled
def _pick(support: _Support, count: int, row: Any, position: int, purpose: int) -> Any:
    """Draw one of the candidates, with the random number of this position and purpose."""
    u = 0.0
    if row["temperature"] > 0.0:
        u = _uniform_bits(row["seed"], position, purpose, 0) * _U24
    return support.ids[_draw(support.weights, count, u)]


@compiled
def _row_counts(batch: Batch, b: int) -> Any:
    """A private copy of the row's token counts, empty if the row has no penalties."""
    row = batch.rows[b]
    if row["presence_penalty"] == 0 and row["frequency_penalty"] == 0:
        return batch.counts[b, :0].copy()
    return batch.counts[b].copy()


@compiled
def _new_support() -> _Support:
    return _Support(
        np.empty(MAX_CANDIDATES, np.float32),
        np.empty(MAX_CANDIDATES, np.float64),
        np.empty(MAX_CANDIDATES, np.int32),
    )


@compiled
def _sample(batch: Batch, out: Output) -> None:
    """One token a row, from position 0."""
    support = _new_support()
    for b in range(len(batch.rows)):
        row = batch.rows[b]
        flags = _DEAD_END if row["dead_ends"] & np.uint64(1) else 0
        count = 0
        if flags == 0:
            count, flags = _target(support, batch, b, 0, _row_counts(batch, b))
        token = 0 if flags else _pick(support, count, row, row["position"], row["purpose"])
        out.tokens[b, 0] = token
        out.counts[b] = 1
        out.flags[b] = flags


@compiled
def _verify(
    support: _Support, count: int, row: Any, place: int, draft: int, q_ids: Any, q_shares: Any
) -> Any:
    """Whether the draft is accepted; if not, the weights become those of the correction."""
    index = _find(support.ids, count, draft)
    if row["temperature"] <= 0.0:
        return index == 0
    chance = support.weights[index] / _total(support.weights, count) if index >= 0 else 0.0
    share = _ONE_HOT
    if len(q_ids) > 0:
        proposed = _find(q_ids, len(q_ids), draft)
        share = np.float64(q_shares[proposed]) if proposed >= 0 else 0.0
    if _accepts(chance, share, _uniform_bits(row["seed"], place, _ACCEPT, 0) * _U24):
        return True
    if len(q_ids) > 0:
        _subtract_proposal(support.weights, support.ids, count, q_ids, q_shares)
    elif index >= 0:
        support.weights[index] = 0.0
    return False


@compiled
def _accept_row(support: _Support, batch: Batch, drafts: Drafts, b: int, out: Output) -> int:
    """Verify one row's drafts in order; writes its tokens and count, returns its flags."""
    row = batch.rows[b]
    counts = _row_counts(batch, b)
    extent = min(max(row["extent"], 0), drafts.tokens.shape[1])
    for i in range(extent + 1):
        out.counts[b] = i + 1
        if (row["dead_ends"] >> np.uint64(i)) & np.uint64(1):
            return _DEAD_END
        count, flags = _target(support, batch, b, i, counts)
        sparse = i < extent and row["temperature"] > 0.0
        if flags == 0 and sparse and not _is_distribution(drafts.q_shares[b, i], drafts.q_shares.shape[2]):
            flags = _NON_FINITE
        if flags != 0:
            return flags
        place = row["position"] + i + 1
        if i == extent:
            out.tokens[b, i] = _pick(support, count, row, place, _BONUS)
            return 0
        draft = drafts.tokens[b, i]
        if not _verify(support, count, row, place, draft, drafts.q_ids[b, i], drafts.q_shares[b, i]):
            out.tokens[b, i] = _pick(support, count, row, place, _CORRECTION)
            return 0
        out.tokens[b, i] = draft
        if len(counts) > 0:
            counts[draft] += 1
    return 0


@compiled
def _accept(batch: Batch, drafts: Drafts, out: Output) -> None:
    support = _new_support()
    for b in range(len(batch.rows)):
        out.flags[b] = _accept_row(support, batch, drafts, b, out)


def _new_output(batch: Batch) -> Output:
    rows, positions = batch.mask_index.shape
    return Output(np.zeros((rows, positions), np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int32))


def sample(batch: Batch) -> Output:
    """Draw one token for each row, from position 0 of its logits, as `contract.sample_row` defines it."""
    out = _new_output(batch)
    with np.errstate(all="ignore"):  # only matters uncompiled: NaN and wrap-around are meant
        _sample(batch, out)
    return out


def accept(batch: Batch, drafts: Drafts) -> Output:
    """Verify the drafts of each row against its positions, as `contract.accept_row` defines it.

    Needs batch.logits with K + 1 positions, K <= 63.
    """
    out = _new_output(batch)
    with np.errstate(all="ignore"):
        _accept(batch, drafts, out)
    return out
