"""The keyword table: shapes and their errors, drafts, and the documentation made from it."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from tests.data import CHECKOUT

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema
from infernix.schema import analyse, schema_grammar
from infernix.schema.keywords import KEYWORDS, Draft, Status, documentation

META = {
    Draft.DRAFT4: jsonschema.Draft4Validator,
    Draft.DRAFT6: jsonschema.Draft6Validator,
    Draft.DRAFT7: jsonschema.Draft7Validator,
}


@pytest.mark.parametrize("draft", META, ids=str)
def test_the_table_has_every_keyword_of_the_meta_schemas(draft: Draft) -> None:
    declared = set(META[draft].META_SCHEMA["properties"]) - {"format"} | {"format"}
    known = {name for name, row in KEYWORDS.items() if row.belongs_to(draft)}
    assert declared <= known
    beyond = {"$defs", "format", "contentEncoding", "contentMediaType", "$ref", "readOnly", "writeOnly", "$comment"}
    assert {name for name in known - declared if KEYWORDS[name].status is not Status.ANNOTATION} <= beyond


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "strin"}, "/type"),
        ({"type": []}, "/type"),
        ({"type": ["string", "string"]}, "/type"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a": 1}}, "/properties/a"),
        ({"properties": {"a/b": {"items": 3}}}, "/properties/a~1b/items"),
        ({"required": "a"}, "/required"),
        ({"required": ["a", 1]}, "/required/1"),
        ({"required": ["a", "a"]}, "/required"),
        ({"enum": 1}, "/enum"),
        ({"minLength": -1}, "/minLength"),
        ({"minLength": 1.5}, "/minLength"),
        ({"minimum": "1"}, "/minimum"),
        ({"multipleOf": 0}, "/multipleOf"),
        ({"pattern": 1}, "/pattern"),
        ({"pattern": "("}, "/pattern"),
        ({"patternProperties": {"[": {}}}, "/patternProperties/["),
        ({"allOf": []}, "/allOf"),
        ({"anyOf": [{}, 1]}, "/anyOf/1"),
        ({"oneOf": {}}, "/oneOf"),
        ({"not": []}, "/not"),
        ({"uniqueItems": "yes"}, "/uniqueItems"),
        ({"additionalProperties": "no"}, "/additionalProperties"),
        ({"$ref": 1}, "/$ref"),
        ({"$schema": 1}, "/$schema"),
        ({"dependentRequired": {"a": "b"}}, "/dependentRequired/a"),
        ({"format": 1}, "/format"),
        ({"$defs": 1}, "/$defs"),
        ({"items": {"type": 1}}, "/items/type"),
        ({"minimum": True}, "/minimum"),
    ],
)
def test_shapes(schema: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        schema_grammar(schema)
    assert caught.value.pointer == pointer


def test_counts_may_be_written_with_a_point() -> None:
    schema_grammar('{"type": "string", "minLength": 2.0}')


def test_unknown_members_are_annotations_and_listed() -> None:
    verdict = analyse({"type": "object", "x-order": 1, "properties": {"a": {"maxLenght": 3, "title": "t"}}})
    assert verdict.status == "supported"
    assert sorted(verdict.unknown) == ["/properties/a/maxLenght", "/x-order"]


def test_formats_that_no_draft_defines_are_listed_too() -> None:
    schemas = {name: {"format": name} for name in ("date-time", "datetime", "int32", "uuid")}
    assert sorted(analyse({"properties": schemas}).unknown) == [
        "/properties/datetime/format",
        "/properties/int32/format",
    ]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('{"type": "integer", "minimum": 5, "maximum": 3.50}', ": minimum 5 exceeds maximum 3.50"),
        ('{"type": ["number", "integer"], "minimum": 5, "maximum": 3}', ": minimum 5 exceeds maximum 3"),
        ('{"type": "string", "minLength": 5, "maxLength": 3}', ": minLength 5 exceeds maxLength 3"),
        ('{"type": "array", "minItems": 2, "maxItems": 1}', ": minItems 2 exceeds maxItems 1"),
        ('{"type": "object", "minProperties": 2, "maxProperties": 0}', ": minProperties 2 exceeds maxProperties 0"),
        ('{"enum": []}', ": enum is empty"),
        # Bounds of another type are not what excludes all values.
        ('{"type": "string", "pattern": "a", "enum": ["b"], "minimum": 5, "maximum": 3}', ""),
        ('{"allOf": [{"type": "string"}, {"type": "null"}]}', ""),
    ],
)
def test_what_excludes_all_values_is_said(schema: str, reason: str) -> None:
    verdict = analyse(schema)
    assert (verdict.status, verdict.reason) == ("unsatisfiable", "no value satisfies the schema" + reason)


BARRED = "property `b` is required, but additionalProperties is false and it is not declared"


@pytest.mark.parametrize(
    ("schema", "pointer", "reason"),
    [
        ({"properties": {"a": {"enum": ["x"]}}, "required": ["a", "b"], "additionalProperties": False}, "", BARRED),
        ({"allOf": [{"required": ["b"]}], "additionalProperties": False}, "", BARRED),
        (
            {
                "required": ["p"],
                "properties": {"p": {"type": "object", "required": ["b"], "additionalProperties": False}},
            },
            "/properties/p",
            BARRED,
        ),
        ({"properties": {"b": False}, "required": ["b"]}, "", "property `b` is required, but not allowed"),
        (
            # Its pattern would allow it: additionalProperties says nothing of it.
            {
                "patternProperties": {"^b": {}},
                "propertyNames": {"pattern": "^a"},
                "required": ["b"],
                "additionalProperties": False,
            },
            "",
            "property `b` is required, but not allowed",
        ),
        (
            {"properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]},
            "/properties/a",
            "no value of enum has the type string",
        ),
        (
            {"properties": {"a": {"type": ["null", "integer"], "const": "x"}}, "required": ["a"]},
            "/properties/a",
            "const does not have the type integer or null",
        ),
    ],
)
def test_what_excludes_all_objects_is_said(schema: dict[str, Any], pointer: str, reason: str) -> None:
    verdict = analyse({"type": "object", **schema})
    assert (verdict.status, verdict.pointer) == ("unsatisfiable", pointer)
    assert verdict.reason == f"no value satisfies the schema: {reason}"


def test_a_broken_pattern_is_shown_as_it_is() -> None:
    reason = analyse({"type": "string", "pattern": r"\d+\.(a"}).reason
    assert reason == r"the pattern '\d+\.(a' is broken at position 5: the group is not closed"
    assert "'a\\n('" in analyse({"type": "string", "pattern": "a\n("}).reason  # but in one line


def test_the_contents_of_constants_are_no_schemas() -> None:
    schema_grammar({"const": {"type": "strin", "$ref": 1}})
    schema_grammar({"enum": [{"minLength": -1}], "default": {"type": 1}, "examples": [{"pattern": "("}]})


def test_keywords_of_other_drafts() -> None:
    for schema in (
        {"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{}]},
        {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1},
        {"additionalItems": False},
    ):
        with pytest.raises(InvalidSchema, match="is not a keyword of"):
            schema_grammar(schema)


def test_verdicts() -> None:
    assert str(analyse({"type": "null"})) == "supported"
    assert str(analyse({"properties": {"a": {"$ref": "#x"}}})).startswith("unsupported at /properties/a/$ref: ")
    assert str(analyse({"enum": []})).startswith("unsatisfiable at the root: ")
    assert str(analyse({"type": "x"})).startswith("invalid at /type: ")
    assert str(analyse("{")).startswith("invalid at the root: not JSON")
    assert analyse({"type": "null"}).reduced == {"enum": [None]}


def test_the_documented_table_is_the_table() -> None:
    written = (CHECKOUT / "docs" / "json-schema.md").read_text(encoding="utf-8")
    assert written == documentation(written), "run python -m infernix.schema"


def test_a_property_that_is_always_refused_may_be_moot() -> None:
    with pytest.raises(UnsupportedSchema):
        schema_grammar({"$dynamicRef": "#x"})
