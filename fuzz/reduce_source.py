"""Smaller source texts and smaller texts to try: on the tree of a grammar or of JSON where there is
one, on characters where not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

from infernix.gbnf import grammar as ir
from infernix.gbnf.errors import RequestError
from infernix.gbnf.grammar import (
    Alternatives,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenSet,
    fold,
    walk,
)
from infernix.gbnf.parser import parse_gbnf
from infernix.gbnf.printer import print_grammar

from .spelling import canonical, dumps

__all__ = ["smaller_sources", "smaller_texts", "without_parts"]

Item = TypeVar("Item")

_COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.")


def without_parts(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    """The sequence without one part: halves, then quarters, down to single items, from the end."""
    size = len(items)
    while size > 0:
        for start in range(len(items) - size, -1, -size):
            yield (*items[:start], *items[start + size :])
        size //= 2


def smaller_sources(kind: str, source: str) -> Iterator[str]:
    """Smaller source texts, coarse reductions first."""
    match kind:
        case "gbnf":
            return _grammars(source)
        case "regex":
            return _patterns(source)
        case _:
            return (dumps(value) for value in _values(json.loads(source)))


def smaller_texts(kind: str, text: str) -> Iterator[str]:
    """Smaller texts to try: of the same value's parts if it is canonical JSON, by characters if not."""
    if kind == "schema" and canonical(text):
        yield from (dumps(value) for value in _values(json.loads(text)))
    else:
        yield from _cut(text)


def _cut(text: str) -> Iterator[str]:
    """The text without some of its characters in a row."""
    size = max(len(text) // 2, 1) if text else 0
    while size > 0:
        for start in range(len(text) - size, -1, -1):
            yield text[:start] + text[start + size :]
        size //= 2


# --- regular expressions


def _patterns(source: str) -> Iterator[str]:
    yield from _cut(source)
    for match in _COUNT.finditer(source):
        for count in ("{2}", "{1,}", "?", "*"):
            yield source[: match.start()] + count + source[match.end() :]
    for match in _CLASS.finditer(source):
        for plain in "a.":
            yield source[: match.start()] + plain + source[match.end() :]


# --- JSON


def _values(value: Any) -> Iterator[Any]:
    """Values with one part taken out, replaced by something inside it, or made simpler."""
    match value:
        case dict():
            yield from _children(value)
            yield from map(dict, without_parts(tuple(value.items())))
            for key, item in value.items():
                for smaller in _values(item):
                    yield {**value, key: smaller}
        case list():
            yield from _children(value)
            yield from map(list, without_parts(tuple(value)))
            for place, item in enumerate(value):
                for smaller in _values(item):
                    yield [*value[:place], smaller, *value[place + 1 :]]
        case str():
            yield from _cut(value)
            if value != "a":
                yield "a"
        case bool() | None:
            return
        case int() | float():
            for simple in (0, 1, 2, int(value) if abs(value) < 1e15 else 0):
                if simple != value:
                    yield simple


def _children(value: Any) -> Iterator[Any]:
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield item
            for inner in item.values() if isinstance(item, dict) else item:
                if isinstance(inner, dict):
                    yield inner


# --- grammars


def _grammars(source: str) -> Iterator[str]:
    try:
        grammar = parse_gbnf(source)
    except RequestError:
        yield from _cut(source)
        return
    for smaller in _smaller_grammars(grammar):
        try:
            yield print_grammar(smaller)
        except RequestError:
            continue
    if source != print_grammar(grammar):
        # The very spelling may be what matters.
        yield from _cut(source)


def _smaller_grammars(grammar: Grammar) -> Iterator[Grammar]:
    yield _tidy(grammar)
    for rule in grammar.rules:
        if rule.name != grammar.root:
            for stand_in in (ir.EMPTY, Literal("a"), rule.body):
                if not _mentions(stand_in, rule.name):
                    yield _inlined(grammar, rule.name, stand_in)
            if not any(_mentions(other.body, grammar.root) for other in grammar.rules):
                yield _promoted(grammar, rule)
    # Rules that nothing mentions are kept here: compilers fail on them too.
    for index, rule in enumerate(grammar.rules):
        for body in _expressions(rule.body):
            rules = (*grammar.rules[:index], replace(rule, body=body), *grammar.rules[index + 1 :])
            yield Grammar(rules, grammar.root)


def _mentions(expression: Expression, name: str) -> bool:
    return any(isinstance(node, RuleRef) and node.name == name for node in walk(expression))


def _inlined(grammar: Grammar, name: str, body: Expression) -> Grammar:
    """The grammar with a rule replaced by an expression wherever it is mentioned."""

    def exchange(node: Expression, below: list[Expression]) -> Expression:
        return body if isinstance(node, RuleRef) and node.name == name else _rebuilt(node, below)

    rules = tuple(Rule(r.name, fold(r.body, exchange)) for r in grammar.rules if r.name != name)
    return Grammar(rules, grammar.root)


def _promoted(grammar: Grammar, rule: Rule) -> Grammar:
    """The grammar that begins with another rule, which takes the place and the name of the root."""

    def exchange(node: Expression, below: list[Expression]) -> Expression:
        is_it = isinstance(node, RuleRef) and node.name == rule.name
        return RuleRef(grammar.root) if is_it else _rebuilt(node, below)

    others = [other for other in grammar.rules if other.name not in (rule.name, grammar.root)]
    rules = [Rule(grammar.root, rule.body), *others]
    return Grammar(tuple(Rule(r.name, fold(r.body, exchange)) for r in rules), grammar.root)


def _rebuilt(node: Expression, below: list[Expression]) -> Expression:
    match node:
        case Sequence():
            return ir.sequence(below)
        case Alternatives():
            return ir.alternatives(below)
        case Repeat(minimum=minimum, maximum=maximum):
            return ir.repeat(below[0], minimum, maximum)
        case Joined(required=required):
            return ir.joined(zip(below, required, strict=False), below[-1])
        case _:
            return node


def _tidy(grammar: Grammar) -> Grammar:
    """In normal form, without the rules that nothing mentions."""
    rules = {rule.name: Rule(rule.name, fold(rule.body, _rebuilt)) for rule in grammar.rules}
    used, agenda = {grammar.root}, [grammar.root]
    while agenda:
        for node in walk(rules[agenda.pop()].body):
            if isinstance(node, RuleRef) and node.name in rules and node.name not in used:
                used.add(node.name)
                agenda.append(node.name)
    return Grammar(tuple(rule for name, rule in rules.items() if name in used), grammar.root)


def _expressions(node: Expression) -> Iterator[Expression]:
    """Expressions with one reduction somewhere."""
    if node != ir.EMPTY:
        yield ir.EMPTY
    match node:
        case Sequence(items) | Alternatives(items):
            yield from items
            make = Sequence if isinstance(node, Sequence) else Alternatives
            for place in range(len(items)):
                left = (*items[:place], *items[place + 1 :])
                yield make(left) if len(left) > 1 else left[0]
            for place, item in enumerate(items):
                for smaller in _expressions(item):
                    yield make((*items[:place], smaller, *items[place + 1 :]))
        case Joined(items, required, separator):
            yield from items
            slots = tuple(zip(items, required, strict=True))
            for place, (item, needed) in enumerate(slots):
                yield ir.joined((*slots[:place], *slots[place + 1 :]), separator)
                for smaller in _expressions(item):
                    yield ir.joined((*slots[:place], (smaller, needed), *slots[place + 1 :]), separator)
            for smaller in _expressions(separator):
                yield ir.joined(slots, smaller)
        case Repeat(item, minimum, maximum):
            yield item
            for bounds in ((0, None), (0, 1), (2, 2), (0, 2), (max(minimum - 1, 0), maximum)):
                if bounds != (minimum, maximum):
                    yield Repeat(item, *bounds)
            for smaller in _expressions(item):
                yield Repeat(smaller, minimum, maximum)
        case Literal(text):
            for shorter in _cut(text):
                yield Literal(shorter)
            if text != "a":
                yield Literal("a")
        case CharClass(ranges):
            yield Literal("a")
            for place in range(len(ranges)):
                yield CharClass((*ranges[:place], *ranges[place + 1 :]))
            for low, high in ranges:
                yield CharClass(((low, low),))
                if high != low:
                    yield CharClass(((low, low + 1),))
        case TokenSet(ids, exclude):
            for place in range(len(ids)):
                if len(ids) > 1:
                    yield TokenSet((*ids[:place], *ids[place + 1 :]), exclude)
        case _:
            return
