"""The key/value cache: what attention remembers of the tokens already read.

    layer l:   keys[l], values[l]   (kv_heads, capacity, head_dim)
                                     └ positions 0 .. length-1 are valid

The decoder appends the new positions layer by layer (`extend`) and moves `length` once,
after the last layer (`advance`). Taking tokens back is moving `length` down; nothing is
copied. Capacity doubles, so appending costs amortised constant time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .config import DecoderConfig

__all__ = ["KVCache"]

INITIAL_CAPACITY = 256  # positions


class KVCache:
    """Keys and values of one sequence, in the decoder's dtype."""

    def __init__(self, config: DecoderConfig, dtype: torch.dtype = torch.float32) -> None:
        shape = (config.kv_heads, INITIAL_CAPACITY, config.head_dim)
        self.keys = [torch.empty(shape, dtype=dtype) for _ in range(config.layers)]
        self.values = [torch.empty(shape, dtype=dtype) for _ in range(config.layers)]
        self.length = 0

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write the new positions of one layer behind `length`; return views of all positions.

        `keys` and `values` have shape (kv_heads, n, head_dim), the results
        (kv_heads, length + n, head_dim).
        """
        end = self.length + keys.shape[1]
        if end > self.keys[layer].shape[1]:
            self.keys[layer] = self._grown(self.keys[layer], end)
            self.values[layer] = self._grown(self.values[layer], end)
        self.keys[layer][:, self.length : end] = keys
        self.values[layer][:, self.length : end] = values
        return self.keys[layer][:, :end], self.values[layer][:, :end]

    def advance(self, count: int) -> None:
        """The last `count` positions are now part of the sequence."""
        self.length += count

    def truncate(self, length: int) -> None:
        """Forget every position from `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate {self.length} positions to {length}")
        self.length = length

    def _grown(self, old: Tensor, needed: int) -> Tensor:
        heads, capacity, width = old.shape
        new = old.new_empty(heads, max(2 * capacity, needed), width)
        new[:, : self.length] = old[:, : self.length]
        return new
