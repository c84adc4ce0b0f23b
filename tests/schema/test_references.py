"""`$ref`: what it may point to, recursion, siblings, and the drafts' differences."""

from __future__ import annotations

from typing import Any

import pytest
from tests.schema.recogniser import accepts, for_schema

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema
from infernix.schema import analyse, schema_grammar

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"

TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["value"],
    "additionalProperties": False,
}


def test_recursion() -> None:
    assert accepts(TREE, {"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]})
    assert not accepts(TREE, {"value": 1, "children": [{"value": "x"}]})


def test_mutual_recursion() -> None:
    schema = {
        "$ref": "#/$defs/even",
        "$defs": {
            "even": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/odd"},
                     "minItems": 1, "maxItems": 1}]},
            "odd": {"type": "array", "items": {"$ref": "#/$defs/even"}, "minItems": 1, "maxItems": 1},
        },
    }  # fmt: skip
    assert accepts(schema, None)
    assert accepts(schema, [[None]])
    assert not accepts(schema, [None])


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#/definitions/a%20b", 1),
        ("#/definitions/c~1d~0e", "x"),
        ("#/properties/p", None),
        ("#/properties/p/anyOf/1", True),
        ("#/definitions/list/prefixItems/0", 2),
        ("#/$defs/q%22", 3),
    ],
)
def test_places(reference: str, value: Any) -> None:
    schema = {
        "definitions": {
            "a b": {"const": 1},
            "c/d~e": {"const": "x"},
            "list": {"prefixItems": [{"const": 2}]},
        },
        "$defs": {'q"': {"const": 3}},
        "properties": {"p": {"anyOf": [{"const": None}, {"const": True}]}, "x": {"$ref": reference}},
        "type": "object",
        "required": ["x"],
    }
    assert accepts(schema, {"x": value})
    assert not accepts(schema, {"x": "something else"})


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        ("#/definitions/missing", InvalidSchema),
        ("#/allOf/7", InvalidSchema),
        ("#/not/const/a", UnsupportedSchema),
        ("#/properties", UnsupportedSchema),
        ("#/default", UnsupportedSchema),
        ("#anchor", UnsupportedSchema),
        ("other.json", UnsupportedSchema),
        ("https://example.com/schema", UnsupportedSchema),
        ("https://json-schema.org/draft/2020-12/schema", UnsupportedSchema),
    ],
)
def test_places_that_hold_no_schema(reference: str, error: type[Exception]) -> None:
    schema = {
        "not": {"const": {"a": {}}, "type": "string"},
        "default": {},
        "allOf": [{}],
        "properties": {"x": {"$ref": reference}},
        "definitions": {},
    }
    with pytest.raises(error) as caught:
        schema_grammar(schema)
    assert caught.value.pointer == "/properties/x/$ref"  # type: ignore[attr-defined]


def test_siblings_hold_too_in_2020_12() -> None:
    schema = {"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "minLength": 2}
    assert accepts(schema, "ab")
    assert not accepts(schema, "a")
    assert not accepts(schema, [1, 2])


def test_siblings_in_draft_07_are_refused_and_annotations_are_not() -> None:
    schema = {"$schema": DRAFT_7, "definitions": {"s": {"type": "string"}}, "$ref": "#/definitions/s"}
    assert accepts({**schema, "title": "t", "description": "d", "default": "x"}, "ab")
    with pytest.raises(UnsupportedSchema, match="minLength") as caught:
        schema_grammar({**schema, "minLength": 2})
    assert caught.value.pointer == "/$ref"


def test_siblings_in_draft_04_are_hidden_and_listed() -> None:
    schema = {"$schema": DRAFT_4, "definitions": {"s": {"type": "string"}}, "$ref": "#/definitions/s", "minLength": 2}
    assert accepts(schema, "a")
    assert "/minLength" in analyse(schema).unknown


def test_identifiers() -> None:
    assert accepts({"$id": "https://example.com/root", "type": "null"}, None)
    for draft in ({}, {"$schema": DRAFT_7}):
        with pytest.raises(UnsupportedSchema) as caught:
            schema_grammar({**draft, "properties": {"a": {"$id": "https://example.com/a", "type": "null"}}})
        assert caught.value.pointer == "/properties/a/$id"
    nested = {"$schema": DRAFT_4, "properties": {"a": {"id": "/properties/a", "type": "null"}}}
    assert accepts(nested, {"a": None})


def test_draft_04_integers_and_bounds() -> None:
    schema = {"$schema": DRAFT_4, "type": "integer", "minimum": 1, "exclusiveMinimum": True}
    language = for_schema(schema)
    assert language.accepts("2")
    assert not language.accepts("1")
    assert not language.accepts("2.0")
    with pytest.raises(InvalidSchema):
        schema_grammar({**schema, "exclusiveMinimum": 1})
    with pytest.raises(InvalidSchema):
        schema_grammar({"type": "integer", "minimum": 1, "exclusiveMinimum": True})


@pytest.mark.parametrize(
    "name",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft/2020-12/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ],
)
def test_dialects(name: str) -> None:
    assert accepts({"$schema": name, "type": "null"}, None)


def test_other_dialects_are_refused() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"$schema": "http://json-schema.org/draft-03/schema#"})
    assert caught.value.pointer == "/$schema"
