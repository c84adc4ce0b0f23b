"""Objects: order and commas of properties, other keys, counts, dependencies."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schema.recogniser import accepts, dumps, for_schema, reorderings

from infernix.gbnf.errors import UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.grammar import Grammar, walk
from infernix.schema import schema_grammar


def size(grammar: Grammar) -> int:
    """The number of expression nodes."""
    return sum(1 for rule in grammar.rules for _ in walk(rule.body))


NAMES = ["a", "b", "c", "d"]


@given(
    st.lists(st.sampled_from(NAMES), max_size=4, unique=True),
    st.lists(st.sampled_from(NAMES), max_size=4, unique=True),
    st.booleans(),
    st.integers(0, 4),
    st.none() | st.integers(0, 4),
)
def test_every_subset_of_properties_against_the_validator(
    declared: list[str], required: list[str], closed: bool, least: int, most: int | None
) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in declared},
        "required": required,
        "additionalProperties": not closed,
        "minProperties": least,
    }
    if most is not None:
        schema["maxProperties"] = most
    judge = jsonschema.Draft202012Validator(schema)
    try:
        language = for_schema(schema)
    except UnsatisfiableSchema:
        language = None
    except UnsupportedSchema:
        assert least > len(required) + 1
        assert not closed
        return
    for count in range(5):
        for names in combinations([*declared, *(name for name in NAMES if name not in declared)], count):
            value = dict.fromkeys(names, 1)
            accepted = language is not None and any(language.accepts(dumps(variant)) for variant in reorderings(value))
            assert accepted == judge.is_valid(value), (schema, value)


def test_declared_order_is_the_only_order() -> None:
    schema = {"properties": {"b": {}, "a": {}}, "type": "object", "required": ["a"]}
    assert accepts(schema, {"b": 1, "a": 2})
    assert not accepts(schema, {"a": 2, "b": 1})


def test_a_declared_key_cannot_come_back_as_another() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "é": {"type": "null"}}}
    language = for_schema(schema)
    assert language.accepts('{"a": 1, "b": "x", "aa": [], "": 0}')
    for text in ('{"b": 1, "a": "x"}', '{"\\u0061": "x"}', '{"\\u00e9": 1}', '{"é": 1}', '{"b": 0, "é": null}'):
        assert not language.accepts(text)


def test_other_keys_get_the_additional_schema() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}
    assert accepts(schema, {"a": "x", "b": 1, "c": 2})
    assert not accepts(schema, {"a": "x", "b": "y"})


@pytest.mark.parametrize("key", ['q"uote', "back\\slash", "new\nline", "tab\t", "smile😀", "\x01", "", "/", "~", "é"])
def test_keys_of_every_kind(key: str) -> None:
    schema = {"type": "object", "properties": {key: {"type": "null"}}, "required": [key]}
    assert accepts({**schema, "additionalProperties": False}, {key: None})
    assert accepts(schema, {key: None, key + "x": 1})
    assert not accepts(schema, {key: 1})


def test_required_names_that_nobody_declares() -> None:
    schema = {"type": "object", "required": ["a", "b"], "additionalProperties": {"type": "integer"}}
    assert accepts(schema, {"a": 1, "b": 2})
    assert accepts(schema, {"b": 1, "a": 2})
    assert accepts(schema, {"x": 0, "b": 1, "y": 0, "a": 2, "z": 0})
    assert not accepts(schema, {"a": 1})
    assert not accepts(schema, {"a": 1, "b": "x"})
    assert accepts({"type": "object", "required": ["a"]}, {"a": None})
    assert not accepts({"type": "object", "required": ["a"]}, {})


def test_many_undeclared_required_names_keep_their_order() -> None:
    names = [f"n{index}" for index in range(8)]
    schema = {"type": "object", "required": names}
    assert accepts(schema, dict.fromkeys(names, 0))
    assert not accepts(schema, dict.fromkeys(names[1:], 0))


def test_a_forbidden_property_is_neither_declared_nor_other() -> None:
    schema = {"type": "object", "properties": {"a": False, "b": {}}}
    assert accepts(schema, {"b": 1, "c": 2})
    assert not accepts(schema, {"a": 1})
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar({**schema, "required": ["a"]})


def test_required_and_closed_is_unsatisfiable() -> None:
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar({"type": "object", "required": ["a"], "additionalProperties": False})


def test_pattern_properties_meet_declared_and_other_ones() -> None:
    schema = {
        "type": "object",
        "properties": {"x1": {"minimum": 0}},
        "patternProperties": {"^x": {"type": "integer"}, "1$": {"maximum": 9}},
        "additionalProperties": {"type": "string"},
    }
    judge = jsonschema.Draft202012Validator(schema)
    language = for_schema(schema)
    for key, value in product(["x1", "x2", "x", "y1", "y"], [-1, 5, 50, "s", 1.5]):
        assert language.accepts(dumps({key: value})) == judge.is_valid({key: value}), (key, value)


def test_property_names() -> None:
    schema = {"type": "object", "propertyNames": {"pattern": "^[a-z]+$", "maxLength": 3}}
    assert accepts(schema, {"abc": 1, "x": 2})
    assert not accepts(schema, {"abcd": 1})
    assert not accepts(schema, {"A": 1})
    finite = {"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 2}
    assert accepts(finite, {"a": 1, "b": 2})
    assert not accepts(finite, {"a": 1})
    assert not accepts(finite, {"a": 1, "c": 2})


def test_counts_of_open_objects() -> None:
    assert not accepts({"type": "object", "minProperties": 1}, {})
    assert accepts({"type": "object", "minProperties": 1}, {"x": 1})
    assert accepts({"type": "object", "maxProperties": 2}, {"x": 1, "y": 2})
    assert not accepts({"type": "object", "maxProperties": 2}, {"x": 1, "y": 2, "z": 3})
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"type": "object", "minProperties": 2})
    assert caught.value.pointer == "/minProperties"


def test_each_branch_keeps_its_own_additional_properties() -> None:
    closed = {"properties": {"a": {}}, "additionalProperties": False}
    schema = {"type": "object", "allOf": [closed, {"properties": {"b": {}}}]}
    assert accepts(schema, {"a": 1})
    assert not accepts(schema, {"a": 1, "b": 2})
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar({**schema, "required": ["b"]})


def test_dependencies() -> None:
    schema = {
        "type": "object",
        "properties": {"card": {}, "address": {}, "name": {}},
        "dependentRequired": {"card": ["address"]},
        "dependentSchemas": {"name": {"properties": {"card": {"type": "integer"}}}},
    }
    judge = jsonschema.Draft202012Validator(schema)
    language = for_schema(schema)
    for present in product([False, True], repeat=3):
        for card in (1, "x"):
            pairs = zip(("card", "address", "name"), (card, 0, 0), present, strict=True)
            value = {key: item for key, item, there in pairs if there}
            assert language.accepts(dumps(value)) == judge.is_valid(value)


def test_sizes_are_linear() -> None:
    def optional(count: int) -> int:
        properties = {f"p{index}": {"type": "string"} for index in range(count)}
        return size(schema_grammar({"type": "object", "properties": properties, "additionalProperties": False}))

    assert optional(200) < 2.2 * optional(100)


def test_merged_properties_keep_the_order_of_the_document() -> None:
    schema = {
        "type": "object",
        "allOf": [{"properties": {"a": {}}}],
        "properties": {"b": {}},
        "anyOf": [{"properties": {"c": {}}, "required": ["c"]}, {"required": ["d"], "properties": {"d": {}}}],
    }
    assert accepts(schema, {"a": 1, "b": 2, "c": 3})
    assert accepts(schema, {"a": 1, "b": 2, "d": 3})
    assert not accepts(schema, {"b": 2, "a": 1, "c": 3})


def test_a_property_of_two_schemas_keeps_the_order_of_the_schemas() -> None:
    schema = {
        "type": "object",
        "allOf": [
            {"properties": {"p": {"title": "first", "type": "object", "properties": {"a": {}}}}},
            {"properties": {"p": {"properties": {"b": {}}}}},
        ],
    }
    assert accepts(schema, {"p": {"a": 1, "b": 2}})
    assert not accepts(schema, {"p": {"b": 2, "a": 1}})
