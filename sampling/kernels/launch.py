"""Launching a step: which kernels, on what grid. Knows arrays only by their shapes.

A `Launcher` is made once for a batch size, a number of positions and a vocabulary. Its
launches have fixed arguments, so they can be captured in a CUDA graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layout import MAX_CANDIDATES
from . import argmax, finish, merge, select, verify
from .arrays import Shape, Step
from .device import FORMATS

__all__ = ["Launcher", "segments_for"]

_BLOCKS = 528
"""Blocks that a Hopper GPU runs at once: four on each of 132 multiprocessors. One more would wait."""


def segments_for(kind: str, batch: int, positions: int, vocab_size: int) -> int:
    """Into how many segments a row is cut: enough to fill the chip once, of whole tiles, none empty."""
    tile_tokens = select.THREADS * FORMATS[kind].vector
    tiles = -(-vocab_size // tile_tokens)
    wanted = max(1, min(_BLOCKS // (batch * positions), tiles, merge.MAX_SEGMENTS))
    share = -(-tiles // wanted)
    return -(-tiles // share)


class Launcher:
    """Launches for logits of one format, `pitch` int32 from one row to the next.

    `stream` is whatever numba takes as a stream; 0 is the default stream.
    """

    def __init__(self, kind: str, step: Step, vocab_size: int, pitch: int) -> None:
        self.step = step
        batch, positions, keys = step.lists.shape
        assert keys % MAX_CANDIDATES == 0
        self._grid = (keys // MAX_CANDIDATES, positions, batch)
        segments = keys // MAX_CANDIDATES
        tile_tokens = select.THREADS * FORMATS[kind].vector
        share = -(-vocab_size // (tile_tokens * segments)) * tile_tokens
        self._shape = Shape(np.int32(vocab_size), np.int32(share), np.int64(pitch))
        # A single list needs no merging, so one warp will do.
        self._finish_threads = merge.THREADS if segments > 1 else merge.WARP
        self._select = select.build(kind)
        self._argmax = argmax.build(kind)

    def sample(self, stream: Any = 0, *, greedy: bool = False) -> None:
        """One token a row, from position 0, into `step.result`. `greedy`: every row is greedy."""
        if greedy:
            self._best(stream)
            return
        self.select(stream)
        step = self.step
        finish.draw[self._grid[2], self._finish_threads, stream](step.inputs.rows, step.lists, step.result)

    def accept(self, stream: Any = 0, *, greedy: bool = False) -> None:
        """Verify the drafts of `step.proposal` into `step.result`. `greedy`: every row is greedy."""
        step, (_, positions, batch) = self.step, self._grid
        rows = step.inputs.rows
        if greedy:
            self._best(stream)
        else:
            self.select(stream)
            finish.judge[(positions, batch), self._finish_threads, stream](
                rows, step.proposal, step.lists, step.verdicts
            )
        verify.verify[batch, verify.THREADS, stream](rows, step.inputs.drafts, step.verdicts, step.result)

    def select(self, stream: Any = 0) -> None:
        """Stage 1 alone: the candidates of every segment of every position, into `step.lists`."""
        self._select[self._grid, select.THREADS, stream](self.step.inputs, self._shape, self.step.lists)

    def _best(self, stream: Any) -> None:
        self._argmax[self._grid, argmax.THREADS, stream](self.step.inputs, self._shape, self.step.best)
