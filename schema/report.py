"""The reduced graph as JSON data, for people: what is left of a schema after reduction.

Nodes that occur once are written in place; a node that occurs again (or within itself) is a
definition, named `node-N`, and `{"$ref": "#/$defs/node-N"}` elsewhere.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from .nodes import Anything, ArrayTerm, Node, ObjectTerm, Term, Values
from .numbers import ANY_NUMBER, NumberSet
from .strings import StringLanguage

__all__ = ["reduced_data"]


def reduced_data(root: Node) -> Any:
    """The productive part of the graph under `root` as JSON-able data."""
    return _Writer(root).document()


def _parts(term: Term) -> list[Node]:
    """The nodes a term refers to."""
    if isinstance(term, ArrayTerm):
        return [*term.prefix, term.rest, *_counted(term)]
    if isinstance(term, ObjectTerm):
        return [item.node for item in (*term.properties, *term.late)] + [node for _, node in term.others]
    return []


def _counted(term: ArrayTerm) -> list[Node]:
    """The nodes that the report shows of what is counted."""
    if term.count is None:
        return []
    shown = [term.count.cells[-1][1 << bit] for bit in range(len(term.count.bounds))]
    return [node for node in shown if node is not None]


NESTING = 64
"""A node this deep gets a name, so that the data nest no deeper."""


class _Writer:
    """Writes each node once; `names` holds the ones that need a name."""

    def __init__(self, root: Node) -> None:
        self.root = root
        uses: Counter[Node] = Counter([root])
        depths = {root: 0}
        pending = [root]
        while pending:
            parent = pending.pop()
            for node in (part for term in parent.terms or () for part in _parts(term)):
                uses[node] += 1
                if node not in depths:
                    depths[node] = depths[parent] + 1
                    pending.append(node)
        shared = [
            node
            for node, count in uses.items()
            if not _is_small(node) and (count > 1 or depths[node] % NESTING == NESTING - 1)
        ]
        self.names = {node: f"node-{index}" for index, node in enumerate(shared, 1)}

    def document(self) -> Any:
        """The root and the named nodes."""
        body = self.node(self.root)
        definitions = {name: self.terms(node) for node, name in self.names.items()}
        return {**body, "$defs": definitions} if definitions else body

    def node(self, node: Node) -> dict[str, Any]:
        """A reference to a named node, or the node itself."""
        if node in self.names:
            return {"$ref": f"#/$defs/{self.names[node]}"}
        return self.terms(node)

    def terms(self, node: Node) -> dict[str, Any]:
        """The union of a node's terms."""
        if not node.productive:
            return {"never": True}
        written = [self.term(term) for term in node.terms or ()]
        return written[0] if len(written) == 1 else {"anyOf": written}

    def term(self, term: Term) -> dict[str, Any]:
        """One term."""
        if isinstance(term, Anything):
            return {"any": True}
        if isinstance(term, Values):
            return {"enum": [_plain(value) for value in term.constants]}
        if isinstance(term, NumberSet):
            return {"number": _number_data(term)}
        if isinstance(term, StringLanguage):
            return {"string": _string_data(term)}
        if isinstance(term, ArrayTerm):
            return {"array": self._array(term)}
        return {"object": self._object(term)}

    def _array(self, term: ArrayTerm) -> dict[str, Any]:
        data: dict[str, Any] = {"prefix": [self.node(node) for node in term.prefix]} if term.prefix else {}
        data["rest"] = self.node(term.rest)
        data["length"] = [term.minimum, term.maximum]
        if term.count is not None:
            last = term.count.cells[-1]
            data["contains"] = [
                {"inside": self.node(node), "count": list(bounds)}
                for bit, bounds in enumerate(term.count.bounds)
                if (node := last[1 << bit]) is not None
            ]
        return {**data, "unique": True} if term.unique is not None else data

    def _object(self, term: ObjectTerm) -> dict[str, Any]:
        items = [item for item in (*term.properties, *term.late) if item.node.productive]
        return {
            "properties": {item.name: self.node(item.node) for item in items},
            "required": [item.name for item in items if item.required],
            "others": [
                {"keys": _string_data(keys), "values": self.node(node)} for keys, node in term.others if node.productive
            ],
            "count": [term.minimum, term.maximum],
        }


def _is_small(node: Node) -> bool:
    """Whether a node refers to no other, so that it may be repeated."""
    return not any(isinstance(term, ArrayTerm | ObjectTerm) for term in node.terms or ())


def _plain(value: Any) -> Any:
    """A constant with numbers that `json.dumps` writes."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    return [_plain(child) for child in value] if isinstance(value, list) else value


def _number_data(numbers: NumberSet) -> dict[str, Any]:
    data: dict[str, Any] = {} if numbers.kind == ANY_NUMBER else {"kind": numbers.kind}
    if numbers.low is not None:
        data["above" if numbers.low_open else "from"] = _plain(numbers.low)
    if numbers.high is not None:
        data["below" if numbers.high_open else "to"] = _plain(numbers.high)
    for key, divisors in (("multiplesOf", numbers.divisors), ("notMultiplesOf", numbers.avoided)):
        if divisors:
            data[key] = [_plain(item) for item in divisors]
    return data


def _string_data(language: StringLanguage) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if language.min_length or language.max_length is not None:
        data["length"] = [language.min_length, language.max_length]
    for key in ("patterns", "not_patterns", "formats"):
        if getattr(language, key):
            data[key] = list(getattr(language, key))
    return {**data, "excluded": sorted(language.excluded)} if language.excluded else data
