"""allOf, anyOf, oneOf, not, if: distribution over siblings, proofs of exclusivity, complements, limits."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from tests.schema.recogniser import accepts, dumps, for_schema, reorderings
from tests.schema.strategies import VALUES

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsatisfiableSchema, UnsupportedSchema
from infernix.schema import schema_grammar

KIND_A = {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]}
KIND_B = {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "string"}, {"minimum": 1}]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "maxProperties": 2},
        {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"type": "number", "minimum": 1}, {"type": "number", "exclusiveMaximum": 1}]},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"oneOf": [{"enum": [0, "a"]}, {"enum": [1, "a", "b"]}]},
        {"oneOf": [{"minLength": 2}, {"maxLength": 1}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
        {"oneOf": [{"type": "array", "maxItems": 1}, {"type": "array", "minItems": 2}]},
        {"oneOf": [{"pattern": "^a"}, {"pattern": "b$"}], "type": "string"},
        {"oneOf": [True, {"type": "string"}]},
        {"oneOf": [{"type": ["string", "null"]}, {"type": ["null", "integer"]}, {"const": 1}]},
        {"allOf": [{"enum": [0, 1, "a", [0]]}, {"not": {"const": 1}}, {"type": ["integer", "array"]}]},
        {"not": {"type": "object"}},
        {"not": {"type": ["integer", "string"]}},
        {"not": {"enum": [0, 1, "a", None, [], {}]}},
        {"not": {"required": ["a"]}, "type": "object"},
        {"not": {"properties": {"a": {"type": "integer"}}}, "type": "object"},
        {"not": {"additionalProperties": {"type": "integer"}}, "type": "object"},
        {"not": {"patternProperties": {"^a": {"type": "integer"}}}, "type": "object"},
        {"not": {"propertyNames": {"pattern": "^a"}}, "type": "object"},
        {"not": {"items": {"type": "integer"}}, "type": "array"},
        {"not": {"anyOf": [{"type": "string"}, {"minimum": 1}]}},
        {"not": {"oneOf": [{"type": "string"}, {"minLength": 2}]}},
        {"not": {"not": {"type": "string"}}},
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "integer"}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object"},
        {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "else": {"required": ["b"]}},
        {"enum": [0, 1, "a", "ab", [0], {"a": 1}], "minLength": 2, "minimum": 1, "minItems": 1},
        {"const": 1.0, "type": "integer"},
        {"type": ["string", "null"], "maxLength": 1},
        {"type": "object", "properties": {"a": True}, "unevaluatedProperties": False},
        {"type": "object", "anyOf": [{"properties": {"a": True}}, {"properties": {"b": True}, "required": ["b"]}],
         "unevaluatedProperties": False},
        {"type": "array", "prefixItems": [True], "anyOf": [{"prefixItems": [True, {"const": 1}]}, True],
         "unevaluatedItems": {"type": "string"}},
        {"oneOf": [{"additionalProperties": False, "properties": {"a": {}}},
                   {"additionalProperties": False, "properties": {"b": {}}}], "type": "object"},
    ],
    ids=dumps,
)  # fmt: skip
def test_against_the_validator(schema: dict[str, Any]) -> None:
    judge = jsonschema.Draft202012Validator(schema)
    language = for_schema(schema)
    for value in VALUES:
        accepted = any(language.accepts(dumps(variant)) for variant in reorderings(value))
        assert accepted == judge.is_valid(value), value


def test_a_discriminator_makes_branches_exclusive() -> None:
    schema = {"oneOf": [KIND_A, KIND_B]}
    assert accepts(schema, {"kind": "a", "x": 1})
    assert accepts(schema, {"kind": "b", "y": "s"})
    assert not accepts(schema, {"kind": "b", "y": 1})
    assert not accepts(schema, {"x": 1})


def test_a_nested_discriminator() -> None:
    def branch(version: int) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"meta": {"type": "object", "properties": {"v": {"const": version}}, "required": ["v"]}},
            "required": ["meta"],
        }

    schema = {"oneOf": [branch(1), branch(2)]}
    assert accepts(schema, {"meta": {"v": 2}})
    assert not accepts(schema, {"meta": {"v": 3}})


def test_exclusivity_that_cannot_be_had_is_refused() -> None:
    schema = {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "pattern": "^2"}]}
    with pytest.raises(UnsupportedSchema, match="branches 1 and 0") as caught:
        schema_grammar({"properties": {"x": schema}})
    assert caught.value.pointer == "/properties/x/oneOf"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "string", "not": {"format": "date"}}, "/not"),
        ({"type": "number", "not": {"multipleOf": 0.5}}, "/not"),
        (
            {"properties": {"a": {"type": "array", "contains": {}, "minContains": 5000, "maxContains": 6000}}},
            "/properties/a/contains",
        ),
        ({"allOf": [{"type": "string", "pattern": "(?=a)"}]}, "/allOf/0/pattern"),
        ({"$dynamicRef": "#a"}, "/$dynamicRef"),
        ({"not": {"const": {"a": 1}}}, "/not"),
    ],
)
def test_what_is_not_exact_is_refused_where_it_stands(schema: dict[str, Any], pointer: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar(schema)
    assert caught.value.pointer == pointer


def test_what_cannot_matter_is_not_refused() -> None:
    assert accepts({"type": "string", "uniqueItems": True, "contains": {}, "multipleOf": 0.3}, "x")
    assert accepts({"enum": [[1, 2], [1, 1]], "uniqueItems": True}, [1, 2])
    assert not accepts({"enum": [[1, 2], [1, 1]], "uniqueItems": True}, [1, 1])


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (False, ""),
        ({"enum": []}, ""),
        ({"type": "string", "enum": [1, 2]}, ""),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, ""),
        ({"type": "string", "minLength": 3, "maxLength": 2}, ""),
        ({"allOf": [{"pattern": "^a"}, {"pattern": "^b"}], "type": "string"}, ""),
        ({"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]}, "/properties/a"),
        ({"type": "array", "items": False, "minItems": 1}, ""),
        ({"oneOf": [{"type": "null"}, {"type": "null"}]}, ""),
        ({"anyOf": [False, {"const": 1, "type": "string"}]}, ""),
        ({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}, ""),
    ],
)
def test_unsatisfiable_schemas(schema: Any, pointer: str) -> None:
    with pytest.raises(UnsatisfiableSchema) as caught:
        schema_grammar(schema)
    assert caught.value.pointer == pointer


def test_an_unsatisfiable_branch_is_dropped() -> None:
    schema = {"anyOf": [{"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["n"]}, {"type": "null"}]}
    assert accepts(schema, None)
    assert accepts(schema, {"n": {"n": None}})


def test_a_oneof_nested_eight_deep() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for depth in range(8):
        wrapped = {"type": "object", "properties": {f"p{depth}": schema}, "required": [f"p{depth}"]}
        schema = {"oneOf": [wrapped, {"type": "string", "maxLength": depth}]}
    value: Any = 5
    for depth in range(8):
        assert not accepts(schema, value) or depth == 8
        value = {f"p{depth}": value}
    assert accepts(schema, value)
    assert accepts(schema, "x" * 7)
    assert not accepts(schema, "x" * 8)


def test_limits() -> None:
    many = {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(20)]}
    with pytest.raises(UnsupportedSchema):
        schema_grammar({"type": "object", **many})
    chain: dict[str, Any] = {"type": "string"}
    for _ in range(300):
        chain = {"allOf": [chain]}
    with pytest.raises(UnsupportedSchema, match="256"):
        schema_grammar({"minLength": 1, **chain})


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_a_cycle_that_never_descends_is_an_error(keyword: str) -> None:
    for cycle in ({"$ref": "#/$defs/a"}, {keyword: [{"$ref": "#/$defs/a"}]}, {keyword: [{"$ref": "#"}]}):
        schema = {"$ref": "#/$defs/a", "$defs": {"a": {"minLength": 1, **cycle}}}
        with pytest.raises(InvalidSchema, match="never descends"):
            schema_grammar(schema)


def test_many_branches_are_fast_enough() -> None:
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{index}"}, "v": {"type": "integer"}},
            "required": ["kind"],
        }
        for index in range(60)
    ]
    language = for_schema({"oneOf": branches})
    assert language.accepts(dumps({"kind": "k59", "v": 1}))
    assert not language.accepts(dumps({"kind": "k60", "v": 1}))


def test_every_error_is_a_schema_error() -> None:
    for schema in ({"type": 3}, {"$ref": 5}, {"allOf": []}, {"pattern": "("}, {"required": ["a", "a"]}):
        with pytest.raises(SchemaError):
            schema_grammar(schema)
