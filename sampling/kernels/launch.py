"""Launching a step: which kernels, on what grid. Knows arrays only by their shapes.

A `Launcher` is made once for a batch size, a number of positions and a vocabulary. Its
launches have fixed arguments, so they can be captured in a CUDA graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layout import MAX_CANDIDATES
from . import argmax, finish, select, verify
from .arrays import Step
from .device import FORMATS

__all__ = ["Launcher", "segments_for"]

_BLOCKS = 512
"""Blocks that fill the chip: about four for each multiprocessor of a Hopper GPU."""


def segments_for(kind: str, batch: int, positions: int, vocab_size: int) -> int:
    """Into how many segments a row is cut: enough blocks to fill the chip, none without a tile."""
    tiles = -(-vocab_size // (select.THREADS * FORMATS[kind].vector))
    return max(1, min(_BLOCKS // (batch * positions), tiles, finish.MAX_SEGMENTS))


class Launcher:
    """Launches for logits of one format, `pitch` int32 from one row to the next.

    `stream` is whatever numba takes as a stream; 0 is the default stream.
    """

    def __init__(self, kind: str, step: Step, vocab_size: int, pitch: int) -> None:
        self.step = step
        batch, positions, segments, width = step.lists.shape
        assert width == MAX_CANDIDATES
        self._shape = (batch, positions)
        self._grid = (segments, positions, batch)
        self._row = (np.int32(vocab_size), np.int64(pitch))
        self._select = select.build(kind)
        self._argmax = argmax.build(kind)

    def sample(self, stream: Any = 0, *, greedy: bool = False) -> None:
        """One token a row, from position 0, into `step.result`. `greedy`: every row is greedy."""
        if greedy:
            self._best(stream)
            return
        self._candidates(stream)
        finish.draw[self._shape[0], finish.THREADS, stream](
            self.step.inputs.rows, self.step.lists, self.step.result
        )

    def accept(self, stream: Any = 0, *, greedy: bool = False) -> None:
        """Verify the drafts of `step.proposal` into `step.result`. `greedy`: every row is greedy."""
        batch, positions = self._shape
        rows = self.step.inputs.rows
        if greedy:
            self._best(stream)
        else:
            self._candidates(stream)
            finish.store[(positions, batch), finish.THREADS, stream](rows, self.step.lists, self.step.targets)
        verify.verify[batch, verify.THREADS, stream](
            rows, self.step.proposal, self.step.targets, self.step.result
        )

    def _candidates(self, stream: Any) -> None:
        self._select[self._grid, select.THREADS, stream](self.step.inputs, *self._row, self.step.lists)

    def _best(self, stream: Any) -> None:
        self._argmax[self._grid, argmax.THREADS, stream](self.step.inputs, *self._row, self.step.best)
