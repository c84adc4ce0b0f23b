"""The arrays of a device step, in groups: each group is one kernel argument.

Every array keeps its address from one step to the next, so that a captured CUDA graph can
be replayed: a step changes contents only. B rows, P = K + 1 positions, V tokens.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Best", "Inputs", "Proposal", "Result", "Step", "Targets"]


class Inputs(NamedTuple):
    """What the kernels read; every array keeps its address between steps.

    logits      int32[...], flat: the bits of the logits, rows `pitch` int32 apart
    counts      int32[B, V], read only for rows with penalties
    mask_index  int32[B, P];  mask_words  uint32[N, >= ceil(V/32)]
    rows        ROW[B]
    drafts      int32[B, K], K = P - 1
    """

    logits: Any
    counts: Any
    mask_index: Any
    mask_words: Any
    rows: Any
    drafts: Any


class Targets(NamedTuple):
    """p of every position, device memory: ids int32[B, P, 20], best first; weights float64[B, P, 20];
    kept int32[B, P], how many count; flags int32[B, P], why there is no p (kept is 0 then)."""  # fmt: skip

    ids: Any
    weights: Any
    kept: Any
    flags: Any


class Proposal(NamedTuple):
    """drafts int32[B, K]; q_ids int32[B, K, 16] and q_shares float32[B, K, 16], or [B, K, 0] for one-hot."""

    drafts: Any
    q_ids: Any
    q_shares: Any


class Result(NamedTuple):
    """tokens int32[B, K + 1]; counts int32[B]; flags int32[B]: see `api.AcceptResult`."""

    tokens: Any
    counts: Any
    flags: Any


class Best(NamedTuple):
    """Scratch of the argmax, and where its answers go.

    keys     int64[B, P], NOTHING before and after each launch
    tickets  int32[B, P], 0 before and after
    targets  `Targets`: a distribution of one token at every position
    result   `Result`: with a single position, the sampled token
    """

    keys: Any
    tickets: Any
    targets: Any
    result: Any


class Step(NamedTuple):
    """Everything a step touches. lists int64[B, P, segments, 20]: each segment's best keys."""

    inputs: Inputs
    proposal: Proposal
    lists: Any
    targets: Targets
    best: Best
    result: Result
