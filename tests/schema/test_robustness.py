"""Schemas that are deep, wide, cyclic or hostile: the right result or a located error, soon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsupportedSchema
from infernix.schema import analyse, schema_grammar

SECONDS = 10


def nested(wrap: Callable[[Any], Any], depth: int, inner: Any) -> Any:
    """`inner`, wrapped `depth` times."""
    for _ in range(depth):
        inner = wrap(inner)
    return inner


NULL = {"type": "null"}
RECURSIVE = {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}

LEGAL: dict[str, Any] = {
    "items in items": nested(lambda inner: {"items": inner}, 5000, NULL),
    "a not in a not": nested(lambda inner: {"not": inner}, 2000, NULL),
    "a chain of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(3000)} | {"d3000": NULL},
    },
    "a deep constant in a recursive schema": {**RECURSIVE, "const": nested(lambda inner: [inner], 255, [])},
    "many properties": {"type": "object", "properties": {f"property_{i}": NULL for i in range(5000)}},
    "a long key": {"type": "object", "properties": {"k" * 50_000: {}}},
    "a large enum": {"enum": [f"value {i}" for i in range(50_000)]},
    "a long prefix": {"type": "array", "prefixItems": [{"const": i} for i in range(3000)]},
    "many branches": {
        "oneOf": [{"type": "object", "properties": {"k": {"const": i}}, "required": ["k"]} for i in range(200)]
    },
    "many requirements": {
        "type": "object",
        "properties": {f"p{i}": {} for i in range(150)},
        "anyOf": [{"required": [f"p{i}"]} for i in range(150)],
    },
    "a long chain of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(50_000)} | {"d50000": NULL},
    },
    "many excluded numbers": {"type": "integer", "not": {"enum": list(range(0, 8000, 2))}},
    "many exclusive constants": {"oneOf": [{"const": i} for i in range(700)]},
    "a chain of conditions": {
        "allOf": [
            {"if": {"properties": {"t": {"const": i}}, "required": ["t"]}, "then": {"required": [f"x{i}"]}}
            for i in range(40)
        ]
    },
    "counted properties": {
        "type": "object",
        "properties": {f"p{i}": {} for i in range(200)},
        "additionalProperties": False,
        "minProperties": 50,
        "maxProperties": 150,
    },
}

REFUSED: dict[str, Any] = {
    "a choice in a choice": nested(lambda inner: {"anyOf": [inner, NULL]}, 3000, NULL),
    "a condition in a condition": nested(lambda inner: {"if": inner, "then": {"type": "string"}}, 3000, NULL),
    "very many choices": {"allOf": [{"anyOf": [{"minimum": i}, {"type": "string"}]} for i in range(2000)]},
    "very many merges": {"allOf": [{"minimum": i} for i in range(20_000)]},
    "an exponential product": {
        "type": "object",
        "allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)],
    },
    "a huge count": {"type": "array", "minItems": 10**12},
    "a schema of python data without a bottom": nested(lambda inner: {"items": inner}, 100_000, NULL),
    "a word count beside a length": {"type": "string", "pattern": "^(?:\\S+\\s+){0,49}\\S+$", "maxLength": 500},
    "a pattern of a megabyte": {"type": "string", "pattern": "ab|" * 350_000},
    "a huge divisor": {"type": "integer", "multipleOf": 1_234_577},
    "overlapping patterns": {
        "type": "object",
        "patternProperties": {chr(97 + i): {"minimum": i} for i in range(10)},
    },
}


@pytest.mark.parametrize("name", LEGAL)
def test_large_schemas_compile(name: str) -> None:
    started = process_time()
    assert schema_grammar(LEGAL[name]).rules
    assert process_time() - started < SECONDS


@pytest.mark.parametrize("name", REFUSED)
def test_hopeless_schemas_are_refused(name: str) -> None:
    started = process_time()
    with pytest.raises(UnsupportedSchema):
        schema_grammar(REFUSED[name])
    assert process_time() - started < SECONDS


def test_cyclic_python_data() -> None:
    """Such data are no JSON: what refers to itself says so with `$ref`."""
    array: dict[str, Any] = {"type": "array"}
    array["items"] = array
    annotation: dict[str, Any] = {"if": {}}
    annotation["x-self"] = annotation
    union: dict[str, Any] = {}
    union["allOf"] = [union]
    constant: list[Any] = []
    constant.append(constant)
    for schema in (array, annotation, union, {"const": constant}):
        with pytest.raises(InvalidSchema, match="refer to themselves"):
            schema_grammar(schema)
    assert schema_grammar({"type": "array", "items": {"$ref": "#"}}).rules
    with pytest.raises(InvalidSchema, match="never descends"):
        schema_grammar({"allOf": [{"$ref": "#"}]})


def test_the_report_of_a_deep_schema_is_not_deep() -> None:
    verdict = analyse(LEGAL["items in items"])
    assert verdict.status == "supported"
    assert len(verdict.reduced["$defs"]) > 50


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}], {"a": []}, -1, 1.5, True, {"$ref": 3}])
@pytest.mark.parametrize(
    "keyword",
    [
        "type", "enum", "minimum", "maxLength", "pattern", "format", "items", "prefixItems", "contains", "required",
        "properties", "patternProperties", "propertyNames", "allOf", "oneOf", "not", "if", "$ref", "$defs", "$id",
        "dependentRequired", "dependentSchemas", "uniqueItems", "multipleOf", "additionalProperties", "$schema",
    ],
)  # fmt: skip
def test_any_value_of_any_keyword(keyword: str, value: Any) -> None:
    """Nothing but a grammar or a schema error, at the root and below it."""
    for schema in ({keyword: value}, {"properties": {"p": {keyword: value}}, "then": {}, "minContains": 1}):
        with suppress(SchemaError):
            schema_grammar(schema)
