"""Mask rows that stay on the GPU: uploaded once, afterwards a position carries a 4-byte index.

Real texts meet few distinct masks (a thousand cover nearly all positions), while a row is
ceil(V/32) words, 31 kB for 248,000 tokens: a round of 64 requests with 16 positions moves
32 MB, or 4 kB of indices. The pool is bounded; the row used longest ago makes room, and a row
that the current step uses is never replaced.

Masks are told apart by a *key* that the caller provides and that names immutable content,
such as (grammar store, set number). Comparing content instead would read each row on the
CPU, which costs more than sending it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..layout import words_for
from ..params import ParameterError

__all__ = ["MaskPool"]


class MaskPool:
    """A bounded pool of mask rows in device memory, for one vocabulary.

    `words` is the device tensor, int32[capacity, ceil(V/32)], to be given to `DeviceSampler`
    as `pool`. In each step call `begin_step`, then `slot` for every constrained position, and
    write the result into `DeviceSampler.masks.index`. Uploads go to torch's current stream, so
    they are ordered before the kernels that read them and after those of earlier steps.
    """

    def __init__(self, vocab_size: int, capacity: int, device: Any = "cuda") -> None:
        if capacity < 1:
            raise ParameterError(f"a pool needs at least one row, got {capacity}", "capacity")
        shape = (capacity, words_for(vocab_size))
        self.words = torch.zeros(shape, dtype=torch.int32, device=device)
        self._pinned = torch.zeros(shape, dtype=torch.int32, pin_memory=True)
        self._mirror = self._pinned.numpy().view(np.uint32)
        self._slots: OrderedDict[Hashable, int] = OrderedDict()  # least recently used first
        self._used_in = np.zeros(capacity, np.int64)  # the step that used a slot last
        self._step = 0
        self._earlier: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self.uploads = 0

    @property
    def capacity(self) -> int:
        """Rows that fit."""
        return len(self._used_in)

    def begin_step(self) -> None:
        """Rows used so far may be replaced from now on."""
        self._step += 1
        self._earlier.record()  # after every upload of the steps before

    def slot(self, key: Hashable, words: npt.NDArray[np.uint32]) -> int:
        """The row of this mask, uploading `words` (uint32[ceil(V/32)]) if the pool does not have it.

        Raises `ParameterError` if the current step alone needs more rows than there are.
        """
        slot = self._slots.get(key)
        if slot is None:
            slot = self._take()
            self._slots[key] = slot
            self._upload(slot, words)
        else:
            self._slots.move_to_end(key)
        self._used_in[slot] = self._step
        return slot

    def _take(self) -> int:
        """A free slot, or that of the mask used longest ago."""
        if len(self._slots) < self.capacity:
            return len(self._slots)
        key, slot = next(iter(self._slots.items()))
        if self._used_in[slot] == self._step:
            raise ParameterError(f"one step uses more than {self.capacity} masks", "capacity")
        del self._slots[key]
        self._earlier.synchronize()  # its pinned row must have left before it is written again
        return slot

    def _upload(self, slot: int, words: npt.NDArray[np.uint32]) -> None:
        self._mirror[slot] = words
        self.words[slot].copy_(self._pinned[slot], non_blocking=True)
        self.uploads += 1
