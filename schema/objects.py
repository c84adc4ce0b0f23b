"""Sets of objects: declared properties, rules for the other keys, and counts.

As with arrays, a conjunction keeps one `ObjectPart` for each schema: `additionalProperties` speaks of
the names that *its own* schema does not declare, so a closed object stays closed whatever
another branch declares. Schemas are named by member numbers (see `reduce`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .strings import StringLanguage

__all__ = ["ALL_OBJECTS", "ObjectPart", "ObjectSet", "Some"]


class ObjectPart(NamedTuple):
    """What one schema says of the values: by name, by pattern of the name, and of all others."""

    properties: Mapping[str, int]
    patterns: tuple[tuple[str, int], ...]
    additional: int


class Some(NamedTuple):
    """Some property has a key of `keys` (and of the members `names`) and a value of `member`.

    This is how an `additionalProperties`, `patternProperties` or `propertyNames` fails.
    """

    keys: StringLanguage
    names: tuple[int, ...]
    member: int
    pointer: str


class ObjectSet(NamedTuple):
    """Objects that satisfy every part, have every required name, and fit the counts.

    `names` are members that every key, taken as a string, belongs to. `counted` is the
    pointer of the `minProperties` in force, for messages.
    """

    parts: tuple[ObjectPart, ...] = ()
    required: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int | None = None
    names: tuple[int, ...] = ()
    counted: str = ""
    some: tuple[Some, ...] = ()

    def meet(self, other: ObjectSet) -> ObjectSet | None:
        """The intersection; None when the counts exclude each other."""
        maximum = other.maximum if self.maximum is None else self.maximum
        if maximum is not None and other.maximum is not None:
            maximum = min(maximum, other.maximum)
        minimum, counted = max((self.minimum, self.counted), (other.minimum, other.counted))
        required = self.required
        if other.required:
            required += tuple(name for name in other.required if name not in self.required)
        if maximum is not None and max(minimum, len(required)) > maximum:
            return None
        names = self.names + tuple(member for member in other.names if member not in self.names)
        some = self.some + tuple(item for item in other.some if item not in self.some)
        return ObjectSet(self.parts + other.parts, required, minimum, maximum, names, counted, some)


ALL_OBJECTS = ObjectSet()
