"""The CPU path: numba kernels over a batch, in float32, with the final steps in float64.

One pass over a row keeps the best k tokens in a sorted buffer of 20. Nearly every token
fails one comparison with the k-th best so far, and a mask word of zero skips 32 tokens
at once, so a row costs little more than reading it. Ids are visited in ascending
order and a newcomer must be strictly better, so equal values stay in order of id.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import rng, steps
from .jit import compiled
from .layout import GREEDY_WIDTH, MAX_CANDIDATES, UNCONSTRAINED, WORD_BITS, Flag

__all__ = [
    "Batch",
    "Output",
    "Support",
    "new_output",
    "new_support",
    "pick",
    "row_counts",
    "sample",
    "target",
]


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


class Output(NamedTuple):
    """What a step decides.

    tokens  int32[B, P], unused slots 0;  counts  int32[B], how many are licensed;  flags  int32[B] of `Flag`
    """

    tokens: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    flags: npt.NDArray[np.int32]


class Support(NamedTuple):
    """Scratch for one position: the candidates, best first."""

    values: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float64]
    ids: npt.NDArray[np.int32]


_NON_FINITE, _EMPTY_MASK, _DEAD_END = int(Flag.NON_FINITE), int(Flag.EMPTY_MASK), int(Flag.DEAD_END)
_ALL_BITS = np.uint32(0xFFFFFFFF)
UNIT = rng.UNIFORM_SCALE

uniform_bits = compiled(rng.uniform_bits)
_weigh = compiled(steps.weigh)
_truncate = compiled(steps.truncate)
_draw = compiled(steps.draw)


@compiled
def _insert(support: Support, count: int, limit: int, value: Any, token: int) -> int:
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
def _bound(support: Support, count: int, limit: int) -> Any:
    """What a token must exceed to get in: the worst of a full support. NaN and -inf never do."""
    return support.values[limit - 1] if count == limit else np.float32(-math.inf)


@compiled
def _scan_word(support: Support, count: int, limit: int, block: Any, start: int, word: Any) -> int:
    """Offer the tokens of one mask word, block[i] being token start + i; returns the new count.

    -0.0 and +0.0 compare equal, so neither overtakes the other.
    """
    bound = _bound(support, count, limit)
    for bit in range(len(block)):
        if block[bit] > bound and (word >> np.uint32(bit)) & np.uint32(1):
            count = _insert(support, count, limit, block[bit], start + bit)
            bound = _bound(support, count, limit)
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
def _candidates(support: Support, logits: Any, counts: Any, words: Any, row: Any) -> tuple[int, int]:
    """Fill the support with the best legal tokens of a row of exactly V logits; returns (count, flags).

    `counts` is empty for a row without penalties, `words` for an unconstrained row.
    """
    limit = GREEDY_WIDTH if row["temperature"] <= 0.0 else row["top_k"]
    penalised = np.empty(WORD_BITS, np.float32)
    count, seen, bound = 0, np.uint32(0), np.float32(-math.inf)
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
        promising = 0  # counted without branches, which the compiler turns into vector code
        for bit in range(len(block)):
            promising += block[bit] > bound
        if promising > 0:
            count = _scan_word(support, count, limit, block, start, word)
            bound = _bound(support, count, limit)
    if seen == 0:
        return 0, _EMPTY_MASK
    # The values are sorted, so if the first is finite they all are.
    if count == 0 or support.values[0] == math.inf:
        return 0, _NON_FINITE
    return count, 0


@compiled
def target(support: Support, batch: Batch, b: int, position: int, counts: Any) -> tuple[int, int]:
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
def pick(support: Support, count: int, row: Any, position: int, purpose: int) -> Any:
    """Draw one of the candidates, with the random number of this position and purpose."""
    u = 0.0
    if row["temperature"] > 0.0:
        u = uniform_bits(row["seed"], position, purpose, 0) * UNIT
    return support.ids[_draw(support.weights, count, u)]


@compiled
def row_counts(batch: Batch, b: int) -> Any:
    """A private copy of the row's token counts, empty if the row has no penalties."""
    row = batch.rows[b]
    if row["presence_penalty"] == 0 and row["frequency_penalty"] == 0:
        return batch.counts[b, :0].copy()
    return batch.counts[b].copy()


@compiled
def new_support() -> Support:
    """Fresh scratch."""
    return Support(
        np.empty(MAX_CANDIDATES, np.float32),
        np.empty(MAX_CANDIDATES, np.float64),
        np.empty(MAX_CANDIDATES, np.int32),
    )


@compiled
def _sample(batch: Batch, out: Output) -> None:
    """One token a row, from position 0."""
    support = new_support()
    for b in range(len(batch.rows)):
        row = batch.rows[b]
        flags = _DEAD_END if row["dead_ends"] & np.uint64(1) else 0
        count = 0
        if flags == 0:
            count, flags = target(support, batch, b, 0, row_counts(batch, b))
        token = 0 if flags else pick(support, count, row, row["position"], row["purpose"])
        out.tokens[b, 0] = token
        out.counts[b] = 1
        out.flags[b] = flags


def new_output(batch: Batch) -> Output:
    """Zeroed results for a batch."""
    rows, positions = batch.mask_index.shape
    return Output(np.zeros((rows, positions), np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int32))


def sample(batch: Batch) -> Output:
    """Draw one token for each row, from position 0 of its logits, as `contract.sample_row` defines it."""
    out = new_output(batch)
    with np.errstate(all="ignore"):  # only matters uncompiled: NaN and wrap-around are meant
        _sample(batch, out)
    return out
