"""Texts as tokens: greedy and random tokenisations, and the orders of keys of a JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import Any, ClassVar

import numpy as np

from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .choices import Choose

__all__ = ["LARGE", "Speller", "canonical", "dumps", "reorderings"]

MOST_ORDERS = 24
MOST_CHARACTERS = 24 * 400
"""Of all orders of one text together: engines read each of them."""
LARGE = 10_000
"""Tokens of a vocabulary of which everything is kept that takes long to make."""


class Speller:
    """The ordinary tokens of a vocabulary by their bytes."""

    _kept: ClassVar[dict[int, tuple[Vocabulary, Speller]]] = {}

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.ids: dict[bytes, list[int]] = {}
        for token_id in np.flatnonzero(vocabulary.kinds == int(TokenKind.ORDINARY)).tolist():
            self.ids.setdefault(vocabulary.token_bytes(token_id), []).append(token_id)
        self.bytes_of = {ids[0]: token for token, ids in self.ids.items()}
        """The bytes of the first id of each."""
        self.longest = max(map(len, self.ids), default=0)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Speller:
        """The speller of a vocabulary; the last one is kept, and all of large ones."""
        if id(vocabulary) not in cls._kept:
            cls._kept = {key: pair for key, pair in cls._kept.items() if pair[0].size >= LARGE}
            cls._kept[id(vocabulary)] = (vocabulary, cls(vocabulary))
        return cls._kept[id(vocabulary)][1]

    def tokens(self, text: bytes) -> list[int] | None:
        """The longest token at each place; None if at some place there is none."""
        result = self.beginning(text)
        return result if sum(len(self.bytes_of[token]) for token in result) == len(text) else None

    def beginning(self, text: bytes) -> list[int]:
        """The same, as far as there are tokens."""
        result: list[int] = []
        place = 0
        while place < len(text):
            lengths = range(min(self.longest, len(text) - place), 0, -1)
            length = next((n for n in lengths if text[place : place + n] in self.ids), 0)
            if not length:
                break
            result.append(self.ids[text[place : place + length]][0])
            place += length
        return result

    def other_tokens(self, choose: Choose, text: bytes) -> list[int] | None:
        """A random tokenisation; None if it ends where no token fits."""
        result, place = [], 0
        while place < len(text):
            lengths = range(1, min(self.longest, len(text) - place) + 1)
            fitting = [n for n in lengths if text[place : place + n] in self.ids]
            if not fitting:
                return None
            length = fitting[choose(len(fitting))]
            ids = self.ids[text[place : place + length]]
            result.append(ids[choose(len(ids))])
            place += length
        return result


def dumps(value: Any) -> str:
    """The JSON text of a value in the spaced layout, with canonical escapes."""
    return json.dumps(value, ensure_ascii=False)


def canonical(text: str) -> bool:
    """Whether a JSON text is spelled as `dumps` spells it, so that no engine has an excuse to reject a valid one."""
    try:
        return dumps(json.loads(text)) == text
    except (ValueError, RecursionError):
        return False


def reorderings(text: str) -> list[str]:
    """The text, if it is canonical with the keys of its objects in other orders too; itself comes first."""
    if not canonical(text) or "{" not in text:
        return [text]
    count = max(1, min(MOST_ORDERS, MOST_CHARACTERS // len(text)))
    return [dumps(variant) for variant in islice(_reorderings(json.loads(text)), count)]


def _reorderings(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for keys in permutations(value):
            for items in product(*(list(islice(_reorderings(value[key]), MOST_ORDERS)) for key in keys)):
                yield dict(zip(keys, items, strict=True))
    elif isinstance(value, list):
        for items in product(*(list(islice(_reorderings(item), MOST_ORDERS)) for item in value)):
            yield list(items)
    else:
        yield value
