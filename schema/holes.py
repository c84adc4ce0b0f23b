"""Taking single constants out of a conjunction: what `not` of an `enum` or `const` comes to.

A string is excluded from the language, a number splits its range in two, `null` and the booleans
are counted out, an empty array or object asks for at least one part. For any other array or object there is no
exact form, unless something else excludes it anyway.
"""

from __future__ import annotations

from typing import Any, Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .arrays import ArraySet
from .conjunction import Conjunction
from .facts import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, Facts, type_of
from .nodes import Term, Values
from .numbers import ALL_NUMBERS, NumberSet
from .objects import ObjectSet
from .strings import StringLanguage
from .values import satisfies

__all__ = ["make_holes"]


class Host(Protocol):
    """What testing a constant needs of the reduction."""

    def facts(self, member: int) -> Facts:
        """The facts of a member."""

    def pointer(self, member: int) -> str:
        """Where a member's schema stands."""

    def synthetic(self, facts: Facts, pointer: str) -> int:
        """A member made of facts."""


def make_holes(host: Host, state: Conjunction) -> list[Term]:
    """Take the barred constants out of `state`; the terms of the types that are done with are returned.

    Raises UnsupportedSchema for an array or object that cannot be excluded.
    """
    sources, state.barred = state.barred, []
    barred = [value for value, _ in sources]
    done: list[Term] = []
    strings = frozenset(value for value in barred if isinstance(value, str))
    if strings and state.types & STRING:
        state.meet(Facts(strings=StringLanguage(excluded=strings)))
    literals = [value for value in (None, False, True) if not any(value is item for item in barred)]
    literals = [value for value in literals if type_of(value) & state.types]
    if literals:
        done.append(Values(tuple(literals)))
    state.types &= ~(NULL | BOOLEAN)
    numbers = [value for value in barred if type_of(value) == NUMBER]
    if numbers and state.types & NUMBER:
        done += _punctured(state.numbers or ALL_NUMBERS, numbers)
        state.types &= ~NUMBER
    for value, member in sources:
        if type_of(value) & (ARRAY | OBJECT) & state.types:
            _bar_container(host, state, value, member)
    return done


def _bar_container(host: Host, state: Conjunction, value: Any, member: int) -> None:
    """Exclude one array or object: exact for the empty ones, and where it is excluded anyway."""
    if not value and type_of(value) == ARRAY:
        state.meet(Facts(arrays=ArraySet(minimum=1)))
    elif not value:
        state.meet(Facts(objects=ObjectSet(minimum=1)))
    else:
        probe = host.synthetic(Facts(arrays=state.arrays, objects=state.objects), "")
        if satisfies(host, probe, value):
            reason = "the complement of a constant array or object is not expressible"
            raise UnsupportedSchema(reason, host.pointer(member))


def _punctured(numbers: NumberSet, holes: list[Any]) -> list[Term]:
    """The set without single numbers, as the ranges between them."""
    ranges: list[Term] = []
    rest: NumberSet | None = numbers
    for hole in sorted(filter(numbers.contains, holes)):
        if rest is None:
            break
        below = rest.meet(NumberSet(high=hole, high_open=True))
        ranges += [below] if below is not None else []
        rest = rest.meet(NumberSet(low=hole, low_open=True))
    return ranges if rest is None else [*ranges, rest]
