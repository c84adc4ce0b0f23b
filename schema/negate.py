"""Complements: `not S` as a choice of what makes S fail.

S is a conjunction of facts, so `not S` is a union, one alternative for each fact that may
fail (De Morgan): another type, a smaller number, a missing required name, a property
with a wrong value, an item outside, and so on. Facts whose failure has no exact form become
a `Refusal` in their alternative; the reduction raises it only if a value of those types
could be generated at all.
"""

from __future__ import annotations

from itertools import combinations

from .arrays import ArrayPart, ArraySet, Contains
from .facts import (
    ALL_TYPES,
    ALWAYS,
    ARRAY,
    LAST_PLACE,
    NEVER,
    NUMBER,
    OBJECT,
    STRING,
    Choice,
    Facts,
    Host,
    Link,
    Refusal,
)
from .numbers import ANY_NUMBER, FRACTION, INTEGER, NumberSet, is_whole
from .objects import ObjectPart, ObjectSet, Some
from .strings import StringLanguage

__all__ = ["negated_facts"]


def negated_facts(facts: Facts, pointer: str, host: Host) -> Facts:
    """The complement of a schema's facts."""
    return _Negation(pointer, host).of(facts)


class _Negation:
    """Collects the alternatives; each is a conjunction of members."""

    def __init__(self, pointer: str, host: Host) -> None:
        self.pointer = pointer
        self.host = host
        self.alternatives: list[tuple[int, ...]] = []

    def of(self, facts: Facts) -> Facts:
        """See `negated_facts`."""
        if facts.types != ALL_TYPES:
            self.add(Facts(types=ALL_TYPES & ~facts.types))
        if facts.values is not None:
            self.add(Facts(barred=tuple(facts.values)))
        for value in facts.barred:
            self.add(Facts(values=[value]))
        self._numbers(facts)
        self._strings(facts)
        if facts.arrays is not None and facts.types & ARRAY:
            self._arrays(facts.arrays)
        if facts.objects is not None and facts.types & OBJECT:
            self._objects(facts.objects)
        self.alternatives += [(~member,) for _, member in facts.members]
        for choice in facts.choices:
            self._choice(choice)
        for leftover in facts.leftover:
            self.refuse(leftover.kind, "what is not evaluated has no complement here", leftover.pointer)
        for refusal in facts.refusals:
            self.refuse(refusal.types, refusal.reason, refusal.pointer)
        if len(self.alternatives) == 1:
            return Facts(members=tuple(Link(LAST_PLACE, member) for member in self.alternatives[0]))
        return Facts(types=ALL_TYPES if self.alternatives else 0, choices=self._own_choice())

    def _own_choice(self) -> tuple[Choice, ...]:
        return (Choice(tuple(self.alternatives), self.pointer),) if self.alternatives else ()

    def add(self, facts: Facts) -> None:
        """One more way to fail."""
        self.alternatives.append((self.host.synthetic(facts, self.pointer),))

    def refuse(self, types: int, reason: str, pointer: str | None = None) -> None:
        """A way to fail that has no exact form, for values of `types`."""
        where = self.pointer if pointer is None else pointer
        self.add(Facts(types=types, refusals=(Refusal(types, where, reason),)))

    def _numbers(self, facts: Facts) -> None:
        numbers = facts.numbers
        if numbers is None or not facts.types & NUMBER:
            return
        if numbers.low is not None:
            self.add(Facts(NUMBER, numbers=NumberSet(high=numbers.low, high_open=not numbers.low_open)))
        if numbers.high is not None:
            self.add(Facts(NUMBER, numbers=NumberSet(low=numbers.high, low_open=not numbers.high_open)))
        if numbers.kind != ANY_NUMBER:
            # Of draft-04's integers 1.0 is none, but most validators have it otherwise: it is left out.
            kind = INTEGER if numbers.kind == FRACTION else FRACTION
            self.add(Facts(NUMBER, numbers=NumberSet(kind=kind)))
        for divisor in numbers.divisors:
            if is_whole(divisor):
                self.add(Facts(NUMBER, numbers=NumberSet(kind=FRACTION)))
                self.add(Facts(NUMBER, numbers=NumberSet(kind=INTEGER, avoided=(int(divisor),))))
            else:
                self.refuse(NUMBER, "the complement of a multipleOf with a fraction is not expressible")
        for divisor in numbers.avoided:
            self.add(Facts(NUMBER, numbers=NumberSet(divisors=(divisor,))))

    def _strings(self, facts: Facts) -> None:
        language = facts.strings
        if language is None or not facts.types & STRING:
            return
        if language.min_length:
            self.add(Facts(STRING, strings=StringLanguage(max_length=language.min_length - 1)))
        if language.max_length is not None:
            self.add(Facts(STRING, strings=StringLanguage(min_length=language.max_length + 1)))
        for pattern in language.patterns:
            self.add(Facts(STRING, strings=StringLanguage(not_patterns=(pattern,))))
        for pattern in language.not_patterns:
            self.add(Facts(STRING, strings=StringLanguage(patterns=(pattern,))))
        if language.formats:
            self.refuse(STRING, "the complement of a format is not expressible")
        if language.excluded:
            self.add(Facts(STRING, values=sorted(language.excluded)))

    def _arrays(self, arrays: ArraySet) -> None:
        if arrays.minimum:
            self.add(Facts(ARRAY, arrays=ArraySet(maximum=arrays.minimum - 1)))
        if arrays.maximum is not None:
            self.add(Facts(ARRAY, arrays=ArraySet(minimum=arrays.maximum + 1)))
        for part in arrays.parts:
            for position, member in enumerate(part.prefix):
                if member != ALWAYS:
                    wrong = ArrayPart((ALWAYS,) * position + (~member,), ALWAYS)
                    self.add(Facts(ARRAY, arrays=ArraySet((wrong,), position + 1)))
            if part.rest == NEVER:
                self.add(Facts(ARRAY, arrays=ArraySet(minimum=len(part.prefix) + 1)))
            elif part.rest != ALWAYS:
                some = Contains(~part.rest, 1, None, self.pointer, len(part.prefix))
                self.add(Facts(ARRAY, arrays=ArraySet(contains=(some,))))
        for item in arrays.contains:
            if item.minimum:
                few = item._replace(minimum=0, maximum=item.minimum - 1)
                self.add(Facts(ARRAY, arrays=ArraySet(contains=(few,))))
            if item.maximum is not None:
                many = item._replace(minimum=item.maximum + 1, maximum=None)
                self.add(Facts(ARRAY, arrays=ArraySet(contains=(many,))))
        if arrays.unique is not None:
            self.refuse(ARRAY, "the complement of uniqueItems is not expressible")

    def _objects(self, objects: ObjectSet) -> None:
        asserted = {name for part in objects.parts for name, member in part.properties.items() if member != ALWAYS}
        for name in objects.required:
            if name not in asserted:
                without = ObjectPart({name: NEVER}, (), ALWAYS)
                self.add(Facts(OBJECT, objects=ObjectSet((without,))))
        for part in objects.parts:
            for name, member in part.properties.items():
                if member != ALWAYS:
                    wrong = ObjectPart({name: ~member}, (), ALWAYS)
                    # A required property may also be missing: one way to fail instead of two.
                    present = () if name in objects.required else (name,)
                    self.add(Facts(OBJECT, objects=ObjectSet((wrong,), present)))
            for pattern, member in part.patterns:
                if member != ALWAYS:
                    self._some(StringLanguage(patterns=(pattern,)), ~member)
            if part.additional != ALWAYS:
                others = StringLanguage(
                    excluded=frozenset(part.properties),
                    not_patterns=tuple(pattern for pattern, _ in part.patterns),
                )
                self._some(others, ~part.additional)
        if objects.minimum:
            self.add(Facts(OBJECT, objects=ObjectSet(maximum=objects.minimum - 1)))
        if objects.maximum is not None:
            where = self.pointer
            self.add(Facts(OBJECT, objects=ObjectSet(minimum=objects.maximum + 1, counted=where)))
        for member in objects.names:
            self._some(StringLanguage(), ALWAYS, (~member,))
        for some in objects.some:
            self.refuse(OBJECT, "the complement of a complement of undeclared properties", some.pointer)

    def _some(self, keys: StringLanguage, member: int, names: tuple[int, ...] = ()) -> None:
        """Some property is of this kind."""
        some = Some(keys, names, member, self.pointer)
        self.add(Facts(OBJECT, objects=ObjectSet(some=(some,))))

    def _choice(self, choice: Choice) -> None:
        """None of the alternatives holds; or, if exactly one should, two of them do."""
        none: list[int] = []
        for alternative in choice.alternatives:
            if len(alternative) == 1:
                none.append(~alternative[0])
            else:
                fails = Choice(tuple((~member,) for member in alternative), choice.pointer)
                none.append(self.host.synthetic(Facts(choices=(fails,)), choice.pointer))
        self.alternatives.append(tuple(none))
        if choice.exclusive:
            self.alternatives.extend(first + second for first, second in combinations(choice.alternatives, 2))
