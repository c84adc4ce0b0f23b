"""Nodes that say the same, and terms that several nodes have: each is written as one rule.

Schemas repeat themselves: a definition is pasted into a dozen places, or is a branch of a dozen unions. The
reduction knows members by identity, so such copies are nodes of their own. Here they fall into *classes*, from
the leaves up: two nodes are of one class if their terms are equal once each part is replaced by its class.
Within a cycle of the graph a part has no class yet and stands for itself; then copies are not recognised, which
costs a rule and nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable

from .nodes import ArrayTerm, Node, ObjectTerm, Property, Term, Values

__all__ = ["Alike"]


class Alike:
    """The classes of the nodes that a root leads to, and the terms that occur in several of them."""

    def __init__(self, root: Node) -> None:
        self._classes: dict[Node, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._alone: dict[Hashable, Node] = {}
        self._uses: dict[Hashable, int] = {}
        self._contents: dict[int, Hashable] = {}
        entered: set[Node] = set()
        stack = [root]
        while stack:
            node = stack[-1]
            if node not in entered:
                entered.add(node)
                parts = [part for term in node.terms or () for part in _parts(term) if part not in entered]
                if parts:  # they come first
                    stack += parts
                    continue
            stack.pop()
            if node not in self._classes:
                self._classify(node)

    def class_of(self, node: Node) -> Hashable:
        """What a node has in common with those that say the same: a number, or the node itself if it is not known."""
        return self._classes.get(node, node)

    def shared(self, term: Term) -> tuple[Hashable, Node | None] | None:
        """For an array or object term of a union that occurs elsewhere too: its content, and perhaps a node that is
        only this term; else None."""
        content = self._contents.get(id(term))
        if content is None or (content not in self._alone and self._uses[content] == 1):
            return None
        return content, self._alone.get(content)

    def _classify(self, node: Node) -> None:
        """Number the class of a node whose parts are classified, as far as they can be."""
        terms = node.terms or []
        contents = tuple([self._content(term) for term in terms])
        number = self._numbers.get(contents)
        if number is None:
            number = self._numbers[contents] = len(self._numbers)
            if len(terms) == 1:
                self._alone[contents[0]] = node
            else:
                for content in contents:
                    self._uses[content] = self._uses.get(content, 0) + 1
        self._classes[node] = number
        if len(terms) > 1:
            for term, content in zip(terms, contents, strict=True):
                if isinstance(term, ArrayTerm | ObjectTerm):
                    self._contents[id(term)] = content

    def _content(self, term: Term) -> Hashable:
        """Equal for terms that say the same. Pointers, which are for messages only, do not count."""
        class_of = self.class_of
        if isinstance(term, ObjectTerm):
            return (
                ObjectTerm,
                self._properties(term.properties),
                self._properties(term.late),
                tuple([(keys, class_of(node)) for keys, node in term.others]),
                tuple([(keys, class_of(node)) for keys, node in term.needed]),
                term.minimum,
                term.maximum,
            )
        if isinstance(term, ArrayTerm) and term.count is None:
            prefix = tuple([class_of(node) for node in term.prefix])
            return ArrayTerm, prefix, class_of(term.rest), term.minimum, term.maximum, term.unique is not None
        if isinstance(term, Values) and all(value is None or isinstance(value, str) for value in term.constants):
            return Values, term.constants  # other constants are told apart by their spelling
        return type(term), term

    def _properties(self, properties: tuple[Property, ...]) -> Hashable:
        class_of = self.class_of
        return tuple([(name, class_of(node), required) for name, node, required in properties])


def _parts(term: Term) -> list[Node]:
    """The nodes that a term is made of; not those of counted items."""
    if isinstance(term, ObjectTerm):
        nodes = [item.node for item in term.properties]
        nodes += [item.node for item in term.late]
        nodes += [node for _, node in term.others]
        nodes += [node for _, node in term.needed]
        return nodes
    if isinstance(term, ArrayTerm) and term.count is None:
        return [*term.prefix, term.rest]
    return []
