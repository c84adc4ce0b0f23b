"""From sets of objects to terms: the rules of several schemas meet, name by name.

The property `a` is the node of every schema's rule for `a`, each by its own `properties`,
`patternProperties` and `additionalProperties`. The undeclared names fall into *kinds*: key
languages without a common member, told apart by the patterns they match, each with one node for
its values. A property that must exist somewhere (`Some`) is one of the declared names or
one of the kinds, so it splits the set into several terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .emptiness import is_empty
from .facts import ALWAYS, NEVER, Facts
from .nodes import Anything, Kind, Node, ObjectTerm, Property, Term, Values
from .objects import ALL_OBJECTS, ObjectPart, ObjectSet, Some
from .strings import FREE, StringLanguage, checker, contains, intersect
from .values import members_for, satisfies

__all__ = ["names_listed", "object_terms"]

MAX_PATTERN_CELLS = 32
"""At most this many kinds of keys told apart by `patternProperties`."""


class Host(Protocol):
    """What building terms needs of the reduction."""

    def node(self, members: Iterable[int], pointer: str) -> Node:
        """The node of a conjunction."""

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node, reduced now."""

    def facts(self, member: int) -> Facts:
        """The facts of a member."""

    def pointer(self, member: int) -> str:
        """Where the member's schema stands."""


class _Open(NamedTuple):
    """A kind of undeclared properties: its keys, and the members of its values."""

    keys: StringLanguage
    members: tuple[int, ...]


def object_terms(host: Host, objects: ObjectSet | None, pointer: str) -> list[Term]:
    """The terms of a set of objects (None: all objects), which the schema at `pointer` asks for."""
    return list(_Builder(host, objects or ALL_OBJECTS, pointer).terms())


class _Builder:
    """The names and kinds of one set of objects."""

    def __init__(self, host: Host, objects: ObjectSet, pointer: str) -> None:
        self.host = host
        self.objects = objects
        self.pointer = pointer
        finite, keys = self._key_language(objects.names)
        declared: dict[str, None] = {}
        for part in objects.parts:
            declared.update(dict.fromkeys(part.properties))
        if finite is not None:  # finitely many names are as good as declared
            declared.update(dict.fromkeys(finite))
        self.declared = list(declared)
        self.late = [name for name in objects.required if name not in declared]
        self.kinds: list[_Open] = []
        if finite is None:
            self.kinds = list(self._open_kinds(keys, frozenset((*declared, *self.late))))

    def terms(self) -> Iterator[Term]:
        """One term; or one for each way to have the property that is wanted somewhere."""
        if not self.objects.some:
            yield self._term(())
            return
        some, *others = self.objects.some
        rest = self.objects._replace(some=tuple(others))
        for name in (*self.declared, *self.late):
            if contains(some.keys, name) and all(satisfies(self.host, item, name) for item in some.names):
                part = ObjectPart({name: some.member}, (), ALWAYS)
                required = tuple(dict.fromkeys((*rest.required, name)))
                narrowed = rest._replace(parts=(*rest.parts, part), required=required)
                yield from object_terms(self.host, narrowed, self.pointer)
        needed = tuple(self._needed(some))
        if needed:
            if others:
                reason = "several undeclared properties that must exist are not expressible"
                raise UnsupportedSchema(reason, some.pointer)
            yield self._term(needed)

    def _term(self, needed: tuple[Kind, ...]) -> ObjectTerm:
        return ObjectTerm(
            self._properties(self.declared),
            self._properties(self.late),
            tuple((keys, self.host.node(members, self.pointer)) for keys, members in self.kinds),
            self.objects.minimum,
            self.objects.maximum,
            self.objects.counted,
            needed,
        )

    def _properties(self, names: list[str]) -> tuple[Property, ...]:
        """The properties of these names, each the conjunction of what every part says of it."""
        members: dict[str, list[int]] = {name: [] for name in names}
        for part in self.objects.parts:
            if part.patterns:
                for name, mine in members.items():
                    mine += members_for(part, name)
            else:
                for name, mine in members.items():
                    mine.append(part.properties.get(name, part.additional))
        for item in self.objects.names:
            members = {name: mine if satisfies(self.host, item, name) else [NEVER] for name, mine in members.items()}
        required = frozenset(self.objects.required)
        node, where = self.host.node, self.pointer
        return tuple([Property(name, node(mine, where), name in required) for name, mine in members.items()])

    def _key_language(self, names: tuple[int, ...]) -> tuple[list[str] | None, StringLanguage]:
        """What `propertyNames` allows: finitely many names, or else a language."""
        if not names:
            return None, FREE
        terms = self.host.terms(self.host.node(names, self.pointer))
        if any(isinstance(term, Anything) for term in terms):
            return None, FREE
        languages = [term for term in terms if isinstance(term, StringLanguage)]
        finite = [
            value for term in terms if isinstance(term, Values) for value in term.constants if isinstance(value, str)
        ]
        if not languages:
            return finite, FREE
        if len(languages) > 1 or finite:
            raise UnsupportedSchema("propertyNames must reduce to one string language", self.pointer)
        return None, languages[0]

    def _open_kinds(self, keys: StringLanguage, taken: frozenset[str]) -> Iterator[_Open]:
        """The kinds of the undeclared properties that may exist."""
        parts = self.objects.parts
        if not any(part.patterns for part in parts):
            unmatched = tuple(part.additional for part in parts)
            if NEVER not in unmatched:
                yield _Open(_without(keys, taken), unmatched)
            return
        patterns = list(dict.fromkeys(pattern for part in parts for pattern, _ in part.patterns))
        cells = self._matching_cells(keys, patterns)
        avoiding = intersect(keys, _avoiding(patterns))
        for language, matched in (*cells, (avoiding, frozenset[str]())):
            members: list[int] = []
            for part in parts:
                own = [member for pattern, member in part.patterns if pattern in matched]
                members += own or [part.additional]
            if NEVER not in members and (matched or not is_empty(language)):
                yield _Open(_without(language, taken), tuple(members))

    def _matching_cells(self, base: StringLanguage, patterns: list[str]) -> list[tuple[StringLanguage, frozenset[str]]]:
        """The keys that match at least one pattern, split by which ones; no cell is empty."""
        cells: list[tuple[StringLanguage, frozenset[str]]] = []
        for position, pattern in enumerate(patterns):
            inside = StringLanguage(patterns=(pattern,))
            split: list[tuple[StringLanguage, frozenset[str]]] = []
            for language, matched in cells:
                both = intersect(language, inside)
                if is_empty(both):
                    split.append((language, matched))
                    continue
                split.append((both, matched | {pattern}))
                split.append((intersect(language, _avoiding([pattern])), matched))
            rivals = [other for other in patterns[:position] if not is_empty(StringLanguage(patterns=(other, pattern)))]
            alone = intersect(base, intersect(inside, _avoiding(rivals)))
            split.append((alone, frozenset({pattern})))
            cells = [cell for cell in split if not is_empty(cell[0])]
            if len(cells) > MAX_PATTERN_CELLS:
                raise UnsupportedSchema("too many overlapping patternProperties", self.pointer)
        return cells

    def _needed(self, some: Some) -> Iterator[Kind]:
        """The kinds that an undeclared property of the wanted sort may be of."""
        finite, names = self._key_language(some.names)
        for kind in self.kinds:
            node = self.host.node((*kind.members, some.member), self.pointer)
            base = intersect(kind.keys, some.keys)
            if finite is not None:
                belongs = checker(base)
                excluded = [name for name in finite if belongs(name)]
                if excluded:
                    raise UnsupportedSchema("a key of finitely many that must exist", some.pointer)
                continue
            keys = intersect(base, names)
            if not is_empty(keys):
                yield keys, node


def _without(language: StringLanguage, names: frozenset[str]) -> StringLanguage:
    """The language without the names that belong to it."""
    if names and not language.is_free:
        belongs = checker(language)
        names = frozenset(name for name in names if belongs(name))
    return intersect(language, StringLanguage(excluded=names)) if names else language


def _avoiding(patterns: Iterable[str]) -> StringLanguage:
    """The names that no pattern matches; a pattern that lists names excludes just these."""
    excluded: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        names = names_listed(pattern)
        excluded += names or ()
        others += [pattern] if names is None else []
    return StringLanguage(excluded=frozenset(excluded), not_patterns=tuple(others))


_LISTED = re.compile(r"\^(?:([\w /@:,-]+)|\((?:\?:)?([\w /@:,|-]+)\))\$", re.ASCII)


def names_listed(pattern: str) -> tuple[str, ...] | None:
    """The names that a pattern lists, as in `^name$` and `^(one|two)$`; None for any other pattern."""
    found = _LISTED.fullmatch(pattern)
    if found is None:
        return None
    return tuple(dict.fromkeys([found[1]] if found[1] else found[2].split("|")))
