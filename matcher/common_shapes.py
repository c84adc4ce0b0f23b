"""The shapes that nearly every JSON Schema needs, walked while a vocabulary's store is new.

The body of a JSON string, with and without bounds, is the largest walk that there is: milliseconds for a large
vocabulary. Any text meets it sooner or later, so it is made part of the beginning, and no mask waits for it.
"""

from __future__ import annotations

from typing import Any, Literal

from infernix.schema import schema_grammar

from .bitmask import allocate
from .compile import compile_grammar
from .matcher import Matcher
from .store import has_large_pages
from .vocabulary import Vocabulary

__all__ = ["walk_common_shapes"]

STRING_TEXTS = ('"', '"a')
COMMON: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (True, ("", *STRING_TEXTS, "1", "-1.5", "[", "[1", "{", '{"', '{"a', '{"a": 1')),
    ({"type": "string"}, STRING_TEXTS),
    ({"type": "string", "minLength": 1}, STRING_TEXTS),
    ({"type": "string", "maxLength": 1000}, STRING_TEXTS),
    ({"type": "string", "minLength": 1, "maxLength": 1000}, STRING_TEXTS),
    ({"type": "object", "properties": {"name": {}}}, ("{", '{"', '{"n', '{"name', '{"x', '{"x": 1,')),
    ({"type": "integer"}, ("", "1")),
    ({"type": "number"}, ("", "1", "1.5")),
)
"""Schemas, and beginnings of texts after each of which a mask is asked for. Blanks are those of the spaced layout."""


def walk_common_shapes(vocabulary: Vocabulary, layout: Literal["free", "compact", "spaced"]) -> None:
    """Ask for the masks of COMMON. Small vocabularies are walked in no time when it is needed."""
    if not has_large_pages(vocabulary):
        return
    row = allocate(1, vocabulary.size)[0]
    for schema, beginnings in COMMON:
        compiled = compile_grammar(schema_grammar(schema, layout=layout), vocabulary)
        for beginning in beginnings:
            matcher = Matcher(compiled)
            text = beginning if layout == "spaced" else beginning.replace(" ", "")
            matcher.accept_bytes(text.encode())
            matcher.fill_mask(row)
