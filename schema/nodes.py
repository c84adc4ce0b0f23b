"""The reduced schema: a graph of nodes, each a union of terms of one type.

    Node = Term or Term or ...          no term at all: nothing satisfies the node
    Term = Anything                     any JSON value
         | Values                       finitely many constants, of any types
         | NumberSet | StringLanguage   numbers, strings
         | ArrayTerm | ObjectTerm       arrays and objects, whose parts are nodes again

Composition, references, conditions and complements are gone; only recursion is left, as
cycles through nodes. `productive` marks the nodes that some finite value satisfies: the least
fixed point that `find_productive` computes, as for the non-terminals of a grammar.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from infernix.gbnf.record import record

from .counting import Count
from .numbers import NumberSet
from .strings import StringLanguage

__all__ = [
    "Anything",
    "ArrayTerm",
    "Node",
    "ObjectTerm",
    "Property",
    "Term",
    "Values",
    "find_productive",
]


class Node:
    """The values that a conjunction of source schemas allows. `pointer` is the first of them."""

    __slots__ = ("members", "pointer", "productive", "terms")

    def __init__(self, members: tuple[int, ...], pointer: str) -> None:
        self.members = members
        self.pointer = pointer
        self.terms: list[Term] | None = None
        self.productive = False


@record
class Anything:
    """Any JSON value."""


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """These constants, distinct as JSON values."""

    constants: tuple[Any, ...]


@record
class ArrayTerm:
    """Arrays: a node for each prefix position, one for the rest, length bounds, perhaps a count.

    With `unique` (a pointer) the items must differ; the prefix is then empty and `rest` finite.
    """

    prefix: tuple[Node, ...]
    rest: Node
    minimum: int
    maximum: int | None
    count: Count | None = None
    unique: str | None = None
    pointer: str = ""

    def at(self, position: int) -> Node:
        """The node of the item at `position`."""
        return self.prefix[position] if position < len(self.prefix) else self.rest


class Property(NamedTuple):
    """One declared property."""

    name: str
    node: Node
    required: bool


Kind = tuple[StringLanguage, Node]
"""A kind of undeclared properties: a language of keys and the node of their values."""


@record
class ObjectTerm:
    """Objects: declared properties in order, then any number of others.

    `late` are required names that nobody declares; they come after the declared ones,
    with other keys between them. `others` are disjoint key languages with their values. If
    `needed` is not empty, some other property must be of one of its kinds. `counted` is the
    pointer of the count in force.
    """

    properties: tuple[Property, ...]
    late: tuple[Property, ...]
    others: tuple[Kind, ...]
    minimum: int
    maximum: int | None
    counted: str = ""
    needed: tuple[Kind, ...] = ()


Term = Anything | Values | NumberSet | StringLanguage | ArrayTerm | ObjectTerm


def find_productive(nodes: Iterable[Node]) -> None:
    """Mark every node that some value satisfies: rounds over what is not yet known to be."""
    pending = list(nodes)
    pending.reverse()  # leaves are created last
    while True:
        left = []
        for node in pending:
            for term in node.terms or ():
                if _is_productive(term):
                    node.productive = True
                    break
            else:
                left.append(node)
        if len(left) == len(pending):
            return
        pending = left


def _is_productive(term: Term) -> bool:
    """Whether the term has a value made of nodes known to be productive."""
    if isinstance(term, ArrayTerm):
        if term.count is not None:
            steps = term.count.steps(term.minimum, term.maximum)
            return steps is None or term.count.start in steps
        if term.unique is not None and not _can_differ(term):
            return False
        positions = range(min(term.minimum, len(term.prefix) + 1))
        return all(term.at(position).productive for position in positions)
    if isinstance(term, ObjectTerm):
        if not all(item.node.productive for item in (*term.properties, *term.late) if item.required):
            return False
        if term.needed and not any(node.productive for _, node in term.needed):
            return False
        if term.minimum == 0:
            return True
        known = sum(item.node.productive for item in (*term.properties, *term.late))
        return known >= term.minimum or any(node.productive for _, node in term.others)
    return True


def _can_differ(term: ArrayTerm) -> bool:
    """Whether there are enough constants for items that must differ (other items are refused later)."""
    terms = term.rest.terms or []
    if len(terms) == 1 and isinstance(terms[0], Values):
        return term.minimum <= len(terms[0].constants)
    return True
