"""Vocabularies from tokenizer files: Hugging Face `tokenizer.json`, tiktoken ranks, GGUF metadata.

A file stores *pieces*, not bytes, and there are two conventions for what a piece means:

- **Byte-level** (GPT-2 and most byte-pair tokenizers): every byte is written as one
  printable character. Printable Latin-1 bytes stand for themselves; the other 68 are
  moved to U+0100 onwards, so that a space is written U+0120.
- **SentencePiece**: a piece is text in which U+2581 stands for a space; with byte
  fallback, the 256 pieces `<0x00>` to `<0xFF>` stand for single bytes.

Which one applies, which tokens are control tokens and which end the sequence are read
from fields of the files, never inferred from how a token is spelled. Where the files do
not say, the loader asks for the fact with a VocabularyError.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from infernix.gbnf.errors import VocabularyError

from .gguf_metadata import read_metadata
from .vocabulary import Vocabulary

__all__ = ["load_gguf", "load_huggingface", "load_tiktoken", "load_tokenizer_json"]

Spelling = Callable[[str], bytes]
"""From a piece to its bytes."""

SENTENCEPIECE_SPACE = "\u2581"
BYTE_PIECE = re.compile("<0x([0-9A-Fa-f]{2})>")


def _byte_of_character() -> dict[str, int]:
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    moved = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(moved)}


BYTE_OF_CHARACTER = _byte_of_character()
"""The byte-level convention: 256 printable characters and the bytes that they write."""


def byte_level_bytes(piece: str) -> bytes:
    """The bytes of a byte-level piece. A piece with any other character is literal text."""
    try:
        return bytes([BYTE_OF_CHARACTER[character] for character in piece])
    except KeyError:
        return piece.encode()


def sentencepiece_bytes(piece: str, space: str = SENTENCEPIECE_SPACE, byte_fallback: bool = True) -> bytes:
    """The bytes of a SentencePiece piece."""
    if byte_fallback and (match := BYTE_PIECE.fullmatch(piece)):
        return bytes([int(match[1], 16)])
    return piece.replace(space, " ").encode()


@dataclass
class _Draft:
    """A vocabulary in the making: bytes by id, and the classes the file states."""

    source: str
    tokens: dict[int, bytes] = field(default_factory=dict)
    control: set[int] = field(default_factory=set)
    forbidden: set[int] = field(default_factory=set)

    def fail(self, problem: str) -> VocabularyError:
        return VocabularyError(f"{self.source}: {problem}")

    def checked_id(self, token_id: object, where: str) -> int:
        if not isinstance(token_id, int) or isinstance(token_id, bool) or token_id < 0:
            raise self.fail(f"{where}: {token_id!r} is not a token id")
        return token_id

    def add(self, token_id: object, token: bytes, where: str) -> None:
        checked = self.checked_id(token_id, where)
        if checked in self.tokens:
            raise self.fail(f"{where}: id {checked} is given twice")
        self.tokens[checked] = token

    def finish(self, eos_ids: Iterable[int], size: int | None) -> Vocabulary:
        if not self.tokens:
            raise self.fail("there are no tokens")
        eos = set(eos_ids)
        end = max(self.tokens) + 1
        # A stray huge id must not turn into a huge table.
        if end > 2 * len(self.tokens) + MAX_GAP:
            raise self.fail(f"token id {end - 1} leaves most of the vocabulary empty")
        tokens = [self.tokens.get(token_id, b"") for token_id in range(end)]
        return Vocabulary(
            tokens,
            eos_ids=eos,
            control_ids=self.control,
            forbidden_ids=self.forbidden - self.control - eos,
            size=size,
        )


MAX_GAP = 1 << 20
"""Unused ids that a file may leave besides as many as it has tokens."""


# --- tiktoken


def load_tiktoken(
    path: str | PathLike[str], *, special: Mapping[str, int], eos_ids: Iterable[int], size: int | None = None
) -> Vocabulary:
    """A tiktoken rank file: lines of a base64 token, a space and its id.

    The file holds ordinary tokens only. `special` gives the control tokens by their
    spelling, and `eos_ids` says which ids end the sequence. Raises VocabularyError with
    the number of the offending line.
    """
    draft = _Draft(str(path))
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            encoded, rank = line.split()
            token, token_id = base64.b64decode(encoded, validate=True), int(rank)
        except (ValueError, binascii.Error):
            raise draft.fail(f"{where}: expected a base64 token, a space and its id") from None
        draft.add(token_id, token, where)
    for text, token_id in special.items():
        draft.add(token_id, text.encode(), f"special token {text!r}")
        draft.control.add(token_id)
    return draft.finish(eos_ids, size)


# --- Hugging Face tokenizer.json


def load_tokenizer_json(
    path: str | PathLike[str], *, eos_ids: Iterable[int] | None = None, size: int | None = None
) -> Vocabulary:
    """A Hugging Face `tokenizer.json` with a BPE or Unigram model.

    Added tokens with `"special": true` and the model's unknown token are control tokens.
    Without `eos_ids`, the EOS ids are those that the files beside it state, looked for in
    this order: `eos_token_id` of `generation_config.json` and of `config.json`, `eos_token`
    of `tokenizer_config.json`. Raises VocabularyError with the field at fault.
    """
    draft = _Draft(str(path))
    ids = _read_tokenizer(_read_json(path), draft)
    if eos_ids is None:
        eos_ids = _declared_eos(Path(path).parent, ids, draft)
    return draft.finish(eos_ids, size)


def load_huggingface(tokenizer: Any, *, eos_ids: Iterable[int] | None = None, size: int | None = None) -> Vocabulary:
    """A tokenizer object: a fast one of `transformers`, or a `tokenizers.Tokenizer`.

    Without `eos_ids`, EOS is the tokenizer's own `eos_token_id`; a chat model often stops at
    others too, which its `generation_config.eos_token_id` lists. `size` is the width of the model's
    logits where that is larger. Raises VocabularyError for a slow tokenizer, or with the field at fault.
    """
    draft = _Draft(type(tokenizer).__name__)
    write = getattr(getattr(tokenizer, "backend_tokenizer", tokenizer), "to_str", None)
    if not callable(write):
        raise draft.fail("not a fast tokenizer: only those are a tokenizer.json inside")
    _read_tokenizer(json.loads(write()), draft)
    if eos_ids is None:
        eos = getattr(tokenizer, "eos_token_id", None)
        if eos is None:
            raise draft.fail("it does not say which token ends the sequence; pass eos_ids")
        eos_ids = [draft.checked_id(eos, "eos_token_id")]
    return draft.finish(eos_ids, size)


def _read_tokenizer(document: dict[str, Any], draft: _Draft) -> dict[str, int]:
    """Add all tokens of a `tokenizer.json` to the draft; their ids by piece."""
    model = _object(document.get("model"), draft, "model")
    spelling = _spelling(document, model, draft)
    ids: dict[str, int] = {}
    for piece, token_id, where in _model_pieces(model, draft):
        draft.add(token_id, spelling(piece), where)
        ids[piece] = token_id
    for position, entry in enumerate(_list(document.get("added_tokens", []), draft, "added_tokens")):
        where = f"added_tokens[{position}]"
        added = _object(entry, draft, where)
        content, token_id = _text(added.get("content"), draft, f"{where}.content"), added.get("id")
        # An added token replaces the model's piece of the same id, and is always literal text.
        draft.tokens[draft.checked_id(token_id, f"{where}.id")] = content.encode()
        ids[content] = added["id"]
        if added.get("special") is True:
            draft.control.add(added["id"])
    unknown = _unknown_token(model, ids)
    if unknown is not None:
        draft.control.add(unknown)
    return ids


def _model_pieces(model: dict[str, Any], draft: _Draft) -> Iterator[tuple[str, Any, str]]:
    """(piece, id, where) of the model's vocabulary."""
    kind = model.get("type", "BPE" if "merges" in model else None)
    if kind == "BPE":
        for piece, token_id in _object(model.get("vocab"), draft, "model.vocab").items():
            yield piece, token_id, f"model.vocab[{piece!r}]"
    elif kind == "Unigram":
        for token_id, entry in enumerate(_list(model.get("vocab"), draft, "model.vocab")):
            where = f"model.vocab[{token_id}]"
            yield (
                _text(entry[0] if isinstance(entry, list) and entry else None, draft, where),
                token_id,
                where,
            )
    else:
        raise draft.fail(f"model.type {kind!r} is not supported; BPE and Unigram are")


def _spelling(document: dict[str, Any], model: dict[str, Any], draft: _Draft) -> Spelling:
    """What pieces mean, as the file's decoder (or else its pre-tokenizer) says."""
    decoders = list(_flat(document.get("decoder"), "decoders"))
    kinds = {_text(decoder.get("type"), draft, "decoder.type") for decoder in decoders}
    if "ByteLevel" in kinds:
        return byte_level_bytes
    if not decoders and any(
        part.get("type") == "ByteLevel" for part in _flat(document.get("pre_tokenizer"), "pretokenizers")
    ):
        return byte_level_bytes
    # Strip and Fuse act on whole texts, not on pieces.
    if unsupported := kinds - {"Replace", "Metaspace", "ByteFallback", "Fuse", "Strip"}:
        raise draft.fail(f"decoder type {min(map(str, unsupported))!r} is not supported")
    byte_fallback = "ByteFallback" in kinds or model.get("byte_fallback") is True
    replacements = list(_replacements(decoders, draft))
    if not replacements and not byte_fallback:
        raise draft.fail("decoder: it does not say how pieces turn into bytes")

    def spell(piece: str) -> bytes:
        if byte_fallback and (match := BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        for old, new in replacements:
            piece = piece.replace(old, new)
        return piece.encode()

    return spell


def _replacements(decoders: list[dict[str, Any]], draft: _Draft) -> Iterator[tuple[str, str]]:
    for decoder in decoders:
        if decoder["type"] == "Metaspace":
            yield _text(decoder.get("replacement"), draft, "decoder.replacement"), " "
        elif decoder["type"] == "Replace":
            pattern = _object(decoder.get("pattern"), draft, "decoder.pattern").get("String")
            content = _text(decoder.get("content"), draft, "decoder.content")
            yield _text(pattern, draft, "decoder.pattern.String"), content


def _flat(part: object, key: str) -> Iterator[dict[str, Any]]:
    """The part itself, or the parts of a (nested) Sequence."""
    if isinstance(part, dict):
        if part.get("type") == "Sequence" and isinstance(part.get(key), list):
            for inner in part[key]:
                yield from _flat(inner, key)
        else:
            yield part


def _unknown_token(model: dict[str, Any], ids: dict[str, int]) -> int | None:
    """The id of the model's unknown token, which stands for no bytes."""
    if isinstance(model.get("unk_token"), str):
        return ids.get(model["unk_token"])
    unknown = model.get("unk_id")
    return unknown if isinstance(unknown, int) else None


def _declared_eos(folder: Path, ids: dict[str, int], draft: _Draft) -> list[int]:
    for name in ("generation_config.json", "config.json"):
        if (folder / name).is_file():
            config = _read_json(folder / name)
            text_config = config.get("text_config")
            for part in (config, text_config if isinstance(text_config, dict) else {}):
                if part.get("eos_token_id") is not None:
                    declared = part["eos_token_id"]
                    return [
                        draft.checked_id(token_id, f"{name}: eos_token_id")
                        for token_id in (declared if isinstance(declared, list) else [declared])
                    ]
    if (folder / "tokenizer_config.json").is_file():
        eos = _read_json(folder / "tokenizer_config.json").get("eos_token")
        text = eos.get("content") if isinstance(eos, dict) else eos
        if isinstance(text, str) and text in ids:
            return [ids[text]]
    raise draft.fail("no file beside it says which tokens end the sequence; pass eos_ids")


# --- GGUF


class _GGUFType:
    """Values of `tokenizer.ggml.token_type`."""

    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


GGUF_SPELLINGS: dict[bytes, Spelling] = {b"gpt2": byte_level_bytes, b"llama": sentencepiece_bytes}
"""`tokenizer.ggml.model` -> what its normal pieces mean."""
GGUF_EOS_FIELDS = ("eos_token_id", "eot_token_id", "eom_token_id")
"""End of sequence, of turn and of message: generation stops at each of them."""


def load_gguf(
    path: str | PathLike[str], *, eos_ids: Iterable[int] | None = None, size: int | None = None
) -> Vocabulary:
    """The vocabulary in a GGUF file's metadata (models `gpt2` and `llama`); tensors are not read.

    Control and unknown tokens are control tokens, unused ones forbidden, user-defined ones
    literal text. Without `eos_ids`, EOS are the file's end of sequence, turn and message
    ids. Raises VocabularyError with the field at fault.
    """
    prefix = "tokenizer.ggml."
    metadata = read_metadata(path, lambda key: key.startswith(prefix) and not key.endswith("merges"))
    facts = {key.removeprefix(prefix): value for key, value in metadata.items()}
    draft = _Draft(str(path))
    spelling = GGUF_SPELLINGS.get(facts.get("model", b""))
    if spelling is None:
        raise draft.fail(f"{prefix}model {facts.get('model')!r} is not supported; gpt2 and llama are")
    pieces = _list(facts.get("tokens"), draft, f"{prefix}tokens")
    types = _list(facts.get("token_type", [_GGUFType.NORMAL] * len(pieces)), draft, f"{prefix}token_type")
    if len(types) != len(pieces):
        raise draft.fail(f"{prefix}token_type has {len(types)} entries for {len(pieces)} tokens")
    for token_id, (piece, kind) in enumerate(zip(pieces, types, strict=True)):
        where = f"{prefix}tokens[{token_id}]"
        if not isinstance(piece, bytes):
            raise draft.fail(f"{where} is not a string")
        try:
            normal = kind in (_GGUFType.NORMAL, _GGUFType.BYTE)
            draft.add(token_id, spelling(piece.decode()) if normal else piece, where)
        except UnicodeDecodeError as error:
            raise draft.fail(f"{where} is not UTF-8: {error}") from None
        if kind in (_GGUFType.CONTROL, _GGUFType.UNKNOWN):
            draft.control.add(token_id)
        elif kind == _GGUFType.UNUSED:
            draft.forbidden.add(token_id)
    if eos_ids is None:
        eos_ids = [facts[name] for name in GGUF_EOS_FIELDS if name in facts]
        if not eos_ids:
            raise draft.fail(f"{prefix}eos_token_id is missing; pass eos_ids")
    return draft.finish(eos_ids, size)


# --- reading and checking


def _read(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise VocabularyError(f"cannot read {path}: {error.strerror}") from error


def _read_json(path: str | PathLike[str]) -> dict[str, Any]:
    try:
        document = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise VocabularyError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, an integer of thousands of digits, too deep
        raise VocabularyError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise VocabularyError(f"{path}: the document must be an object")
    return document


def _object(value: object, draft: _Draft, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise draft.fail(f"{where} must be an object")
    return value


def _list(value: object, draft: _Draft, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise draft.fail(f"{where} must be an array")
    return value


def _text(value: object, draft: _Draft, where: str) -> str:
    if not isinstance(value, str):
        raise draft.fail(f"{where} must be a string")
    return value
