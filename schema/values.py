"""Does a constant satisfy a schema? Used to filter `const` and `enum`, and to test property names.

This is a plain validator over `Facts`: exact numbers, search semantics for patterns, JSON
equality for `uniqueItems`, exactly-one for `oneOf`. It never guesses: a keyword that the
facts refuse is refused here too, when it speaks of the constant's type.
"""

from __future__ import annotations

from typing import Any, Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .arrays import ArraySet
from .document import MAX_VALUE_DEPTH, identity
from .facts import ALWAYS, ARRAY, NUMBER, OBJECT, STRING, Choice, Facts, type_of
from .objects import ObjectPart, ObjectSet
from .patterns import matches
from .strings import contains

__all__ = ["Reader", "chosen", "fits_alone", "members_for", "satisfies"]


class Reader(Protocol):
    """Where the facts of a member come from."""

    def facts(self, member: int) -> Facts:
        """The facts of a non-negative member."""

    def pointer(self, member: int) -> str:
        """Where the member's schema stands."""


Duty = tuple[int, Any]
"""A member and a value that must belong to it."""


def satisfies(reader: Reader, member: int, value: Any, depth: int = 0) -> bool:
    """Whether `value` belongs to the schema of `member` (`~member`: whether it does not).

    What must hold of the value and its parts is a list of duties, worked off one by one; only choices and
    complements recurse, and `depth` counts those.
    """
    if depth > MAX_VALUE_DEPTH:
        raise UnsupportedSchema("the composition around a constant nests too deeply", reader.pointer(member))
    duties: list[Duty] = [(member, value)]
    done: set[tuple[int, int]] = set()
    while duties:
        member, value = duties.pop()
        if member == ALWAYS or (member, id(value)) in done:
            continue
        done.add((member, id(value)))
        if member < 0:
            if satisfies(reader, ~member, value, depth + 1):
                return False
            continue
        facts = reader.facts(member)
        if not fits_alone(reader, facts, value, duties, depth):
            return False
        duties += [(inner, value) for _, inner in facts.members]
        if not all(chosen(reader, choice, value, depth + 1) for choice in facts.choices):
            return False
    return True


def fits_alone(reader: Reader, facts: Facts, value: Any, duties: list[Duty], depth: int = 0) -> bool:
    """Whether `value` satisfies what a schema says itself, apart from its members and choices.

    What it says of the parts of the value is added to the duties.
    """
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
    if kind == NUMBER:
        return facts.numbers is None or facts.numbers.contains(value)
    if kind == STRING:
        return facts.strings is None or contains(facts.strings, value)
    if kind == ARRAY:
        return facts.arrays is None or _array_fits(reader, facts.arrays, value, duties, depth)
    if kind == OBJECT:
        return facts.objects is None or _object_fits(reader, facts.objects, value, duties, depth)
    return True


def _identities(facts: Facts) -> frozenset[Any]:
    """The stand-ins of the facts' constants, made once."""
    if facts.identities is None:
        facts.identities = frozenset(identity(item) for item in facts.values or ())
    return facts.identities


def chosen(reader: Reader, choice: Choice, value: Any, depth: int = 0) -> bool:
    """Whether `value` satisfies a choice."""
    holding = 0
    for alternative in choice.alternatives:
        if all(satisfies(reader, member, value, depth) for member in alternative):
            holding += 1
            if not choice.exclusive:
                return True
    return holding == 1


def _array_fits(reader: Reader, arrays: ArraySet, value: list[Any], duties: list[Duty], depth: int) -> bool:
    if len(value) < arrays.minimum or (arrays.maximum is not None and len(value) > arrays.maximum):
        return False
    if arrays.unique is not None and len({identity(item) for item in value}) != len(value):
        return False
    for part in arrays.parts:
        duties += [(part.at(index), item) for index, item in enumerate(value)]
    for wanted in arrays.contains:
        count = sum(satisfies(reader, wanted.member, item, depth + 1) for item in value[wanted.start :])
        if count < wanted.minimum or (wanted.maximum is not None and count > wanted.maximum):
            return False
    return True


def _object_fits(reader: Reader, objects: ObjectSet, value: dict[str, Any], duties: list[Duty], depth: int) -> bool:
    if len(value) < objects.minimum or (objects.maximum is not None and len(value) > objects.maximum):
        return False
    if any(name not in value for name in objects.required):
        return False
    duties += [(member, name) for member in objects.names for name in value]
    for part in objects.parts:
        duties += [(member, item) for name, item in value.items() for member in members_for(part, name)]
    return all(
        any(
            contains(some.keys, name)
            and all(satisfies(reader, member, name, depth + 1) for member in some.names)
            and satisfies(reader, some.member, item, depth + 1)
            for name, item in value.items()
        )
        for some in objects.some
    )


def members_for(part: ObjectPart, name: str) -> list[int]:
    """The members that the property `name` must satisfy, by one schema's object keywords."""
    declared = name in part.properties
    members = [part.properties[name]] if declared else []
    for pattern, member in part.patterns:
        if matches(pattern, name):
            members.append(member)
    return members or ([] if part.additional == ALWAYS else [part.additional])
