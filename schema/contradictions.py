"""Why no value satisfies a schema, where one look at its keywords tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from infernix.gbnf.source import clip

from .facts import NEVER, TYPE_BITS, type_of
from .nodes import ObjectTerm, Term

__all__ = ["barred_property", "contradiction"]

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
        if types and (why := _other_types(schema, types)):
            return why
        for lower, upper, kinds in BOUNDS:
            if types and types <= kinds and lower in schema and upper in schema and schema[lower] > schema[upper]:
                return f"{lower} {schema[lower]} exceeds {upper} {schema[upper]}"
    return None


def _other_types(schema: dict[str, Any], types: set[str]) -> str | None:
    """That the constants of a schema object are of other types than its own; a fraction passes for an integer here."""
    bits = 0
    for name in types:
        bits |= TYPE_BITS[name]
    named = " or ".join(sorted(types))
    if "enum" in schema and not any(type_of(value) & bits for value in schema["enum"]):
        return f"no value of enum has the type {named}"
    if "const" in schema and not type_of(schema["const"]) & bits:
        return f"const does not have the type {named}"
    return None


def barred_property(terms: Sequence[Term], schemas: Iterable[Any]) -> str | None:
    """Which property all values would need and none may have, in words; None if there is no such one.

    `terms` are what the schema objects together come to: objects of one kind, for there to be an answer.
    """
    if len(terms) != 1 or not isinstance(terms[0], ObjectTerm):
        return None
    for name, node, required in (*terms[0].properties, *terms[0].late):
        if required and node.members == (NEVER,):
            closed = any(_excludes_others(schema, name) for schema in schemas)
            return f"property `{clip(name)}` is required, but " + (
                "additionalProperties is false and it is not declared" if closed else "not allowed"
            )
    return None


def _excludes_others(schema: Any, name: str) -> bool:
    """Whether a schema object allows its own properties alone, of which the name is none."""
    return (
        isinstance(schema, dict)
        and schema.get("additionalProperties") is False
        and name not in schema.get("properties", {})
        and "patternProperties" not in schema
    )
