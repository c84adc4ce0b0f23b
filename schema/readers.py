"""Reading a schema object: each keyword is checked once and becomes facts.

One function for each family of keywords; the table in `keywords` says which family a keyword belongs
to, so that a schema pays only for the families it uses. What the keyword means for the
generated language is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .arrays import ArrayPart, ArraySet, Contains
from .document import check_text, constant, exact_number, identity, join, mentions
from .facts import (
    ALL_TYPES,
    ALWAYS,
    ARRAY,
    LAST_PLACE,
    NEVER,
    NUMBER,
    OBJECT,
    PLACES_OF_A_KEYWORD,
    STRING,
    TYPE_BITS,
    Choice,
    Facts,
    Host,
    Leftover,
    Link,
    Refusal,
)
from .formats import FORMATS
from .keywords import KEYWORDS, REFUSED_FORMATS, Draft, Family, Keyword, Status, assertions_of
from .numbers import DIGITS, INTEGER, NumberSet
from .objects import ObjectPart, ObjectSet
from .patterns import search_expression
from .strings import StringLanguage

__all__ = ["read_facts"]

_REFUSED = Status.REFUSED


def read_facts(schema: dict[str, Any], pointer: str, host: Host) -> Facts:
    """Check the shape of every keyword of a schema object and read it."""
    draft = host.draft
    if "$ref" in schema and draft <= Draft.DRAFT7:
        return _read_lone_reference(schema, pointer, host)
    families = 0
    known = assertions_of(draft)
    refused: list[Keyword] = []
    for key, value in schema.items():
        if key not in known:
            _read_unknown(key, pointer, host)
            continue
        row = known[key]
        if row is None:
            continue
        row.check(value, pointer)
        families |= row.family
        if row.status is _REFUSED:
            refused.append(row)
    facts = Facts()
    if refused:
        facts.refusals = tuple(Refusal(ALL_TYPES, join(pointer, row.name), row.note) for row in refused)
    if pointer and ("$id" in schema or "id" in schema):
        _refuse_nested_identifier(schema, pointer, draft, facts)
    for reader in _readers_of(families):
        reader(schema, pointer, host, facts)
    return facts


def _read_unknown(key: Any, pointer: str, host: Host) -> None:
    """A member that is no keyword of the draft: an error if it is one of another draft, else an annotation."""
    if not isinstance(key, str):
        raise InvalidSchema(f"an object key must be a string, not {type(key).__name__}", pointer)
    if key in KEYWORDS and key not in ("$id", "id"):
        raise InvalidSchema(f"{key} is not a keyword of {host.draft}", join(pointer, key))
    host.unknown.append(join(pointer, key))


def _read_lone_reference(schema: dict[str, Any], pointer: str, host: Host) -> Facts:
    """Before 2019-09 a `$ref` hides every keyword beside it.

    Draft-04 and -06 are followed to the letter, and what is hidden is listed with the unknown members; in
    draft-07, which the contract covers, such a schema is refused, because it may not mean what it says.
    """
    facts = Facts()
    where = pointer + "/$ref"
    KEYWORDS["$ref"].check(schema["$ref"], pointer)
    for key in schema:
        row = KEYWORDS.get(key)
        if row is None or (row.family and key != "$ref"):
            host.unknown.append(join(pointer, key))
            if row is not None and host.draft == Draft.DRAFT7:
                reason = f"in draft-07 a $ref hides {key} beside it; write allOf to mean both"
                facts.refusals += (Refusal(ALL_TYPES, where, reason),)
    facts.members += (Link(0, host.referred(schema["$ref"], where)),)
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
    facts.refusals += (Refusal(ALL_TYPES, join(pointer, key), reason),)


def _read_values(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    names = schema.get("type")
    if names is not None:
        facts.types = 0
        for name in (names,) if isinstance(names, str) else names:
            facts.types |= TYPE_BITS[name]
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
        facts.refusals += (Refusal(STRING, pointer + "/format", f"the format {name} cannot be enforced"),)
    elif name is not None and not formats:
        host.unknown.append(pointer + "/format")
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
        search_expression(pattern)
    except UnsupportedSchema as error:
        facts.refusals += (Refusal(types, pointer, error.message),)
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
        facts.leftover += (Leftover(ARRAY, host.member(schema["unevaluatedItems"], where), where),)
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
        facts.leftover += (Leftover(OBJECT, member(schema["unevaluatedProperties"], where), where),)
    if "additionalProperties" in schema:
        facts.covers |= OBJECT


def _read_composition(schema: dict[str, Any], pointer: str, host: Host, facts: Facts) -> None:
    """`$ref`, `allOf` and `not` are members; `anyOf`, `oneOf` and `if` are choices."""
    for position, (key, value) in enumerate(schema.items()):
        where = f"{pointer}/{key}"
        place = position * PLACES_OF_A_KEYWORD
        if key == "$ref":
            facts.members += (Link(place, host.referred(value, where)),)
        elif key == "allOf":
            facts.members += tuple(
                Link(place + index, host.member(item, f"{where}/{index}")) for index, item in enumerate(value)
            )
        elif key in ("anyOf", "oneOf"):
            branches = tuple((host.member(item, f"{where}/{index}"),) for index, item in enumerate(value))
            facts.choices += (Choice(branches, where, key == "oneOf", place, key == "anyOf"),)
        elif key == "not":
            facts.members += (Link(place, ~host.member(value, where)),)
        elif key == "if":
            _read_condition(schema, pointer, place, host, facts)


def _read_condition(schema: dict[str, Any], pointer: str, place: int, host: Host, facts: Facts) -> None:
    """`if C then T else E` is (C and T) or (not C and E); alone, `if` only says what is evaluated."""
    if "then" not in schema and "else" not in schema and not host.evaluation_matters():
        return
    condition, then, otherwise = (
        host.member(schema.get(key, True), f"{pointer}/{key}") for key in ("if", "then", "else")
    )
    facts.choices += (Choice(((condition, then), (~condition, otherwise)), pointer + "/if", place=place),)


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
            facts.choices += (Choice(((absent,), tuple(present)), where, place=place),)


Reader = Callable[[dict[str, Any], str, Host, Facts], None]

_READERS: tuple[tuple[Family, Reader], ...] = (
    (Family.VALUES, _read_values),
    (Family.NUMBERS, _read_numbers),
    (Family.STRINGS, _read_strings),
    (Family.ARRAYS, _read_arrays),
    (Family.OBJECTS, _read_objects),
    (Family.DEPENDENCIES, _read_dependencies),
    (Family.COMPOSITION, _read_composition),
)


@cache
def _readers_of(families: int) -> tuple[Reader, ...]:
    """The readers of several families, in the order above."""
    return tuple(reader for family, reader in _READERS if families & family)
