"""`SamplingMask`: the masks of a batch, as the sampling paths want them.

It owns nothing but arrays, so it can lie in pinned memory, and it knows a matcher only by
its methods (`fill_mask`, `accept_token`, `mark`, `rollback`). A row that is never filled
is unconstrained and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .layout import MAX_DRAFTS, UNCONSTRAINED, WORD_BITS, words_for
from .params import ParameterError

__all__ = ["LookaheadMatcher", "MaskFiller", "SamplingMask"]

_FILLER = np.uint32(1)
"""Positions that never affect the result allow token 0 only: no kernel ever meets an empty row there."""

# What a position of a row can be, as the matcher's lookahead numbers it.
_UNCONSTRAINED_STATE, _DEAD_END_STATE = 0, 2


class MaskFiller(Protocol):
    """Whatever can write the mask of its current state: an `infernix.Matcher`, for one."""

    def fill_mask(self, row: npt.NDArray[np.uint32]) -> None:
        """Write the legal next tokens into uint32[ceil(V/32)]."""
        ...


class LookaheadMatcher(MaskFiller, Protocol):
    """A matcher that can look ahead along drafts and come back."""

    def accept_token(self, token: int) -> Any:
        """Advance by one legal token."""
        ...

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted."""
        ...

    def mark(self) -> Any:
        """The current position."""
        ...

    def rollback(self, mark: Any) -> Any:
        """Return to a mark."""
        ...


class SamplingMask:
    """Packed masks for B rows of P positions each; every row starts unconstrained.

    words      uint32[B * P, ceil(V/32)], the mask of (row, position) at row * P + position
    index      int32[B, P], that number for a constrained position, else -1
    dead_ends  uint64[B], bit i set where position i has no legal token

    `words` may be given, to place it in pinned memory.
    Raises `ParameterError` for sizes that cannot be.
    """

    def __init__(
        self, batch: int, vocab_size: int, positions: int = 1, *, words: npt.NDArray[np.uint32] | None = None
    ) -> None:
        if batch < 1 or vocab_size < 1:
            raise ParameterError(f"a batch of {batch} rows of {vocab_size} tokens is empty", "masks")
        if not 1 <= positions <= MAX_DRAFTS + 1:
            raise ParameterError(f"positions must lie in [1, {MAX_DRAFTS + 1}], got {positions}", "masks")
        shape = (batch * positions, words_for(vocab_size))
        if words is None:
            words = np.zeros(shape, np.uint32)
        if words.shape != shape or words.dtype != np.uint32:
            raise ParameterError(f"words must be uint32{list(shape)}, got {words.dtype}{list(words.shape)}", "masks")
        self.vocab_size = vocab_size
        self.words = words
        self.index = np.full((batch, positions), UNCONSTRAINED, np.int32)
        self.dead_ends = np.zeros(batch, np.uint64)

    @property
    def batch(self) -> int:
        """B, the rows."""
        return self.index.shape[0]

    @property
    def positions(self) -> int:
        """P, the positions of a row."""
        return self.index.shape[1]

    @property
    def table(self) -> npt.NDArray[np.uint32]:
        """The words as uint32[B, P, ceil(V/32)], the same memory."""
        return self.words.reshape(self.batch, self.positions, -1)

    def row_words(self, row: int) -> npt.NDArray[np.uint32]:
        """The words of all positions of a row, uint32[P, ceil(V/32)], to be written in place."""
        return self.words[row * self.positions : (row + 1) * self.positions]

    def clear(self, row: int | None = None) -> None:
        """Make one row, or all, unconstrained."""
        rows = slice(None) if row is None else slice(row, row + 1)
        self.index[rows] = UNCONSTRAINED
        self.dead_ends[rows] = 0

    def enable(self, row: int, dead_ends: int = 0) -> None:
        """Declare that `row_words(row)` holds the row's masks; `dead_ends` is its bit set."""
        first = row * self.positions
        self.index[row] = np.arange(first, first + self.positions, dtype=np.int32)
        self.dead_ends[row] = dead_ends

    def set_states(self, states: npt.NDArray[np.uint8]) -> None:
        """Declare all rows at once, after `infernix.lookahead_masks(matchers, drafts, mask.table)`.

        states uint8[B, P] as that returns them: 0 unconstrained, 1 ready, 2 dead end, 3 unreachable.
        """
        if states.shape != self.index.shape:
            raise ParameterError(f"expected states {list(self.index.shape)}, got {list(states.shape)}", "states")
        slots = np.arange(self.index.size, dtype=np.int32).reshape(self.index.shape)
        self.index[:] = np.where(states == _UNCONSTRAINED_STATE, UNCONSTRAINED, slots)
        bits = np.uint64(1) << np.arange(self.positions, dtype=np.uint64)
        self.dead_ends[:] = np.where(states == _DEAD_END_STATE, bits, np.uint64(0)).sum(axis=1, dtype=np.uint64)

    def fill(self, row: int, matcher: MaskFiller, position: int = 0) -> None:
        """Take one position's mask from the matcher's current state."""
        slot = row * self.positions + position
        matcher.fill_mask(self.words[slot])
        self.index[row, position] = slot

    def fill_drafts(self, row: int, matcher: LookaheadMatcher, drafts: Sequence[int]) -> None:
        """Masks for every position of a speculative round: position i assumes drafts[0:i].

        The position of an illegal draft still has its own mask; those after it, or after
        an accepted stop token, are unreachable and get a filler. A position without a
        legal token is a dead end. The matcher is back where it was, also after an error.
        """
        if len(drafts) >= self.positions:
            raise ParameterError(f"{len(drafts)} drafts need {len(drafts) + 1} positions, there are "
                                 f"{self.positions}", "drafts")  # fmt: skip
        words = self.row_words(row)
        words[:] = 0
        words[:, 0] = _FILLER
        mark = matcher.mark()
        try:
            dead_ends = self._look_ahead(words, matcher, drafts)
        finally:
            matcher.rollback(mark)
        self.enable(row, dead_ends)

    def _look_ahead(self, words: npt.NDArray[np.uint32], matcher: LookaheadMatcher, drafts: Sequence[int]) -> int:
        for i in range(len(drafts) + 1):
            matcher.fill_mask(words[i])
            if not words[i].any():
                words[i, 0] = _FILLER
                return 1 << i
            if i == len(drafts) or not self._allows(words[i], drafts[i]):
                return 0
            matcher.accept_token(drafts[i])
            if matcher.is_terminated():
                return 0
        return 0

    def _allows(self, row: npt.NDArray[np.uint32], token: int) -> bool:
        if not 0 <= token < self.vocab_size:
            return False
        return bool(int(row[token // WORD_BITS]) >> (token % WORD_BITS) & 1)
