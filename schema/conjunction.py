"""One conjunction of schemas, flattened: what remains when `$ref` and `allOf` are followed.

A `Conjunction` starts out allowing everything; `add` meets it with one member after another, follows
references and `allOf` at once, and collects the choices (`anyOf`, `oneOf`, ...) for the
reduction to split on. A member that contains itself at the same place of the value, by
whatever way, has no meaning and is an error.
"""

from __future__ import annotations

from typing import Any, Protocol

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .arrays import ArraySet
from .document import MAX_VALUE_DEPTH
from .facts import ALL_TYPES, ALWAYS, ARRAY, NUMBER, OBJECT, STRING, Choice, Facts, Refusal
from .numbers import NumberSet
from .objects import ObjectSet
from .strings import StringLanguage, intersect

__all__ = ["MAX_MERGES", "Conjunction", "Source"]

MAX_MERGES = 16_384
"""At most this many intersection merges in one reduction (a limit of the contract)."""


class Source(Protocol):
    """What a conjunction needs of the reduction."""

    merges: int

    def facts(self, member: int) -> Facts:
        """The facts of a member, complements included."""

    def pointer(self, member: int) -> str:
        """Where the member's schema stands."""


class Conjunction:
    """The meet of the members added so far. `None` means no constraint; no types, no value.

    `roots` are the members that were added from outside, which the others follow from.
    """

    __slots__ = (
        "arrays", "barred", "choices", "numbers", "objects", "parents", "refusals", "roots", "source",
        "strings", "types", "values",
    )  # fmt: skip

    def __init__(self, source: Source) -> None:
        self.source = source
        self.types = ALL_TYPES
        self.values: list[Any] | None = None
        self.numbers: NumberSet | None = None
        self.strings: StringLanguage | None = None
        self.arrays: ArraySet | None = None
        self.objects: ObjectSet | None = None
        self.barred: list[Any] = []
        self.refusals: list[Refusal] = []
        self.choices: list[tuple[Choice, int]] = []
        self.parents: dict[int, int] = {}
        self.roots: list[int] = []

    def copy(self) -> Conjunction:
        """An independent copy, to add an alternative to."""
        twin = Conjunction.__new__(Conjunction)
        for name in ("source", "types", "values", "numbers", "strings", "arrays", "objects"):
            setattr(twin, name, getattr(self, name))
        for name in ("barred", "refusals", "choices", "parents", "roots"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def add_root(self, member: int, parent: int = ALWAYS) -> None:
        """Meet with a member; `parent` is the member whose choice offers it, if one does."""
        self.roots.append(member)
        self._add(member, parent, 0)

    def _add(self, member: int, parent: int, depth: int) -> None:
        if member == ALWAYS or not self.types:
            return
        if member in self.parents:
            self._check_cycle(member, parent)
            return
        if depth > MAX_VALUE_DEPTH:
            where = self.source.pointer(member)
            raise UnsupportedSchema(f"composition nests deeper than {MAX_VALUE_DEPTH} levels", where)
        self.parents[member] = parent
        facts = self.source.facts(member)
        for item in facts.before:
            self._add(item, member, depth + 1)
        self._meet(facts, member)
        for item in facts.after:
            self._add(item, member, depth + 1)

    def _check_cycle(self, member: int, ancestor: int) -> None:
        """Raise if `member` stands above `ancestor` in the chain of reasons, or is it."""
        while ancestor != ALWAYS:
            if ancestor == member:
                where = self.source.pointer(member)
                raise InvalidSchema("the reference cycle never descends into a value", where)
            ancestor = self.parents[ancestor]

    def _meet(self, facts: Facts, member: int) -> None:
        """Intersect with one schema's own facts."""
        self.types &= facts.types
        if facts.values is not None:
            self.values = facts.values if self.values is None else self.values
        if facts.numbers is not None and self.types & NUMBER:
            self.numbers = self._met(self.numbers, facts.numbers, NUMBER)
        if facts.strings is not None and self.types & STRING:
            self.strings = self._met_strings(facts.strings)
        if facts.arrays is not None and self.types & ARRAY:
            self.arrays = self._met(self.arrays, facts.arrays, ARRAY)
        if facts.objects is not None and self.types & OBJECT:
            self.objects = self._met(self.objects, facts.objects, OBJECT)
        self.barred += facts.barred
        self.refusals += facts.refusals
        self.choices += [(choice, member) for choice in facts.choices]

    def _met(self, mine: Any, other: Any, kind: int) -> Any:
        """The meet of two sets of one type; an empty one removes the type."""
        if mine is None:
            return other
        self._count_merge()
        result = mine.meet(other)
        if result is None:
            self.types &= ~kind
        return result

    def _met_strings(self, other: StringLanguage) -> StringLanguage:
        if self.strings is None:
            return other
        self._count_merge()
        return intersect(self.strings, other)

    def _count_merge(self) -> None:
        self.source.merges += 1
        if self.source.merges > MAX_MERGES:
            where = self.source.pointer(self.roots[0]) if self.roots else ""
            raise UnsupportedSchema(f"the composition takes more than {MAX_MERGES} merges", where)
