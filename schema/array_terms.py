"""From sets of arrays to terms whose parts are nodes.

The rules of several schemas meet position by position: the item at position 3 is the node of
every schema's rule for position 3, each by its own prefix and its own rule for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from infernix.gbnf.errors import UnsupportedSchema

from .arrays import ArraySet, Contains
from .counting import MAX_COUNTED, Count
from .facts import Facts
from .nodes import ArrayTerm, Node, ObjectTerm, Term, Values

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
    wanted = [item for item in arrays.contains if item.minimum or item.maximum is not None]
    if len(wanted) > MAX_COUNTED:
        raise UnsupportedSchema(f"more than {MAX_COUNTED} contains in one array", wanted[0].pointer)
    minimum = max([arrays.minimum, *(item.start + item.minimum for item in wanted if item.minimum)])
    count = _count(host, arrays, wanted, length, pointer) if wanted else None
    rest = host.node([part.at(length) for part in arrays.parts], pointer)
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


def _count(host: Host, arrays: ArraySet, wanted: list[Contains], length: int, pointer: str) -> Count:
    """The items of every position, by what they are counted for."""
    positions = max([length, *(item.start for item in wanted)])

    def cell(position: int, chosen: int) -> Node | None:
        members = [part.at(position) for part in arrays.parts]
        for bit, item in enumerate(wanted):
            if chosen >> bit & 1:
                if position < item.start:
                    return None
                members.append(item.member)
            elif item.maximum is not None and position >= item.start:
                members.append(~item.member)
        return host.node(members, pointer)

    cells = tuple(
        tuple(cell(position, chosen) for chosen in range(1 << len(wanted))) for position in range(positions + 1)
    )
    return Count(tuple((item.minimum, item.maximum) for item in wanted), cells, wanted[0].pointer)


def needed_nodes(term: Term) -> Iterator[Node]:
    """The nodes without which an array or object term has no value."""
    if isinstance(term, ObjectTerm):
        yield from (item.node for item in (*term.properties, *term.late) if item.required)
    elif isinstance(term, ArrayTerm):
        yield from (term.at(position) for position in range(min(term.minimum, len(term.prefix) + 1)))
