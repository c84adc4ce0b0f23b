"""A checkpoint in a local folder, as Hugging Face publishes them.

config.json                     hyper-parameters
model.safetensors               weights; or several files and model.safetensors.index.json
tokenizer.json                  the tokenizer
generation_config.json          end-of-sequence ids            (optional)
tokenizer_config.json           special tokens, chat template  (optional)
chat_template.jinja             chat template                  (optional, wins)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infernix.matcher.vocabulary import Vocabulary

from ..errors import ModelError
from .chat_template import ChatTemplate
from .config import config_from_json
from .tokenizer import Tokenizer, encoder_from_json

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["FolderCheckpoint"]

MAX_JSON_BYTES = 64 << 20
ROTARY_CONSTANT = "rotary_emb.inv_freq"  # old checkpoints store what the configuration says already


class FolderCheckpoint:
    """See `load.Checkpoint`. Raises ModelError for a folder that is damaged or not supported."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.config = config_from_json(_read_json(folder / "config.json"))
        self.name = folder.resolve().name

    def tokenizer(self) -> Tokenizer:
        """The encoder and the vocabulary in tokenizer.json."""
        path = self._folder / "tokenizer.json"
        vocabulary = Vocabulary.from_tokenizer_json(path, size=self.config.vocab_size)
        return Tokenizer(encoder_from_json(path), vocabulary)

    def chat_template(self) -> ChatTemplate | None:
        """The template in chat_template.jinja, or else in tokenizer_config.json."""
        config = _read_json(self._folder / "tokenizer_config.json", optional=True)
        separate = self._folder / "chat_template.jinja"
        source = separate.read_text("utf-8") if separate.is_file() else config.get("chat_template")
        if isinstance(source, list):  # several named templates
            named = {entry.get("name"): entry.get("template") for entry in source if isinstance(entry, dict)}
            source = named.get("default")
        return ChatTemplate(source, _special_tokens(config)) if isinstance(source, str) else None

    def tensors(self) -> dict[str, Tensor]:
        """The weights as float32, under the decoder's names."""
        import torch
        from safetensors import SafetensorError, safe_open

        tensors: dict[str, Tensor] = {}
        for path in self._weight_files():
            try:
                with safe_open(path, framework="pt") as file:
                    for key in file.keys():  # noqa: SIM118 -- not a mapping
                        if not key.endswith(ROTARY_CONSTANT):
                            tensors[key.removeprefix("model.")] = file.get_tensor(key).to(torch.float32)
            except SafetensorError as error:
                raise ModelError(f"{path} is damaged: {error}") from None
        return tensors

    def _weight_files(self) -> list[Path]:
        index = _read_json(self._folder / "model.safetensors.index.json", optional=True)
        names = sorted(set(index.get("weight_map", {}).values())) or ["model.safetensors"]
        paths = [self._folder / Path(name).name for name in names]  # an index cannot point elsewhere
        for path in paths:
            if not path.is_file():
                raise ModelError(f"{self._folder}: {path.name} is missing")
        return paths


def _special_tokens(config: dict[str, Any]) -> dict[str, str]:
    """The spellings of the tokens that a template may name; each is a string or an object."""
    special = {}
    for name in ("bos_token", "eos_token"):
        token = config.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            special[name] = token
    return special


def _read_json(path: Path, optional: bool = False) -> dict[str, Any]:
    """A JSON object; with `optional`, {} where there is no such file."""
    if not path.is_file():
        if optional:
            return {}
        raise ModelError(f"{path.parent} is not a checkpoint folder: {path.name} is missing")
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ModelError(f"{path} is too large for a configuration file")
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object")
    return value
