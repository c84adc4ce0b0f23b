"""Reading schema sources: order, exact numbers, repeated keys, everything that is no schema."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from tests.schema.recogniser import accepts, for_schema

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema
from infernix.schema import schema_grammar
from infernix.schema.document import Number, identity, join, read_source, spellings


def test_text_keeps_order_and_numbers() -> None:
    schema = read_source('{"b": 1.50, "a": 1e2, "c": 12345678901234567890123}')
    assert list(schema) == ["b", "a", "c"]
    assert schema["b"] == Decimal("1.5")
    assert schema["b"].text == "1.50"
    assert schema["a"].text == "1e2"
    assert schema["c"] == 12345678901234567890123


def test_bytes_are_read_as_utf8() -> None:
    assert read_source('{"title": "ä"}'.encode()) == {"title": "ä"}


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ('{"a": 1, "a": 2}', ""),
        ('{"properties": {"x": {"type": "string", "type": "null"}}}', "/properties/x"),
        ('{"enum": [0, {"k/1": {"~": 1, "~": 2}}]}', "/enum/1/k~11"),
        ('{"b": {"x": 1, "x": 1}, "a": {"y": 1, "y": 1}}', "/b"),
    ],
)
def test_a_repeated_key_is_found_with_its_place(text: str, pointer: str) -> None:
    with pytest.raises(InvalidSchema, match="occurs twice") as caught:
        schema_grammar(text)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "source",
    [
        "",
        "{",
        "nul",
        '{"a": NaN}',
        '{"minimum": Infinity}',
        "[1, 2]",
        "1",
        "null",
        b"\xff\xfe",
        "[" * 100_000,
        '{"a": ' * 100_000,
        3,
        None,
        ["object"],
        {"properties": {1: {}}},
        {"minimum": float("nan")},
        {"const": {1, 2}},
        {"const": {1: 2}},
        {"enum": [object()]},
    ],
    ids=lambda source: repr(source)[:20],
)
def test_what_is_no_schema_is_invalid(source: Any) -> None:
    with pytest.raises(InvalidSchema):
        schema_grammar(source)


def test_python_floats_mean_what_json_would_print() -> None:
    assert accepts({"const": 0.1}, 0.1)
    assert accepts({"type": "number", "maximum": 0.3}, 0.3)
    assert not accepts({"type": "number", "maximum": 0.3}, 0.30000000000000004)


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1e400", "1e-99999999999999999999", "9" * 4000])
def test_numbers_beyond_reason_matter_only_where_they_assert(number: str) -> None:
    schema_grammar(f'{{"default": {number}, "title": "t"}}')
    for keyword in ("minimum", "maxLength", "const"):
        with pytest.raises(UnsupportedSchema) as caught:
            schema_grammar(f'{{"{keyword}": {number}}}')
        assert caught.value.pointer == f"/{keyword}"
    with pytest.raises(UnsupportedSchema):
        schema_grammar({"maximum": 10**5000})


@pytest.mark.parametrize("keyword", ["const", "minimum", "maxLength", "multipleOf"])
def test_integers_of_very_many_digits_have_their_place(keyword: str) -> None:
    with pytest.raises(UnsupportedSchema, match=r"round the number 9{80}\.\.\. of 100,001 characters") as caught:
        schema_grammar(f'{{"properties": {{"a": {{"{keyword}": {"9" * 100_001}}}}}}}')
    assert caught.value.pointer == f"/properties/a/{keyword}"
    schema_grammar(f'{{"default": {"9" * 100_001}, "type": "null"}}')


def test_data_that_contain_themselves() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"a": schema}
    values: list[Any] = []
    values.append(values)
    inside = {"not": schema}
    for source, pointer in ((schema, "/properties/a"), ({"enum": values}, "/enum/0"), (inside, "/not/properties/a")):
        with pytest.raises(InvalidSchema, match="refer to themselves") as caught:
            schema_grammar(source)
        assert caught.value.pointer == pointer
    shared = {"type": "null"}
    for_schema({"properties": {"a": shared, "b": shared}}, "compact")


@pytest.mark.parametrize("value", ["\ud800", ["\udfff"], {"\ud83d": 1}])
def test_lone_surrogates_are_refused(value: Any) -> None:
    with pytest.raises(UnsupportedSchema, match="surrogate"):
        schema_grammar({"const": value})


def test_a_constant_may_not_nest_too_deeply() -> None:
    deep: Any = 0
    for _ in range(256):
        deep = [deep]
    schema_grammar({"const": deep})
    with pytest.raises(UnsupportedSchema, match="256"):
        schema_grammar({"const": [deep]})


def test_a_schema_may_nest_deeply() -> None:
    schema: Any = {"type": "null"}
    for _ in range(2000):
        schema = {"type": "array", "items": schema, "minItems": 1}
    language = for_schema(schema, "compact")
    assert language.accepts("[" * 2000 + "null" + "]" * 2000)


def test_integer_constants_are_limited_to_64_bits() -> None:
    schema_grammar({"enum": [2**63 - 1, -(2**63)]})
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"enum": [1, 2**63]})
    assert caught.value.pointer == "/enum/1"


def test_pydantic_models() -> None:
    class Person(BaseModel):
        name: str
        age: int | None = None

    assert accepts(Person, {"name": "Ada", "age": 36})
    assert accepts(Person, {"name": "Ada"})
    assert not accepts(Person, {"name": 1})


def test_equal_json_values_have_equal_stand_ins() -> None:
    assert identity(1) == identity(1.0) == identity(Number("1e0"))
    assert identity(True) != identity(1)
    assert identity("1") != identity(1)
    assert identity({"a": 1, "b": [2]}) == identity({"b": [2.0], "a": 1.0})
    assert identity([]) != identity({})


def test_whole_numbers_have_two_spellings() -> None:
    assert spellings(7) == ["7", "7.0"]
    assert spellings(Number("7.0")) == ["7.0", "7"]
    assert spellings(Number("7e0")) == ["7e0", "7", "7.0"]
    assert spellings(Number("7.5")) == ["7.5"]
    assert spellings("7") == ['"7"']
    assert spellings(True) == ["true"]


def test_pointers_are_escaped() -> None:
    assert join("/a", "b/c", "~", 0) == "/a/b~1c/~0/0"
