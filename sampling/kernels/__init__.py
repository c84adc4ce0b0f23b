"""The CUDA path: numba.cuda kernels, their launches, and the stable buffers that graphs need.

    select   many blocks a row: stream logits and mask words once, keep the best 20 of each segment
    finish   one block a row: merge the segments' lists, weigh, cut; draw (sample) or store (accept)
    verify   one block a request: accept drafts, draw the correction or the bonus
    argmax   for batches where every row is greedy: select and finish in one kernel

The kernels also run in numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1 together with
NUMBA_DISABLE_JIT=1), with fewer threads, so that they are tested where there is no GPU.
"""

import numpy as np

if not hasattr(np, "row_stack"):
    # numba-cuda 0.30 looks this alias of vstack up when it compiles its first kernel,
    # but numpy removed it in 2.5.
    np.row_stack = np.vstack  # type: ignore[attr-defined]
