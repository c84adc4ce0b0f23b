"""Following `$ref` inside one document: `#` and `#/...` to a place where a schema stands.

The pointer is walked keyword by keyword, so that `#/properties/a` is found and a constant that happens to
look like a schema (`#/const/a`, `#/default`) is not taken for one.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .document import join

__all__ = ["resolve"]

_ONE = frozenset(
    [
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_MANY = frozenset(["allOf", "anyOf", "items", "oneOf", "prefixItems"])
_NAMED = frozenset(["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"])


def resolve(root: Any, reference: str, pointer: str) -> tuple[Any, str]:
    """The schema that `reference` (found at `pointer`) means, and its own JSON Pointer.

    Raises UnsupportedSchema for another document, an anchor or a place that holds no
    schema, and InvalidSchema for a place that does not exist.
    """
    if reference in ("", "#"):
        return root, ""
    if not reference.startswith("#/"):
        kind = "anchors" if reference.startswith("#") else "other documents"
        raise UnsupportedSchema(f"{reference!r}: references to {kind} are not followed", pointer)
    tokens = [unquote(token).replace("~1", "/").replace("~0", "~") for token in reference[2:].split("/")]
    node, place = root, ""
    position = 0
    while position < len(tokens):
        used, node = _step(node, tokens[position : position + 2], reference, pointer)
        place = join(place, *tokens[position : position + used])
        position += used
    return node, place


def _step(schema: Any, tokens: list[str], reference: str, pointer: str) -> tuple[int, Any]:
    """From a schema to a schema below it: the number of tokens used, and the schema."""
    keyword = tokens[0]
    if not isinstance(schema, dict) or keyword not in schema:
        raise InvalidSchema(f"{reference!r} points to nothing", pointer)
    below = schema[keyword]
    if keyword in _ONE and isinstance(below, dict | bool):
        return 1, below
    if len(tokens) > 1:
        key = tokens[1]
        if keyword in _NAMED and isinstance(below, dict):
            if key not in below:
                raise InvalidSchema(f"{reference!r} points to nothing", pointer)
            if isinstance(below[key], dict | bool):
                return 2, below[key]
        elif keyword in _MANY and isinstance(below, list | tuple):
            if not key.isdecimal() or not key.isascii() or int(key) >= len(below):
                raise InvalidSchema(f"{reference!r} points to nothing", pointer)
            if isinstance(below[int(key)], dict | bool):
                return 2, below[int(key)]
    raise UnsupportedSchema(f"{reference!r} points to a place that holds no schema", pointer)
