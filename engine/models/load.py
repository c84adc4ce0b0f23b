"""One door to every model: a name or a path in, a language model out.

The text side (tokenizer, vocabulary, chat template) is there at once and needs no torch;
the weights are loaded when `decoder` is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from infernix.matcher.vocabulary import Vocabulary

from ..errors import ModelError
from .chat_template import ChatTemplate, Message
from .config import DecoderConfig
from .folder_checkpoint import FolderCheckpoint
from .gguf_checkpoint import GgufCheckpoint
from .registry import KNOWN_MODELS, find_model
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from .decoder import Decoder

__all__ = ["Checkpoint", "LanguageModel", "load_model"]


class Checkpoint(Protocol):
    """Files that hold a model, whatever their format; opening one reads the configuration only."""

    name: str
    config: DecoderConfig

    def tokenizer(self) -> Tokenizer:
        """The encoder and the vocabulary."""

    def chat_template(self) -> ChatTemplate | None:
        """The chat template, if the model has one."""

    def tensors(self) -> Mapping[str, Tensor]:
        """The weights as float32, under the names of `Decoder`'s parameters."""


class LanguageModel:
    """A decoder with everything needed to talk to it."""

    def __init__(self, checkpoint: Checkpoint, name: str | None = None) -> None:
        self._checkpoint = checkpoint
        self.name = name or checkpoint.name
        self.config = checkpoint.config
        self.tokenizer = checkpoint.tokenizer()
        self.chat_template = checkpoint.chat_template()

    @cached_property
    def decoder(self) -> Decoder:
        """The network, loaded on first use. Raises ModelError if the weights do not fit the configuration."""
        from .weights import decoder_from_tensors

        try:
            return decoder_from_tensors(self.config, self._checkpoint.tensors(), self.name)
        except OSError as error:
            raise ModelError(f"cannot read the weights of {self.name}: {error}") from None

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that masks for this model speak of."""
        return self.tokenizer.vocabulary

    def chat_tokens(self, messages: Sequence[Message], **options: Any) -> list[int]:
        """The prompt for the assistant's next words. Raises ModelError without a chat template."""
        if self.chat_template is None:
            raise ModelError(f"model {self.name!r} has no chat template: give it raw text instead")
        return self.tokenizer.encode(self.chat_template.render(messages, **options))


def load_model(name_or_path: str) -> LanguageModel:
    """Open a known model, a GGUF file, or a Hugging Face folder (Llama or Qwen3, dense).

    Raises ModelError (or VocabularyError, for the tokenizer) if there is no such model, or if
    it is damaged or not supported.
    """
    path = find_model(name_or_path)
    try:
        name = name_or_path if name_or_path in KNOWN_MODELS else None
        return LanguageModel(FolderCheckpoint(path) if path.is_dir() else GgufCheckpoint(path), name)
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read {path}: {error}") from None
