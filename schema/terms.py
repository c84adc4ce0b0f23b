"""From sets of arrays and objects to terms whose parts are nodes.

Here the parts of a conjunction meet: the item at position 3 is the node of every part's rule for
position 3, the property `a` the node of every part's rule for `a`, each by its own
`properties`, `patternProperties` and `additionalProperties`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .arrays import ArraySet, Contains
from .facts import NEVER, Facts
from .nodes import Anything, ArrayTerm, Count, Node, ObjectTerm, Property, Term, Values
from .objects import ALL_OBJECTS, ObjectSet
from .strings import StringLanguage, checker, intersect, is_empty
from .values import members_for, satisfies

__all__ = ["TermBuilder"]

MAX_PATTERN_CELLS = 256
"""At most this many cells of keys told apart by `patternProperties`."""


class Host(Protocol):
    """What building terms needs of the reduction."""

    def node(self, members: Iterable[int], pointer: str) -> Node:
        """The node of a conjunction."""

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node, reduced now."""

    def facts(self, member: int) -> Facts:
        """The facts of a member."""


class TermBuilder:
    """Builds array and object terms for a reduction."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def arrays(self, arrays: ArraySet | None, pointer: str) -> list[Term]:
        """The term of a set of arrays, or no term if it is plainly empty."""
        if arrays is None:
            return [ArrayTerm((), self.host.node((), pointer), 0, None)]
        length = arrays.prefix_length()
        if arrays.maximum is not None:
            length = min(length, arrays.maximum)
        prefix = tuple(
            self.host.node((part.at(position) for part in arrays.parts), pointer) for position in range(length)
        )
        rest_members = [part.at(length) for part in arrays.parts]
        rest = self.host.node(rest_members, pointer)
        unique = arrays.unique if arrays.maximum is None or arrays.maximum > 1 else None
        count = None
        minimum, maximum = arrays.minimum, arrays.maximum
        for wanted in arrays.contains:
            if wanted.minimum == 0 and wanted.maximum is None:
                continue
            if count is not None or prefix:
                reason = "contains beside another contains or a prefix is not expressible"
                raise UnsupportedSchema(reason, wanted.pointer)
            count = self._count(wanted, rest_members, pointer)
            minimum = max(minimum, count.minimum)
        return [ArrayTerm(prefix, rest, minimum, maximum, count, unique, pointer)]

    def _count(self, wanted: Contains, rest: list[int], pointer: str) -> Count:
        inside = self.host.node([*rest, wanted.member], pointer)
        outside = None
        if wanted.maximum is not None:
            outside = self.host.node([*rest, ~wanted.member], pointer)
        return Count(inside, outside, wanted.minimum, wanted.maximum, wanted.pointer)

    def objects(self, objects: ObjectSet | None, pointer: str) -> list[Term]:
        """The term of a set of objects, or no term if it is plainly empty."""
        objects = objects or ALL_OBJECTS
        required = frozenset(objects.required)
        finite, key_language = self._key_language(objects, pointer)
        declared: dict[str, None] = {}
        for part in objects.parts:
            declared.update(dict.fromkeys(part.properties))
        late = [name for name in objects.required if name not in declared]
        if finite is not None:  # finitely many names: as good as declared
            declared.update(dict.fromkeys(finite))
            late = [name for name in late if name not in declared]
        properties = [self._property(objects, name, name in required, pointer) for name in declared]
        others: tuple[tuple[StringLanguage, Node], ...] = ()
        if finite is None:
            taken = frozenset((*declared, *late))
            others = tuple(self._others(objects, key_language, taken, pointer))
        late_properties = tuple(self._property(objects, name, True, pointer) for name in late)
        return [
            ObjectTerm(
                tuple(properties), late_properties, others, objects.minimum, objects.maximum, objects.counted
            )
        ]

    def _property(self, objects: ObjectSet, name: str, required: bool, pointer: str) -> Property:
        members: list[int] = []
        for part in objects.parts:
            members += members_for(part, name)
        if objects.names and not all(satisfies(self.host, member, name) for member in objects.names):
            members = [NEVER]
        return Property(name, self.host.node(members, pointer), required)

    def _key_language(self, objects: ObjectSet, pointer: str) -> tuple[list[str] | None, StringLanguage | None]:
        """What `propertyNames` allows: finitely many names, or a language (None: every string)."""
        if not objects.names:
            return None, None
        terms = self.host.terms(self.host.node(objects.names, pointer))
        strings = [term for term in terms if isinstance(term, StringLanguage)]
        finite = [
            value for term in terms if isinstance(term, Values) for value in term.constants if isinstance(value, str)
        ]
        if any(isinstance(term, Anything) for term in terms):
            return None, None
        if not strings:
            return finite, None
        if len(strings) > 1 or finite:
            raise UnsupportedSchema("propertyNames must reduce to one string language", pointer)
        return None, strings[0]

    def _others(
        self, objects: ObjectSet, keys: StringLanguage | None, taken: frozenset[str], pointer: str
    ) -> Iterator[tuple[StringLanguage, Node]]:
        """Disjoint languages of the undeclared keys, each with the node of its values."""
        patterns = list(dict.fromkeys(pattern for part in objects.parts for pattern, _ in part.patterns))
        for language, matched in self._cells(keys or StringLanguage(), patterns, pointer):
            members: list[int] = []
            for part in objects.parts:
                own = [member for pattern, member in part.patterns if pattern in matched]
                members += own or [part.additional]
            if NEVER not in members:
                yield _without(language, taken), self.host.node(members, pointer)

    def _cells(
        self, base: StringLanguage, patterns: list[str], pointer: str
    ) -> Iterator[tuple[StringLanguage, frozenset[str]]]:
        """Split a key language by which of the patterns a key matches; empty cells are left out."""
        cells: list[tuple[StringLanguage, frozenset[str]]] = [(base, frozenset())]
        for pattern in patterns:
            inside = StringLanguage(patterns=(pattern,))
            outside = StringLanguage(not_patterns=(pattern,))
            cells = [
                cell
                for language, matched in cells
                for cell in (
                    (intersect(language, inside), matched | {pattern}),
                    (intersect(language, outside), matched),
                )
                if not is_empty(cell[0])
            ]
            if len(cells) > MAX_PATTERN_CELLS:
                raise UnsupportedSchema("too many overlapping patternProperties", pointer)
        yield from cells

    def needs(self, term: Any) -> Iterator[Node]:
        """The nodes without which the term has no value."""
        if isinstance(term, ObjectTerm):
            yield from (item.node for item in (*term.properties, *term.late) if item.required)
        elif isinstance(term, ArrayTerm):
            yield from (term.at(position) for position in range(min(term.minimum, len(term.prefix) + 1)))


def _without(language: StringLanguage, names: frozenset[str]) -> StringLanguage:
    """The language without the names that belong to it."""
    if not language.is_free:
        belongs = checker(language)
        names = frozenset(name for name in names if belongs(name))
    return intersect(language, StringLanguage(excluded=names)) if names else language
