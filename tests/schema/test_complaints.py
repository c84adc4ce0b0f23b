"""What people complain about in other engines (facts of XGrammar 0.2.9 and issues of others), each done right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.schema.recogniser import accepts, dumps, for_schema

from infernix.gbnf.errors import UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.grammar import walk
from infernix.schema import json_object_grammar, schema_grammar


def test_bounded_strings_may_contain_escapes_and_no_control_characters() -> None:
    language = for_schema({"type": "string", "minLength": 2, "maxLength": 3})
    for text in ('"a\\nb"', '"\\"\\""', '"\\u00e9a"', '"\\ud83d\\ude00x"', '"😀😀😀"'):
        assert language.accepts(text)
    for text in ('"a\nb"', '"\x01\x02"', '"\\n"', '"\\ud83d\\ude00"', '"😀"', '"\\ud83dab"'):
        assert not language.accepts(text)


def test_a_pattern_searches() -> None:
    language = for_schema({"type": "string", "pattern": "b+"})
    assert language.accepts('"abbc"')
    assert not language.accepts('"ac"')


def test_a_pattern_with_a_length_keeps_both() -> None:
    language = for_schema({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3})
    assert language.accepts('"abc"')
    assert not language.accepts('"abcd"')
    assert not language.accepts('"ab1"')


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_compositions_keep_their_siblings(keyword: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        keyword: [{"properties": {"b": {"const": 1}}, "required": ["b"]}],
    }
    assert accepts(schema, {"a": 1, "b": 1})
    assert not accepts(schema, {"b": 1})
    assert not accepts(schema, {"a": 1})
    assert not accepts(schema, {"a": "x", "b": 1})


def test_all_of_with_two_branches_is_no_free_pass() -> None:
    schema = {"allOf": [{"type": "integer", "minimum": 1}, {"maximum": 3}]}
    assert [value for value in range(6) if accepts(schema, value)] == [1, 2, 3]


def test_overlapping_one_of_is_not_any_of() -> None:
    schema = {"type": "integer", "oneOf": [{"minimum": 1}, {"maximum": 3}]}
    assert [value for value in range(-1, 6) if accepts(schema, value)] == [-1, 0, 4, 5]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "not": {"const": "a"}}, "b", "a"),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "type": "string"}, "ab", "a"),
        ({"type": "array", "contains": {"const": 1}}, [0, 1], [0]),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, [2, 1], [1, 1]),
        ({"type": "integer", "multipleOf": 5}, 25, 24),
        ({"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "maxLength": 1}, "a", "ab"),
    ],
)
def test_nothing_is_ignored(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert accepts(schema, good)
    assert not accepts(schema, bad)


def test_required_without_properties() -> None:
    assert accepts({"type": "object", "required": ["a"]}, {"a": 1})
    assert not accepts({"type": "object", "required": ["a"]}, {})


def test_bounded_numbers_may_have_many_digits_and_exponents() -> None:
    language = for_schema({"type": "number", "minimum": 0, "maximum": 10})
    for text in ("0.123456789012", "1e-7", "9.99999999999", "1E0", "10"):
        assert language.accepts(text)
    for text in ("10.000001", "1e2", "-0.1", "-1e-9"):
        assert not language.accepts(text)


def test_one_point_zero_is_an_integer() -> None:
    assert for_schema({"type": "integer"}).accepts("1.0")
    assert not for_schema({"type": "integer"}).accepts("1.5")


def test_lone_surrogates_and_repeated_declared_keys_are_refused() -> None:
    language = for_schema({"type": "object", "properties": {"a": {}}, "additionalProperties": True})
    assert not language.accepts('{"a": "\\ud800"}')
    assert not language.accepts('{"a": 1, "a": 2}')
    assert not language.accepts('{"b": 1, "a": 2}')


def test_a_dot_does_not_match_a_line_break() -> None:
    language = for_schema({"type": "string", "pattern": "^.$"})
    assert language.accepts('"x"')
    assert not language.accepts('"\\n"')


def test_empty_properties() -> None:
    schema = {"type": "object", "properties": {}}
    assert accepts(schema, {})
    assert accepts(schema, {"anything": [1]})
    assert not accepts({**schema, "additionalProperties": False}, {"a": 1})


def test_a_nested_long_length_is_a_counter() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2000}}, "required": ["a"]}
    grammar = schema_grammar(schema)
    assert sum(1 for rule in grammar.rules for _ in walk(rule.body)) < 500
    language = for_schema(schema)
    assert language.accepts(dumps({"a": "x" * 2000}))
    assert not language.accepts(dumps({"a": "x" * 2001}))


def test_a_type_list_with_a_length() -> None:
    schema = {"type": ["string", "null"], "maxLength": 200}
    assert accepts(schema, None)
    assert accepts(schema, "x" * 200)
    assert not accepts(schema, "x" * 201)
    assert not accepts(schema, 1)


def test_closed_draft_07_tuples() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"type": "string"}, {"type": "integer"}],
        "additionalItems": False,
    }
    assert accepts(schema, ["a", 1])
    assert not accepts(schema, ["a", 1, 2])


def test_an_empty_enum_is_unsatisfiable() -> None:
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar({"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]})
    assert accepts({"type": "object", "properties": {"a": {"enum": []}}}, {})


def test_two_hundred_tools() -> None:
    def tool(index: int) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {
                "name": {"const": f"tool_{index}"},
                "arguments": {
                    "type": "object",
                    "properties": {
                        f"arg_{index}_{field}": {"type": kind}
                        for field, kind in enumerate(["string", "integer", "number", "boolean"])
                    },
                    "required": [f"arg_{index}_0"],
                    "additionalProperties": False,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }

    language = for_schema({"anyOf": [tool(index) for index in range(200)]})
    assert language.accepts(dumps({"name": "tool_7", "arguments": {"arg_7_0": "x", "arg_7_1": 3}}))
    assert not language.accepts(dumps({"name": "tool_7", "arguments": {"arg_8_0": "x"}}))


@pytest.mark.parametrize("value", ['say "hi"\n', "😀 \\ / \t", "\u2028\x7f\x00", "</script>", "é\u0301"])
def test_constants_of_every_character(value: str) -> None:
    assert accepts({"const": value}, value)
    assert not accepts({"const": value}, value + "x")


@pytest.mark.parametrize("key", ['"', "😀", "a\nb", "\\", "ключ", "\x00"])
def test_keys_of_every_character(key: str) -> None:
    schema = {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}
    assert accepts(schema, {key: 1})
    assert not accepts(schema, {key: "x"})


def test_white_space_between_tokens_up_to_a_limit() -> None:
    language = for_schema({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}, "free")
    assert language.accepts('{\n  "a" : [\n    1 ,\t2\r\n  ]\n}')
    assert language.accepts('{"a":' + " " * 32 + "[]}")
    assert not language.accepts('{"a":' + " " * 33 + "[]}")
    assert not language.accepts(' {"a":[]}')
    assert not language.accepts('{"a":[]}\n')
    assert not language.accepts('{"a\n":[]}')


def test_layouts() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {"const": [1, {"c": "d e"}]}}}
    spaced, compact = for_schema(schema, "spaced"), for_schema(schema, "compact")
    value = {"a": [1, {"x": None}], "b": [1, {"c": "d e"}]}
    assert spaced.accepts(json.dumps(value))
    assert compact.accepts(json.dumps(value, separators=(",", ":")))
    assert not spaced.accepts(json.dumps(value, separators=(",", ":")))
    assert not compact.accepts(json.dumps(value))
    assert for_schema(schema, "free").accepts(json.dumps(value, indent=4))
    with pytest.raises(ValueError, match="layout"):
        schema_grammar(schema, layout="pretty")  # type: ignore[arg-type]


def test_json_object() -> None:
    from tests.schema.recogniser import Recogniser

    language = Recogniser(json_object_grammar())
    assert language.accepts('{"a": [1, 2.5e3, {"b": null}], "": ""}')
    for text in ("[]", '"a"', "1", '{"a": }', '{"a": 1,}', "{a: 1}", "{'a': 1}", '{"a": 01}'):
        assert not language.accepts(text)


def test_formats_are_asserted() -> None:
    assert accepts({"type": "string", "format": "date"}, "2024-02-29")
    assert not accepts({"type": "string", "format": "date"}, "2023-02-29")
    assert accepts({"type": "string", "format": "no-such-format"}, "anything")
    assert accepts({"type": "integer", "format": "int32"}, 5)
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar({"items": {"type": "string", "format": "regex"}})
    assert caught.value.pointer == "/items/format"
