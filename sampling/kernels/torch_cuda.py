"""The one-call forms of `sample` and `accept` for CUDA tensors.

They check and stage their arguments, borrow a `DeviceSampler` of the same shape (a few are
kept), launch on torch's current stream and return fresh tensors. Nothing waits for the
device, except a call that would overwrite pinned memory still being uploaded.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..border import (
    AcceptCall,
    Proposals,
    SampleCall,
    accept_rows,
    as_tokens,
    check_drafts,
    mask_arrays,
    needs_counts,
    sample_rows,
    vocabulary_width,
)
from ..layout import PROPOSAL_WIDTH, UNCONSTRAINED, words_for
from ..params import ParameterError
from .device import FORMATS
from .device_sampler import KINDS, VECTOR_BYTES, DeviceSampler

__all__ = ["accept", "sample"]

_KEPT_SAMPLERS = 8


def _as_buffer(logits: torch.Tensor, dimensions: int) -> torch.Tensor:
    """Logits [B, P, W] that the kernels can read in place: the tensor itself, or an aligned copy."""
    if logits.dim() != dimensions or 0 in logits.shape:
        raise ParameterError(f"expected {dimensions} dimensions, none 0, got {list(logits.shape)}", "logits")
    if logits.dtype not in KINDS:
        raise ParameterError(f"expected float32, bfloat16 or float16, got {logits.dtype}", "logits")
    vector = FORMATS[KINDS[logits.dtype]].vector
    missing = -logits.shape[-1] % vector
    if missing:
        logits = torch.nn.functional.pad(logits, (0, missing))
    logits = logits.detach().contiguous()
    if logits.data_ptr() % VECTOR_BYTES:
        logits = logits.clone()
    return logits if dimensions == 3 else logits[:, None, :]


_samplers: OrderedDict[tuple[Any, ...], tuple[DeviceSampler, torch.cuda.Event]] = OrderedDict()


def _sampler_for(logits: torch.Tensor, vocab_size: int, sparse: bool) -> tuple[DeviceSampler, torch.cuda.Event]:
    """A sampler of this shape whose pinned memory may be written again, and its upload event."""
    stream = torch.cuda.current_stream().cuda_stream
    key = (logits.device, logits.dtype, tuple(logits.shape), vocab_size, sparse, stream)
    if key not in _samplers:
        _samplers[key] = (DeviceSampler(logits, vocab_size, sparse=sparse), torch.cuda.Event())  # type: ignore[no-untyped-call]
    _samplers.move_to_end(key)
    while len(_samplers) > _KEPT_SAMPLERS:
        _samplers.popitem(last=False)[1][1].synchronize()
    sampler, uploaded = _samplers[key]
    uploaded.synchronize()
    return sampler, uploaded


def _fill(sampler: DeviceSampler, call: Any, rows: npt.NDArray[np.void]) -> torch.Tensor | None:
    """Write rows and masks of one call; returns the mask words if they are on the device already."""
    batch, positions = sampler.masks.index.shape
    sampler.rows[:] = rows
    sampler.masks.dead_ends[:] = rows["dead_ends"]
    if isinstance(call.masks, torch.Tensor) and call.masks.is_cuda:
        words = call.masks.view(torch.int32).reshape(batch * positions, -1).contiguous()
        if words.shape[1] < words_for(sampler.vocab_size):
            raise ParameterError(f"{words.shape[1]} words are too few for {sampler.vocab_size} tokens", "masks")
        sampler.masks.index[:] = np.arange(batch * positions, dtype=np.int32).reshape(batch, positions)
        return words
    masks = call.masks.numpy() if isinstance(call.masks, torch.Tensor) else call.masks
    index, host_words = mask_arrays(masks, batch, positions, sampler.vocab_size)
    sampler.masks.index[:] = index
    for slot, source in zip(np.arange(index.size), index.reshape(-1), strict=True):
        if source != UNCONSTRAINED:
            sampler.masks.words[slot] = host_words[source, : sampler.masks.words.shape[1]]
            sampler.masks.index.reshape(-1)[slot] = slot
    return None


def _counts(call: Any, rows: npt.NDArray[np.void], sampler: DeviceSampler) -> torch.Tensor | None:
    if not needs_counts(rows, call.counts):
        return None
    counts = torch.as_tensor(call.counts, dtype=torch.int32, device=call.logits.device).contiguous()
    if counts.dim() != 2 or counts.shape[0] != len(rows) or counts.shape[1] < sampler.vocab_size:
        raise ParameterError(f"expected int[{len(rows)}, V], got {list(counts.shape)}", "counts")
    return counts


def _run(sampler: DeviceSampler, uploaded: torch.cuda.Event, call: Any, logits: torch.Tensor,
         rows: npt.NDArray[np.void], *, verify: bool) -> None:  # fmt: skip
    """One call: everything checked is written, uploaded and launched."""
    words = _fill(sampler, call, rows)
    sampler.bind(logits, counts=_counts(call, rows, sampler), words=words)
    sampler.upload(words=words is None and bool((sampler.masks.index != UNCONSTRAINED).any()))
    uploaded.record()
    launch = sampler.accept if verify else sampler.sample
    launch(greedy=bool((rows["temperature"] <= 0).all()))


def sample(call: SampleCall) -> tuple[torch.Tensor, torch.Tensor]:
    """`api.sample` for CUDA logits."""
    with torch.cuda.device(call.logits.device):
        logits = _as_buffer(call.logits, 2)
        size = vocabulary_width(call.vocab_size, call.masks, call.logits.shape[1])
        rows = sample_rows(call, len(logits))
        sampler, uploaded = _sampler_for(logits, size, sparse=False)
        _run(sampler, uploaded, call, logits, rows, verify=False)
        return sampler.tokens[:, 0].clone(), sampler.flags.clone()


def accept(call: AcceptCall) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`api.accept` for CUDA logits."""
    with torch.cuda.device(call.logits.device):
        logits = _as_buffer(call.logits, 3)
        batch, positions, _ = logits.shape
        size = vocabulary_width(call.vocab_size, call.masks, call.logits.shape[2])
        drafts = call.drafts.cpu().numpy() if isinstance(call.drafts, torch.Tensor) else np.asarray(call.drafts)
        check_drafts(drafts.shape, drafts.dtype.kind in "iu", batch, positions)
        rows = accept_rows(call, batch, positions - 1)
        sampler, uploaded = _sampler_for(logits, size, sparse=call.proposals is not None)
        sampler.drafts[:, : positions - 1] = as_tokens(drafts)
        if call.proposals is not None:
            _fill_proposals(sampler, call.proposals, positions - 1)
        _run(sampler, uploaded, call, logits, rows, verify=True)
        return sampler.tokens.clone(), sampler.accepted.clone(), sampler.flags.clone()


def _fill_proposals(sampler: DeviceSampler, proposals: Proposals, drafts: int) -> None:
    shape = (sampler.masks.batch, drafts, PROPOSAL_WIDTH)
    ids, shares = (torch.as_tensor(array, device=sampler.q_ids.device) for array in proposals)
    if tuple(ids.shape) != shape or tuple(shares.shape) != shape or shares.dtype != torch.float32:
        raise ParameterError(f"ids and float32 shares must have shape {list(shape)}", "proposals")
    sampler.q_ids[:, :drafts].copy_(ids)
    sampler.q_shares[:, :drafts].copy_(shares)
