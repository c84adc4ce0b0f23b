"""Choosing the next token of one sequence: a batch of one for `infernix.sampling`.

Penalties, mask, candidates, truncation and draw are the sampling layer's; here one row is
wrapped for it, and a row without a token becomes an error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infernix.sampling import Purpose, SamplingParams, sample

from .errors import NonFiniteLogits

__all__ = ["DEFAULT_PARAMS", "sample_token"]

DEFAULT_PARAMS = SamplingParams(temperature=0.2, top_p=0.9)
"""What a request samples with where nobody said otherwise: the demo model's own recommendation."""


def sample_token(
    logits: NDArray[np.float32],
    mask: NDArray[np.uint32] | None,
    counts: NDArray[np.int32] | None,
    params: SamplingParams,
    position: int,
    purpose: Purpose,
) -> int:
    """The next token's id.

    logits    float32[V], not changed
    mask      uint32[ceil(V / 32)], bit 1 = allowed; None allows everything. Not empty.
    counts    int32[V], how often each token was generated; None where no penalty applies
    position  the token's logical position and `purpose` what it is for: they fix the random number

    Raises NonFiniteLogits if no legal token has a finite logit.
    """
    result = sample(
        logits[None],
        None if mask is None else mask[None],
        params,
        positions=position,
        counts=None if counts is None else counts[None],
        purpose=purpose,
    )
    if result.flags[0]:
        raise NonFiniteLogits("no legal token has a finite logit")
    return int(result.tokens[0])
