"""A decoder of the Llama family: the whole forward pass, in reading order.

    tokens ─ embed ─┬─ norm ─ attention ─(+)─┬─ norm ─ SwiGLU ─(+)─ ... ─ norm ─ head ─ logits
                    └────────────────────┘   └─────────────────┘
                                    one layer, `layers` times

- RMS norm (Zhang & Sennrich 2019): x / rms(x), times a learned scale.
- Grouped-query attention (Ainslie et al. 2023): several query heads share one key/value
  head; rotary positions; Qwen3 also norms each query and key head.
- SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x)).

One sequence at a time, any number of new tokens; the cache holds what came before.
Module and parameter names are those of Hugging Face checkpoints, so that their tensors
load by name and anything missing or left over is noticed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .cache import KVCache
from .config import DecoderConfig
from .rope import inverse_frequencies, rotate, rotation

__all__ = ["Decoder"]


class Linear(nn.Linear):
    """A linear map whose weights come from a checkpoint: no random numbers to begin with."""

    def reset_parameters(self) -> None:
        """Leave the memory as it is."""


class Embedding(nn.Embedding):
    """One row for each token, from a checkpoint."""

    def reset_parameters(self) -> None:
        """Leave the memory as it is."""


class Attention(nn.Module):
    """Causal grouped-query attention with rotary positions."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.kv_heads, self.head_dim = config.kv_heads, config.head_dim
        queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
        bias = config.attention_bias
        self.q_proj = Linear(config.hidden, queries, bias=bias)
        self.k_proj = Linear(config.hidden, keys, bias=bias)
        self.v_proj = Linear(config.hidden, keys, bias=bias)
        self.o_proj = Linear(queries, config.hidden, bias=bias)
        self.q_norm: nn.Module = nn.Identity()
        self.k_norm: nn.Module = nn.Identity()
        if config.qk_norm:
            self.q_norm = nn.RMSNorm(config.head_dim, eps=config.norm_eps)
            self.k_norm = nn.RMSNorm(config.head_dim, eps=config.norm_eps)

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], mask: Tensor | None, cache: KVCache, layer: int
    ) -> Tensor:
        """Attend from the new positions `x` (n, hidden) to all positions; the result is (n, hidden)."""
        n = x.shape[0]
        queries = rotate(self.q_norm(self._heads(self.q_proj(x))), *angles)
        keys = rotate(self.k_norm(self._heads(self.k_proj(x))), *angles)
        keys, values = cache.extend(layer, keys, self._heads(self.v_proj(x)))
        # The query heads of one key/value head are folded into its query positions:
        # (kv_heads, group * n, head_dim), so keys and values are never copied for a group.
        grouped = queries.reshape(self.kv_heads, -1, self.head_dim)
        if mask is not None:
            mask = mask.repeat(grouped.shape[1] // n, 1)
        mixed = functional.scaled_dot_product_attention(grouped, keys, values, attn_mask=mask)
        return self.o_proj(mixed.reshape(-1, n, self.head_dim).transpose(0, 1).reshape(n, -1))

    def _heads(self, x: Tensor) -> Tensor:
        """Split (n, heads * head_dim) into (heads, n, head_dim)."""
        return x.view(x.shape[0], -1, self.head_dim).transpose(0, 1)


class SwiGLU(nn.Module):
    """The gated feed-forward network."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate_proj = Linear(config.hidden, config.intermediate, bias=False)
        self.up_proj = Linear(config.hidden, config.intermediate, bias=False)
        self.down_proj = Linear(config.intermediate, config.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (n, hidden) to (n, hidden)."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and feed-forward, each with its norm before and its residual around."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden, eps=config.norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden, eps=config.norm_eps)
        self.mlp = SwiGLU(config)

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], mask: Tensor | None, cache: KVCache, layer: int
    ) -> Tensor:
        """Map (n, hidden) to (n, hidden)."""
        x = x + self.self_attn(self.input_layernorm(x), angles, mask, cache, layer)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """The model: `forward(tokens, cache)` reads new tokens and returns the logits after them."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.hidden)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.hidden, eps=config.norm_eps)
        self.lm_head = Linear(config.hidden, config.vocab_size, bias=False)
        self.turns = inverse_frequencies(config)
        if config.tied:
            self.lm_head.weight = self.embed_tokens.weight

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights, and so of the cache and the logits."""
        return self.embed_tokens.weight.dtype

    def new_cache(self) -> KVCache:
        """An empty cache for one sequence."""
        return KVCache(self.config, self.dtype)

    @torch.inference_mode()
    def forward(self, tokens: Tensor, cache: KVCache, every_position: bool = False) -> Tensor:
        """Read `tokens`, int64 of shape (n,), behind the tokens in `cache`, and add them to it.

        Returns the logits after the last token, shape (vocab_size,), or with `every_position`
        those after each token, shape (n, vocab_size).
        """
        n, past = tokens.shape[0], cache.length
        cosines, sines = rotation(torch.arange(past, past + n), self.turns)
        angles = cosines.to(self.dtype), sines.to(self.dtype)
        mask = None  # one new token may see everything
        if n > 1:
            mask = torch.ones(n, past + n, dtype=torch.bool).tril(diagonal=past)
        x = self.embed_tokens(tokens)
        for index, layer in enumerate(self.layers):
            x = layer(x, angles, mask, cache, index)
        cache.advance(n)
        if not every_position:
            x = x[-1]
        return self.lm_head(self.norm(x))
