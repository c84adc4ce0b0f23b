"""The distributions, in FP64 numpy, straight from the formulas. The oracle of every fast path.

Nothing here is fast and nothing here is shared: the CPU kernels and the CUDA kernels are
tested against this module, so it must stay a transcription of the mathematics. "Another
fast path is never a second oracle."

With logits l, counts c (how often each token was generated before), the packed mask A:

    z_v = l_v - presence * [c_v > 0] - frequency * c_v          penalised, in float32, each step rounded
    C   = the top k of {z_v : v in A, v < V}, by (z descending, id ascending)
    w_j = exp((z_j - z_0) / T)
    p   = w cut by min-p and top-p in one walk, then normalised

Greedy (T <= 0) takes the first of C. Speculative acceptance follows Leviathan et al.,
"Fast inference from transformers via speculative decoding" (2023), and Chen et al.,
"Accelerating large language model decoding with speculative sampling" (2023): accept a
draft d ~ q with probability min(1, p(d)/q(d)), otherwise draw from (p - q)+.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .layout import WORD_BITS, Flag, Purpose
from .params import SamplingParams

__all__ = [
    "Accepted",
    "Column",
    "Sampled",
    "Target",
    "accept_row",
    "legal_tokens",
    "overlay",
    "penalised",
    "residual",
    "sample_row",
    "target",
]

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Uniform = Callable[[Purpose, int], float]
"""(purpose, position) -> a number in [0, 1)."""


class Target(NamedTuple):
    """A normalised distribution p over at most 20 tokens, best first; or the reason why there is none."""

    ids: list[int]
    probabilities: list[float]
    flags: Flag

    def probability(self, token: int) -> float:
        """p(token), 0 outside the support."""
        return self.probabilities[self.ids.index(token)] if token in self.ids else 0.0


class Sampled(NamedTuple):
    """A drawn token; token 0 is only a placeholder where a flag is set."""

    token: int
    flags: Flag


class Accepted(NamedTuple):
    """A verified round: the accepted drafts, then the correction or bonus; flags concern the last of them."""

    tokens: list[int]
    flags: Flag


class Column(NamedTuple):
    """What the target model and the constraint say at one position of a round.

    logits   float[W >= V], the target's logits;  words  uint32[ceil(V/32)], or None if unconstrained
    q        {token: probability} of the draft distribution, or None for a one-hot q
    """

    logits: npt.ArrayLike
    words: npt.NDArray[np.uint32] | None = None
    q: dict[int, float] | None = None


def penalised(logits: npt.ArrayLike, counts: Counts | None, params: SamplingParams) -> Floats:
    """z: logits minus penalties. Penalties are float32 arithmetic, each operation rounded once (no fma)."""
    values = np.asarray(logits, np.float32)
    if counts is not None:
        presence, frequency = np.float32(params.presence_penalty), np.float32(params.frequency_penalty)
        with np.errstate(invalid="ignore"):  # NaN stays NaN
            values = values - np.where(counts > 0, presence, np.float32(0))
            values = values - frequency * counts.astype(np.float32)
    return values.astype(np.float64)


def overlay(counts: Counts | None, drafts: npt.ArrayLike, vocab_size: int) -> Counts:
    """Counts at a verify column: what was generated, and the drafts that this column takes for granted."""
    total = np.zeros(vocab_size, np.int64) if counts is None else np.array(counts, np.int64)
    for draft in np.asarray(drafts, np.int64):
        if 0 <= draft < vocab_size:
            total[draft] += 1
    return total


def legal_tokens(words: npt.NDArray[np.uint32] | None, vocab_size: int) -> npt.NDArray[np.bool_]:
    """The mask as booleans, one a token. The vocabulary bounds it, not the width of words or logits."""
    if words is None:
        return np.ones(vocab_size, np.bool_)
    return np.array([int(words[t // WORD_BITS]) >> (t % WORD_BITS) & 1 for t in range(vocab_size)], np.bool_)


def target(logits: npt.ArrayLike, counts: Counts | None, words: npt.NDArray[np.uint32] | None,
           params: SamplingParams, vocab_size: int) -> Target:  # fmt: skip
    """p for one position. Without a support the flags say why and the lists are empty."""
    legal = np.flatnonzero(legal_tokens(words, vocab_size))
    if legal.size == 0:
        return Target([], [], Flag.EMPTY_MASK)
    values = penalised(np.asarray(logits)[:vocab_size], counts, params)
    # NaN is no value at all; -0.0 and +0.0 tie because Python compares them equal.
    ranked = sorted((-float(values[t]), int(t)) for t in legal if not math.isnan(values[t]))
    best = [(-value, token) for value, token in ranked[: 1 if params.greedy else params.candidates]]
    while best and not math.isfinite(best[-1][0]):
        best.pop()
    if not best or not math.isfinite(best[0][0]):
        return Target([], [], Flag.NON_FINITE)
    if params.greedy:
        return Target([best[0][1]], [1.0], Flag(0))
    weights = [math.exp((value - best[0][0]) / params.temperature) for value, _ in best]
    kept = _truncate(weights, params)
    mass = sum(kept)
    return Target([token for _, token in best[: len(kept)]], [w / mass for w in kept], Flag(0))


def _truncate(weights: list[float], params: SamplingParams) -> list[float]:
    """The weights that min-p and top-p keep: one walk from the best, at least one survives."""
    everything = sum(weights)
    kept: list[float] = []
    cumulative = 0.0
    for weight in weights:
        if params.min_p > 0 and weight < params.min_p * weights[0]:
            break
        kept.append(weight)
        cumulative += weight
        if params.top_p < 1 and cumulative >= params.top_p * everything:
            break
    return kept


def _draw(weights: list[float], u: float) -> int:
    """Inverse CDF: the first j with u * mass < w_0 + ... + w_j. A weight of zero is never drawn."""
    mass = sum(weights)
    cumulative = 0.0
    for index, weight in enumerate(weights):
        cumulative += weight
        if u * mass < cumulative:
            return index
    return 0  # no mass at all: the first candidate


def sample_row(logits: npt.ArrayLike, words: npt.NDArray[np.uint32] | None, params: SamplingParams,
               vocab_size: int, u: float, *, counts: Counts | None = None,
               dead_end: bool = False) -> Sampled:  # fmt: skip
    """One token. `u` in [0, 1) is the random number, unused when greedy."""
    if dead_end:
        return Sampled(0, Flag.DEAD_END)
    p = target(logits, counts, words, params, vocab_size)
    if p.flags:
        return Sampled(0, p.flags)
    return Sampled(p.ids[_draw(p.probabilities, u)], Flag(0))


def residual(p: Target, draft: int, q: dict[int, float] | None) -> list[float]:
    """Weights over p's support after a rejection: p without the draft (one-hot q), or (p - q)+."""
    if q is None:
        return [0.0 if t == draft else value for t, value in zip(p.ids, p.probabilities, strict=True)]
    return [max(value - q.get(t, 0.0), 0.0) for t, value in zip(p.ids, p.probabilities, strict=True)]


def _accepts(p: Target, draft: int, q: dict[int, float] | None, u: float) -> bool:
    """Accept with probability min(1, p/q). Strict, so that u = 0 accepts nothing of probability 0."""
    chance = p.probability(draft)
    if q is None:
        return u < chance
    share = q.get(draft, 0.0)
    return chance > 0 and (chance >= share or u * share < chance)


def accept_row(columns: list[Column], drafts: list[int], params: SamplingParams, vocab_size: int,
               length: int, uniform: Uniform, *, dead_ends: int = 0,
               counts: Counts | None = None) -> Accepted:  # fmt: skip
    """Verify a round of `drafts` against len(drafts) + 1 columns.

    `length` is how many tokens were committed before the round, `dead_ends` has bit i
    set where position i has no legal token, `counts` are those of the committed tokens.
    """
    for i, column in enumerate(columns):
        accepted = drafts[:i]
        if dead_ends >> i & 1:
            return Accepted([*accepted, 0], Flag.DEAD_END)
        before = overlay(counts, accepted, vocab_size) if counts is not None else None
        p = target(column.logits, before, column.words, params, vocab_size)
        is_bonus = i == len(drafts)
        q = None if is_bonus or params.greedy else column.q
        if q is not None and not all(0.0 <= share < math.inf for share in q.values()):
            p = Target([], [], p.flags or Flag.NON_FINITE)
        if p.flags:
            return Accepted([*accepted, 0], p.flags)
        place = length + i + 1
        if is_bonus:
            u = 0.0 if params.greedy else uniform(Purpose.BONUS, place)
            return Accepted([*accepted, p.ids[_draw(p.probabilities, u)]], Flag(0))
        draft = drafts[i]
        if not _accepts(p, draft, q, 0.0 if params.greedy else uniform(Purpose.ACCEPT, place)):
            u = 0.0 if params.greedy else uniform(Purpose.CORRECTION, place)
            weights = residual(p, draft, q)
            return Accepted([*accepted, p.ids[_draw(weights, u)]], Flag(0))
    raise ValueError(f"{len(drafts)} drafts need {len(drafts) + 1} columns, got {len(columns)}")
