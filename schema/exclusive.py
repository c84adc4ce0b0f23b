"""Proofs that two unions of terms have no value in common: what `oneOf` needs.

Type domains, number ranges, string languages, finite values and array lengths are compared
directly; two objects are disjoint if some property that both must have has disjoint
nodes (a discriminator), or if one requires what the other forbids; two arrays if a
position that both must have is. "Not proved" is the answer in all other cases.
"""

from __future__ import annotations

from typing import Any, Protocol

from .document import identity
from .emptiness import disjoint
from .facts import ARRAY, NUMBER, OBJECT, STRING, type_of
from .nodes import Anything, ArrayTerm, Node, ObjectTerm, Property, Term, Values
from .numbers import NumberSet
from .strings import StringLanguage, contains

__all__ = ["Prover"]

MAX_PROOF_DEPTH = 8
"""How deep below the branches a discriminator may lie."""


class Host(Protocol):
    """What a proof needs of the reduction."""

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node, reduced now."""


class Prover:
    """Proves disjointness; the node pairs under way count as not proved."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._known: dict[tuple[Node, Node], bool] = {}
        self._stand_ins: dict[Values, frozenset[Any]] = {}
        self._depth = 0

    def forget(self) -> None:
        """Let go of the reduction, so that it is freed without a search for cycles."""
        del self.host
        self._known.clear()

    def disjoint_terms(self, first: list[Term], second: list[Term]) -> bool:
        """Whether no value belongs to both unions."""
        return all(self._disjoint(one, other) for one in first for other in second)

    def disjoint_nodes(self, first: Node, second: Node) -> bool:
        """Whether no value belongs to both nodes."""
        if first is second or self._depth >= MAX_PROOF_DEPTH:
            return first is second and self.host.terms(first) == []
        key = (first, second) if id(first) < id(second) else (second, first)
        if key not in self._known:
            self._known[key] = False
            self._depth += 1
            self._known[key] = self.disjoint_terms(self.host.terms(first), self.host.terms(second))
            self._depth -= 1
        return self._known[key]

    def _disjoint(self, one: Any, other: Any) -> bool:
        if isinstance(one, Values):
            if isinstance(other, Values):
                return self._identities(one).isdisjoint(self._identities(other))
            return not any(self._holds(other, value) for value in one.constants)
        if isinstance(other, Values):
            return not any(self._holds(one, value) for value in other.constants)
        if isinstance(one, Anything) or isinstance(other, Anything):
            return False
        if type(one) is not type(other):
            return True
        if isinstance(one, NumberSet):
            return one.meet(other) is None
        if isinstance(one, StringLanguage):
            return disjoint(one, other)
        if isinstance(one, ArrayTerm):
            return self._disjoint_arrays(one, other)
        return self._disjoint_objects(one, other)

    def _holds(self, term: Any, value: Any) -> bool:
        """Whether `value` may belong to the term (False is a proof that it does not)."""
        if isinstance(term, Anything):
            return True
        if isinstance(term, Values):
            return identity(value) in self._identities(term)
        kind = type_of(value)
        if isinstance(term, NumberSet):
            return kind == NUMBER and term.contains(value)
        if isinstance(term, StringLanguage):
            return kind == STRING and contains(term, value)
        if isinstance(term, ArrayTerm):
            return kind == ARRAY and self._array_holds(term, value)
        return kind == OBJECT and self._object_holds(term, value)

    def _identities(self, values: Values) -> frozenset[Any]:
        """The stand-ins of constants, made once."""
        found = self._stand_ins.get(values)
        if found is None:
            found = self._stand_ins[values] = frozenset(map(identity, values.constants))
        return found

    def _node_holds(self, node: Node, value: Any) -> bool:
        return any(self._holds(term, value) for term in self.host.terms(node))

    def _array_holds(self, term: ArrayTerm, value: list[Any]) -> bool:
        if len(value) < term.minimum or (term.maximum is not None and len(value) > term.maximum):
            return False
        return all(self._node_holds(term.at(index), item) for index, item in enumerate(value))

    def _object_holds(self, term: ObjectTerm, value: dict[str, Any]) -> bool:
        declared = {item.name: item for item in (*term.properties, *term.late)}
        if any(item.required and name not in value for name, item in declared.items()):
            return False
        for name, child in value.items():
            nodes = [declared[name].node] if name in declared else []
            nodes = nodes or [node for language, node in term.others if contains(language, name)]
            if not any(self._node_holds(node, child) for node in nodes):
                return False
        return True

    def _disjoint_arrays(self, one: ArrayTerm, other: ArrayTerm) -> bool:
        if one.maximum is not None and other.minimum > one.maximum:
            return True
        if other.maximum is not None and one.minimum > other.maximum:
            return True
        shared = min(max(one.minimum, other.minimum), max(len(one.prefix), len(other.prefix)) + 1)
        return any(self.disjoint_nodes(one.at(index), other.at(index)) for index in range(shared))

    def _disjoint_objects(self, one: ObjectTerm, other: ObjectTerm) -> bool:
        return self._conflict(one, other) or self._conflict(other, one)

    def _conflict(self, one: ObjectTerm, other: ObjectTerm) -> bool:
        """Whether a property that `one` requires cannot have a common value."""
        theirs: dict[str, Property] = {item.name: item for item in (*other.properties, *other.late)}
        for item in (*one.properties, *one.late):
            if not item.required:
                continue
            if item.name in theirs:
                nodes = [theirs[item.name].node]
            else:
                nodes = [node for language, node in other.others if contains(language, item.name)]
            if all(self.disjoint_nodes(item.node, node) for node in nodes):
                return True
        return False
