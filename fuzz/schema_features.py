"""Features of JSON Schemas, of texts to try on them, and of the two together.

A schema may well have a keyword that plays no part for a text: what a text meets is found by going down both at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .judge import python_pattern

__all__ = ["of_meeting", "of_schema", "of_text"]

ASSERTED_LENGTHS = {"minLength", "maxLength"}
COMPOSITIONS = ("anyOf", "oneOf", "allOf", "not", "if", "$ref")
NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
"""Keywords with schemas by name."""
NO_SCHEMAS = ("const", "enum", "required", "dependentRequired", "type")
MANY = 32
"""Schemas inside one another that are many."""
BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
ABOUT = {
    "object": {
        *("properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties"),
        *("required", "dependentRequired", "dependentSchemas", "minProperties", "maxProperties"),
    },
    "array": {
        *("items", "prefixItems", "contains", "unevaluatedItems"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
    },
    "string": {"pattern", "format", *ASSERTED_LENGTHS},
    "number": BOUNDS,
}
"""The keywords that say something only about one type."""


# --- schemas


def of_schema(schema: Any) -> Iterator[str]:
    """Of a schema: every keyword in it, and how they meet."""
    parts = 0
    for part in _parts(schema):
        if isinstance(part, dict):
            parts += 1
            yield from _of_keywords(part)
        else:
            yield f"constant:{json.dumps(part)}" if isinstance(part, bool) else "value"
    if parts >= MANY:
        yield "many-parts"


def _parts(schema: Any) -> Iterator[Any]:
    """The schema and all that are inside it; keywords' plain values too."""
    if isinstance(schema, list):
        for item in schema:
            yield from _parts(item)
    yield schema
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        if keyword in NAMED:
            for inner in value.values() if isinstance(value, dict) else ():
                yield from _parts(inner)
        elif keyword not in NO_SCHEMAS:
            yield from _parts(value)


def _of_keywords(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema
    kind = schema.get("type")
    yield f"type:{kind}" if isinstance(kind, str) else "no-type" if kind is None else "types"
    for keyword in COMPOSITIONS:
        if keyword in schema and len(schema.keys() - {"$defs", "then", "else"}) > 1:
            yield f"{keyword}+siblings"
    if schema.get("type") is None and schema.keys() - {"$defs", *COMPOSITIONS}:
        yield "assertions-without-type"
    if schema.keys() & ASSERTED_LENGTHS:
        yield "length"
        if "pattern" in schema:
            yield "pattern+length"
    if set(schema.get("required", ())) - set(schema.get("properties", ())):
        yield "required-undeclared"
    if schema.get("properties") and schema.get("additionalProperties") is not False:
        yield "open-names"
    for keyword in ("const", "enum"):
        if keyword in schema:
            yield from _of_constant(schema[keyword] if keyword == "enum" else [schema[keyword]])
            if len(schema) > 1:
                yield "constant+siblings"


def _of_constant(values: Any) -> Iterator[str]:
    for value in values if isinstance(values, list) else ():
        if isinstance(value, float):
            yield "constant:float"
        if isinstance(value, dict | list):
            yield "constant:compound"


# --- texts


def of_text(text: str) -> Iterator[str]:
    """Of a text to try on a schema: how it is spelled."""
    if "\\" in text:
        yield "text:escape"
    if any("\udc80" <= char <= "\udcff" for char in text):
        yield "text:no-utf8"
    if any(char < " " for char in text):
        yield "text:control"
    if re.search(r"\\ud[89ab]", text, re.IGNORECASE):
        yield "text:surrogate"
    if re.search(r"\d\.\d|\d[eE]", text):
        yield "text:fraction"
    if re.search(r"\.\d{7}|\d[eE]", text):
        yield "text:long-fraction"
    try:
        json.loads(text, object_pairs_hook=_unequal)
    except KeyError:
        yield "text:repeated-key"
    except (ValueError, RecursionError):
        yield "text:not-json"


def _unequal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise KeyError
    return dict(pairs)


# --- a text beside its schema


def of_meeting(schema: Any, text: str) -> Iterator[str]:
    """What the values of a text meet in the schemas that they are held to."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    for part, met in _meetings(schema, value, schema, set()):
        if type_of(met) not in _implied(part):
            yield "text:other-type"
        if isinstance(met, dict) and isinstance(part.get("patternProperties"), dict):
            for key in met:
                matches = any(_found(pattern, key) for pattern in part["patternProperties"])
                yield "text:key-of-pattern" if matches else "text:key-of-no-pattern"


def _found(pattern: str, text: str) -> bool:
    with suppress(ValueError, re.error):
        return re.search(python_pattern(pattern), text) is not None
    return False


def _meetings(schema: Any, value: Any, root: Any, seen: set[tuple[int, int]]) -> Iterator[tuple[dict[str, Any], Any]]:
    """Pairs of a schema and a value that it is about, each once: references can go round in circles."""
    if not isinstance(schema, dict) or (id(schema), id(value)) in seen:
        return
    seen.add((id(schema), id(value)))
    yield schema, value
    for inner in _about_the_same(schema, root):
        yield from _meetings(inner, value, root, seen)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        for inner in _about_the_part(schema, key):
            yield from _meetings(inner, item, root, seen)


def _about_the_same(schema: dict[str, Any], root: Any) -> Iterator[Any]:
    """The schemas in a schema that are about the same value."""
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from schema.get(keyword, ())
    for keyword in ("not", "if", "then", "else"):
        if keyword in schema:
            yield schema[keyword]
    yield from schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        yield root.get("$defs", {}).get(schema["$ref"].rsplit("/", 1)[-1])


def _about_the_part(schema: dict[str, Any], key: Any) -> Iterator[Any]:
    """The schemas in a schema that may be about the part of a value under a key or an index."""
    if isinstance(key, str):
        yield schema.get("properties", {}).get(key)
        yield from schema.get("patternProperties", {}).values()
        yield from (schema.get(keyword) for keyword in ("additionalProperties", "unevaluatedProperties"))
    else:
        yield from schema.get("prefixItems", ())[key : key + 1]
        yield from (schema.get(keyword) for keyword in ("items", "contains", "unevaluatedItems"))


def _implied(schema: dict[str, Any]) -> list[str]:
    """The types that a schema without any type says something about, where that is only one; else all."""
    if "type" in schema or schema.keys() & {"const", "enum", *COMPOSITIONS}:
        return list(TYPES.values())
    implied = [kind for kind, keywords in ABOUT.items() if schema.keys() & keywords]
    return implied[:1] if implied else list(TYPES.values())


TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
TYPES[type(None)] = "null"


def type_of(value: Any) -> str:
    """The type of a value, with integers among the numbers."""
    return TYPES[type(value)]
