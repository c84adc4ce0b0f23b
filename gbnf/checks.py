"""What a grammar must satisfy before it can be compiled, and what in it is probably a mistake.

Errors: rules that are defined twice or not at all, no root, an empty language, token ids
that may not be named. Warnings: rules that cannot be reached, rules and alternatives that
match nothing. Everything is linear in the size of the grammar, and nothing recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .errors import GrammarError
from .facts import nullable, productive
from .grammar import Alternatives, Expression, Grammar, Rule, RuleRef, TokenSet, children
from .source import Source

__all__ = [
    "GrammarWarning",
    "check",
    "check_tokens",
    "nullable_rules",
    "productive_rules",
    "reachable_rules",
    "references",
]


@dataclass(frozen=True)
class GrammarWarning:
    """Something legal that is probably a mistake. `line` and `column` are the rule's, if it has a place."""

    message: str
    rule: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"{self.line}:{self.column}: {self.message}"


def check(grammar: Grammar, text: str | bytes | None = None) -> list[GrammarWarning]:
    """Refuse a grammar that cannot be used; warn of rules and alternatives that do nothing.

    `text` is what the grammar was read from, if it was: errors then show their line.

    Raises:
        GrammarError: a rule is defined twice or not at all, the root is missing, or no
            string at all belongs to the grammar.
    """
    try:
        return _checked(grammar)
    except GrammarError as error:
        raise (error if text is None else Source(text).locate(error)) from None


def _checked(grammar: Grammar) -> list[GrammarWarning]:
    _check_names(grammar)
    fertile = productive(grammar)
    if not fertile.rule_holds(grammar.root):
        raise _error(
            grammar.by_name[grammar.root],
            f"no finite text belongs to the grammar: rule `{grammar.root}` never ends",
        )
    reached = set(reachable_rules(grammar, annotations=True))
    warnings: list[GrammarWarning] = []
    for rule in grammar.rules:
        if rule.name not in reached:
            warnings.append(_warning(rule, f"rule `{rule.name}` cannot be reached from `{grammar.root}`"))
        if not fertile.rule_holds(rule.name):
            warnings.append(_warning(rule, f"rule `{rule.name}` matches no text"))
        else:
            dead = sum(1 for choice in _choices(rule.body) if not fertile.holds(choice))
            if dead:
                which = "an alternative" if dead == 1 else f"{dead} alternatives"
                warnings.append(_warning(rule, f"{which} in rule `{rule.name}` can match no text"))
    return warnings


def check_tokens(grammar: Grammar, problem: Callable[[int], str | None]) -> None:
    """Refuse token ids that may not be named; `problem(id)` returns the reason, or None if there is none.

    Raises:
        GrammarError: for the first rule that names such a token, at the token if its place is known.
    """
    fine: set[int] = set()
    for rule in grammar.rules:
        for node in _parts(rule):
            for token in node.ids if isinstance(node, TokenSet) else ():
                if token not in fine:
                    reason = problem(token)
                    if reason is not None:
                        message = f"rule `{rule.name}` names token {token}, {reason}"
                        raise GrammarError(message, *_place_of(token, rule, grammar))
                    fine.add(token)


def _place_of(token: int, rule: Rule, grammar: Grammar) -> tuple[int | None, int | None]:
    """Where a rule names a token: line and column of the token, or else of the rule."""
    place = grammar.token_places.get(token)
    if place is None or rule.line is None or place < (rule.line, rule.column or 1):
        return rule.line, rule.column  # before the rule it is named where nothing comes of it, as in Token(9){0}
    return place


def nullable_rules(grammar: Grammar) -> frozenset[str]:
    """The rules that match the empty string."""
    return nullable(grammar).rules()


def productive_rules(grammar: Grammar) -> frozenset[str]:
    """The rules that match at least one finite string."""
    return productive(grammar).rules()


def reachable_rules(grammar: Grammar, annotations: bool = False) -> list[str]:
    """The defined rules that the root leads to, breadth first, each body from left to right.

    With `annotations`, also through `(= ...)`, which is no part of the language.
    """
    by_name = grammar.by_name
    if grammar.root not in by_name:
        return []
    order = [grammar.root]
    seen = {grammar.root}
    for name in order:  # grows while it is read
        rule = by_name[name]
        parts = [rule.body] if rule.lookahead is None or not annotations else [rule.body, rule.lookahead]
        for part in parts:
            for reference in references(part):
                if reference not in seen and reference in by_name:
                    seen.add(reference)
                    order.append(reference)
    return order


def references(expression: Expression) -> Iterator[str]:
    """The names of the rules that an expression refers to, from left to right."""
    return (node.name for node in _in_order(expression) if isinstance(node, RuleRef))


# ---------------------------------------------------------------- names


def _check_names(grammar: Grammar) -> None:
    defined: dict[str, Rule] = {}
    for rule in grammar.rules:
        if rule.name in defined:
            first = defined[rule.name]
            place = "" if first.line is None else f" at {first.line}:{first.column}"
            raise _error(rule, f"rule `{rule.name}` is already defined{place}")
        defined[rule.name] = rule
    for rule in grammar.rules:
        for node in _parts(rule):
            if isinstance(node, RuleRef) and node.name not in defined:
                raise _error(rule, f"rule `{rule.name}` refers to `{node.name}`, which is not defined")
    if grammar.root not in defined:
        raise GrammarError(f"there is no rule `{grammar.root}` to start from")


def _error(rule: Rule, message: str) -> GrammarError:
    return GrammarError(message, rule.line, rule.column)


def _warning(rule: Rule, message: str) -> GrammarWarning:
    return GrammarWarning(message, rule.name, rule.line, rule.column)


def _in_order(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first, from left to right."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def _parts(rule: Rule) -> Iterator[Expression]:
    """Every expression of a rule, its annotation included."""
    yield from _in_order(rule.body)
    if rule.lookahead is not None:
        yield from _in_order(rule.lookahead)


def _choices(body: Expression) -> Iterator[Expression]:
    return (choice for node in _in_order(body) if isinstance(node, Alternatives) for choice in node.choices)
