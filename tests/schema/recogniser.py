"""Is a text in the language of a grammar? Asked of the matcher with bytes as vocabulary."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import Grammar
from infernix.matcher.compile import compile_grammar
from infernix.matcher.matcher import Matcher
from infernix.matcher.vocabulary import Vocabulary
from infernix.schema import schema_grammar

BYTES = Vocabulary.byte_level()
END = 256


class Recogniser:
    """The language of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self.compiled = compile_grammar(grammar, BYTES)

    def accepts(self, text: str) -> bool:
        """Whether `text` is in the language."""
        matcher = Matcher(self.compiled)
        try:
            matcher.accept_bytes(text.encode())
        except TokenRejected:
            return False
        return matcher.can_end()

    def walk(self, choose: random.Random, patience: int) -> str | None:
        """A random text of the language. After `patience` bytes, the end is taken where it is legal;
        None if it was not found in ten times as many."""
        matcher = Matcher(self.compiled)
        written = bytearray()
        while len(written) < 10 * patience:
            allowed = [int(token) for token in matcher.allowed_token_ids()]
            if END in allowed and (len(allowed) == 1 or len(written) > patience or choose.random() < 0.3):
                return written.decode()
            allowed = [token for token in allowed if token != END]
            if len(written) > patience:  # steer to the end: close strings and brackets
                closing = [token for token in allowed if token in b'"}]']
                allowed = closing or allowed
            token = choose.choice(allowed)
            matcher.accept_token(token)
            written.append(token)
        return None


def for_schema(schema: Any, layout: str = "spaced") -> Recogniser:
    """The language of a schema."""
    return Recogniser(schema_grammar(schema, layout=layout))  # type: ignore[arg-type]


def dumps(value: Any) -> str:
    """The value in the spaced layout."""
    return json.dumps(value, ensure_ascii=False)


def accepts(schema: Any, value: Any) -> bool:
    """Whether the schema's language has the value, keys in the order given."""
    return for_schema(schema).accepts(dumps(value))


def reorderings(value: Any, limit: int = 24) -> Iterator[Any]:
    """The value with the keys of its objects in every order (the first `limit` of them)."""
    for index, variant in enumerate(_reorderings(value)):
        if index >= limit:
            return
        yield variant


def _reorderings(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for keys in permutations(value):
            for children in product(*(list(reorderings(value[key])) for key in keys)):
                yield dict(zip(keys, children, strict=True))
    elif isinstance(value, list):
        for children in product(*(list(reorderings(item)) for item in value)):
            yield list(children)
    else:
        yield value
