"""What one schema object says by itself: its keywords, read once into typed facts.

A schema is a conjunction: of a set of types, of one constraint for each type, of other schemas
(`$ref`, `allOf`), and of choices (`anyOf`, `oneOf`, `if`, dependencies). `Facts` is that conjunction.
Other schemas appear as member numbers, handed out by the `Host` (the reduction), which
numbers each schema once; `~number` is the complement, `NEVER` and `ALWAYS` are the booleans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .arrays import ArrayPart, ArraySet, Contains
from .document import check_text, constant, exact_number, identity, join, mentions
from .formats import FORMATS
from .keywords import KEYWORDS, REFUSED_FORMATS, Draft, Family, Status
from .numbers import DIGITS, INTEGER, NumberSet
from .objects import ObjectPart, ObjectSet
from .strings import StringLanguage, contains

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
    "STRING",
    "Choice",
    "Facts",
    "Host",
    "Leftover",
    "Link",
    "Refusal",
    "read_facts",
    "type_of",
]

NULL, BOOLEAN, OBJECT, ARRAY, NUMBER, STRING = (1 << bit for bit in range(6))
ALL_TYPES = 63
_TYPE_BITS = {
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
    members: list[Link] = field(default_factory=list)
    place: int = LAST_PLACE
    choices: list[Choice] = field(default_factory=list)
    barred: list[Any] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    leftover: list[Leftover] = field(default_factory=list)
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


def read_facts(schema: dict[str, Any], pointer: str, host: Host) -> Facts:
    """Check the shape of every keyword of a schema object and read it."""
    facts = Facts()
    draft = host.draft
    if "$ref" in schema and draft <= Draft.DRAFT7:
        return _read_lone_reference(schema, pointer, host, facts)
    families = 0
    for key, value in schema.items():
        row = KEYWORDS.get(key)
        if row is None or (key in ("$id", "id") and not row.belongs_to(draft)):
            if not isinstance(key, str):
                raise InvalidSchema(f"an object key must be a string, not {type(key).__name__}", pointer)
            host.unknown.append(join(pointer, key))
            continue
        if row.status is Status.ANNOTATION:
            continue
        if not row.since <= draft <= row.until:
            raise InvalidSchema(f"{key} is not a keyword of {draft}", join(pointer, key))
        row.check(value, pointer)
        families |= row.family
        if row.status is Status.REFUSED:
            facts.refusals.append(Refusal(ALL_TYPES, join(pointer, key), row.note))
    if pointer:
        _refuse_nested_identifier(schema, pointer, draft, facts)
    if families:
        for family, reader in _READERS:
            if families & family:
                reader(schema, pointer, host, facts)
    return facts


def _read_lone_reference(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> Facts:
    """Before 2019-09 a `$ref` hides every keyword beside it.

    Draft-04 and -06 are followed to the letter, and what is hidden is listed with the unknown members; in
    draft-07, which the contract covers, such a schema is refused, because it may not mean what it says.
    """
    where = pointer + "/$ref"
    KEYWORDS["$ref"].check(schema["$ref"], pointer)
    for key in schema:
        row = KEYWORDS.get(key)
        if row is None or (row.family and key != "$ref"):
            host.unknown.append(join(pointer, key))
            if row is not None and host.draft == Draft.DRAFT7:
                reason = f"in draft-07 a $ref hides {key} beside it; write allOf to mean both"
                facts.refusals.append(Refusal(ALL_TYPES, where, reason))
    facts.members.append(Link(0, host.referred(schema["$ref"], where)))
    return facts


def _refuse_nested_identifier(schema: dict[str, Any], pointer: str, draft: Draft, facts: Facts) -> None:
    """An identifier below the root moves the base of the references inside.

    Draft-04 documents carry them by habit; there one without references inside has no effect.
    """
    key = "id" if draft == Draft.DRAFT4 else "$id"
    if not isinstance(schema.get(key), str):
        return
    if draft <= Draft.DRAFT6 and not mentions(schema, ("$ref",)):
        return
    reason = "a nested identifier moves the base of references"
    facts.refusals.append(Refusal(ALL_TYPES, join(pointer, key), reason))


def _read_values(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    names = schema.get("type")
    if names is not None:
        facts.types = 0
        for name in (names,) if isinstance(names, str) else names:
            facts.types |= _TYPE_BITS[name]
        if facts.types & NUMBER and names != "number" and "number" not in names:
            facts.numbers = NumberSet(kind=DIGITS if host.draft == Draft.DRAFT4 else INTEGER)
    if "enum" in schema:
        facts.values = [constant(item, join(pointer, "enum", index)) for index, item in enumerate(schema["enum"])]
    if "const" in schema:
        only = constant(schema["const"], join(pointer, "const"))
        facts.values = [only] if facts.values is None else [item for item in facts.values if _equal(item, only)]


def _equal(first: Any, second: Any) -> bool:
    return bool(identity(first) == identity(second))


def _read_numbers(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    def bound(key: str) -> Any:
        value = schema.get(key)
        return value if value is None or isinstance(value, bool) else exact_number(value, join(pointer, key))

    numbers = facts.numbers or NumberSet()
    for low_key, open_key, is_low in (
        ("minimum", "exclusiveMinimum", True),
        ("maximum", "exclusiveMaximum", False),
    ):
        closed, opened = bound(low_key), bound(open_key)
        if (host.draft == Draft.DRAFT4) != isinstance(opened, bool) and opened is not None:
            wanted = "a boolean" if host.draft == Draft.DRAFT4 else "a number"
            raise InvalidSchema(f"expected {wanted} in {host.draft}", join(pointer, open_key))
        ends = [(closed, False), (opened, True)] if not isinstance(opened, bool) else [(closed, opened)]
        for end, is_open in ends:
            if end is not None:
                limit = NumberSet(low=end, low_open=is_open) if is_low else NumberSet(high=end, high_open=is_open)
                met = numbers.meet(limit)
                if met is None:
                    facts.types &= ~NUMBER
                    return
                numbers = met
    if "multipleOf" in schema:
        met = numbers.meet(NumberSet(divisors=(exact_number(schema["multipleOf"], join(pointer, "multipleOf")),)))
        if met is None:
            facts.types &= ~NUMBER
            return
        numbers = met
    facts.numbers = numbers


def _read_strings(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    minimum, maximum = _count(schema, "minLength", 0), _count(schema, "maxLength", None)
    patterns = (schema["pattern"],) if "pattern" in schema else ()
    if patterns:
        _check_pattern(patterns[0], pointer + "/pattern", STRING, facts)
    name = schema.get("format")
    formats = (name,) if name in FORMATS else ()
    if name in REFUSED_FORMATS:
        facts.refusals.append(Refusal(STRING, pointer + "/format", f"the format {name} cannot be enforced"))
    if maximum is not None and minimum > maximum:
        facts.types &= ~STRING
    elif minimum or maximum is not None or patterns or formats:
        facts.strings = StringLanguage(minimum, maximum, patterns, formats)


def _place(schema: dict[str, Any], keyword: str) -> int:
    """The place of a keyword that the schema has."""
    return list(schema).index(keyword) * PLACES_OF_A_KEYWORD


def _check_pattern(pattern: str, pointer: str, types: int, facts: Facts) -> None:
    """Raise for a broken pattern; one outside the dialect is a refusal for values of `types`."""
    try:
        contains(StringLanguage(patterns=(pattern,)), "")
    except UnsupportedSchema as error:
        facts.refusals.append(Refusal(types, pointer, error.message))
    except InvalidSchema as error:
        raise InvalidSchema(error.message, pointer) from None


def _count(schema: dict[str, Any], key: str, default: int | None) -> Any:
    value = schema.get(key, default)
    return value if value is None else int(value)


def _read_arrays(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    minimum = _count(schema, "minItems", 0)
    maximum = _count(schema, "maxItems", None)
    if maximum is not None and minimum > maximum:
        facts.types &= ~ARRAY
        return
    prefix: Sequence[Any] = schema.get("prefixItems", ())
    prefix_key, rest_key = "prefixItems", "items"
    rest = schema.get("items", True)
    if isinstance(rest, list | tuple):
        if host.draft == Draft.DRAFT2020:
            raise InvalidSchema("an array of schemas is prefixItems in 2020-12", join(pointer, "items"))
        prefix, prefix_key, rest_key = rest, "items", "additionalItems"
        rest = schema.get("additionalItems", True)
    parts: tuple[ArrayPart, ...] = ()
    members = tuple(host.member(item, f"{pointer}/{prefix_key}/{index}") for index, item in enumerate(prefix))
    rest_member = host.member(rest, f"{pointer}/{rest_key}")
    while members and members[-1] == rest_member:
        members = members[:-1]
    if members or rest_member != ALWAYS:
        parts = (ArrayPart(members, rest_member),)
    contains: tuple[Contains, ...] = ()
    if "contains" in schema:
        where = join(pointer, "contains")
        least, most = _count(schema, "minContains", 1), _count(schema, "maxContains", None)
        contains = (Contains(host.member(schema["contains"], where), least, most, where),)
    unique = join(pointer, "uniqueItems") if schema.get("uniqueItems") else None
    if parts or minimum or maximum is not None or contains or unique:
        facts.arrays = ArraySet(parts, minimum, maximum, contains, unique)
    if "unevaluatedItems" in schema:
        where = pointer + "/unevaluatedItems"
        facts.leftover.append(Leftover(ARRAY, host.member(schema["unevaluatedItems"], where), where))
    facts.prefix = len(prefix)
    if rest_key in schema:
        facts.covers |= ARRAY


def _read_objects(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    minimum = _count(schema, "minProperties", 0)
    maximum = _count(schema, "maxProperties", None)
    member = host.member
    base = pointer + "/properties"
    properties = {
        check_text(name, base): member(child, join(base, name)) for name, child in schema.get("properties", {}).items()
    }
    base = pointer + "/patternProperties"
    patterns = tuple(
        (pattern, member(child, join(base, pattern))) for pattern, child in schema.get("patternProperties", {}).items()
    )
    for pattern, _ in patterns:
        _check_pattern(pattern, join(base, pattern), OBJECT, facts)
    additional = member(schema.get("additionalProperties", True), pointer + "/additionalProperties")
    parts: tuple[ObjectPart, ...] = ()
    if properties or patterns or additional != ALWAYS:
        parts = (ObjectPart(properties, patterns, additional),)
    required = tuple(check_text(name, pointer + "/required") for name in schema.get("required", ()))
    names: tuple[int, ...] = ()
    if "propertyNames" in schema:
        names = tuple(item for item in (member(schema["propertyNames"], pointer + "/propertyNames"),) if item != ALWAYS)
    if maximum is not None and max(minimum, len(required)) > maximum:
        facts.types &= ~OBJECT
        return
    if parts or required or minimum or maximum is not None or names:
        where = pointer + ("/minProperties" if minimum else "/maxProperties")
        facts.objects = ObjectSet(parts, required, minimum, maximum, names, where)
    facts.place = _place(schema, "properties") if "properties" in schema else LAST_PLACE
    if "unevaluatedProperties" in schema:
        where = pointer + "/unevaluatedProperties"
        facts.leftover.append(Leftover(OBJECT, member(schema["unevaluatedProperties"], where), where))
    if "additionalProperties" in schema:
        facts.covers |= OBJECT


def _read_composition(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    """`$ref`, `allOf` and `not` are members; `anyOf`, `oneOf` and `if` are choices."""
    for position, (key, value) in enumerate(schema.items()):
        where = f"{pointer}/{key}"
        place = position * PLACES_OF_A_KEYWORD
        if key == "$ref":
            facts.members.append(Link(place, host.referred(value, where)))
        elif key == "allOf":
            facts.members += [
                Link(place + index, host.member(item, f"{where}/{index}")) for index, item in enumerate(value)
            ]
        elif key in ("anyOf", "oneOf"):
            branches = tuple((host.member(item, f"{where}/{index}"),) for index, item in enumerate(value))
            facts.choices.append(Choice(branches, where, key == "oneOf", place, key == "anyOf"))
        elif key == "not":
            facts.members.append(Link(place, ~host.member(value, where)))
        elif key == "if":
            _read_condition(schema, pointer, place, host, facts)


def _read_condition(schema: dict[str, Any], pointer: str, place: int, host: Host, facts: Facts) -> None:
    """`if C then T else E` is (C and T) or (not C and E); alone, `if` only says what is evaluated."""
    if "then" not in schema and "else" not in schema and not host.evaluation_matters():
        return
    condition, then, otherwise = (
        host.member(schema.get(key, True), f"{pointer}/{key}") for key in ("if", "then", "else")
    )
    facts.choices.append(Choice(((condition, then), (~condition, otherwise)), pointer + "/if", place=place))


def _read_dependencies(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    """Where the key is present, its names are required or its schema applies."""
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        for key, needed in schema.get(keyword, {}).items():
            where = join(pointer, keyword, key)
            absent = host.synthetic(Facts(objects=ObjectSet((ObjectPart({key: NEVER}, (), ALWAYS),))), where)
            present = [host.synthetic(Facts(types=OBJECT, objects=ObjectSet(required=(key,))), where)]
            if isinstance(needed, list | tuple):
                names = tuple(dict.fromkeys((key, *needed)))
                if len(names) == 1:
                    continue
                present = [host.synthetic(Facts(types=OBJECT, objects=ObjectSet(required=names)), where)]
            else:
                present.append(host.member(needed, where))
            place = _place(schema, keyword)
            facts.choices.append(Choice(((absent,), tuple(present)), where, place=place))


_READERS = (
    (Family.VALUES, _read_values),
    (Family.NUMBERS, _read_numbers),
    (Family.STRINGS, _read_strings),
    (Family.ARRAYS, _read_arrays),
    (Family.OBJECTS, _read_objects),
    (Family.DEPENDENCIES, _read_dependencies),
    (Family.COMPOSITION, _read_composition),
)
