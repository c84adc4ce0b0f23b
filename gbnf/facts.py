"""Facts about the expressions of a grammar: which match the empty string, which match anything.

Nullable and productive are both *least fixed points* of "all of the parts" and "one of the
choices" over the expressions of all rules: a rule is productive if its body is, a sequence
if all its items are, a union if one choice is. They are computed as in Dowling and Gallier,
"Linear-time algorithms for testing the satisfiability of propositional Horn formulae"
(1984): each expression counts the parts it still waits for, and is told when one of them
turns out true. Every edge is looked at once, and nothing recurses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Repeat,
    RuleRef,
    TokenSet,
    children,
    without_fallback,
)

__all__ = ["Facts", "nullable", "productive"]


def nullable(grammar: Grammar) -> Facts:
    """Which expressions and rules match the empty string."""
    return Facts(grammar, _nullable_leaf)


def productive(grammar: Grammar) -> Facts:
    """Which expressions and rules match at least one finite string."""
    return Facts(grammar, _productive_leaf)


def _nullable_leaf(node: Expression) -> bool:
    match node:
        case Literal(text):
            return not text
        case Automaton(accepting=accepting):
            return 0 in accepting
        case _:
            return False


def _productive_leaf(node: Expression) -> bool:
    match node:
        case CharClass(ranges):
            return bool(ranges)
        case TokenSet(ids, exclude):
            return exclude or bool(ids)
        case Automaton():
            return _accepts_something(node)
        case _:
            return True


def _accepts_something(automaton: Automaton) -> bool:
    """Whether an accepting state can be reached."""
    edges_of = without_fallback(automaton).edges
    seen = {0}
    pending = [0]
    while pending:
        state = pending.pop()
        if state in automaton.accepting:
            return True
        for _, _, target in edges_of[state]:
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return False


class Facts:
    """For which expressions and rules a property holds, given for which leaves it does.

    An expression is identified by its `id`: equal ones may be shared or not, and hashing
    whole trees would take quadratic time. The grammar keeps them alive. Rules take part
    under their names.
    """

    def __init__(self, grammar: Grammar, leaf: Callable[[Expression], bool]) -> None:
        self._leaf = leaf
        self._true: set[int | str] = set()
        self._missing: dict[int | str, int] = {}
        self._waiting: dict[int | str, list[int | str]] = {}
        self._ready: deque[int | str] = deque()
        self._names = [rule.name for rule in grammar.rules]
        for rule in grammar.rules:
            self._wait(rule.name, 1, [id(rule.body)])
            self._add_all(rule.body)
        self._propagate()

    def holds(self, expression: Expression) -> bool:
        """Whether it holds for an expression of one of the grammar's bodies."""
        return id(expression) in self._true

    def rule_holds(self, name: str) -> bool:
        """Whether it holds for a rule."""
        return name in self._true

    def rules(self) -> frozenset[str]:
        """The rules it holds for."""
        return frozenset(name for name in self._names if name in self._true)

    def _add_all(self, body: Expression) -> None:
        pending = [body]
        while pending:
            node = pending.pop()
            if id(node) not in self._missing:
                self._add(node)
                pending.extend(children(node))

    def _add(self, node: Expression) -> None:
        """What an expression waits for: a choice for one part, a sequence for all, some for none."""
        parts = children(node)
        if isinstance(node, RuleRef):
            self._wait(id(node), 1, [node.name])
        elif isinstance(node, Repeat) and node.minimum == 0:
            self._wait(id(node), 0, [])
        elif isinstance(node, Joined):
            self._add_joined(node)
        elif parts:
            needed = 1 if isinstance(node, Alternatives) else len(parts)
            self._wait(id(node), needed, [id(part) for part in parts])
        elif isinstance(node, Alternatives) or not self._leaf(node):
            self._wait(id(node), 1, [])  # never: it waits for a part and has none
        else:
            self._wait(id(node), 0, [])

    def _add_joined(self, node: Joined) -> None:
        """Those items are enough that are required, with separators between them; or any one, if none is."""
        needed: list[int | str] = [
            id(item) for item, required in zip(node.items, node.required, strict=True) if required
        ]
        if not needed:
            self._wait(id(node), 1, [id(item) for item in node.items])
            return
        if len(needed) > 1:
            needed.append(id(node.separator))
        self._wait(id(node), len(needed), needed)

    def _wait(self, key: int | str, needed: int, parts: list[int | str]) -> None:
        self._missing[key] = needed
        for part in parts:
            self._waiting.setdefault(part, []).append(key)
        if needed == 0:
            self._ready.append(key)

    def _propagate(self) -> None:
        while self._ready:
            key = self._ready.popleft()
            self._true.add(key)
            for waiting in self._waiting.get(key, ()):
                self._missing[waiting] -= 1
                if self._missing[waiting] == 0:
                    self._ready.append(waiting)
