"""The vocabulary: which token ids exist, what bytes they stand for, and what they are for.

Every id of the mask domain `range(size)` has exactly one kind, and each kind has its own
rule for when a mask may allow it:

    ORDINARY   its bytes continue the text, or a token terminal names it
    CONTROL    a token terminal names it; its spelling is never matched
    EOS        exactly where the language may end
    FORBIDDEN  never: padding, ids without bytes, tokens that must not be generated

Nothing is guessed from a token's spelling. The caller, or a tokenizer file through
`matcher.loaders`, states the classes.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from operator import index
from os import PathLike
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from infernix.gbnf.errors import VocabularyError

from .bitmask import Words, pack, words_for
from .forking import VOCABULARY, held_at_fork
from .trie import Trie
from .trie_cache import cached_trie

__all__ = ["TokenKind", "Vocabulary"]

BYTE_VALUES = 256
MAX_SIZE = 1 << 24
"""The largest mask domain: a hundred times what models have, so that a wrong number is an error and no table."""


class TokenKind(IntEnum):
    """What a token id is for; see the module text for the rules."""

    ORDINARY = 0
    CONTROL = 1
    EOS = 2
    FORBIDDEN = 3


_WHY_NOT_ORDINARY = {
    TokenKind.CONTROL: "it is a control token",
    TokenKind.EOS: "it is an end-of-sequence token",
    TokenKind.FORBIDDEN: "it is a padding or forbidden id",
}


class Vocabulary:
    """An immutable vocabulary over the mask domain `range(size)`.

    `tokens[id]` are the raw bytes of each id: not display text, no replacement of
    incomplete UTF-8. `eos_ids` end the sequence; an empty collection is allowed, and then
    a finished text simply has no legal next token unless the language goes on.
    `control_ids` may repeat ids of `eos_ids`, since an EOS token is a control token too: it
    counts as EOS. `forbidden_ids` are never legal, and neither are ids without bytes that
    are in no other class, nor ids from `len(tokens)` up to `size` (padding), unless they
    are listed as EOS or control.

    Raises VocabularyError for tokens that are not bytes, ids outside the domain, ids that are
    forbidden and EOS or control at once, and more than `MAX_SIZE` ids; TypeError, which names the
    argument, for what is no collection of ids or no integer at all.
    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        *,
        eos_ids: Iterable[int],
        control_ids: Iterable[int] = (),
        forbidden_ids: Iterable[int] = (),
        size: int | None = None,
    ) -> None:
        if not isinstance(tokens, Iterable):
            raise TypeError(f"tokens must be a sequence of bytes, not {type(tokens).__name__}")
        self._tokens = tuple(tokens)
        self.size = len(self._tokens) if size is None else _integer(size, "size")
        """V, the number of ids in the mask domain."""
        if self.size < len(self._tokens):
            raise VocabularyError(f"size {self.size} is less than the {len(self._tokens)} tokens given")
        if self.size == 0:
            raise VocabularyError("a vocabulary needs at least one token")
        if self.size > MAX_SIZE:
            raise VocabularyError(f"a vocabulary has at most {MAX_SIZE:,} ids")
        self.words = words_for(self.size)
        """32-bit words in one mask row."""
        self.eos_ids = self._checked_ids(eos_ids, "eos_ids")
        """The end-of-sequence ids, ascending."""
        control = self._checked_ids(control_ids, "control_ids")
        forbidden = self._checked_ids(forbidden_ids, "forbidden_ids")
        for name, others in (("eos_ids", self.eos_ids), ("control_ids", control)):
            if both := set(others).intersection(forbidden):
                raise VocabularyError(f"token id {min(both)} is in {name} and in forbidden_ids")

        lengths = _lengths(self._tokens, self.size)
        self.kinds = np.where(lengths > 0, TokenKind.ORDINARY, TokenKind.FORBIDDEN).astype(np.uint8)
        """uint8[V], the TokenKind of every id; read-only."""
        for ids, kind in (
            (forbidden, TokenKind.FORBIDDEN),
            (control, TokenKind.CONTROL),
            (self.eos_ids, TokenKind.EOS),
        ):
            self.kinds[list(ids)] = kind
        self.kinds.flags.writeable = False
        self._lock = held_at_fork(threading.Lock(), VOCABULARY)

    # --- facts about one id

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of an id as they were given, b"" for padding; VocabularyError out of the domain."""
        self.check_id(token_id)
        return self._tokens[token_id] if token_id < len(self._tokens) else b""

    def id_of(self, spelling: str) -> int | None:
        """The lowest id that was given with exactly these bytes (as UTF-8), of any kind; None if there is none."""
        return self._ids_by_bytes.get(spelling.encode("utf-8", "surrogatepass"))

    @cached_property
    def _ids_by_bytes(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in reversed(list(enumerate(self._tokens))) if token}

    def kind(self, token_id: int) -> TokenKind:
        """The kind of an id. Raises VocabularyError out of the domain."""
        self.check_id(token_id)
        return TokenKind(self.kinds[token_id])

    def why_not_ordinary(self, token_id: int) -> str | None:
        """Why a grammar text may not name this id, or None if it may: ids outside the domain included."""
        if not 0 <= token_id < self.size:
            return f"the vocabulary has only ids 0 to {self.size - 1}"
        return _WHY_NOT_ORDINARY.get(self.kind(token_id))

    def check_id(self, token_id: int) -> None:
        """Raise VocabularyError unless the id is in the domain."""
        if not 0 <= token_id < self.size:
            raise VocabularyError(f"token id {token_id} is outside the vocabulary of {self.size} ids")

    # --- the whole vocabulary, in the forms that kernels read; built once, on first use

    @property
    def trie(self) -> Trie:
        """The byte trie of the ordinary tokens."""
        with self._lock:
            return self._trie

    @cached_property
    def _trie(self) -> Trie:
        ordinary = self._ordinary_ids()
        lengths = np.diff(self.bytes_offsets)[ordinary]
        return cached_trie(self.bytes_data, lengths, ordinary.astype(np.int32))

    @cached_property
    def bytes_data(self) -> NDArray[np.uint8]:
        """The bytes of all ordinary tokens end to end, in order of their ids."""
        ordinary = [self._tokens[token_id] for token_id in self._ordinary_ids().tolist()]
        return np.frombuffer(b"".join(ordinary), dtype=np.uint8)

    @cached_property
    def bytes_offsets(self) -> NDArray[np.int64]:
        """int64[V + 1]: the byte path of id t is `bytes_data[offsets[t]:offsets[t + 1]]`.

        It is empty for every id that is not ordinary: only ordinary tokens match by their bytes.
        """
        lengths = np.where(self.kinds == TokenKind.ORDINARY, _lengths(self._tokens, self.size), 0)
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        offsets.flags.writeable = False
        return offsets

    def ordinary_mask(self) -> Words:
        """A fresh row, uint32[words], that allows exactly the ordinary tokens."""
        return pack(self._ordinary_ids(), self.size)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that decides a mask: the domain, the kinds, the ordinary bytes."""
        digest = hashlib.sha256(f"vocabulary of {self.size}\n".encode())
        for part in (self.kinds, self.bytes_offsets.astype("<i8"), self.bytes_data):
            digest.update(part.tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        counts = np.bincount(self.kinds, minlength=len(TokenKind))
        return (
            f"<Vocabulary of {self.size}: "
            + ", ".join(f"{counts[kind]} {kind.name.lower()}" for kind in TokenKind)
            + ">"
        )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Vocabulary cannot be pickled: make it anew where it is needed, from the same file")

    def __copy__(self) -> Vocabulary:
        return self  # it never changes

    def __deepcopy__(self, memo: object) -> Vocabulary:
        return self

    # --- where vocabularies come from

    @classmethod
    def byte_level(cls) -> Vocabulary:
        """Ids 0 to 255 are the single bytes, id 256 is EOS."""
        return cls([*(bytes([value]) for value in range(BYTE_VALUES)), b""], eos_ids=[BYTE_VALUES])

    @classmethod
    def from_tokenizer_json(
        cls, path: str | PathLike[str], *, eos_ids: Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """From a Hugging Face `tokenizer.json`; see `matcher.loaders.load_tokenizer_json`."""
        from .loaders import load_tokenizer_json

        return load_tokenizer_json(path, eos_ids=eos_ids, size=size)

    @classmethod
    def from_huggingface(
        cls, tokenizer: Any, *, eos_ids: Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """From a fast tokenizer of `transformers`, or one of `tokenizers`; see `matcher.loaders.load_huggingface`."""
        from .loaders import load_huggingface

        return load_huggingface(tokenizer, eos_ids=eos_ids, size=size)

    @classmethod
    def from_tiktoken(
        cls,
        path: str | PathLike[str],
        *,
        special: Mapping[str, int],
        eos_ids: Iterable[int],
        size: int | None = None,
    ) -> Vocabulary:
        """From a tiktoken rank file; see `matcher.loaders.load_tiktoken`."""
        from .loaders import load_tiktoken

        return load_tiktoken(path, special=special, eos_ids=eos_ids, size=size)

    @classmethod
    def from_gguf(
        cls, path: str | PathLike[str], *, eos_ids: Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """From the metadata of a GGUF file; see `matcher.loaders.load_gguf`."""
        from .loaders import load_gguf

        return load_gguf(path, eos_ids=eos_ids, size=size)

    def _ordinary_ids(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.kinds == TokenKind.ORDINARY)

    def _checked_ids(self, ids: Iterable[int], name: str) -> tuple[int, ...]:
        if not isinstance(ids, Iterable):
            raise TypeError(f"{name} must be a collection of token ids, not {type(ids).__name__}")
        distinct = sorted({_integer(token_id, f"an id in {name}") for token_id in ids})
        for token_id in (*distinct[:1], *distinct[-1:]):
            if not 0 <= token_id < self.size:
                raise VocabularyError(f"{name} has id {token_id}, outside the vocabulary of {self.size} ids")
        return tuple(distinct)


def _integer(value: object, name: str) -> int:
    """An integer of Python or NumPy as the former. Raises TypeError for anything else, a float that is whole too."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not bool")
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def _lengths(tokens: tuple[bytes, ...], size: int) -> NDArray[np.int64]:
    """int64[size]: how many bytes each id has. Raises VocabularyError for a token that is not bytes."""
    if set(map(type, tokens)) - {bytes}:
        wrong = next(i for i, token in enumerate(tokens) if type(token) is not bytes)
        raise VocabularyError(f"token {wrong} is of type {type(tokens[wrong]).__name__}, not bytes")
    lengths = np.zeros(size, dtype=np.int64)
    lengths[: len(tokens)] = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    return lengths
