"""A run that is done several times: each call counts with its smallest time.

A virtual machine's processor may be taken away for 8 ms in the middle of a call of 20 us, and
neither clock of the thread notices. It does not happen twice at the same place. So the run is done
again in fresh processes, in the same order, hence with the same caches at each call, and of
the times of one call (one engine, source, text and position) the smallest is that of the call alone.

Only times profit. Of the verdicts on a text, and of the memory, the worst counts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .walk import CaseResult, Walk

__all__ = ["fastest"]


def fastest(first: CaseResult, second: CaseResult) -> CaseResult:
    """Two results of one engine on one case as one result."""
    if first.status != "compiled":
        return first
    if second.status != "compiled":
        return second
    return replace(
        first,
        compile_ns=min(first.compile_ns, second.compile_ns),
        compile_wall_ns=min(first.compile_wall_ns, second.compile_wall_ns),
        valid=[_fastest_walk(a, b) for a, b in zip(first.valid, second.valid, strict=True)],
        wrongly_accepted=sorted({*first.wrongly_accepted, *second.wrongly_accepted}),
        invalid=max(first.invalid, second.invalid),
        held_bytes=max(first.held_bytes, second.held_bytes),
        peak_bytes=max(first.peak_bytes, second.peak_bytes),
    )


def _fastest_walk(first: Walk, second: Walk) -> Walk:
    """Two walks of one text: the one that was stopped, if one was; else the smallest times."""
    if first.stopped or second.stopped:
        return first if first.stopped else second
    return Walk(
        first.tokens,
        masks_first=np.minimum(first.masks_first, second.masks_first),
        masks_second=np.minimum(first.masks_second, second.masks_second),
        accepts_first=np.minimum(first.accepts_first, second.accepts_first),
        accepts_second=np.minimum(first.accepts_second, second.accepts_second),
    )
