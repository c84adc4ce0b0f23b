"""A checkpoint in one GGUF file, as llama.cpp uses them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from infernix.matcher.vocabulary import Vocabulary

from ..errors import ModelError
from .chat_template import ChatTemplate
from .config import config_from_gguf
from .gguf_file import read_gguf
from .tokenizer import Tokenizer, encoder_from_gguf

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["GgufCheckpoint"]


class GgufCheckpoint:
    """See `load.Checkpoint`. Raises ModelError for a file that is damaged or not supported."""

    def __init__(self, path: Path) -> None:
        self._file = read_gguf(path)
        self.config = config_from_gguf(self._file)
        self.name = path.stem  # what the file calls itself is often the name of a training run

    def tokenizer(self) -> Tokenizer:
        """The encoder and the vocabulary, both from the metadata."""
        vocabulary = Vocabulary.from_gguf(self._file.path, size=self.config.vocab_size)
        return Tokenizer(encoder_from_gguf(self._file), vocabulary)

    def chat_template(self) -> ChatTemplate | None:
        """The template in the metadata, if there is one."""
        source = self._file.metadata.get("tokenizer.chat_template")
        return ChatTemplate(source, self._special_tokens()) if isinstance(source, str) else None

    def tensors(self) -> dict[str, Tensor]:
        """The weights as float32, under the decoder's names."""
        from .weights import tensors_from_gguf

        return tensors_from_gguf(self._file, self.config)

    def _special_tokens(self) -> dict[str, str]:
        tokens, special = self._file.require("tokenizer.ggml.tokens"), {}
        for name in ("bos", "eos"):
            token = self._file.metadata.get(f"tokenizer.ggml.{name}_token_id")
            if token is None:
                continue
            if not isinstance(token, int) or not 0 <= token < len(tokens):
                raise ModelError(f"{self._file.path.name}: {name}_token_id {token!r} is not a token")
            special[f"{name}_token"] = tokens[token]
        return special
