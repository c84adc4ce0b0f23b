"""Does a constant satisfy a schema? Used to filter `const` and `enum`, and to test property names.

This is a plain validator over `Facts`: exact numbers, search semantics for patterns, JSON
equality for `uniqueItems`, exactly-one for `oneOf`. It never guesses: a keyword that the
facts refuse is refused here too, when it speaks of the constant's type.
"""

from __future__ import annotations

from typing import Any, Protocol

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .arrays import ArraySet
from .document import MAX_VALUE_DEPTH, identity
from .emptiness import matches
from .facts import ALWAYS, ARRAY, NUMBER, OBJECT, STRING, Choice, Facts, type_of
from .objects import ObjectPart, ObjectSet
from .strings import contains

__all__ = ["Reader", "chosen", "fits_alone", "members_for", "satisfies"]


class Reader(Protocol):
    """Where the facts of a member come from."""

    def facts(self, member: int) -> Facts:
        """The facts of a non-negative member."""


def satisfies(reader: Reader, member: int, value: Any, depth: int = 0) -> bool:
    """Whether `value` belongs to the schema of `member` (`~member`: whether it does not)."""
    if member == ALWAYS:
        return True
    if member < 0:
        return not satisfies(reader, ~member, value, depth)
    if depth > MAX_VALUE_DEPTH * 2:
        raise InvalidSchema("the composition around a constant nests too deeply or refers to itself")
    facts = reader.facts(member)
    return (
        fits_alone(reader, facts, value, depth)
        and all(satisfies(reader, item, value, depth + 1) for _, item in facts.members)
        and all(chosen(reader, choice, value, depth + 1) for choice in facts.choices)
    )


def fits_alone(reader: Reader, facts: Facts, value: Any, depth: int = 0) -> bool:
    """Whether `value` satisfies what a schema says itself, apart from its members and choices."""
    kind = type_of(value)
    if not facts.types & kind:
        return False
    for refusal in facts.refusals:
        if refusal.types & kind:
            raise UnsupportedSchema(refusal.reason, refusal.pointer)
    for leftover in facts.leftover:
        if leftover.kind == kind:
            raise UnsupportedSchema("what a constant leaves unevaluated is not tracked", leftover.pointer)
    if facts.values is not None and identity(value) not in _identities(facts):
        return False
    if any(identity(value) == identity(item) for item in facts.barred):
        return False
    return _fits(reader, facts, kind, value, depth)


def _identities(facts: Facts) -> frozenset[Any]:
    """The stand-ins of the facts' constants, made once."""
    if facts.identities is None:
        facts.identities = frozenset(identity(item) for item in facts.values or ())
    return facts.identities


def _fits(reader: Reader, facts: Facts, kind: int, value: Any, depth: int) -> bool:
    """Whether the value fits the constraint of its own type."""
    if kind == NUMBER:
        return facts.numbers is None or facts.numbers.contains(value)
    if kind == STRING:
        return facts.strings is None or contains(facts.strings, value)
    if kind == ARRAY:
        return facts.arrays is None or _array_fits(reader, facts.arrays, value, depth + 1)
    if kind == OBJECT:
        return facts.objects is None or _object_fits(reader, facts.objects, value, depth + 1)
    return True


def chosen(reader: Reader, choice: Choice, value: Any, depth: int = 0) -> bool:
    """Whether `value` satisfies a choice."""
    holding = (
        all(satisfies(reader, member, value, depth) for member in alternative) for alternative in choice.alternatives
    )
    return sum(holding) == 1 if choice.exclusive else any(holding)


def _array_fits(reader: Reader, arrays: ArraySet, value: list[Any], depth: int) -> bool:
    if len(value) < arrays.minimum or (arrays.maximum is not None and len(value) > arrays.maximum):
        return False
    if arrays.unique is not None and len({identity(item) for item in value}) != len(value):
        return False
    for part in arrays.parts:
        if not all(satisfies(reader, part.at(index), item, depth) for index, item in enumerate(value)):
            return False
    for wanted in arrays.contains:
        count = sum(satisfies(reader, wanted.member, item, depth) for item in value)
        if count < wanted.minimum or (wanted.maximum is not None and count > wanted.maximum):
            return False
    return True


def _object_fits(reader: Reader, objects: ObjectSet, value: dict[str, Any], depth: int) -> bool:
    if len(value) < objects.minimum or (objects.maximum is not None and len(value) > objects.maximum):
        return False
    if any(name not in value for name in objects.required):
        return False
    if not all(satisfies(reader, member, name, depth) for member in objects.names for name in value):
        return False
    for some in objects.some:
        if not any(
            contains(some.keys, name)
            and all(satisfies(reader, member, name, depth) for member in some.names)
            and satisfies(reader, some.member, item, depth)
            for name, item in value.items()
        ):
            return False
    return all(
        satisfies(reader, member, item, depth)
        for part in objects.parts
        for name, item in value.items()
        for member in members_for(part, name)
    )


def members_for(part: ObjectPart, name: str) -> list[int]:
    """The members that the property `name` must satisfy, by one schema's object keywords."""
    declared = name in part.properties
    members = [part.properties[name]] if declared else []
    for pattern, member in part.patterns:
        if matches(pattern, name):
            members.append(member)
    return members or ([] if part.additional == ALWAYS else [part.additional])
