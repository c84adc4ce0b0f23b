"""Torch tensors on a GPU: stable buffers, uploads, launches on torch's current stream, CUDA graphs.

`DeviceSampler` is for a serving loop. It is made once for a logits buffer and owns the rest:

    host, pinned                      device                        kernels
    rows, mask index, drafts   --1-->  the same            --\\
    mask words                 --1-->  the same, or a pool ---+-->  sample | accept
    tokens, counts, flags     <--1--   the same           <--/

Three copies and two or three launches a step, at addresses that never change: `capture`
records them in a CUDA graph, and a replay serves any grammar, parameters and positions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from numba import cuda as _cuda

from ..layout import MAX_CANDIDATES, PROPOSAL_WIDTH, ROW, UNCONSTRAINED, words_for
from ..masks import SamplingMask
from ..params import ParameterError
from . import arrays
from .device import NOTHING
from .launch import Launcher, segments_for

__all__ = ["KINDS", "VECTOR_BYTES", "DeviceSampler"]

cuda: Any = _cuda
KINDS = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
VECTOR_BYTES = 16


@lru_cache(maxsize=64)
def _stream(pointer: int) -> Any:
    """Numba's handle of a torch stream; making one takes longer than a launch."""
    return cuda.external_stream(pointer)


def _view(tensor: torch.Tensor, dtype: Any = None) -> Any:
    """A numba array over a tensor's memory, optionally read as another type: bytes become records."""
    array = cuda.as_cuda_array(tensor)
    return array if dtype is None else array.view(dtype)


class _Staging:
    """Small arrays that travel together: one pinned buffer, one device buffer, one copy."""

    def __init__(self, fields: dict[str, tuple[tuple[int, ...], Any]], device: torch.device) -> None:
        self._places: dict[str, tuple[int, tuple[int, ...], np.dtype[Any]]] = {}
        size = 0
        for name, (shape, dtype) in fields.items():
            kind = np.dtype(dtype)
            self._places[name] = (size, shape, kind)
            size += -(-int(np.prod(shape)) * kind.itemsize // VECTOR_BYTES) * VECTOR_BYTES
        self.pinned = torch.zeros(max(size, VECTOR_BYTES), dtype=torch.uint8, pin_memory=True)
        self.device = torch.zeros(max(size, VECTOR_BYTES), dtype=torch.uint8, device=device)

    def host(self, name: str) -> npt.NDArray[Any]:
        """One field in pinned memory, as a numpy array."""
        start, shape, dtype = self._places[name]
        size = int(np.prod(shape)) * dtype.itemsize
        return self.pinned.numpy()[start : start + size].view(dtype).reshape(shape)

    def on_device(self, name: str) -> Any:
        """One field in device memory, as a numba array."""
        start, shape, dtype = self._places[name]
        size = int(np.prod(shape)) * dtype.itemsize
        return _view(self.device[start : start + size], dtype).reshape(*shape)

    def tensor(self, name: str) -> torch.Tensor:
        """One int32 field in device memory, as a tensor."""
        start, shape, dtype = self._places[name]
        size = int(np.prod(shape)) * dtype.itemsize
        return self.device[start : start + size].view(torch.int32).view(shape)


class DeviceSampler:
    """Sampling and verification for one logits buffer.

    logits      CUDA tensor [B, P, W], contiguous, 16-byte rows; P = 1 for ordinary decoding, K + 1 to verify
    vocab_size  V <= W
    sparse      whether drafts come with 16-candidate distributions (`q_ids`, `q_shares`)
    counts      int32[B, V] CUDA tensor of token counts, needed by rows with penalties
    pool        uint32 words as an int32 CUDA tensor [N, >= ceil(V/32)] that mask indices refer to; by
                default the sampler uploads its own `masks.words`

    To be written by the caller before a step: `rows` (ROW[B], pinned), `masks` (its index and
    words, pinned), `drafts` (int32[B, K], pinned; or the device tensor `device_drafts`),
    `q_ids` and `q_shares` (device). Results: `tokens`, `accepted`, `flags` (device tensors) and,
    after `download`, `host_tokens`, `host_accepted`, `host_flags` (pinned).
    """

    def __init__(
        self,
        logits: torch.Tensor,
        vocab_size: int,
        *,
        sparse: bool = False,
        counts: torch.Tensor | None = None,
        pool: torch.Tensor | None = None,
    ) -> None:
        batch, positions, width = logits.shape
        self._kind = KINDS[logits.dtype]
        _check_logits(logits)
        self.vocab_size = vocab_size
        drafts, device = positions - 1, logits.device
        self._inputs = _Staging(
            {
                "rows": ((batch,), ROW),
                "index": ((batch, positions), np.int32),
                "drafts": ((batch, max(drafts, 1)), np.int32),
            },
            device,
        )
        self._outputs = _Staging(
            {
                "tokens": ((batch, positions), np.int32),
                "counts": ((batch,), np.int32),
                "flags": ((batch,), np.int32),
            },
            device,
        )
        words = torch.zeros((batch * positions, words_for(vocab_size)), dtype=torch.int32, pin_memory=True)
        self._pinned_words = words
        self.masks = SamplingMask(batch, vocab_size, positions, words=words.numpy().view(np.uint32))
        self.rows, self.drafts = self._inputs.host("rows"), self._inputs.host("drafts")
        # The mask's index moves into the staging buffer, so that it is uploaded with the rest.
        self._inputs.host("index")[:] = UNCONSTRAINED
        self.masks.index = self._inputs.host("index")
        self.device_drafts = self._inputs.tensor("drafts")
        self._words = None if pool is not None else torch.zeros_like(words, device=device)
        self._sparse = sparse
        shape = (batch, max(drafts, 1), PROPOSAL_WIDTH) if sparse else (1, 1, 1)
        self.q_ids = torch.zeros(shape, dtype=torch.int32, device=device)
        self.q_shares = torch.zeros(shape, dtype=torch.float32, device=device)
        self.tokens, self.accepted, self.flags = (self._outputs.tensor(n) for n in ("tokens", "counts", "flags"))
        self.host_tokens, self.host_accepted, self.host_flags = (
            self._outputs.host(name) for name in ("tokens", "counts", "flags")
        )
        words_tensor = self._words if pool is None else pool
        self.step = self._arrays(logits, words_tensor, counts)
        self._pitch = width * logits.element_size() // 4
        self._launcher = Launcher(self._kind, self.step, vocab_size, self._pitch)

    def _arrays(self, logits: torch.Tensor, words: Any, counts: torch.Tensor | None) -> arrays.Step:
        batch, positions, _ = logits.shape
        device = logits.device
        if counts is None:
            counts = torch.zeros((1, 1), dtype=torch.int32, device=device)
        grid = (batch, positions)
        make = torch.zeros
        segments = segments_for(self._kind, batch, positions, self.vocab_size)
        verdicts = arrays.Verdicts(*(_view(make(grid, dtype=torch.int32, device=device)) for _ in range(3)))
        result = arrays.Result(*(self._outputs.on_device(name) for name in ("tokens", "counts", "flags")))
        keys = torch.full(grid, NOTHING, dtype=torch.int64, device=device)
        tickets = make(grid, dtype=torch.int32, device=device)
        drafts = self._inputs.on_device("drafts")
        return arrays.Step(
            arrays.Inputs(
                _view(logits.view(-1).view(torch.int32)),
                _view(counts),
                self._inputs.on_device("index"),
                _view(words, np.uint32),
                self._inputs.on_device("rows"),
                drafts,
            ),
            arrays.Proposal(drafts, self._proposal(self.q_ids), self._proposal(self.q_shares)),
            _view(make((*grid, segments * MAX_CANDIDATES), dtype=torch.int64, device=device)),
            verdicts,
            arrays.Best(_view(keys), _view(tickets), verdicts, result),
            result,
        )

    def _proposal(self, tensor: torch.Tensor) -> Any:
        """q as the kernels take it; an empty last axis says that drafts are one-hot."""
        return _view(tensor) if self._sparse else _view(tensor)[:, :, :0]

    def bind(
        self, logits: torch.Tensor, *, counts: torch.Tensor | None = None, words: torch.Tensor | None = None
    ) -> None:
        """Read other buffers of the same shape from now on (graphs captured before keep theirs)."""
        _check_logits(logits)
        inputs = self.step.inputs._replace(logits=_view(logits.view(-1).view(torch.int32)))
        if counts is not None:
            inputs = inputs._replace(counts=_view(counts))
        words = self._words if words is None else words
        if words is not None:
            inputs = inputs._replace(mask_words=_view(words, np.uint32))
        self.step = self.step._replace(inputs=inputs)
        self._launcher = Launcher(self._kind, self.step, self.vocab_size, self._pitch)

    def stage(self) -> None:
        """Put the masks' dead ends into the row records; before an upload, or a replay that uploads."""
        self.rows["dead_ends"] = self.masks.dead_ends

    def upload(self, *, words: bool = True) -> None:
        """Copy rows, mask index and drafts to the device, and the mask words unless told otherwise."""
        self.stage()
        self._inputs.device.copy_(self._inputs.pinned, non_blocking=True)
        if words and self._words is not None:
            self._words.copy_(self._pinned_words, non_blocking=True)

    def download(self) -> None:
        """Copy the results to pinned memory; synchronise the stream before reading them."""
        self._outputs.pinned.copy_(self._outputs.device, non_blocking=True)

    def sample(self, *, greedy: bool = False) -> None:
        """Launch an ordinary sampling step on torch's current stream. `greedy`: every row is."""
        self._launcher.sample(_stream(torch.cuda.current_stream().cuda_stream), greedy=greedy)

    def accept(self, *, greedy: bool = False) -> None:
        """Launch a verification on torch's current stream. `greedy`: every row is."""
        self._launcher.accept(_stream(torch.cuda.current_stream().cuda_stream), greedy=greedy)

    def capture(self, *, verify: bool, greedy: bool = False, copies: bool = True) -> torch.cuda.CUDAGraph:
        """A graph of a whole step: upload, sample or accept, download (the copies can be left out)."""
        launch = self.accept if verify else self.sample
        launch(greedy=greedy)  # compile and load before capturing
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            if copies:
                self.upload()
            launch(greedy=greedy)
            if copies:
                self.download()
        return graph


def _check_logits(logits: torch.Tensor) -> None:
    row_bytes = logits.shape[-1] * logits.element_size()
    if not logits.is_contiguous() or row_bytes % VECTOR_BYTES or logits.data_ptr() % VECTOR_BYTES:
        raise ParameterError("the buffer must be contiguous with rows of whole 16-byte vectors", "logits")
