"""Choosing the next token of one sequence: penalties, mask, candidates, truncation, draw.

The plain version, in the order of operations of the sampling contract:

1. adjusted = logit - presence * (count > 0) - frequency * count, in float32.
2. Tokens that the mask forbids are out, before anything is selected.
3. temperature 0: the largest adjusted value, the lowest id on ties.
4. Otherwise the best `min(20, top_k)` legal tokens, by (adjusted descending, id ascending).
5. Weights exp(adjusted/T), one walk in order: min-p stops before a token, top-p after it.
6. u in [0, 1) from the counter-based generator; the first token whose cumulative weight
   exceeds u * total.

One function, `sample_token`, is all that the rest of the engine sees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infernix.sampling.params import SamplingParams
from infernix.sampling.rng import uniform

from .errors import NonFiniteLogits

__all__ = ["sample_token"]

WORD_BITS = 32


def sample_token(
    logits: NDArray[np.float32],
    mask: NDArray[np.uint32] | None,
    counts: NDArray[np.int32] | None,
    params: SamplingParams,
    position: int,
    purpose: int,
) -> int:
    """The next token's id.

    logits    float32[V], not changed
    mask      uint32[ceil(V / 32)], bit 1 = allowed; None allows everything. Not empty.
    counts    int32[V], how often each token was generated; None where no penalty applies
    position  the token's logical position and `purpose` what it is for: they fix the random number

    Raises NonFiniteLogits if no legal token has a finite logit.
    """
    ids = np.arange(len(logits)) if mask is None else _allowed(mask, len(logits))
    values = logits[ids]
    if counts is not None and params.penalised:
        seen = counts[ids]
        values = values - np.float32(params.presence_penalty) * np.minimum(seen, 1).astype(np.float32)
        values = values - np.float32(params.frequency_penalty) * seen.astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        ids, values = ids[finite], values[finite]
    if len(ids) == 0:
        raise NonFiniteLogits("no legal token has a finite logit")
    if params.greedy:
        return int(ids[np.argmax(values)])  # the first of equal maxima, so the lowest id
    best = _best(values, params.candidates)
    weights = _truncated(values[best].astype(np.float64), params)
    u = uniform(params.seed, position, purpose)
    chosen = np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right")
    return int(ids[best[min(int(chosen), len(weights) - 1)]])


def _allowed(mask: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """The ids below `size` whose bits are set, ascending."""
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little", count=size)
    return np.flatnonzero(bits)


def _best(values: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Indices of the `limit` largest values, best first, equal ones by index."""
    if len(values) > limit:
        # Everything that ties with the last place stays in, so that the sort below decides by index.
        threshold = np.partition(values, -limit)[-limit]
        contenders = np.flatnonzero(values >= threshold)
    else:
        contenders = np.arange(len(values))
    order = np.argsort(-values[contenders], kind="stable")
    return contenders[order[:limit]]


def _truncated(values: NDArray[np.float64], params: SamplingParams) -> NDArray[np.float64]:
    """Weights of the candidates that min-p and top-p leave; `values` descend."""
    weights: NDArray[np.float64] = np.exp((values - values[0]) / params.temperature)
    enough = params.top_p * weights.sum() if params.top_p < 1 else np.inf
    total, kept = 0.0, 0
    for weight in weights:
        if kept and params.min_p > 0 and weight < params.min_p * weights[0]:
            break
        total, kept = total + weight, kept + 1
        if total >= enough:
            break
    return weights[:kept]
