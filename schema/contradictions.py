"""Why no value satisfies a schema, where one look at its keywords tells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["contradiction"]

BOUNDS = (
    ("minimum", "maximum", {"number", "integer"}),
    ("minLength", "maxLength", {"string"}),
    ("minItems", "maxItems", {"array"}),
    ("minProperties", "maxProperties", {"object"}),
)
"""Lower and upper bound, and the types that they are about: values of others satisfy both."""


def contradiction(schemas: Iterable[Any]) -> str | None:
    """What excludes all values in one of these schema objects, in words; None if no one keyword or pair does."""
    for schema in schemas:
        if not isinstance(schema, dict):
            continue
        if schema.get("enum") == []:
            return "enum is empty"
        types = schema.get("type", [])
        types = set(types) if isinstance(types, list) else {types}
        for lower, upper, kinds in BOUNDS:
            if types and types <= kinds and lower in schema and upper in schema and schema[lower] > schema[upper]:
                return f"{lower} {schema[lower]} exceeds {upper} {schema[upper]}"
    return None
