"""Grammar -> GBNF text of XGrammar's dialect.

A grammar that came from a text comes back equal: `parse_gbnf(print_grammar(g), root=g.root) == g`.
Any other grammar comes back with the same language. What GBNF cannot say in one expression
becomes helper rules with fresh names: an `Automaton` becomes a right-linear rule for each of
its states, a `Joined` without required items one for what may follow each item, and what nests
deeper than the parser takes becomes a rule of its own. Names that
GBNF does not allow are replaced.

Expressions are written with an explicit stack, so nesting is not limited by recursion.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from .callbacks import BOOLEANS
from .checks import references
from .errors import GrammarError
from .grammar import (
    EMPTY,
    MAX_COUNT,
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Ranges,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenSet,
    alternatives,
    complement,
    repeat,
    sequence,
    without_fallback,
)
from .parser import MAX_NESTING

__all__ = ["print_grammar"]

_NAME = re.compile(r"[A-Za-z_.\-][A-Za-z0-9_.\-]*")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.\-]")
_CONSTRUCTORS = frozenset({"Token", "ExcludeToken", "TagDispatch", "TokenTagDispatch", "Regex", "Substring"})
"""Rules may have these names, but no rule can refer to them."""
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_LAST_OF_SHORT_ESCAPE = 0xFFFF
_LINE_LENGTH = 100

# How tightly an expression binds. It needs parentheses where a tighter one is wanted.
_CHOICE, _SEQUENCE, _QUANTIFIED, _ATOM = range(4)

_Task = str | tuple[Expression, int, int]
"""Text to write, or an expression, how tightly it must bind, and how deep its parentheses are."""


def print_grammar(grammar: Grammar) -> str:
    """The grammar as GBNF text: the rules in their order, each followed by its helpers.

    Raises:
        GrammarError: for what GBNF has no spelling for: a token set that excludes no token,
            and bounds or token ids beyond 2**31 - 1.
    """
    return "".join(f"{line}\n" for line in _Printer(grammar).lines())


class _Printer:
    """The names in use, and the helper rules still to be written."""

    def __init__(self, grammar: Grammar) -> None:
        self._rules = grammar.rules
        self._used = {rule.name for rule in grammar.rules} | BOOLEANS | _CONSTRUCTORS
        self._counts: dict[str, int] = {}
        self._helpers: deque[tuple[str, Expression]] = deque()
        self._owner = ""
        self._referred = {name for rule in grammar.rules for name in references(rule.body)}
        self._referred |= {name for rule in grammar.rules if rule.lookahead for name in references(rule.lookahead)}
        self._spelled: dict[str, str] = {}

    def lines(self) -> Iterator[str]:
        """The text of every rule."""
        for rule in self._rules:
            self._owner = self._name(rule.name)
            yield self._rule(self._owner, rule)
            while self._helpers:
                name, body = self._helpers.popleft()
                yield self._rule(name, Rule(name, body))

    # ------------------------------------------------------------ names

    def _name(self, name: str) -> str:
        """The name as it is if GBNF allows it, or the one that replaces it."""
        if name not in self._spelled:
            reserved = name in BOOLEANS or (name in _CONSTRUCTORS and name in self._referred)
            legal = _NAME.fullmatch(name) is not None and not reserved
            self._spelled[name] = name if legal else self._fresh("_" + _NOT_IN_A_NAME.sub("_", name))
        return self._spelled[name]

    def _fresh(self, base: str) -> str:
        while True:
            self._counts[base] = self._counts.get(base, 0) + 1
            name = f"{base}_{self._counts[base]}"
            if name not in self._used:
                self._used.add(name)
                return name

    # ------------------------------------------------------------ rules and expressions

    def _rule(self, name: str, rule: Rule) -> str:
        body = self._without_joined(rule.body)
        choices = body.choices if isinstance(body, Alternatives) and body.choices else (body,)
        texts = [self._expression(choice, _SEQUENCE if len(choices) > 1 else _CHOICE) for choice in choices]
        if rule.lookahead is not None:
            texts[-1] += f" (= {self._expression(rule.lookahead, _CHOICE, depth=1)})"
        line = f"{name} ::= {' | '.join(texts)}"
        return line if len(line) <= _LINE_LENGTH else f"{name} ::= " + "\n  | ".join(texts)

    def _expression(self, expression: Expression, wanted: int, depth: int = 0) -> str:
        pieces: list[str] = []
        pending: list[_Task] = [(expression, wanted, depth)]
        while pending:
            task = pending.pop()
            if isinstance(task, str):
                pieces.append(task)
                continue
            node, wanted, depth = task
            node = self._without_joined(node)
            if _binding(node) >= wanted:
                pending.extend(reversed(self._parts(node, depth)))
            elif depth < MAX_NESTING:
                pending.append(")")
                pending.extend(reversed(self._parts(node, depth + 1)))
                pending.append("(")
            else:
                pieces.append(self._helper(node))
        return "".join(pieces)

    def _parts(self, node: Expression, depth: int) -> list[_Task]:
        """What to write for a node, without parentheses around it."""
        match node:
            case Literal(text):
                return [_quoted(text)]
            case CharClass(ranges):
                return [_class(ranges)]
            case RuleRef(name):
                return [self._name(name)]
            case TokenSet():
                return [_tokens(node)]
            case Automaton():
                return [self._automaton(node)]
            case Joined():  # not met: it was replaced before
                return self._parts(self._without_joined(node), depth)
            case Repeat(item, minimum, maximum):
                return [(item, _ATOM, depth), _quantifier(minimum, maximum)]
            case Sequence(items):
                return _with_separators([(item, _QUANTIFIED, depth) for item in items], " ", empty='""')
            case Alternatives(choices):
                return _with_separators([(choice, _SEQUENCE, depth) for choice in choices], " | ", empty="[]")

    def _without_joined(self, node: Expression) -> Expression:
        """A `Joined` in terms of the other expressions, or any other node as it is.

        With a required item, what may stand before it and after it is optional with its separator; without
        one, an item is the first, and a rule says what may follow it.
        """
        if isinstance(node, Sequence) and any(isinstance(item, Joined) for item in node.items):
            return sequence([self._without_joined(item) for item in node.items])
        if not isinstance(node, Joined):
            return node
        items, separator = node.items, node.separator
        if any(node.required):
            first = node.required.index(True)
            parts: list[Expression] = [repeat(sequence((item, separator)), 0, 1) for item in items[:first]]
            parts.append(items[first])
            for item, required in zip(items[first + 1 :], node.required[first + 1 :], strict=True):
                parts.append(repeat(sequence((separator, item)), int(required), 1))
            return sequence(parts)
        choices = [items[-1]]
        rest: Expression = repeat(sequence((separator, items[-1])), 0, 1)
        for item in reversed(items[:-1]):
            after = RuleRef(self._helper(rest))
            choices.append(sequence((item, after)))
            rest = sequence((repeat(sequence((separator, item)), 0, 1), after))
        return alternatives(reversed(choices))

    def _helper(self, body: Expression) -> str:
        """The name of a new rule with this body."""
        name = self._fresh(self._owner)
        self._helpers.append((name, body))
        return name

    def _automaton(self, automaton: Automaton) -> str:
        """The name of the rule for state 0; every state that it leads to gets a rule."""
        automaton = without_fallback(automaton)
        names = {0: self._fresh(self._owner)}
        pending = deque([0])
        while pending:
            state = pending.popleft()
            ranges: dict[int, list[tuple[int, int]]] = {}
            for low, high, target in automaton.edges[state]:
                ranges.setdefault(target, []).append((low, high))
            for target in ranges:
                if target not in names:
                    names[target] = self._fresh(self._owner)
                    pending.append(target)
            steps: list[Expression] = [
                sequence((CharClass(tuple(pairs)), RuleRef(names[target]))) for target, pairs in ranges.items()
            ]
            if state in automaton.accepting:
                steps.append(EMPTY)
            self._helpers.append((names[state], alternatives(steps)))
        return names[0]


def _binding(node: Expression) -> int:
    match node:
        case Alternatives():
            return _CHOICE
        case Sequence():
            return _SEQUENCE
        case Repeat():
            return _QUANTIFIED
        case _:
            return _ATOM


def _with_separators(tasks: list[_Task], separator: str, empty: str) -> list[_Task]:
    """The tasks with separators between them, or the text for none at all."""
    parts: list[_Task] = [part for task in tasks for part in (separator, task)]
    return parts[1:] or [empty]


# ---------------------------------------------------------------- leaves


def _quantifier(minimum: int, maximum: int | None) -> str:
    if max(minimum, maximum or 0) > MAX_COUNT:
        raise GrammarError(f"GBNF has no spelling for more than {MAX_COUNT:,} repetitions")
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((minimum, maximum))
    if simple is not None:
        return simple
    if maximum is None:
        return f"{{{minimum},}}"
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _tokens(tokens: TokenSet) -> str:
    if not tokens.ids:
        if tokens.exclude:
            raise GrammarError("GBNF has no spelling for a token set that excludes nothing")
        return "[]"
    if not 0 <= min(tokens.ids) <= max(tokens.ids) <= MAX_COUNT:
        raise GrammarError(f"GBNF has no spelling for token ids below 0 or above {MAX_COUNT:,}")
    return f"{'ExcludeToken' if tokens.exclude else 'Token'}({', '.join(map(str, tokens.ids))})"


def _quoted(text: str) -> str:
    return '"' + "".join(_character(char, '"') for char in text) + '"'


def _class(ranges: Ranges) -> str:
    """A class, negated where that is shorter."""
    outside = complement(ranges)
    mark, shown = ("^", outside) if len(outside) < len(ranges) else ("", ranges)
    return f"[{mark}{''.join(_range(low, high) for low, high in shown)}]"


def _range(low: int, high: int) -> str:
    first, last = _character(chr(low), "[]^-"), _character(chr(high), "[]^-")
    if low == high:
        return first
    return first + last if low + 1 == high else f"{first}-{last}"


def _character(char: str, special: str) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    if char in special:
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04X}" if code <= _LAST_OF_SHORT_ESCAPE else f"\\U{code:08X}"
