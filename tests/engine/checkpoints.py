"""Tiny random checkpoints, made by the libraries that define the formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

TINY: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "eos_token_id": 256,
    "bos_token_id": 257,
}
SPECIAL = {"<|end|>": 256, "<|start|>": 257}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def save_checkpoint(folder: Path, family: str, seed: int = 0, **changes: Any) -> Any:
    """A random model of the family in `folder`, tokenizer included; returns transformers' model."""
    import transformers

    configs = {"llama": transformers.LlamaConfig, "qwen3": transformers.Qwen3Config}
    models = {"llama": transformers.LlamaForCausalLM, "qwen3": transformers.Qwen3ForCausalLM}
    torch.manual_seed(seed)
    config = configs[family](**(TINY | changes))
    config._attn_implementation = "eager"
    model = models[family](config).eval()
    with torch.no_grad():  # the default initialisation is too small to tell models apart
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (1.0 if parameter.ndim == 1 else 0.0))
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return model


def byte_characters() -> list[str]:
    """The byte-level spelling of each byte value, derived from the rule of GPT-2's encoder."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    moved = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(moved)) for byte in range(256)]


MERGES = ["h e", "l l", "he ll", "hell o", "Ġ hello", "Ã ©"]


def vocabulary_pieces() -> list[str]:
    """The 256 bytes, two control tokens, and a word for each merge."""
    return [*byte_characters(), *SPECIAL, *(merge.replace(" ", "") for merge in MERGES)]


def save_tokenizer(folder: Path) -> None:
    """A byte-level tokenizer.json with a few merges, and a chat template."""
    pieces = vocabulary_pieces()
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = {
        "version": "1.0",
        "added_tokens": [
            {"id": token_id, "content": text, "special": True, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False}
            for text, token_id in SPECIAL.items()
        ],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {piece: index for index, piece in enumerate(pieces)},
            "merges": MERGES,
        },
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": CHAT_TEMPLATE, "eos_token": "<|end|>", "bos_token": {"content": "<|start|>"}}),
        "utf-8",
    )


# Hugging Face name -> GGUF name, as in llama.cpp's conversion; `{}` is the layer.
GGUF_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "blk.{}.attn_norm",
    "self_attn.q_proj": "blk.{}.attn_q",
    "self_attn.k_proj": "blk.{}.attn_k",
    "self_attn.v_proj": "blk.{}.attn_v",
    "self_attn.o_proj": "blk.{}.attn_output",
    "self_attn.q_norm": "blk.{}.attn_q_norm",
    "self_attn.k_norm": "blk.{}.attn_k_norm",
    "post_attention_layernorm": "blk.{}.ffn_norm",
    "mlp.gate_proj": "blk.{}.ffn_gate",
    "mlp.up_proj": "blk.{}.ffn_up",
    "mlp.down_proj": "blk.{}.ffn_down",
}


def gguf_name(name: str) -> str:
    """The GGUF name of a Hugging Face tensor."""
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("model.layers."):
        layer, rest = stem.removeprefix("model.layers.").split(".", 1)
        return f"{GGUF_NAMES[rest].format(layer)}.{kind}"
    return f"{GGUF_NAMES[stem]}.{kind}"


def neighbours(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """llama.cpp's reordering of query and key rows: pair i moves from rows (i, i + d/2) to (2i, 2i + 1)."""
    width = weight.shape[0] // heads
    source = [
        head * width + pair + half * (width // 2)
        for head in range(heads)
        for pair in range(width // 2)
        for half in range(2)
    ]
    return weight[source]


def save_gguf(path: Path, model: Any, family: str, pre: str = "gpt-2") -> None:
    """The same model as a GGUF file with float32 tensors."""
    import gguf

    config = model.config
    writer = gguf.GGUFWriter(path, family)
    writer.add_name("tiny")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    pieces = vocabulary_pieces()
    pieces += [f"<unused{index}>" for index in range(config.vocab_size - len(pieces))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(pieces)
    writer.add_token_types([3 if piece in SPECIAL else 5 if "unused" in piece else 1 for piece in pieces])
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(SPECIAL["<|end|>"])
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        count = heads.get(name.split(".")[-2])
        if family == "llama" and count:
            tensor = neighbours(tensor, count)
        writer.add_tensor(gguf_name(name), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
