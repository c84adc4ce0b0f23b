"""From sets of arrays to terms whose parts are nodes.

The rules of several schemas meet position by position: the item at position 3 is the node of
every schema's rule for position 3, each by its own prefix and its own rule for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .arrays import ArraySet, Contains
from .facts import Facts
from .nodes import ArrayTerm, Count, Node, ObjectTerm, Term, Values

__all__ = ["array_terms", "needed_nodes"]


class Host(Protocol):
    """What building terms needs of the reduction."""

    def node(self, members: Iterable[int], pointer: str) -> Node:
        """The node of a conjunction."""

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node, reduced now."""

    def facts(self, member: int) -> Facts:
        """The facts of a member."""


def array_terms(host: Host, arrays: ArraySet | None, pointer: str) -> list[Term]:
    """The term of a set of arrays (None: all arrays), which the schema at `pointer` asks for."""
    if arrays is None:
        return [ArrayTerm((), host.node((), pointer), 0, None)]
    length = arrays.prefix_length()
    if arrays.maximum is not None:
        length = min(length, arrays.maximum)
    prefix = tuple(host.node((part.at(position) for part in arrays.parts), pointer) for position in range(length))
    rest_members = [part.at(length) for part in arrays.parts]
    count = None
    minimum = arrays.minimum
    for wanted in arrays.contains:
        if wanted.minimum == 0 and wanted.maximum is None:
            continue
        if count is not None or prefix:
            reason = "contains beside another contains or a prefix is not expressible"
            raise UnsupportedSchema(reason, wanted.pointer)
        count = _count(host, wanted, rest_members, pointer)
        minimum = max(minimum, count.minimum)
    rest = host.node(rest_members, pointer)
    if arrays.unique is not None and (arrays.maximum is None or arrays.maximum > 1):
        _check_distinct(host, arrays.unique, prefix, rest)
    return [ArrayTerm(prefix, rest, minimum, arrays.maximum, count, arrays.unique, pointer)]


def _check_distinct(host: Host, unique: str, prefix: tuple[Node, ...], rest: Node) -> None:
    """Refuse `uniqueItems` at once unless the items are finitely many constants, or at most one can exist."""
    terms = host.terms(rest)
    if not terms and len(prefix) <= 1:
        return
    if prefix or len(terms) != 1 or not isinstance(terms[0], Values):
        raise UnsupportedSchema("uniqueItems needs items of finitely many values, and no prefix", unique)


def _count(host: Host, wanted: Contains, rest: list[int], pointer: str) -> Count:
    """The items inside and outside of what an array must contain."""
    inside = host.node([*rest, wanted.member], pointer)
    outside = None
    if wanted.maximum is not None:
        outside = host.node([*rest, ~wanted.member], pointer)
    return Count(inside, outside, wanted.minimum, wanted.maximum, wanted.pointer)


def needed_nodes(term: Term) -> Iterator[Node]:
    """The nodes without which an array or object term has no value."""
    if isinstance(term, ObjectTerm):
        yield from (item.node for item in (*term.properties, *term.late) if item.required)
    elif isinstance(term, ArrayTerm):
        yield from (term.at(position) for position in range(min(term.minimum, len(term.prefix) + 1)))
