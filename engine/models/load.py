"""One door to every model: a name or a path in, a ready language model out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from infernix.matcher.vocabulary import Vocabulary

from ..errors import ModelError
from .chat_template import ChatTemplate, Message
from .config import config_from_gguf, config_from_json
from .decoder import Decoder
from .gguf_file import read_gguf
from .registry import find_model
from .tokenizer import Tokenizer, encoder_from_gguf, encoder_from_json
from .weights import decoder_from_tensors, tensors_from_gguf

__all__ = ["LanguageModel", "load_model"]

MAX_JSON_BYTES = 64 << 20


@dataclass(frozen=True)
class LanguageModel:
    """A decoder with everything needed to talk to it."""

    name: str
    decoder: Decoder
    tokenizer: Tokenizer
    chat_template: ChatTemplate | None

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that masks for this model speak of."""
        return self.tokenizer.vocabulary

    @property
    def context_length(self) -> int:
        """The most tokens, prompt included, that the model was made for."""
        return self.decoder.config.context_length

    def chat_tokens(self, messages: Sequence[Message], **options: Any) -> list[int]:
        """The prompt for the assistant's next words. Raises ModelError without a chat template."""
        if self.chat_template is None:
            raise ModelError(f"model {self.name!r} has no chat template: give it raw text instead")
        return self.tokenizer.encode(self.chat_template.render(messages, **options))


def load_model(name_or_path: str) -> LanguageModel:
    """Load a known model, a GGUF file, or a Hugging Face folder (Llama or Qwen3, dense), as float32.

    Raises ModelError if there is no such model, or if it is damaged or not supported.
    """
    path = find_model(name_or_path)
    try:
        return _load_folder(path) if path.is_dir() else _load_gguf(path)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error}") from None


def _load_gguf(path: Path) -> LanguageModel:
    file = read_gguf(path)
    config = config_from_gguf(file)
    vocabulary = Vocabulary.from_gguf(path, size=config.vocab_size)
    tokens = file.require("tokenizer.ggml.tokens")
    special = {}
    for name in ("bos", "eos"):
        token = file.metadata.get(f"tokenizer.ggml.{name}_token_id")
        if token is not None:
            special[f"{name}_token"] = tokens[token]
    template = file.metadata.get("tokenizer.chat_template")
    return LanguageModel(
        name=str(file.metadata.get("general.name", path.stem)),
        decoder=decoder_from_tensors(config, tensors_from_gguf(file, config), path.name),
        tokenizer=Tokenizer(encoder_from_gguf(file), vocabulary),
        chat_template=ChatTemplate(template, special) if template else None,
    )


def _load_folder(folder: Path) -> LanguageModel:
    config = config_from_json(_read_json(folder / "config.json"))
    json_path = folder / "tokenizer.json"
    vocabulary = Vocabulary.from_tokenizer_json(json_path, size=config.vocab_size)
    tensors = _read_safetensors(folder)
    return LanguageModel(
        name=folder.resolve().name,
        decoder=decoder_from_tensors(config, tensors, folder.name),
        tokenizer=Tokenizer(encoder_from_json(json_path), vocabulary),
        chat_template=_chat_template(folder),
    )


def _read_json(path: Path, optional: bool = False) -> dict[str, Any]:
    """A JSON object; with `optional`, {} where there is no such file."""
    if optional and not path.exists():
        return {}
    if not path.is_file():
        raise ModelError(f"{path.parent} is no checkpoint folder: {path.name} is missing")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ModelError(f"{path} is too large for a configuration file")
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object")
    return value


def _read_safetensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of the checkpoint as float32, under the decoder's names."""
    index = _read_json(folder / "model.safetensors.index.json", optional=True)
    names = sorted(set(index.get("weight_map", {}).values())) or ["model.safetensors"]
    tensors: dict[str, Tensor] = {}
    for name in names:
        path = folder / Path(name).name  # an index cannot point outside its folder
        if not path.is_file():
            raise ModelError(f"{folder}: {path.name} is missing")
        try:
            with safe_open(path, framework="pt") as file:
                for key in file.keys():  # noqa: SIM118 -- not a mapping
                    if not key.endswith("rotary_emb.inv_freq"):  # old checkpoints store a constant
                        tensors[key.removeprefix("model.")] = file.get_tensor(key).to(torch.float32)
        except SafetensorError as error:
            raise ModelError(f"{path} is damaged: {error}") from None
    return tensors


def _chat_template(folder: Path) -> ChatTemplate | None:
    """The template in chat_template.jinja, or in tokenizer_config.json; None if there is none."""
    config = _read_json(folder / "tokenizer_config.json", optional=True)
    special = {}
    for name in ("bos_token", "eos_token"):
        token = config.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            special[name] = token
    separate = folder / "chat_template.jinja"
    source = separate.read_text("utf-8") if separate.is_file() else config.get("chat_template")
    if isinstance(source, list):  # several named templates
        source = next((entry["template"] for entry in source if entry.get("name") == "default"), None)
    return ChatTemplate(source, special) if isinstance(source, str) else None
