"""The few constants and record types that every sampling path agrees on.

A sampling step reads *logits* and *packed masks* (large, one row a position) and a
few numbers a request (small). The small ones travel as one structured array, `ROW`:
one record a batch row, 64 bytes, one copy to the device for the whole batch. That
keeps every address stable, so that one captured CUDA graph serves every request.

Masks travel by *index*: `mask_index[row, position]` names a row of `mask_words`, or is
`UNCONSTRAINED`. A row without a grammar therefore reads no mask, and two positions
with equal masks may share one row (see `pool.py`).
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

__all__ = [
    "GREEDY_WIDTH",
    "MAX_CANDIDATES",
    "MAX_DRAFTS",
    "PROPOSAL_WIDTH",
    "ROW",
    "UNCONSTRAINED",
    "WORD_BITS",
    "Flag",
    "Purpose",
    "words_for",
]

MAX_CANDIDATES = 20
"""The support of a sampled distribution: at most this many tokens of a row can be drawn."""

GREEDY_WIDTH = 1
"""A greedy row needs only its best token."""

PROPOSAL_WIDTH = 16
"""The candidates of a sparse draft distribution q."""

MAX_DRAFTS = 63
"""K at most: the K + 1 positions of a round then fit the 64 bits of `dead_ends`."""

WORD_BITS = 32
"""Mask words are uint32, bit t of word t // 32 is token t."""

UNCONSTRAINED = -1
"""The mask index of a position that reads no mask."""


class Purpose(IntEnum):
    """What a random number is for; part of the counter, so that no two uses share one."""

    PREFILL = 0
    DECODE = 1
    ACCEPT = 2
    CORRECTION = 3
    BONUS = 4
    PROPOSAL = 5


class Flag(IntFlag):
    """Why a row has no usable token. The token written then is a placeholder, id 0, never to be committed.

    A row without flags is good. The reasons are kept apart: the first is the model's
    (or the kernel's) fault, the other two are the constraint's.
    """

    NON_FINITE = 1
    """Legal tokens exist, but the best of them is NaN, +inf or -inf; or a draft's q is not a distribution."""
    EMPTY_MASK = 2
    """The mask of a position that was reached allows no token of the vocabulary."""
    DEAD_END = 4
    """Verification reached a position that the host had marked as a dead end."""


ROW = np.dtype(
    [
        ("temperature", np.float64),  # <= 0 means greedy
        ("top_p", np.float64),
        ("min_p", np.float64),
        ("seed", np.uint64),
        ("dead_ends", np.uint64),  # bit i: position i of the round has no legal token
        ("presence_penalty", np.float32),
        ("frequency_penalty", np.float32),
        ("top_k", np.int32),  # already clamped to 1..MAX_CANDIDATES
        ("position", np.int32),  # sample: the drawn token's position; accept: the committed length
        ("extent", np.int32),  # accept: how many drafts of this row are real, 0..K
        ("purpose", np.int32),  # sample: a Purpose
    ],
    align=True,
)
"""One record a batch row, host and device alike."""


def words_for(vocab_size: int) -> int:
    """How many mask words a row of `vocab_size` tokens takes."""
    return -(-vocab_size // WORD_BITS)
