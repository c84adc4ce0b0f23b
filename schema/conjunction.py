"""One conjunction of schemas, flattened: what remains when `$ref` and `allOf` are followed.

A `Conjunction` starts out allowing everything; `add` meets it with one member after another, follows
references and `allOf` at once, and collects the choices (`anyOf`, `oneOf`, ...) for the
reduction to split on. A member that contains itself at the same place of the value, by
whatever way, has no meaning and is an error.
"""

from __future__ import annotations

from typing import Any, Protocol

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

from .arrays import ArrayPart, ArraySet
from .document import MAX_VALUE_DEPTH
from .facts import (
    ALL_TYPES,
    ALWAYS,
    ARRAY,
    LAST_PLACE,
    NUMBER,
    OBJECT,
    STRING,
    Choice,
    Facts,
    Leftover,
    Refusal,
)
from .numbers import NumberSet
from .objects import ObjectPart, ObjectSet
from .strings import StringLanguage, intersect

__all__ = ["MAX_MERGES", "Conjunction", "Source"]

MAX_MERGES = 16_384
"""At most this many intersection merges in one reduction (a limit of the contract)."""


Place = tuple[int, ...]
"""Where in the document a schema stands: the places of the keywords that lead to it."""


class Source(Protocol):
    """What a conjunction needs of the reduction."""

    merges: int

    def facts(self, member: int) -> Facts:
        """The facts of a member, complements included."""

    def pointer(self, member: int) -> str:
        """Where the member's schema stands."""


class _Evaluated:
    """The parts of an object or array that some schemas evaluate."""

    def __init__(self, leftover: Leftover) -> None:
        self.leftover = leftover
        self.covers = 0
        self.names: list[str] = []
        self.patterns: list[tuple[str, int]] = []
        self.prefix = 0

    def add(self, facts: Facts) -> None:
        """Add what one schema evaluates by itself."""
        self.covers |= facts.covers
        if self.leftover.kind == OBJECT and facts.objects is not None:
            for part in facts.objects.parts:
                self.names += part.properties
                self.patterns += [(pattern, ALWAYS) for pattern, _ in part.patterns]
        if self.leftover.kind == ARRAY:
            self.prefix = max(self.prefix, facts.prefix)
            if facts.arrays is not None and facts.arrays.contains:
                reason = "the items that contains evaluates have no fixed place"
                raise UnsupportedSchema(reason, self.leftover.pointer)


class Conjunction:
    """The meet of the members added so far. `None` means no constraint; no types, no value.

    `roots` are the members that were added from outside, which the others follow from; `barred`
    are constants and the members that exclude them.
    """

    __slots__ = (
        "arrays", "barred", "choices", "chosen", "leftover", "numbers", "objects", "parents", "places",
        "refusals", "roots", "source", "strings", "types", "values",
    )  # fmt: skip

    def __init__(self, source: Source) -> None:
        self.source = source
        self.types = ALL_TYPES
        self.values: list[Any] | None = None
        self.numbers: NumberSet | None = None
        self.strings: StringLanguage | None = None
        self.arrays: ArraySet | None = None
        self.objects: ObjectSet | None = None
        self.barred: list[tuple[Any, int]] = []
        self.refusals: list[Refusal] = []
        self.choices: list[tuple[Choice, int, Place]] = []
        self.parents: dict[int, int] = {}
        self.roots: list[int] = []
        self.places: list[Place] = []
        self.leftover: list[tuple[Leftover, int]] = []
        self.chosen: dict[Choice, tuple[int, ...]] = {}

    def copy(self) -> Conjunction:
        """An independent copy, to add an alternative to."""
        twin = Conjunction.__new__(Conjunction)
        for name in ("source", "types", "values", "numbers", "strings", "arrays", "objects"):
            setattr(twin, name, getattr(self, name))
        for name in ("barred", "refusals", "choices", "parents", "roots", "places", "leftover", "chosen"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def add_root(self, member: int) -> None:
        """Meet with a member of the conjunction itself."""
        self.roots.append(member)
        self._add(member, ALWAYS, (len(self.roots),))

    def choose(self, choice: Choice, alternative: tuple[int, ...], owner: int, place: Place) -> None:
        """Meet with one alternative of a choice that the member `owner` offers."""
        self.chosen[choice] = alternative
        for member in alternative:
            self.roots.append(member)
            self._add(member, owner, place)

    def _add(self, member: int, parent: int, place: Place) -> None:
        if member == ALWAYS or not self.types:
            return
        if member in self.parents:
            self._check_cycle(member, parent)
            return
        if len(place) > MAX_VALUE_DEPTH:
            where = self.source.pointer(member)
            raise UnsupportedSchema(f"composition nests deeper than {MAX_VALUE_DEPTH} levels", where)
        self.parents[member] = parent
        facts = self.source.facts(member)
        self.meet(facts, member, place)
        for index, inner in facts.members:
            self._add(inner, member, (*place, index))

    def _check_cycle(self, member: int, ancestor: int) -> None:
        """Raise if `member` stands above `ancestor` in the chain of reasons, or is it."""
        while ancestor != ALWAYS:
            if ancestor == member:
                where = self.source.pointer(member)
                raise InvalidSchema("the reference cycle never descends into a value", where)
            ancestor = self.parents[ancestor]

    def meet(self, facts: Facts, member: int = ALWAYS, place: Place = ()) -> None:
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
            # Facts that stand nowhere in the document do not move a property.
            own = (*place, facts.place) if facts.place < LAST_PLACE else (LAST_PLACE,)
            self.places += [own] * len(facts.objects.parts)
        self.refusals += facts.refusals
        if facts.choices:
            self.choices += [(choice, member, (*place, choice.place)) for choice in facts.choices]
        if facts.barred or facts.leftover:
            self.barred += [(value, member) for value in facts.barred]
            self.leftover += [(leftover, member) for leftover in facts.leftover]

    def ordered_objects(self) -> ObjectSet | None:
        """The set of objects with its parts in the order in which the document declares properties."""
        if self.objects is None or len(self.objects.parts) < 2:
            return self.objects
        ranked = sorted(zip(self.places, self.objects.parts, strict=True), key=lambda pair: pair[0])
        return self.objects._replace(parts=tuple(part for _, part in ranked))

    def meet_leftovers(self) -> None:
        """Turn `unevaluatedProperties` and `unevaluatedItems` into parts, now that all choices are made."""
        leftovers, self.leftover = self.leftover, []
        for leftover, owner in leftovers:
            if not leftover.kind & self.types or leftover.member == ALWAYS:
                continue
            seen = self._evaluated(owner, leftover)
            if leftover.kind & seen.covers:
                continue
            if leftover.kind == OBJECT:
                part = ObjectPart(dict.fromkeys(seen.names, ALWAYS), tuple(seen.patterns), leftover.member)
                self.meet(Facts(objects=ObjectSet((part,))))
            else:
                rest = ArrayPart((ALWAYS,) * seen.prefix, leftover.member)
                self.meet(Facts(arrays=ArraySet((rest,))))

    def _evaluated(self, owner: int, leftover: Leftover) -> _Evaluated:
        """What the other keywords of `owner`, and the schemas that apply through them, evaluate."""
        seen = _Evaluated(leftover)
        pending = [owner]
        visited = {owner}
        while pending:
            member = pending.pop()
            facts = self.source.facts(member)
            seen.add(facts)
            if member != owner:
                for inner in facts.leftover:
                    seen.covers |= inner.kind
            below = [link.member for link in facts.members]
            for choice in facts.choices:
                below += self.chosen.get(choice, ())
            for item in below:
                if item >= 0 and item not in visited:  # a complement evaluates nothing
                    visited.add(item)
                    pending.append(item)
        return seen

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
