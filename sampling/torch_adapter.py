"""Torch tensors in, torch tensors out. The only module of this folder that needs torch for the CPU path.

A CPU tensor and a numpy array can share memory, so float32 logits are never copied;
float16 and bfloat16 are widened to float32 first (exact, and cheaper than the model that
made them by orders of magnitude). CUDA tensors are handed to `kernels/`.
"""

from __future__ import annotations

from typing import Any

import torch

from . import cpu, speculative
from .border import AcceptCall, Proposals, SampleCall, accept_batch, sample_batch

__all__ = ["accept", "sample"]


def sample(call: SampleCall) -> tuple[torch.Tensor, torch.Tensor]:
    """`api.sample` for torch logits; the results lie on their device."""
    if call.logits.is_cuda:
        from .kernels import torch_cuda

        return torch_cuda.sample(call)
    out = cpu.sample(sample_batch(_as_numpy(call)))
    return torch.from_numpy(out.tokens[:, 0].copy()), torch.from_numpy(out.flags)


def accept(call: AcceptCall) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`api.accept` for torch logits; the results lie on their device."""
    if call.logits.is_cuda:
        from .kernels import torch_cuda

        return torch_cuda.accept(call)
    out = speculative.accept(*accept_batch(_as_numpy(call)))
    return torch.from_numpy(out.tokens), torch.from_numpy(out.counts), torch.from_numpy(out.flags)


def _as_numpy(call: Any) -> Any:
    """The same call with numpy arrays in place of tensors."""
    return call._replace(**{name: _array(value) for name, value in call._asdict().items()})


def _array(value: Any) -> Any:
    if isinstance(value, Proposals):
        return Proposals(_array(value.ids), _array(value.shares))
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    return (value.float() if value.dtype in (torch.float16, torch.bfloat16) else value).numpy()
