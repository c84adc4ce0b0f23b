"""What one schema object says by itself, as typed facts (`readers` makes them of the keywords).

A schema is a conjunction: of a set of types, of one constraint for each type, of other schemas
(`$ref`, `allOf`), and of choices (`anyOf`, `oneOf`, `if`, dependencies). `Facts` is that conjunction.
Other schemas appear as member numbers, handed out by the `Host` (the reduction), which
numbers each schema once; `~number` is the complement, `NEVER` and `ALWAYS` are the booleans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .arrays import ArraySet
from .keywords import Draft
from .numbers import NumberSet
from .objects import ObjectSet
from .strings import StringLanguage

__all__ = [
    "ALL_TYPES",
    "ALWAYS",
    "ARRAY",
    "BOOLEAN",
    "LAST_PLACE",
    "NEVER",
    "NULL",
    "NUMBER",
    "OBJECT",
    "PLACES_OF_A_KEYWORD",
    "STRING",
    "TYPE_BITS",
    "Choice",
    "Facts",
    "Host",
    "Leftover",
    "Link",
    "Refusal",
    "type_of",
]

NULL, BOOLEAN, OBJECT, ARRAY, NUMBER, STRING = (1 << bit for bit in range(6))
ALL_TYPES = 63
TYPE_BITS = {
    "null": NULL,
    "boolean": BOOLEAN,
    "object": OBJECT,
    "array": ARRAY,
    "number": NUMBER,
    "integer": NUMBER,
    "string": STRING,
}

NEVER = 0
"""The member of the schema `false`."""
ALWAYS = ~NEVER
"""The member of the schema `true`."""


PLACES_OF_A_KEYWORD = 1 << 20
"""Places are numbered keyword by keyword, and within the list that a keyword holds."""
LAST_PLACE = 1 << 40
"""The place of what stands nowhere in the document."""


class Refusal(NamedTuple):
    """Something that cannot be enforced exactly, should a value of `types` be generated."""

    types: int
    pointer: str
    reason: str


class Link(NamedTuple):
    """A member and the place of the keyword that names it."""

    place: int
    member: int


class Leftover(NamedTuple):
    """`unevaluatedProperties` (`kind` OBJECT) or `unevaluatedItems` (ARRAY): the rest is of `member`."""

    kind: int
    member: int
    pointer: str


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """At least one alternative holds (`exclusive`: exactly one). An alternative is a conjunction of members.

    `additive` marks an `anyOf`, where several branches that hold each evaluate their parts.
    """

    alternatives: tuple[tuple[int, ...], ...]
    pointer: str
    exclusive: bool = False
    place: int = LAST_PLACE
    additive: bool = False


@dataclass(slots=True)
class Facts:
    """The conjunction that one schema is. `None` means no constraint.

    `members` are the schemas of `$ref`, `allOf` and `not`. Places are positions among the
    keywords, so that merged properties keep the order of the document; `place` is that of `properties`.
    `barred` are constants that the value must differ from. `leftover` holds what
    `unevaluatedProperties` and `unevaluatedItems` say, `covers` the types whose parts
    are all evaluated by `additionalProperties`, `items` and their like, `prefix` the number of
    items that are evaluated by position.
    """

    types: int = ALL_TYPES
    values: list[Any] | None = None
    identities: frozenset[Any] | None = None
    numbers: NumberSet | None = None
    strings: StringLanguage | None = None
    arrays: ArraySet | None = None
    objects: ObjectSet | None = None
    members: tuple[Link, ...] = ()
    place: int = LAST_PLACE
    choices: tuple[Choice, ...] = ()
    barred: tuple[Any, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    leftover: tuple[Leftover, ...] = ()
    covers: int = 0
    prefix: int = 0


class Host(Protocol):
    """What reading needs of the reduction."""

    draft: Draft
    unknown: list[str]

    def member(self, schema: Any, pointer: str) -> int:
        """The number of a subschema."""

    def referred(self, reference: str, pointer: str) -> int:
        """The number of the schema that a `$ref` means."""

    def evaluation_matters(self) -> bool:
        """Whether the document asks anywhere what has been evaluated."""

    def synthetic(self, facts: Facts, pointer: str) -> int:
        """The number of a schema made of facts, for what no single keyword of the source says."""


def type_of(value: Any) -> int:
    """The type bit of a JSON value."""
    if isinstance(value, str):
        return STRING
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, dict):
        return OBJECT
    return ARRAY if isinstance(value, list | tuple) else NUMBER
