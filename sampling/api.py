"""`sample` and `accept`: one call a step, on numpy arrays or torch tensors, on the CPU or a GPU.

Where the logits lie decides who computes: numpy arrays and CPU tensors go to `cpu.py`
and `speculative.py`, CUDA tensors to `kernels/`. Both give the same tokens. Mistakes in the arguments raise a
`ParameterError` that names the argument (see `border.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from . import cpu, speculative
from .border import AcceptCall, Params, Proposals, SampleCall, accept_batch, sample_batch
from .layout import Purpose
from .masks import SamplingMask
from .params import SamplingParams

__all__ = ["AcceptResult", "Proposals", "SampleResult", "accept", "sample"]


class SampleResult(NamedTuple):
    """tokens int32[B]; flags int32[B] of `Flag`: a row with flags has no token, 0 stands in its place."""

    tokens: Any
    flags: Any


class AcceptResult(NamedTuple):
    """A verified round.

    tokens  int32[B, K + 1]: the accepted drafts, then the correction or bonus, then zeros
    counts  int32[B]: how many of them are licensed, accepted drafts + 1
    flags   int32[B] of `Flag`: a row with flags must commit nothing
    """

    tokens: Any
    counts: Any
    flags: Any


def sample(
    logits: Any,
    masks: SamplingMask | Any | None = None,
    params: Params = SamplingParams(),  # noqa: B008 - frozen
    *,
    positions: npt.ArrayLike = 0,
    counts: Any | None = None,
    purpose: Purpose = Purpose.DECODE,
    vocab_size: int | None = None,
) -> SampleResult:
    """Draw the next token of each row.

    logits      float32, float16 or (torch) bfloat16 [B, W]; columns past the vocabulary are padding
    masks       a `SamplingMask`, packed words [B, ceil(V/32)] (uint32, or int32 bits), or None
    params      one `SamplingParams` for all rows, or one each
    positions   int[B] or one int: the logical position of the token drawn, for the random numbers
    counts      int32[B, V], how often each token was generated; needed only by rows with penalties
    purpose     what the random numbers are for
    vocab_size  V; by default that of the `SamplingMask`, else W

    The result lies where the logits lie. Raises `ParameterError` naming the argument at fault.
    """
    call = SampleCall(logits, masks, params, positions, counts, purpose, vocab_size)
    if _is_torch(logits):
        from . import torch_adapter

        return SampleResult(*torch_adapter.sample(call))
    out = cpu.sample(sample_batch(call))
    return SampleResult(out.tokens[:, 0], out.flags)


def accept(
    logits: Any,
    drafts: Any,
    masks: SamplingMask | Any | None = None,
    params: Params = SamplingParams(),  # noqa: B008 - frozen
    *,
    lengths: npt.ArrayLike = 0,
    extents: npt.ArrayLike | None = None,
    counts: Any | None = None,
    proposals: Proposals | None = None,
    vocab_size: int | None = None,
) -> AcceptResult:
    """Verify the drafts of each row: the longest accepted prefix, then a correction or a bonus.

    logits     [B, K + 1, W], column i given drafts[:, 0:i];  drafts  int[B, K], 1 <= K <= 63
    masks      a `SamplingMask` of K + 1 positions, packed words [B, K + 1, ceil(V/32)], or None
    lengths    int[B]: tokens committed before the round, for the random numbers
    extents    int[B]: how many drafts of each row are real, K by default (clamped to 0..K)
    counts     int32[B, V] of the committed tokens; the drafts before a column are added here
    proposals  the draft distributions, or None for greedy drafts (a one-hot q)

    Otherwise as `sample`.
    """
    call = AcceptCall(logits, drafts, masks, params, lengths, extents, counts, proposals, vocab_size)
    if _is_torch(logits):
        from . import torch_adapter

        return AcceptResult(*torch_adapter.accept(call))
    return AcceptResult(*speculative.accept(*accept_batch(call)))


def _is_torch(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "torch"
