"""Sets of arrays: positional rules, length bounds and counts of contained items.

A conjunction of array schemas keeps one `ArrayPart` for each of them, because each has its own prefix
length and its own rule for the rest: `[A, B], rest C` and `[D], rest E` meet position by
position in `[A and D, B and E], rest C and E`. Schemas are named by member numbers (see
`reduce`), so that intersecting never copies a schema.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ArrayPart", "ArraySet", "Contains"]


class ArrayPart(NamedTuple):
    """What one schema says of the items: a member for each prefix position, one for the rest."""

    prefix: tuple[int, ...]
    rest: int

    def at(self, position: int) -> int:
        """The member for the item at `position`."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


class Contains(NamedTuple):
    """Between `minimum` and `maximum` (None: any number of) items from position `start` on belong to `member`."""

    member: int
    minimum: int
    maximum: int | None
    pointer: str
    start: int = 0


class ArraySet(NamedTuple):
    """Arrays that satisfy every part, both length bounds and every count.

    `unique` is the pointer of a `uniqueItems: true`, or None.
    """

    parts: tuple[ArrayPart, ...] = ()
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: str | None = None

    def meet(self, other: ArraySet) -> ArraySet | None:
        """The intersection; None when the length bounds exclude each other."""
        minimum = max(self.minimum, other.minimum)
        maximum = other.maximum if self.maximum is None else self.maximum
        if maximum is not None and other.maximum is not None:
            maximum = min(maximum, other.maximum)
        if maximum is not None and minimum > maximum:
            return None
        return ArraySet(
            self.parts + other.parts,
            minimum,
            maximum,
            self.contains + tuple(item for item in other.contains if item not in self.contains),
            self.unique if self.unique is not None else other.unique,
        )

    def prefix_length(self) -> int:
        """The number of positions with a rule of their own."""
        return max((len(part.prefix) for part in self.parts), default=0)
