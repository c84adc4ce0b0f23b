"""The shapes that nearly every JSON Schema needs, walked while a vocabulary's store is new.

The body of a JSON string, with and without bounds, is the largest walk that there is: milliseconds for a large
vocabulary. Any text meets it sooner or later, so it is made part of the beginning, and no mask waits for it. The same
holds for the formats that schemas use most: each is one automaton, wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from infernix.schema import schema_grammar

from .bitmask import allocate
from .compile import compile_grammar
from .matcher import Matcher
from .store import has_large_pages
from .vocabulary import Vocabulary

__all__ = ["walk_common_shapes"]

STRING_TEXTS = ('"a', '"a\\u00e9', '"a\\n')
COMMON: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (True, (*STRING_TEXTS, "-1.5", "[1, 2", '{"a": 1, "b', "[{")),
    ({"type": "string"}, STRING_TEXTS),
    ({"type": "string", "minLength": 1}, STRING_TEXTS),
    ({"type": "string", "maxLength": 1000}, STRING_TEXTS),
    ({"type": "string", "minLength": 1, "maxLength": 1000}, STRING_TEXTS),
    ({"type": "string", "maxLength": 24}, ('"' + 24 * "a",)),
    ({"type": "array", "items": {"type": "string", "maxLength": 24}}, ('["' + 24 * "a",)),
    ({"type": "object", "properties": {"name": {}}}, ('{"name": 1, ', '{"x": 1, "')),
    ({"type": "object", "properties": {"name": {"type": "integer"}}}, ('{"name": 1, ',)),
    ({"type": "integer"}, ("1",)),
    ({"type": "number"}, ("1.5",)),
    ({"type": "array", "items": {"type": "number"}}, ("[1, 2",)),
)
"""Schemas, and texts before each of whose characters a mask is asked for, and at the end. What a string of so many
characters more may hold is met twice, so that it is a base for others (`matcher.common`)."""
FORMATS = {
    "date-time": "2026-12-01T08:30:00.5Z",
    "date": "2026-12-01",
    "time": "08:30:00Z",
    "email": "jo.doe@mail.example.com",
    "hostname": "www.example.com",
    "uri": "https://www.example.com/a?b=c#d",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "127.0.0.1",
}
"""Formats, and a value of each."""


def walk_common_shapes(vocabulary: Vocabulary, layout: Literal["free", "compact", "spaced"]) -> None:
    """Ask for the masks of COMMON. Small vocabularies are walked in no time when it is needed."""
    if not has_large_pages(vocabulary):
        return
    row = allocate(1, vocabulary.size)[0]
    for schema, texts in common_texts():
        compiled = compile_grammar(schema_grammar(schema, layout=layout), vocabulary)
        for text in texts:
            matcher = Matcher(compiled)
            matcher.fill_mask(row)
            for byte in (text.replace(" ", "") if layout == "compact" else text).encode():
                matcher.accept_bytes(bytes([byte]))
                matcher.fill_mask(row)


def common_texts() -> Iterator[tuple[Any, tuple[str, ...]]]:
    """All schemas that are walked, with their texts."""
    yield from COMMON
    for name, value in FORMATS.items():
        yield {"type": "string", "format": name}, (f'"{value}"',)
