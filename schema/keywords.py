"""The one table of JSON Schema keywords: what each means here, since when, and its shape.

Every keyword of draft-04 to 2020-12 has a row. `ENFORCED` is always exact, `PARTLY` is exact
wherever it is accepted and refused elsewhere, `ANNOTATION` has no effect on validity, `REFUSED`
is always an `UnsupportedSchema`. The documentation's table is written from this one
(`python -m infernix.schema`), so the two cannot differ.

A name without a row is no keyword of any draft, and an unknown keyword is an annotation
(JSON Schema Core 2020-12, section 6.5); the verdict lists such names so that a slip of the
pen shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import cache
from typing import Any

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsupportedSchema

from .document import join, json_type_name
from .formats import FORMATS
from .shapes import (
    Shape,
    anything_shape,
    boolean_shape,
    count_shape,
    dependencies_shape,
    number_or_boolean_shape,
    number_shape,
    positive_shape,
    schema_map_shape,
    schema_or_schemas_shape,
    schema_shape,
    schemas_shape,
    string_lists_shape,
    string_shape,
    strings_shape,
    type_shape,
    values_shape,
)

__all__ = [
    "KEYWORDS",
    "Draft",
    "Family",
    "Keyword",
    "Status",
    "assertions_of",
    "dialect_of",
    "documentation",
    "markdown_table",
]


class Draft(IntEnum):
    """The dialects, oldest first."""

    DRAFT4 = 4
    DRAFT6 = 6
    DRAFT7 = 7
    DRAFT2019 = 2019
    DRAFT2020 = 2020

    def __str__(self) -> str:
        return {2019: "2019-09", 2020: "2020-12"}.get(self.value, f"draft-0{self.value}")


_DIALECTS = {
    "json-schema.org/draft-04/schema": Draft.DRAFT4,
    "json-schema.org/draft-06/schema": Draft.DRAFT6,
    "json-schema.org/draft-07/schema": Draft.DRAFT7,
    "json-schema.org/draft/2019-09/schema": Draft.DRAFT2019,
    "json-schema.org/draft/2020-12/schema": Draft.DRAFT2020,
}


def dialect_of(schema: object) -> Draft:
    """The dialect that the root's `$schema` names; without one, 2020-12."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return Draft.DRAFT2020
    name = schema["$schema"]
    if not isinstance(name, str):
        raise InvalidSchema(f"expected a string, found {json_type_name(name)}", "/$schema")
    bare = name.removesuffix("#").removeprefix("https://").removeprefix("http://")
    if bare not in _DIALECTS:
        raise UnsupportedSchema(
            f"the dialect {name!r} is not one of draft-04, -06, -07, 2019-09 and 2020-12", "/$schema"
        )
    return _DIALECTS[bare]


class Status(Enum):
    """What happens to a keyword."""

    ENFORCED = "enforced"
    PARTLY = "partly"
    ANNOTATION = "annotation"
    REFUSED = "refused"


class Family(IntEnum):
    """Which reader understands a keyword (see `facts`)."""

    IDENTITY = 0
    VALUES = 1
    NUMBERS = 2
    STRINGS = 4
    ARRAYS = 8
    OBJECTS = 16
    DEPENDENCIES = 32
    COMPOSITION = 64
    ANNOTATIONS = 0


@dataclass(frozen=True, slots=True)
class Keyword:
    """One row. `note` says what is exact (PARTLY) or why it is refused (REFUSED)."""

    name: str
    status: Status
    shape: Shape = anything_shape
    since: Draft = Draft.DRAFT4
    until: Draft = Draft.DRAFT2020
    note: str = ""
    family: Family = Family.IDENTITY

    def check(self, value: Any, pointer: str) -> None:
        """Check the shape of the keyword's value in the schema at `pointer`."""
        try:
            self.shape(value)
        except SchemaError as error:
            raise type(error)(error.message, join(pointer, self.name) + error.pointer) from None

    def belongs_to(self, draft: Draft) -> bool:
        """Whether `draft` has this keyword."""
        return self.since <= draft <= self.until


_YES, _PARTLY, _NOTE, _NO = Status.ENFORCED, Status.PARTLY, Status.ANNOTATION, Status.REFUSED
_D4, _D6, _D7, _D19, _D20 = Draft

_IDENTITY = (
    Keyword("$schema", _YES, string_shape, note="draft-04, -06, -07, 2019-09 and 2020-12; without it 2020-12"),
    Keyword(
        "$id",
        _PARTLY,
        string_shape,
        _D6,
        note="at the root; a nested one moves the base of references and is refused",
    ),
    Keyword("id", _PARTLY, anything_shape, _D4, _D4, note="as `$id`"),
    Keyword("$defs", _YES, schema_map_shape),
    Keyword("definitions", _YES, schema_map_shape),
    Keyword("$anchor", _NOTE, string_shape, _D19, note="references by anchor are refused where they occur"),
    Keyword("$dynamicAnchor", _NO, string_shape, _D20, note="dynamic scope is not resolved"),
    Keyword("$dynamicRef", _NO, string_shape, _D20, note="dynamic scope is not resolved"),
    Keyword("$recursiveAnchor", _NO, boolean_shape, _D19, _D19, note="dynamic scope is not resolved"),
    Keyword("$recursiveRef", _NO, string_shape, _D19, _D19, note="dynamic scope is not resolved"),
    Keyword("$vocabulary", _NOTE, anything_shape, _D19),
)
_VALUES = (
    Keyword("type", _YES, type_shape),
    Keyword("enum", _YES, values_shape, note="each value keeps its spelling and key order; integers of 64 bits"),
    Keyword("const", _YES, anything_shape, _D6, note="as an enum of one value"),
)
_NUMBERS = (
    Keyword("minimum", _YES, number_shape, note="compared as decimals, before and after rounding to binary64"),
    Keyword("maximum", _YES, number_shape, note="as `minimum`"),
    Keyword("exclusiveMinimum", _YES, number_or_boolean_shape, note="a number; in draft-04 a boolean"),
    Keyword("exclusiveMaximum", _YES, number_or_boolean_shape, note="a number; in draft-04 a boolean"),
    Keyword("multipleOf", _PARTLY, positive_shape, note="divisors with few remainders; under `not` whole ones"),
)
_STRINGS = (
    Keyword("minLength", _YES, count_shape, note="counts Unicode characters"),
    Keyword("maxLength", _YES, count_shape, note="counts Unicode characters"),
    Keyword("pattern", _PARTLY, string_shape, note="the regular dialect of the contract; searches"),
    Keyword(
        "format",
        _PARTLY,
        string_shape,
        note="asserted; a name that no draft defines is an annotation",
    ),
    Keyword("contentEncoding", _NOTE, anything_shape, _D7),
    Keyword("contentMediaType", _NOTE, anything_shape, _D7),
    Keyword("contentSchema", _NOTE, anything_shape, _D19),
)
_ARRAYS = (
    Keyword("items", _YES, schema_or_schemas_shape, note="an array of schemas before 2020-12"),
    Keyword("prefixItems", _YES, schemas_shape, _D20),
    Keyword("additionalItems", _YES, schema_shape, _D4, _D19),
    Keyword(
        "unevaluatedItems",
        _PARTLY,
        schema_shape,
        _D19,
        note="not beside `contains`; beside at most six `anyOf` branches",
    ),
    Keyword("minItems", _YES, count_shape),
    Keyword("maxItems", _YES, count_shape),
    Keyword("uniqueItems", _PARTLY, boolean_shape, note="`false`, at most one item, or items of a few known values"),
    Keyword("contains", _PARTLY, schema_shape, _D6, note="up to three in one array, 4096 combinations of counts"),
    Keyword("minContains", _PARTLY, count_shape, _D19, note="as `contains`"),
    Keyword(
        "maxContains",
        _PARTLY,
        count_shape,
        _D19,
        note="as `contains`, where the complement is expressible",
    ),
)
_OBJECTS = (
    Keyword("properties", _YES, schema_map_shape, note="generated in the declared order"),
    Keyword("required", _YES, strings_shape, note="names without a declaration follow the declared ones"),
    Keyword("additionalProperties", _YES, schema_shape, note="their keys differ from every declared one and come last"),
    Keyword("patternProperties", _PARTLY, schema_map_shape, note="where the sets of keys can be told apart"),
    Keyword("propertyNames", _PARTLY, schema_shape, _D6, note="string languages and finite sets of names"),
    Keyword(
        "minProperties", _PARTLY, count_shape, note="on closed objects; on open ones up to one undeclared property"
    ),
    Keyword("maxProperties", _YES, count_shape),
    Keyword(
        "unevaluatedProperties",
        _PARTLY,
        schema_shape,
        _D19,
        note="beside at most six `anyOf` branches",
    ),
)
_DEPENDENCIES = (
    Keyword("dependentRequired", _YES, string_lists_shape, _D19),
    Keyword("dependentSchemas", _YES, schema_map_shape, _D19),
    Keyword("dependencies", _YES, dependencies_shape, note="beyond draft-07 a leftover, enforced as before"),
)
_COMPOSITION = (
    Keyword(
        "$ref",
        _PARTLY,
        string_shape,
        note="`#` and `#/...` to a schema of the same document; before 2019-09 without sibling assertions",
    ),
    Keyword("allOf", _YES, schemas_shape, note="at most 16384 merges"),
    Keyword("anyOf", _YES, schemas_shape),
    Keyword("oneOf", _PARTLY, schemas_shape, note="branches proved exclusive, or made so by an expressible complement"),
    Keyword("not", _PARTLY, schema_shape, note="where the complement is expressible"),
    Keyword("if", _PARTLY, schema_shape, _D7, note="where the complement of the condition is expressible"),
    Keyword("then", _PARTLY, schema_shape, _D7, note="as `if`"),
    Keyword("else", _PARTLY, schema_shape, _D7, note="as `if`"),
)
_ANNOTATIONS = (
    *(Keyword(name, _NOTE) for name in ("title", "description", "default")),
    Keyword("examples", _NOTE, since=_D6),
    Keyword("$comment", _NOTE, since=_D7),
    Keyword("readOnly", _NOTE, since=_D7),
    Keyword("writeOnly", _NOTE, since=_D7),
    Keyword("deprecated", _NOTE, since=_D19),
)

MARK = (
    "<!-- The table, and the line of formats below it, are written into this page by `python -m infernix.schema`. -->"
)
"""What stands above the table in the documentation."""

REFUSED_FORMATS = frozenset({"idn-email", "idn-hostname", "iri", "iri-reference", "regex", "uri-template"})
"""Formats of the drafts that have no exact regular language here. Names that no draft defines
("int32", "password") are annotations."""

KEYWORDS: dict[str, Keyword] = {
    row.name: replace(row, family=family)
    for family, rows in (
        (Family.IDENTITY, _IDENTITY),
        (Family.VALUES, _VALUES),
        (Family.NUMBERS, _NUMBERS),
        (Family.STRINGS, _STRINGS),
        (Family.ARRAYS, _ARRAYS),
        (Family.OBJECTS, _OBJECTS),
        (Family.DEPENDENCIES, _DEPENDENCIES),
        (Family.COMPOSITION, _COMPOSITION),
        (Family.ANNOTATIONS, _ANNOTATIONS),
    )
    for row in rows
}
"""Every keyword of the five dialects, by name."""


@cache
def assertions_of(draft: Draft) -> dict[str, Keyword | None]:
    """What a reader has to look up for every member of a schema: the keyword, None for an annotation.

    Keywords of other drafts are missing, as are names that no draft knows.
    """
    return {
        name: None if row.status is Status.ANNOTATION else row
        for name, row in KEYWORDS.items()
        if row.belongs_to(draft) or row.status is Status.ANNOTATION
    }


def markdown_table() -> str:
    """The table as Markdown, in the order above."""
    lines = ["| keyword | drafts | here | notes |", "|---|---|---|---|"]
    for row in KEYWORDS.values():
        drafts = str(row.since) if row.since == row.until else f"{row.since} to {row.until}"
        drafts = "all" if (row.since, row.until) == (_D4, _D20) else drafts
        lines.append(f"| `{row.name}` | {drafts} | {row.status.value} | {row.note} |")
    return "\n".join(lines) + "\n"


def documentation(page: str) -> str:
    """The page of the documentation with the table, and the lists of formats, brought up to date."""
    text, mark, _ = page.partition(MARK)
    formats = ", ".join(f"`{name}`" for name in sorted(FORMATS))
    refused = ", ".join(f"`{name}`" for name in sorted(REFUSED_FORMATS))
    return f"{text}{mark}\n\n{markdown_table()}\nFormats: {formats}. Refused: {refused}.\n"
