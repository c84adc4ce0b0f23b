"""The arrays of a device step, in groups: each group is one kernel argument.

Every array keeps its address from one step to the next, so that a captured CUDA graph can
be replayed: a step changes contents only. B rows, P = K + 1 positions, V tokens.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Best", "Inputs", "Proposal", "Result", "Shape", "Step", "Verdicts"]


class Inputs(NamedTuple):
    """What the kernels read to find candidates.

    logits      int32[...], flat: the bits of the logits, rows `Shape.pitch` apart
    counts      int32[B, V], read only for rows with penalties
    mask_index  int32[B, P];  mask_words  uint32[N, >= ceil(V/32)], contiguous
    rows        ROW[B]
    drafts      int32[B, K]
    """

    logits: Any
    counts: Any
    mask_index: Any
    mask_words: Any
    rows: Any
    drafts: Any


class Shape(NamedTuple):
    """vocab_size int32;  share int32, tokens of a segment;  pitch int64, int32s between rows of logits."""

    vocab_size: Any
    share: Any
    pitch: Any


class Proposal(NamedTuple):
    """drafts int32[B, K]; q_ids int32[B, K, 16] and q_shares float32[B, K, 16], or [B, K, 0] for one-hot."""

    drafts: Any
    q_ids: Any
    q_shares: Any


class Verdicts(NamedTuple):
    """What each position decides, given that it is reached, all int32[B, P].

    accepted  1 if its draft is accepted, 0 if the round ends here
    endings   the correction or bonus, if the round ends here
    flags     `Flag`: why there is no ending
    """

    accepted: Any
    endings: Any
    flags: Any


class Result(NamedTuple):
    """tokens int32[B, K + 1]; counts int32[B]; flags int32[B]: see `api.AcceptResult`."""

    tokens: Any
    counts: Any
    flags: Any


class Best(NamedTuple):
    """Scratch of the argmax, and where its answers go.

    keys      int64[B, P], NOTHING before and after each launch
    tickets   int32[B, P], 0 before and after
    verdicts  for a verification
    result    for an ordinary step: the token of position 0
    """

    keys: Any
    tickets: Any
    verdicts: Verdicts
    result: Result


class Step(NamedTuple):
    """Everything a step touches. lists int64[B, P, segments * 20]: each segment's best keys."""

    inputs: Inputs
    proposal: Proposal
    lists: Any
    verdicts: Verdicts
    best: Best
    result: Result
