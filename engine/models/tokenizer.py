"""Text to token ids, and ids back to the exact bytes they stand for.

Encoding is the `tokenizers` library's; a Hugging Face folder brings its tokenizer.json,
and for a GGUF file the same byte-level BPE is built from the metadata. Decoding does not
use the library: a token may be part of a UTF-8 sequence, so ids become bytes here, and
bytes become text only where a sequence is whole (`TextStream`).
"""

from __future__ import annotations

import codecs
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Encoder

from infernix.matcher.vocabulary import TokenKind, Vocabulary

from ..errors import ModelError
from .gguf_file import GgufFile

__all__ = ["TextStream", "Tokenizer", "encoder_from_gguf", "encoder_from_json"]

# How a text is cut before the merges apply, by `tokenizer.ggml.pre`; from the models' own
# tokenizer.json files. The pattern and its pieces are GPT-2's, with other rules for digits.
SPLIT_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLIT_BY_PRE = {"llama-bpe": SPLIT_PATTERN % "{1,3}", "qwen2": SPLIT_PATTERN % ""}
SINGLE_DIGITS = ("smollm",)
GPT2 = ("gpt-2", "default")

CONTROL, USER_DEFINED = 3, 4  # values of tokenizer.ggml.token_type


class Tokenizer:
    """An encoder and the vocabulary that it encodes to."""

    def __init__(self, encoder: Encoder, vocabulary: Vocabulary) -> None:
        self._encoder = encoder
        self.vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """The ids of `text`. Spellings of control tokens become control tokens; nothing is added."""
        ids: list[int] = self._encoder.encode(text, add_special_tokens=False).ids
        return ids

    def bytes_of(self, token: int) -> bytes:
        """The text bytes of one token; empty for control tokens and ids that stand for nothing."""
        if self.vocabulary.kind(token) != TokenKind.ORDINARY:
            return b""
        return self.vocabulary.token_bytes(token)


class TextStream:
    """Bytes in, text out, as soon as whole characters are there.

    >>> stream = TextStream()
    >>> stream.push(b"caf\\xc3"), stream.push(b"\\xa9"), stream.close()
    ('caf', 'é', '')
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, data: bytes) -> str:
        """Text that has become whole; ill-formed bytes turn into U+FFFD."""
        return self._decoder.decode(data)

    def close(self) -> str:
        """What a text that ends here still owes: U+FFFD if a character was cut."""
        return self._decoder.decode(b"", final=True)


def encoder_from_json(path: Path) -> Encoder:
    """The encoder in a tokenizer.json file. Raises ModelError if it cannot be read."""
    try:
        return Encoder.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for every fault
        raise ModelError(f"cannot read {path}: {error}") from None


def encoder_from_gguf(file: GgufFile) -> Encoder:
    """A byte-level BPE encoder from GGUF metadata. Raises ModelError for another kind of tokenizer."""
    kind = file.require("tokenizer.ggml.model")
    if kind != "gpt2":
        raise ModelError(f"{file.path.name}: tokenizer {kind!r} is not supported (only byte-level BPE, 'gpt2')")
    tokens, merges = file.require("tokenizer.ggml.tokens"), file.require("tokenizer.ggml.merges")
    pre = file.metadata.get("tokenizer.ggml.pre", "default")
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    try:
        # Llama 3's files keep some words that no chain of merges reaches: they are looked up first.
        encoder = Encoder(models.BPE(vocabulary, pairs, ignore_merges=pre == "llama-bpe"))
    except Exception as error:  # see above
        raise ModelError(f"{file.path.name}: the merges do not fit the tokens: {error}") from None
    encoder.pre_tokenizer = _pre_tokenizer(file, pre)
    encoder.decoder = decoders.ByteLevel()
    types = file.require("tokenizer.ggml.token_type")
    for kind_id, special in ((CONTROL, True), (USER_DEFINED, False)):
        chosen = [token for token, type_id in zip(tokens, types, strict=True) if type_id == kind_id]
        added = [AddedToken(token, special=special, normalized=False) for token in chosen]
        encoder.add_special_tokens(added) if special else encoder.add_tokens(added)
    return encoder


def _pre_tokenizer(file: GgufFile, pre: str) -> pre_tokenizers.PreTokenizer:
    if pre in GPT2:
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if pre in SINGLE_DIGITS:
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, _pre_tokenizer(file, GPT2[0])])
    if pre in SPLIT_BY_PRE:
        split = pre_tokenizers.Split(Regex(SPLIT_BY_PRE[pre]), behavior="isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([split, byte_level])
    known = ", ".join((*GPT2, *SINGLE_DIGITS, *SPLIT_BY_PRE))
    raise ModelError(f"{file.path.name}: pre-tokenizer {pre!r} is not one of {known}")
