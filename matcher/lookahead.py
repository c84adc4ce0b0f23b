"""Masks for a round of speculative decoding: K drafts, K + 1 positions, for every row of a batch.

The target distribution at position i is fixed by the committed text and the drafts before i,
so its mask is the matcher's mask after accepting them, tentatively:

    for i in 0..K:
        mask[i] = what may follow
        nothing may follow        -> position i is a DEAD_END, stop
        draft[i] not in mask[i]   -> position i is still READY: the proposal is illegal, not
                                     the distribution that will reject it. Stop
        accept draft[i]; stop if it was EOS
    roll back

Positions after a stop are UNREACHABLE. Kernels of a fixed width may read them all the same,
so they and dead ends get a safe filler, the mask that allows token 0 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bitmask import as_rows
from .matcher import Matcher, as_token_id

__all__ = ["MAX_DRAFTS", "Position", "dead_end_bits", "lookahead_masks"]

MAX_DRAFTS = 63
"""Drafts in a row, at most: the dead ends of its positions fit into 64 bits."""
FILLER_TOKEN_BIT = 1


class Position(IntEnum):
    """What a position of a row is; the names are the contract's."""

    UNCONSTRAINED = 0
    READY = 1
    DEAD_END = 2
    UNREACHABLE = 3


def lookahead_masks(matchers: Sequence[Matcher | None], drafts: Sequence[Sequence[int]], out: Any) -> NDArray[np.uint8]:
    """Fill the masks of every position of every row, and return what each position is.

    `drafts[b]` are the proposals of row b, at most K and possibly fewer; ids outside the
    vocabulary are illegal proposals, not errors. `out` is the caller's
    `uint32[B, K + 1, words]`, contiguous (numpy, or a torch CPU tensor). The result is
    `uint8[B, K + 1]` of `Position`. Rows whose matcher is None are UNCONSTRAINED and not
    written. Every matcher ends where it began, whatever happens.

    Raises ValueError for shapes that do not fit, TypeError for what has none.
    """
    batch = len(matchers)
    if len(drafts) != batch:
        raise ValueError(f"{batch} matchers but drafts for {len(drafts)} rows")
    positions = np.zeros((batch, _width(out, batch)), dtype=np.uint8)
    for b, (matcher, row_drafts) in enumerate(zip(matchers, drafts)):
        if matcher is not None:
            rows = as_rows(out[b], positions.shape[1], matcher.compiled.vocabulary.size)
            _look_ahead(matcher, row_drafts, rows, positions[b])
    return positions


def _width(out: Any, batch: int) -> int:
    if not hasattr(out, "shape"):
        raise TypeError(f"out is a numpy array or a torch tensor, not {type(out).__name__}")
    shape = tuple(out.shape)
    if len(shape) != 3 or shape[0] != batch or not 1 <= shape[1] <= MAX_DRAFTS + 1:
        raise ValueError(f"out must be [{batch}, 1 to {MAX_DRAFTS + 1}, words], not {list(shape)}")
    return int(shape[1])


def _look_ahead(
    matcher: Matcher, drafts: Sequence[int], rows: NDArray[np.uint32], positions: NDArray[np.uint8]
) -> None:
    if len(drafts) >= len(rows):
        raise ValueError(f"{len(drafts)} drafts need {len(drafts) + 1} positions, not {len(rows)}")
    size = matcher.compiled.vocabulary.size
    mark = matcher.mark()
    reached = 0
    try:
        for row in rows[: len(drafts) + 1]:
            if matcher.is_terminated():
                break
            matcher.fill_mask(row)
            if matcher.is_dead_end():
                positions[reached] = Position.DEAD_END
                break
            positions[reached] = Position.READY
            reached += 1
            if reached > len(drafts):
                break
            draft = as_token_id(drafts[reached - 1])
            if not 0 <= draft < size or not int(row[draft >> 5]) >> (draft & 31) & 1:
                break
            matcher.accept_token(draft)
    finally:
        # Not by `rollback`, which makes calls: an interruption may come after any of them.
        del matcher._history[mark - matcher._forgotten :]
        matcher._at = matcher._history[-1]
    rows[reached:] = 0
    rows[reached:, 0] = FILLER_TOKEN_BIT
    positions[reached:][positions[reached:] == Position.UNCONSTRAINED] = Position.UNREACHABLE


def dead_end_bits(positions: NDArray[np.uint8]) -> int:
    """The dead ends of one row as a bit set: bit i stands for position i."""
    return sum(1 << int(i) for i in np.flatnonzero(positions == Position.DEAD_END))
