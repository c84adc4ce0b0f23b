"""From the reduced graph to a grammar of JSON text.

One rule for all nodes that say the same, one for each term that several nodes share (`alike`);
everything that a value may be is a reference to a rule. The size of the grammar is linear in the
graph: properties become one sequence with optional parts or a chain of right-recursive rules
(`members`), counts stay counters.

Nodes that no value satisfies have no rule: an optional property of that kind is left out,
an array ends before such a position.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

from infernix.gbnf.errors import LimitError, UnsupportedSchema
from infernix.gbnf.grammar import (
    Expression,
    Grammar,
    Literal,
    Rule,
    RuleRef,
    alternatives,
    sequence,
)
from infernix.gbnf.time_limit import check_time

from .alike import Alike
from .document import json_text_of, spellings
from .items import array_body
from .json_text import JSON_STRING
from .layout import WS, Layout, needed_rules
from .members import object_body
from .nodes import Anything, ArrayTerm, Node, ObjectTerm, Term, Values
from .number_text import number_text
from .numbers import NumberSet
from .strings import StringLanguage, json_text

__all__ = ["Lowering", "lower"]

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
BOOLEANS = (False, True)
_LONGEST_NAME = 40


class Lowering:
    """The rules made so far, and the nodes whose rules are still to be made."""

    def __init__(self, layout: Layout, alike: Alike, respell: bool = True) -> None:
        self.layout = layout
        self.respell = respell
        self.rules: dict[str, Rule] = {}
        self.alike = alike
        self._nodes: dict[Hashable, RuleRef] = {}
        self._terms: dict[NumberSet | StringLanguage, RuleRef] = {}
        self._parts: dict[Hashable, RuleRef | None] = {}
        self._work: list[tuple[str, Node]] = []
        self._bodies: dict[Expression, RuleRef] = {}
        self.kinds: dict[Hashable, RuleRef | None] = {}
        self._stems: dict[str, int] = {}
        self._standard_names: dict[str, None] = {}

    def grammar(self, root: Node) -> Grammar:
        """The grammar of a productive root node."""
        self.rules["root"] = Rule("root", Literal(""))  # keeps its place in front
        self._work.append(("root", root))
        if self._standard(root) is None:
            self._nodes[self.alike.class_of(root)] = RuleRef("root")
        if self.layout.gap == WS:
            self.standard(WS.name)
        while self._work:
            name, node = self._work.pop()
            self.rules[name] = Rule(name, self._body(node))
        self._add_standard_rules()
        return Grammar(tuple(self.rules.values()))

    def value(self, node: Node) -> RuleRef:
        """A reference to the rule of a productive node."""
        alike = self.alike.class_of(node)
        known = self._nodes.get(alike)
        if known is None:
            known = self._standard(node)
            if known is None:
                known = RuleRef(self._name(node.pointer))
                self._work.append((known.name, node))
            self._nodes[alike] = known
        return known

    def rule(self, stem: str, body: Expression) -> RuleRef:
        """The rule of that body; a new one is named after `stem`."""
        known = self._bodies.get(body)
        if known is None:
            known = self._bodies[body] = RuleRef(self._name(stem))
            self.rules[known.name] = Rule(known.name, body)
        return known

    def fresh_rule(self, stem: str, body: Expression) -> RuleRef:
        """A rule of that body, without looking for an equal one: large bodies are costly to compare."""
        name = self._name(stem)
        self.rules[name] = Rule(name, body)
        return RuleRef(name)

    def reserve(self, stem: str) -> str:
        """The name of a rule whose body the caller will put into `rules`."""
        return self._name(stem)

    def standard(self, name: str) -> RuleRef:
        """A reference to a standard rule, which the grammar then contains."""
        self._standard_names[name] = None
        return RuleRef(name)

    def constant(self, value: Any) -> Expression:
        """The text of a constant: white space as the layout has it, all else as written."""
        if isinstance(value, str):
            return Literal(json_text_of(value))
        layout = self.layout
        if isinstance(value, dict):
            parts = [
                sequence(layout.member(Literal(json_text_of(key)), self.constant(child)))
                for key, child in value.items()
            ]
            return self._bracketed("{", parts, "}")
        if isinstance(value, list):
            return self._bracketed("[", [sequence([self.constant(child), layout.gap]) for child in value], "]")
        return alternatives(Literal(text) for text in (spellings(value) if self.respell else [json_text_of(value)]))

    def _bracketed(self, opening: str, parts: list[Expression], closing: str) -> Expression:
        inner = [part for item in parts for part in (self.layout.comma, item)][1:]
        return sequence([Literal(opening), self.layout.gap, *inner, Literal(closing)])

    def _name(self, pointer: str) -> str:
        """A fresh rule name that shows where its schema stands; standard names have no number."""
        stem = _stem(pointer.rpartition("/")[2])
        number = self._stems[stem] = self._stems.get(stem, 0) + 1
        return f"{stem}-{number}"

    def _standard(self, node: Node) -> RuleRef | None:
        """The rule that already says what the node says, if there is one."""
        if node.terms is None or len(node.terms) != 1:
            return None
        return self._shared(node.terms[0])

    def _shared(self, term: Term) -> RuleRef | None:
        """The standard rule of a term; or the one rule of an equal number or string term."""
        if isinstance(term, Anything):
            return self.standard("value")
        if isinstance(term, Values):
            if term.constants == (None,):
                return self.standard("null")
            return self.standard("boolean") if _is_boolean(term) else None
        if isinstance(term, StringLanguage):
            return self.standard(JSON_STRING.name) if term.is_free else self._terms.get(term)
        if isinstance(term, NumberSet):
            known = self._terms.get(term)
            if known is None:
                body = number_text(term)
                known = self.standard(body.name) if isinstance(body, RuleRef) else None
            return known
        if isinstance(term, ArrayTerm):
            return self.standard("array") if _is_free_array(term) else None
        return self.standard("object") if _is_free_object(term) else None

    def _body(self, node: Node) -> Expression:
        """The union of the node's terms that have values."""
        check_time()
        try:
            texts = [self._term(term, node.pointer) for term in node.terms or ()]
            bodies = [body for body in texts if body is not None]
            return bodies[0] if len(bodies) == 1 else alternatives(bodies)
        except LimitError as error:
            raise UnsupportedSchema(error.message, node.pointer) from None
        except UnsupportedSchema as error:
            raise UnsupportedSchema(error.message, error.pointer or node.pointer) from None

    def _term(self, term: Term, pointer: str) -> Expression | None:
        """The text of a term, or None if it has no value."""
        standard = self._shared(term)
        if standard is not None:
            return standard
        if isinstance(term, Values):
            return alternatives(self.constant(value) for value in term.constants)
        if isinstance(term, NumberSet | StringLanguage):
            body = number_text(term) if isinstance(term, NumberSet) else _string_text(term)
            reference = self._terms[term] = self.fresh_rule(pointer, body)
            return reference
        shared = self.alike.shared(term)
        return self._compound(term, pointer) if shared is None else self._part(term, pointer, *shared)

    def _compound(self, term: Term, pointer: str) -> Expression | None:
        if isinstance(term, ArrayTerm):
            return array_body(self, term, pointer)
        assert isinstance(term, ObjectTerm)
        return object_body(self, term, pointer)

    def _part(self, term: Term, pointer: str, content: Hashable, alone: Node | None) -> RuleRef | None:
        """A reference to the one rule of a term of several unions, which may be that of a node."""
        if alone is not None:
            return self.value(alone) if alone.productive else None
        if content not in self._parts:
            body = self._compound(term, pointer)
            self._parts[content] = None if body is None else self.fresh_rule(pointer, body)
        return self._parts[content]

    def _add_standard_rules(self) -> None:
        """Append the standard rules that are referred to, directly or not."""
        for name in self._standard_names:
            for rule in needed_rules(self.layout, name):
                self.rules.setdefault(rule.name, rule)


@lru_cache(maxsize=4096)
def _stem(token: str) -> str:
    """The beginning of a rule's name, from the last token of a pointer."""
    stem = _NOT_IN_NAMES.sub("-", token)[:_LONGEST_NAME].strip("-")
    if not stem or not stem[0].isalpha():
        stem = "schema" + ("-" + stem if stem else "")
    return stem


@lru_cache(maxsize=512)
def _string_text(language: StringLanguage) -> Expression:
    """The JSON text of a language; patterns and formats recur from schema to schema."""
    return json_text(language)


def _is_boolean(term: Values) -> bool:
    return len(term.constants) == len(BOOLEANS) and all(
        value in BOOLEANS and isinstance(value, bool) for value in term.constants
    )


def _is_free_array(term: ArrayTerm) -> bool:
    return (
        not (term.prefix or term.minimum or term.count or term.unique)
        and term.maximum is None
        and _is_anything(term.rest)
    )


def _is_free_object(term: ObjectTerm) -> bool:
    if term.properties or term.late or term.needed or term.minimum or term.maximum is not None or len(term.others) != 1:
        return False
    keys, node = term.others[0]
    return keys.is_free and _is_anything(node)


def _is_anything(node: Node) -> bool:
    return bool(node.terms) and isinstance(node.terms[0], Anything)  # type: ignore[index]


def lower(root: Node, layout: Layout, respell: bool = True) -> Grammar:
    """The grammar of the JSON texts, in one layout, of the values of a productive node.

    `respell` lets whole constants be written as `7` and `7.0` alike (in draft-04 only one is an integer).
    Raises UnsupportedSchema where a term has no exact grammar within the limits.
    """
    return Lowering(layout, Alike(root), respell).grammar(root)
