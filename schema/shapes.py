"""The shapes of keyword values: what a schema of any draft may write there.

A shape is a function that raises InvalidSchema (or UnsupportedSchema for a number that readers
round) with the pointer of the fault below the keyword; the caller adds the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema
from infernix.gbnf.grammar import MAX_COUNT

from .document import exact_number, join, json_type_name

__all__ = [
    "TYPE_NAMES",
    "Shape",
    "anything_shape",
    "boolean_shape",
    "count_shape",
    "dependencies_shape",
    "number_or_boolean_shape",
    "number_shape",
    "positive_shape",
    "schema_map_shape",
    "schema_or_schemas_shape",
    "schema_shape",
    "schemas_shape",
    "string_lists_shape",
    "string_shape",
    "strings_shape",
    "type_shape",
    "values_shape",
]

TYPE_NAMES = ("string", "object", "array", "number", "integer", "boolean", "null")

Shape = Callable[[Any], None]
"""Checks a keyword's value; raises InvalidSchema (or UnsupportedSchema for a number that readers
round) with the pointer of the fault below the keyword."""


def _wrong(expected: str, value: object, *tokens: str | int) -> InvalidSchema:
    return InvalidSchema(f"expected {expected}, found {json_type_name(value)}", join("", *tokens))


def anything_shape(value: Any) -> None:
    """Annotations may hold any value."""


def schema_shape(value: Any, *tokens: str | int) -> None:
    """A schema: an object or a boolean."""
    if not isinstance(value, dict | bool):
        raise _wrong("a schema (an object or a boolean)", value, *tokens)


def schemas_shape(value: Any) -> None:
    """At least one schema, in an array."""
    if not isinstance(value, list | tuple):
        raise _wrong("an array of schemas", value)
    if not value:
        raise InvalidSchema("expected at least one schema")
    for index, item in enumerate(value):
        schema_shape(item, index)


def schema_or_schemas_shape(value: Any) -> None:
    """A schema, or an array of schemas."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            schema_shape(item, index)
    else:
        schema_shape(value)


def schema_map_shape(value: Any) -> None:
    """Schemas by name."""
    if not isinstance(value, dict):
        raise _wrong("an object of schemas", value)
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidSchema(f"an object key must be a string, not {type(key).__name__}")
        if not isinstance(item, dict):
            schema_shape(item, key)


def string_shape(value: Any) -> None:
    """A string."""
    if not isinstance(value, str):
        raise _wrong("a string", value)


def boolean_shape(value: Any) -> None:
    """A boolean."""
    if not isinstance(value, bool):
        raise _wrong("a boolean", value)


def number_shape(value: Any) -> None:
    """A number that readers do not round."""
    exact_number(value, "")


def number_or_boolean_shape(value: Any) -> None:
    """A number, or (in draft-04) a boolean."""
    if not isinstance(value, bool):
        exact_number(value, "")


def positive_shape(value: Any) -> None:
    """A number greater than zero."""
    if exact_number(value, "") <= 0:
        raise InvalidSchema("expected a number greater than zero")


def count_shape(value: Any) -> None:
    """A number of things, as large as a grammar can count."""
    number = exact_number(value, "")
    if number < 0 or number != int(number):
        raise InvalidSchema("expected a non-negative integer")
    if number > MAX_COUNT:
        raise UnsupportedSchema(f"counts above {MAX_COUNT} are not supported")


def strings_shape(value: Any, *tokens: str | int) -> None:
    """Distinct strings, in an array."""
    if not isinstance(value, list | tuple):
        raise _wrong("an array of strings", value, *tokens)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise _wrong("a string", item, *tokens, index)
    if len(set(value)) != len(value):
        raise InvalidSchema("the strings are not distinct", join("", *tokens))


def string_lists_shape(value: Any) -> None:
    """Arrays of distinct strings, by name."""
    if not isinstance(value, dict):
        raise _wrong("an object of string arrays", value)
    for key, item in value.items():
        strings_shape(item, key)


def dependencies_shape(value: Any) -> None:
    """By name, an array of distinct strings or a schema."""
    if not isinstance(value, dict):
        raise _wrong("an object", value)
    for key, item in value.items():
        (strings_shape if isinstance(item, list | tuple) else schema_shape)(item, key)


def type_shape(value: Any) -> None:
    """The name of a type, or distinct names."""
    if isinstance(value, str) and value in TYPE_NAMES:
        return
    names = value if isinstance(value, list | tuple) else (value,)
    if not names:
        raise InvalidSchema("expected at least one type")
    for name in names:
        if not isinstance(name, str) or name not in TYPE_NAMES:
            raise InvalidSchema(f"{name!r} is not a JSON type ({', '.join(TYPE_NAMES)})")
    if len(set(names)) != len(names):
        raise InvalidSchema("the types are not distinct")


def values_shape(value: Any) -> None:
    """An array of any values."""
    if not isinstance(value, list | tuple):
        raise _wrong("an array", value)
