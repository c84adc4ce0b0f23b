"""The kernels as a numpy backend: arrays go to the device (or to the simulator), answers come back.

`DeviceBackend("bfloat16").sample` has the signature of `sampling.sample`. Segments can be
forced, so that small vocabularies also exercise the merge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import cuda

from infernix.sampling import SampleResult, border
from infernix.sampling.kernels import arrays
from infernix.sampling.kernels.device import FORMATS, NOTHING
from infernix.sampling.kernels.launch import Launcher
from infernix.sampling.layout import MAX_CANDIDATES, Purpose


def quantise(case: Any, kind: str) -> Any:
    """The same case with logits that the format can represent, still as float32."""
    return replace(case, logits=_to_float32(_to_bits(case.logits, kind), kind))


def _to_bits(logits: np.ndarray, kind: str) -> np.ndarray:
    if kind == "float32":
        return np.ascontiguousarray(logits, np.float32)
    if kind == "float16":
        with np.errstate(over="ignore"):
            return logits.astype(np.float16)
    wide = np.ascontiguousarray(logits, np.float32).view(np.uint32) >> 16
    return np.where(np.isnan(logits), 0x7FC0, wide).astype(np.uint16)


def _to_float32(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(np.float32)


class DeviceBackend:
    """Runs one step on fresh arrays; `greedy` uses the argmax kernel, so every row must be greedy."""

    def __init__(self, kind: str, segments: int = 1, *, greedy: bool = False) -> None:
        self.kind, self.segments, self.greedy = kind, segments, greedy

    def sample(self, logits, masks, params, *, positions, counts, vocab_size):
        call = border.SampleCall(logits, masks, params, positions, counts, Purpose.DECODE, vocab_size)
        batch = border.sample_batch(call)
        drafts = np.zeros((len(logits), 1), np.int32)
        none = np.zeros((len(logits), 1, 0))
        step = self._step(batch, (drafts, none.astype(np.int32), none.astype(np.float32)))
        self._launcher(step, batch).sample(greedy=self.greedy)
        result = self._result(step)
        assert (result.counts == 1).all()
        return SampleResult(result.tokens[:, 0], result.flags)

    def accept(self, logits, drafts, masks, params, *, lengths, extents, counts, proposals, vocab_size):
        call = border.AcceptCall(logits, drafts, masks, params, lengths, extents, counts, proposals, vocab_size)
        batch, proposal = border.accept_batch(call)
        step = self._step(batch, proposal)
        self._launcher(step, batch).accept(greedy=self.greedy)
        return self._result(step)

    def _step(self, batch: Any, proposal: Any) -> arrays.Step:
        rows, positions = batch.mask_index.shape
        bits = _to_bits(batch.logits, self.kind)
        counts = batch.counts if batch.counts.size else np.zeros((1, 1), np.int32)
        grid = (rows, positions)
        as_array = cuda.to_device
        verdicts = arrays.Verdicts(*(as_array(np.full(grid, -7, np.int32)) for _ in range(3)))
        result = arrays.Result(*(as_array(np.full(shape, -7, np.int32)) for shape in (grid, rows, rows)))
        proposal = arrays.Proposal(*(as_array(np.ascontiguousarray(array)) for array in proposal))
        return arrays.Step(
            arrays.Inputs(
                as_array(bits.view(np.int32).reshape(-1)),
                *(as_array(a) for a in (counts, batch.mask_index, batch.mask_words, batch.rows)),
                proposal.drafts,
            ),
            proposal,
            as_array(np.full((*grid, self.segments * MAX_CANDIDATES), 1 << 62, np.int64)),
            verdicts,
            arrays.Best(
                as_array(np.full(grid, NOTHING, np.int64)),
                as_array(np.zeros(grid, np.int32)),
                verdicts,
                result,
            ),
            result,
        )

    def _launcher(self, step: arrays.Step, batch: Any) -> Launcher:
        width = batch.logits.shape[2]
        assert width % FORMATS[self.kind].vector == 0, "rows must be whole vectors"
        return Launcher(self.kind, step, batch.vocab_size, width // FORMATS[self.kind].per_word)

    @staticmethod
    def _result(step: arrays.Step) -> arrays.Result:
        return arrays.Result(*(array.copy_to_host() for array in step.result))
