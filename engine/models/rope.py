"""Rotary position embeddings (Su et al. 2021, "RoFormer").

A head of width d is d/2 pairs; pair i of the token at position p is turned by the angle
p / theta^(2i/d). A dot product of a query and a key then depends on their distance only.

Which elements form a pair is a convention. Here, as in Hugging Face checkpoints, pair i
is elements (i, i + d/2), the two halves of the head. Llama GGUF files use neighbours
(2i, 2i + 1): their rows were reordered on conversion, and `llama_rows_to_halves` undoes it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .config import DecoderConfig

__all__ = ["inverse_frequencies", "llama_rows_to_halves", "rotate", "rotation"]


def inverse_frequencies(config: DecoderConfig) -> Tensor:
    """The turn of each pair per position, in radians: float32 of shape (head_dim / 2,)."""
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    turns = 1.0 / config.rope_theta**exponents
    scaling = config.rope_scaling
    if scaling is None:
        return turns
    # Llama 3.1: pairs that turn fully at least `high_frequency_factor` times within the original
    # context stay, pairs below `low_frequency_factor` turns are slowed down by `factor`, and the
    # pairs between are blended.
    turns_in_context = scaling.original_context * turns / (2 * math.pi)
    span = scaling.high_frequency_factor - scaling.low_frequency_factor
    keep = ((turns_in_context - scaling.low_frequency_factor) / span).clamp(0.0, 1.0)
    return turns * (keep + (1.0 - keep) / scaling.factor)


def rotation(positions: Tensor, turns: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines for `positions` (n,): two float32 tensors of shape (n, head_dim)."""
    angles = positions.to(torch.float32)[:, None] * turns[None, :]
    angles = torch.cat((angles, angles), dim=1)
    return angles.cos(), angles.sin()


def rotate(heads: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Turn every pair of `heads`, shape (..., n, head_dim), by its angle."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cosines + torch.cat((-second, first), dim=-1) * sines


def llama_rows_to_halves(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of a projection to `heads` heads from neighbouring pairs to halves.

    Works on weights of shape (heads * head_dim, inputs) and on biases (heads * head_dim,).
    """
    pairs = weight.reshape(heads, -1, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape)
