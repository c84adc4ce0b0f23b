"""Copies of a schema: one rule for all of them, and nothing merged that differs."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import jsonschema
import pytest
from tests.schema.recogniser import accepts

from infernix.schema import schema_grammar

POINT = {
    "type": "object",
    "properties": {"at": {"type": "array", "items": {"enum": ["x", None]}}, "of": {"type": "object", "title": "any"}},
    "required": ["at"],
    "additionalProperties": {"type": "integer"},
}


def copied(schema: Any) -> Any:
    """The same without a part that is one object in two places."""
    return json.loads(json.dumps(schema))


def pasted(depth: int) -> Any:
    """A schema that holds two copies of the one below it, equal in content and not in identity."""
    if depth == 0:
        return POINT
    return {"type": "object", "properties": {"l": pasted(depth - 1), "r": pasted(depth - 1)}}


def referred(depth: int) -> Any:
    """The same by references."""
    levels = {f"d{level}": {"type": "object", "properties": {}} for level in range(1, depth + 1)}
    for level in range(1, depth + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        levels[f"d{level}"]["properties"] = {"l": below, "r": below}
    return {"$ref": f"#/$defs/d{depth}", "$defs": {"d0": POINT, **levels}}


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_copies_cost_no_more_than_references(depth: int) -> None:
    assert len(schema_grammar(copied(pasted(depth))).rules) == len(schema_grammar(referred(depth)).rules)


def test_a_branch_of_many_unions_is_one_rule() -> None:
    names = [f"p{i}" for i in range(20)]
    branch = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names}
    others = ["null", "boolean", "integer", "number"]

    def size(count: int) -> int:
        unions = {f"u{i}": {"anyOf": [branch, {"type": others[i]}]} for i in range(count)}
        grammar = schema_grammar(copied({"type": "object", "properties": unions}))
        return sum(len(repr(rule.body)) for rule in grammar.rules)

    assert size(4) - size(1) < size(1) / 2


def test_a_schema_that_holds_itself_has_its_rule_once() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    names = [rule.name for rule in schema_grammar(tree).rules]
    assert names == ["root", "ws"]
    assert accepts(tree, {"next": {"next": {}}})
    assert not accepts(tree, {"next": {"prev": {}}})


ALMOST = [
    {"enum": [1, "x"]},
    {"enum": [True, "x"]},
    {"enum": ["1", "x"]},
    {"enum": [None, "x"]},
    {"type": "array", "items": {"type": "integer"}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
    {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2},
    {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True},
    {"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 1}},
    {"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 2}},
    {"type": "object", "properties": {"p": {"type": "integer"}}},
    {"type": "object", "properties": {"p": {"type": "integer"}}, "required": ["p"]},
    {"type": "object", "properties": {"p": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "properties": {"p": {"type": "integer"}}, "maxProperties": 1},
    {"type": "object", "properties": {"p": {"type": "integer"}}, "minProperties": 1},
    {"type": "object", "properties": {"p": {"type": "string"}}},
    {"type": "object", "required": ["p"]},
]
VALUES: list[Any] = [
    1, True, None, "1", "x", [], [1], [2], [1, 1], [1, 2], {}, {"p": 1}, {"p": "s"}, {"q": 1}, {"p": 1, "q": 1},
]  # fmt: skip


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_differs_in_one_respect_stays_apart(wrapped: bool) -> None:
    """All of them in one schema, each alone and each beside null: a mistaken merge shows as a wrong verdict."""
    properties = {
        f"k{i}": {"anyOf": [schema, {"const": 0 if schema.get("enum") else None}]} if wrapped else schema
        for i, schema in enumerate(ALMOST)
    }
    again = {f"again{i}": schema for i, schema in enumerate(ALMOST)}
    both = copied({"type": "object", "properties": {**properties, **again}})
    for name, value in product(both["properties"], VALUES):
        instance = {name: value}
        valid = jsonschema.Draft202012Validator(both).is_valid(instance)
        assert accepts(both, instance) == valid, instance
