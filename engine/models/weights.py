"""Filling a decoder with the tensors of a checkpoint, strictly by name."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from ..errors import ModelError
from .config import DecoderConfig
from .decoder import Decoder
from .gguf_file import GgufFile
from .quants import dequantize
from .rope import llama_rows_to_halves

__all__ = ["decoder_from_tensors", "tensors_from_gguf"]

# GGUF tensor name -> parameter of `Decoder`. `{}` is the layer number.
GGUF_NAMES = {
    "token_embd": "embed_tokens",
    "output_norm": "norm",
    "output": "lm_head",
    "blk.{}.attn_norm": "layers.{}.input_layernorm",
    "blk.{}.attn_q": "layers.{}.self_attn.q_proj",
    "blk.{}.attn_k": "layers.{}.self_attn.k_proj",
    "blk.{}.attn_v": "layers.{}.self_attn.v_proj",
    "blk.{}.attn_output": "layers.{}.self_attn.o_proj",
    "blk.{}.attn_q_norm": "layers.{}.self_attn.q_norm",
    "blk.{}.attn_k_norm": "layers.{}.self_attn.k_norm",
    "blk.{}.ffn_norm": "layers.{}.post_attention_layernorm",
    "blk.{}.ffn_gate": "layers.{}.mlp.gate_proj",
    "blk.{}.ffn_up": "layers.{}.mlp.up_proj",
    "blk.{}.ffn_down": "layers.{}.mlp.down_proj",
}


def tensors_from_gguf(file: GgufFile, config: DecoderConfig) -> dict[str, Tensor]:
    """All tensors of a GGUF file as float32, under the decoder's names.

    Raises ModelError for a tensor that the decoder has no use for.
    """
    heads_of = {"attn_q": config.heads, "attn_k": config.kv_heads}
    # Only Llama files are reordered on conversion; see rope.py.
    reordered = file.require("general.architecture") == "llama"
    tensors = {}
    for name, info in file.tensors.items():
        stem, _, kind = name.rpartition(".")
        number = re.search(r"\d+", stem)
        pattern = GGUF_NAMES.get(re.sub(r"\d+", "{}", stem))
        if pattern is None:
            raise ModelError(f"{file.path.name}: tensor {name!r} is not part of a supported model")
        tensor = dequantize(file, info)
        part = stem.rpartition(".")[2]
        if reordered and part in heads_of:
            tensor = llama_rows_to_halves(tensor, heads_of[part])
        tensors[f"{pattern.format(number[0] if number else '')}.{kind}"] = tensor
    return tensors


def decoder_from_tensors(config: DecoderConfig, tensors: Mapping[str, Tensor], source: str) -> Decoder:
    """A decoder that owns `tensors`; a ModelError names what is missing, left over or misshapen."""
    decoder = Decoder(config)
    expected = {name: tensor.shape for name, tensor in decoder.state_dict().items()}
    given = dict(tensors)
    if config.tied:
        given.setdefault("lm_head.weight", given.get("embed_tokens.weight", torch.empty(0)))
    for name in sorted(expected.keys() | given.keys()):
        if name not in given:
            raise ModelError(f"{source}: tensor {name!r} is missing")
        if name not in expected:
            raise ModelError(f"{source}: tensor {name!r} is not part of a supported model")
        if given[name].shape != expected[name]:
            raise ModelError(
                f"{source}: tensor {name!r} has shape {tuple(given[name].shape)}, not {tuple(expected[name])}"
            )
    decoder.load_state_dict(given, assign=True)
    return decoder.eval().requires_grad_(False)
