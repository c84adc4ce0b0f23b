"""Stage 3 of a verification: the round ends at the first position that does not accept its draft."""

from __future__ import annotations

import numpy as np

from ..layout import MAX_DRAFTS
from .device import cuda

__all__ = ["THREADS", "verify"]

THREADS = MAX_DRAFTS + 1


@cuda.jit
def verify(rows, drafts, verdicts, result):  # type: ignore[no-untyped-def]
    """rows ROW[B], drafts int32[B, K], verdicts `Verdicts` -> result. B blocks of THREADS threads.

    One block a request, one thread a position. The position after the last draft never accepts.
    """
    b, position = cuda.blockIdx.x, np.int32(cuda.threadIdx.x)
    extent = rows[b]["extent"]
    end = cuda.shared.array(1, np.int32)
    if position == 0:
        end[0] = extent
    cuda.syncthreads()
    if position < extent and verdicts.accepted[b, position] == 0:
        cuda.atomic.min(end, 0, position)
    cuda.syncthreads()
    last = end[0]
    if position < result.tokens.shape[1]:
        token = np.int32(0)
        if position < last:
            token = drafts[b, position]
        elif position == last:
            token = verdicts.endings[b, position]
            result.counts[b] = last + 1
            result.flags[b] = verdicts.flags[b, position]
        result.tokens[b, position] = token
