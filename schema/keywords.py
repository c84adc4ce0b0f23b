"""The one table of JSON Schema keywords: what each means here, since when, and its shape.

Every keyword of draft-04 to 2020-12 has a row. `ENFORCED` is always exact, `PARTLY` is exact
wherever it is accepted and refused elsewhere, `ANNOTATION` has no effect on validity, `REFUSED`
is always an `UnsupportedSchema`. The documentation's table is printed from this one
(`python -m infernix.schema`), so the two cannot differ.

A name without a row is no keyword of any draft, and an unknown keyword is an annotation
(JSON Schema Core 2020-12, section 6.5); the verdict lists such names so that a slip of the
pen shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsupportedSchema

from .document import exact_number, join, json_type_name
from .formats import FORMATS

__all__ = [
    "KEYWORDS",
    "TYPE_NAMES",
    "Draft",
    "Family",
    "Keyword",
    "Shape",
    "Status",
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


MAX_COUNT = 2**31 - 1
"""The greatest length or number that a bound may name, as for repetition in a grammar."""

TYPE_NAMES = ("null", "boolean", "object", "array", "number", "string", "integer")

Shape = Callable[[Any], None]
"""Checks a keyword's value; raises InvalidSchema (or UnsupportedSchema for a number that readers
round) with the pointer of the fault below the keyword."""


def _wrong(expected: str, value: object, *tokens: str | int) -> InvalidSchema:
    return InvalidSchema(f"expected {expected}, found {json_type_name(value)}", join("", *tokens))


def _anything(value: Any) -> None:
    """Annotations may hold any value."""


def _schema(value: Any, *tokens: str | int) -> None:
    if not isinstance(value, dict | bool):
        raise _wrong("a schema (an object or a boolean)", value, *tokens)


def _schemas(value: Any) -> None:
    if not isinstance(value, list | tuple):
        raise _wrong("an array of schemas", value)
    if not value:
        raise InvalidSchema("expected at least one schema")
    for index, item in enumerate(value):
        _schema(item, index)


def _schema_or_schemas(value: Any) -> None:
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _schema(item, index)
    else:
        _schema(value)


def _schema_map(value: Any) -> None:
    if not isinstance(value, dict):
        raise _wrong("an object of schemas", value)
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidSchema(f"an object key must be a string, not {type(key).__name__}")
        _schema(item, key)


def _string(value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong("a string", value)


def _boolean(value: Any) -> None:
    if not isinstance(value, bool):
        raise _wrong("a boolean", value)


def _number(value: Any) -> None:
    exact_number(value, "")


def _number_or_boolean(value: Any) -> None:
    if not isinstance(value, bool):
        exact_number(value, "")


def _positive(value: Any) -> None:
    if exact_number(value, "") <= 0:
        raise InvalidSchema("expected a number greater than zero")


def _count(value: Any) -> None:
    number = exact_number(value, "")
    if number < 0 or number != int(number):
        raise InvalidSchema("expected a non-negative integer")
    if number > MAX_COUNT:
        raise UnsupportedSchema(f"counts above {MAX_COUNT} are not supported")


def _strings(value: Any, *tokens: str | int) -> None:
    if not isinstance(value, list | tuple):
        raise _wrong("an array of strings", value, *tokens)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise _wrong("a string", item, *tokens, index)
    if len(set(value)) != len(value):
        raise InvalidSchema("the strings are not distinct", join("", *tokens))


def _string_lists(value: Any) -> None:
    if not isinstance(value, dict):
        raise _wrong("an object of string arrays", value)
    for key, item in value.items():
        _strings(item, key)


def _dependencies(value: Any) -> None:
    if not isinstance(value, dict):
        raise _wrong("an object", value)
    for key, item in value.items():
        (_strings if isinstance(item, list | tuple) else _schema)(item, key)


def _type(value: Any) -> None:
    names = value if isinstance(value, list | tuple) else (value,)
    if not names:
        raise InvalidSchema("expected at least one type")
    for name in names:
        if not isinstance(name, str) or name not in TYPE_NAMES:
            raise InvalidSchema(f"{name!r} is not a JSON type ({', '.join(TYPE_NAMES)})")
    if len(set(names)) != len(names):
        raise InvalidSchema("the types are not distinct")


def _values(value: Any) -> None:
    if not isinstance(value, list | tuple):
        raise _wrong("an array", value)


@dataclass(frozen=True, slots=True)
class Keyword:
    """One row. `note` says what is exact (PARTLY) or why it is refused (REFUSED)."""

    name: str
    status: Status
    shape: Shape = _anything
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
    Keyword("$schema", _YES, _string, note="draft-04, -06, -07, 2019-09 and 2020-12; without it 2020-12"),
    Keyword(
        "$id",
        _PARTLY,
        _string,
        _D6,
        note="at the root; a nested one moves the base of references and is refused",
    ),
    Keyword("id", _PARTLY, _anything, _D4, _D4, note="as `$id`"),
    Keyword("$defs", _YES, _schema_map),
    Keyword("definitions", _YES, _schema_map),
    Keyword("$anchor", _NOTE, _string, _D19, note="references by anchor are refused where they occur"),
    Keyword("$dynamicAnchor", _NO, _string, _D20, note="dynamic scope is not resolved"),
    Keyword("$dynamicRef", _NO, _string, _D20, note="dynamic scope is not resolved"),
    Keyword("$recursiveAnchor", _NO, _boolean, _D19, _D19, note="dynamic scope is not resolved"),
    Keyword("$recursiveRef", _NO, _string, _D19, _D19, note="dynamic scope is not resolved"),
    Keyword("$vocabulary", _NOTE, _anything, _D19),
)
_VALUES = (
    Keyword("type", _YES, _type),
    Keyword("enum", _YES, _values, note="each value keeps its spelling and key order; integers of 64 bits"),
    Keyword("const", _YES, _anything, _D6, note="as an enum of one value"),
)
_NUMBERS = (
    Keyword("minimum", _YES, _number, note="compared as decimals, before and after rounding to binary64"),
    Keyword("maximum", _YES, _number, note="as `minimum`"),
    Keyword("exclusiveMinimum", _YES, _number_or_boolean, note="a number; in draft-04 a boolean"),
    Keyword("exclusiveMaximum", _YES, _number_or_boolean, note="a number; in draft-04 a boolean"),
    Keyword("multipleOf", _PARTLY, _positive, note="divisors whose remainders fit an automaton"),
)
_STRINGS = (
    Keyword("minLength", _YES, _count, note="counts Unicode characters"),
    Keyword("maxLength", _YES, _count, note="counts Unicode characters"),
    Keyword("pattern", _PARTLY, _string, note="the regular dialect of the contract; searches"),
    Keyword(
        "format",
        _PARTLY,
        _string,
        note="asserted; a name that no draft defines is an annotation",
    ),
    Keyword("contentEncoding", _NOTE, _anything, _D7),
    Keyword("contentMediaType", _NOTE, _anything, _D7),
    Keyword("contentSchema", _NOTE, _anything, _D19),
)
_ARRAYS = (
    Keyword("items", _YES, _schema_or_schemas, note="an array of schemas before 2020-12"),
    Keyword("prefixItems", _YES, _schemas, _D20),
    Keyword("additionalItems", _YES, _schema, _D4, _D19),
    Keyword(
        "unevaluatedItems",
        _PARTLY,
        _schema,
        _D19,
        note="`true`, or beside nothing that evaluates items elsewhere",
    ),
    Keyword("minItems", _YES, _count),
    Keyword("maxItems", _YES, _count),
    Keyword("uniqueItems", _PARTLY, _boolean, note="`false`, at most one item, or items of a few known values"),
    Keyword("contains", _PARTLY, _schema, _D6, note="one at a time; with length bounds where the count follows"),
    Keyword("minContains", _PARTLY, _count, _D19, note="as `contains`"),
    Keyword("maxContains", _PARTLY, _count, _D19, note="as `contains`, where the complement is expressible"),
)
_OBJECTS = (
    Keyword("properties", _YES, _schema_map, note="generated in the declared order"),
    Keyword("required", _YES, _strings, note="names without a declaration follow the declared ones"),
    Keyword("additionalProperties", _YES, _schema, note="their keys differ from every declared one and come last"),
    Keyword("patternProperties", _PARTLY, _schema_map, note="where the sets of keys can be told apart"),
    Keyword("propertyNames", _PARTLY, _schema, _D6, note="string languages and finite sets of names"),
    Keyword("minProperties", _PARTLY, _count, note="on closed objects; on open ones where keys cannot repeat"),
    Keyword("maxProperties", _YES, _count),
    Keyword(
        "unevaluatedProperties",
        _PARTLY,
        _schema,
        _D19,
        note="`true`, or beside nothing that evaluates properties elsewhere",
    ),
)
_DEPENDENCIES = (
    Keyword("dependentRequired", _YES, _string_lists, _D19),
    Keyword("dependentSchemas", _YES, _schema_map, _D19),
    Keyword("dependencies", _YES, _dependencies, note="beyond draft-07 a leftover, enforced as before"),
)
_COMPOSITION = (
    Keyword(
        "$ref",
        _PARTLY,
        _string,
        note="`#` and `#/...` to a schema of the same document; before 2019-09 without sibling assertions",
    ),
    Keyword("allOf", _YES, _schemas, note="at most 16384 merges"),
    Keyword("anyOf", _YES, _schemas),
    Keyword("oneOf", _PARTLY, _schemas, note="branches proved exclusive, or made so by an expressible complement"),
    Keyword("not", _PARTLY, _schema, note="where the complement is expressible"),
    Keyword("if", _PARTLY, _schema, _D7, note="where the complement of the condition is expressible"),
    Keyword("then", _PARTLY, _schema, _D7, note="as `if`"),
    Keyword("else", _PARTLY, _schema, _D7, note="as `if`"),
)
_ANNOTATIONS = (
    *(Keyword(name, _NOTE) for name in ("title", "description", "default")),
    Keyword("examples", _NOTE, since=_D6),
    Keyword("$comment", _NOTE, since=_D7),
    Keyword("readOnly", _NOTE, since=_D7),
    Keyword("writeOnly", _NOTE, since=_D7),
    Keyword("deprecated", _NOTE, since=_D19),
)

MARK = "<!-- The table is printed by `python -m infernix.schema`. -->"
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


def markdown_table() -> str:
    """The table as Markdown, in the order above."""
    lines = ["| keyword | drafts | here | notes |", "|---|---|---|---|"]
    for row in KEYWORDS.values():
        drafts = "all" if (row.since, row.until) == (_D4, _D20) else f"{row.since} to {row.until}"
        lines.append(f"| `{row.name}` | {drafts} | {row.status.value} | {row.note} |")
    return "\n".join(lines) + "\n"


def documentation(page: str) -> str:
    """The page of the documentation with the table, and the lists of formats, brought up to date."""
    text, mark, _ = page.partition(MARK)
    formats = ", ".join(f"`{name}`" for name in sorted(FORMATS))
    refused = ", ".join(f"`{name}`" for name in sorted(REFUSED_FORMATS))
    return f"{text}{mark}\n\n{markdown_table()}\nFormats: {formats}. Refused: {refused}.\n"
