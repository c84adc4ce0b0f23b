"""Arrays: prefixes, bounds, counted and distinct items."""

from __future__ import annotations

from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schema.recogniser import accepts, dumps, for_schema

from infernix.gbnf.errors import InvalidSchema, UnsatisfiableSchema, UnsupportedSchema
from infernix.schema import schema_grammar

ITEMS = (0, 1, "a", None)
ARRAYS = [list(items) for length in range(4) for items in product(ITEMS, repeat=length)]

_item = st.sampled_from([True, False, {"type": "integer"}, {"type": "string"}, {"const": 0}, {"not": {"const": 1}}])


def compare(schema: dict[str, Any]) -> None:
    """Every small array against the validator."""
    judge = jsonschema.Draft202012Validator(schema)
    try:
        language = for_schema(schema)
    except UnsatisfiableSchema:
        language = None
    for value in ARRAYS:
        accepted = language is not None and language.accepts(dumps(value))
        assert accepted == judge.is_valid(value), (schema, value)


@given(st.lists(_item, max_size=3), _item, st.integers(0, 4), st.none() | st.integers(0, 4))
def test_prefix_rest_and_bounds(prefix: list[Any], rest: Any, least: int, most: int | None) -> None:
    schema: dict[str, Any] = {"type": "array", "items": rest, "minItems": least}
    if prefix:
        schema["prefixItems"] = prefix
    if most is not None:
        schema["maxItems"] = most
    compare(schema)


@given(_item, _item, st.integers(0, 3), st.none() | st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 4))
def test_contained_items(
    items: Any, contained: Any, least: int, most: int | None, shortest: int, longest: int | None
) -> None:
    schema: dict[str, Any] = {
        "type": "array",
        "items": items,
        "contains": contained,
        "minContains": least,
        "minItems": shortest,
    }
    schema.update({"maxContains": most} if most is not None else {})
    schema.update({"maxItems": longest} if longest is not None else {})
    compare(schema)


@st.composite
def _counted(draw: st.DrawFn) -> dict[str, Any]:
    """An array schema with a prefix, items that are counted, and bounds."""
    schema: dict[str, Any] = {"type": "array", "contains": draw(_item)}
    optional: dict[str, st.SearchStrategy[Any]] = {
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "prefixItems": st.lists(_item, min_size=1, max_size=3),
        "items": _item,
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 3),
    }
    return {**schema, **draw(st.fixed_dictionaries({}, optional=optional))}


@given(_counted(), _counted(), st.sampled_from(["allOf", "oneOf", "anyOf"]))
def test_several_counts_and_prefixes(first: dict[str, Any], second: dict[str, Any], keyword: str) -> None:
    compare({keyword: [first, second]})


@given(_counted())
def test_arrays_that_must_not_be_counted_so(schema: dict[str, Any]) -> None:
    compare({"type": "array", "not": schema})


def test_counts_that_grow_too_large_are_refused() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"type": "array", "contains": {"const": 1}, "minContains": 5000, "maxContains": 6000})
    assert caught.value.pointer == "/contains"
    four = {"allOf": [{"contains": {"const": index}} for index in range(4)]}
    with pytest.raises(UnsupportedSchema, match="more than 3 contains"):
        schema_grammar({"type": "array", **four})


def test_the_intersection_is_positional() -> None:
    compare(
        {
            "type": "array",
            "allOf": [
                {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}},
                {"prefixItems": [{"minimum": 1}], "items": {"type": ["string", "null"]}},
            ],
        }
    )


def test_an_array_ends_before_an_impossible_position() -> None:
    schema = {"type": "array", "prefixItems": [{"type": "integer"}, False]}
    compare(schema)
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar({**schema, "minItems": 2})


def test_distinct_items_of_few_values() -> None:
    compare({"type": "array", "items": {"enum": [0, 1, "a"]}, "uniqueItems": True, "minItems": 1})
    compare({"type": "array", "items": {"enum": [0, 1, "a", None]}, "uniqueItems": True, "maxItems": 2})
    compare({"type": "array", "uniqueItems": True, "maxItems": 1})
    compare({"type": "array", "uniqueItems": False})


def test_distinct_items_of_any_kind_are_refused() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
    assert caught.value.pointer == "/uniqueItems"


def test_long_arrays_are_counted_not_unrolled() -> None:
    grammar = schema_grammar({"type": "array", "items": {"type": "null"}, "minItems": 100, "maxItems": 100_000})
    assert len(grammar.rules) < 5
    language = for_schema({"type": "array", "items": {"type": "null"}, "minItems": 3, "maxItems": 5}, "compact")
    for count in range(8):
        assert language.accepts(dumps([None] * count).replace(" ", "")) == (3 <= count <= 5)


def test_draft_07_spelling() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "integer"}, {"type": "string"}],
        "additionalItems": False,
    }
    assert accepts(schema, [1, "a"])
    assert accepts(schema, [1])
    assert not accepts(schema, [1, "a", 2])
    assert not accepts(schema, ["a"])
    with pytest.raises(InvalidSchema) as caught:
        schema_grammar({**schema, "prefixItems": [True]})
    assert caught.value.pointer == "/prefixItems"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [({"items": [True]}, "/items"), ({"additionalItems": False}, "/additionalItems")],
)
def test_draft_07_spelling_is_invalid_in_2020_12(schema: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        schema_grammar(schema)
    assert caught.value.pointer == pointer
