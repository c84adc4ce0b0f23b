"""The hyper-parameters of one decoder, read from GGUF metadata or from a Hugging Face config.json.

Both readers refuse what the decoder does not compute: a model with an unknown family,
activation, position scaling or attention window would load and then write nonsense.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from .gguf_file import GgufFile

__all__ = ["DecoderConfig", "RopeScaling", "config_from_gguf", "config_from_json"]

FAMILIES = ("llama", "qwen3")
DEFAULT_ROPE_THETA = 10_000.0  # both formats' default, from the RoPE paper


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """Llama 3's stretching of the slow rotary frequencies (see `rope.py`)."""

    factor: float
    low_frequency_factor: float
    high_frequency_factor: float
    original_context: int


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Everything that fixes the shapes and the arithmetic of a decoder.

    `heads` query heads share `kv_heads` key/value heads (grouped-query attention), each
    `head_dim` wide. `qk_norm` is Qwen3's RMS norm of each query and key head. `tied` means
    that the output projection is the embedding matrix.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    context_length: int
    norm_eps: float
    rope_theta: float
    rope_scaling: RopeScaling | None = None
    qk_norm: bool = False
    attention_bias: bool = False
    tied: bool = True

    def __post_init__(self) -> None:
        """Refuse sizes that cannot belong together."""
        for name in (
            "layers",
            "hidden",
            "intermediate",
            "heads",
            "kv_heads",
            "head_dim",
            "vocab_size",
            "context_length",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or value <= 0:
                raise ModelError(f"the model's {name} is {value!r}, not a positive integer")
        if self.heads % self.kv_heads:
            raise ModelError(f"{self.heads} query heads cannot share {self.kv_heads} key/value heads")
        if self.head_dim % 2:
            raise ModelError(f"rotary positions need an even head width, not {self.head_dim}")


def config_from_gguf(file: GgufFile) -> DecoderConfig:
    """The configuration in a GGUF file's metadata. Raises ModelError for another architecture."""
    family = file.require("general.architecture")
    if family not in FAMILIES:
        raise ModelError(f"{file.path.name}: architecture {family!r} is not one of {', '.join(FAMILIES)}")
    if "rope_freqs.weight" in file.tensors or f"{family}.rope.scaling.type" in file.metadata:
        raise ModelError(f"{file.path.name}: scaled rotary positions are not supported in GGUF files")
    heads = file.require(f"{family}.attention.head_count")
    hidden = file.require(f"{family}.embedding_length")
    head_dim = file.metadata.get(f"{family}.attention.key_length", hidden // max(heads, 1))
    if file.metadata.get(f"{family}.rope.dimension_count", head_dim) != head_dim:
        raise ModelError(f"{file.path.name}: partial rotary positions are not supported")
    return DecoderConfig(
        layers=file.require(f"{family}.block_count"),
        hidden=hidden,
        intermediate=file.require(f"{family}.feed_forward_length"),
        heads=heads,
        kv_heads=file.metadata.get(f"{family}.attention.head_count_kv", heads),
        head_dim=head_dim,
        vocab_size=len(file.require("tokenizer.ggml.tokens")),
        context_length=file.require(f"{family}.context_length"),
        norm_eps=file.require(f"{family}.attention.layer_norm_rms_epsilon"),
        rope_theta=file.metadata.get(f"{family}.rope.freq_base", DEFAULT_ROPE_THETA),
        qk_norm=family == "qwen3",
        attention_bias="blk.0.attn_q.bias" in file.tensors,
        tied="output.weight" not in file.tensors,
    )


def config_from_json(source: dict[str, Any]) -> DecoderConfig:
    """The configuration in a Hugging Face config.json. Raises ModelError for what is not supported."""
    family = source.get("model_type")
    if family not in FAMILIES:
        raise ModelError(f"config.json: model_type {family!r} is not one of {', '.join(FAMILIES)}")
    _refuse(source, "hidden_act", "silu")
    _refuse(source, "use_sliding_window", False)
    _refuse(source, "mlp_bias", False)
    _refuse(source, "quantization_config", None)
    theta, scaling = _rope(source)
    try:
        heads, hidden = source["num_attention_heads"], source["hidden_size"]
        return DecoderConfig(
            layers=source["num_hidden_layers"],
            hidden=hidden,
            intermediate=source["intermediate_size"],
            heads=heads,
            kv_heads=source.get("num_key_value_heads") or heads,
            head_dim=source.get("head_dim") or hidden // heads,
            vocab_size=source["vocab_size"],
            context_length=source["max_position_embeddings"],
            norm_eps=source["rms_norm_eps"],
            rope_theta=theta,
            rope_scaling=scaling,
            qk_norm=family == "qwen3",
            attention_bias=bool(source.get("attention_bias", False)),
            tied=bool(source.get("tie_word_embeddings", False)),
        )
    except KeyError as error:
        raise ModelError(f"config.json lacks {error.args[0]!r}") from None
    except (TypeError, ZeroDivisionError):
        raise ModelError("config.json: num_attention_heads and hidden_size must be positive integers") from None


def _refuse(source: dict[str, Any], key: str, expected: Any) -> None:
    if source.get(key, expected) != expected:
        raise ModelError(f"config.json: {key} = {source[key]!r} is not supported (only {expected!r})")


def _rope(source: dict[str, Any]) -> tuple[float, RopeScaling | None]:
    """Base and scaling of the rotary positions.

    Newer files keep both in `rope_parameters`, older ones in `rope_theta` and `rope_scaling`.
    """
    rope = source.get("rope_parameters") or source.get("rope_scaling") or {}
    theta = float(rope.get("rope_theta") or source.get("rope_theta") or DEFAULT_ROPE_THETA)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise ModelError(f"config.json: rotary scaling {kind!r} is not supported (only 'llama3')")
    try:
        return theta, RopeScaling(
            factor=float(rope["factor"]),
            low_frequency_factor=float(rope["low_freq_factor"]),
            high_frequency_factor=float(rope["high_freq_factor"]),
            original_context=int(rope["original_max_position_embeddings"]),
        )
    except KeyError as error:
        raise ModelError(f"config.json: the rotary scaling lacks {error.args[0]!r}") from None
