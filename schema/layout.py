"""Where white space may stand: the three layouts of JSON text, and the rules they share.

    free     runs of at most 32 white space characters between any two tokens
    compact  none
    spaced   exactly ", " and ": ", as `json.dumps` writes and tool arguments need

White space belongs to the gaps *between* tokens: none before the first or after the last
token of the whole text. Each gap is written once (after an opening bracket, after a
value, around a colon), so runs never add up.

The standard rules (any value, object, array, number, ...) have fixed names and the same
content in every grammar of a layout, so that a matcher can share their tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from infernix.gbnf.grammar import (
    EMPTY,
    Alternatives,
    Expression,
    Literal,
    Rule,
    RuleRef,
    Sequence,
    alternatives,
    char_class,
    repeat,
    sequence,
    walk,
)

from .json_text import JSON_STRING
from .number_text import INTEGER_RULE, NUMBER_RULE

__all__ = ["LAYOUTS", "MAX_WHITE_SPACE", "Layout", "needed_rules", "standard_rules"]

MAX_WHITE_SPACE = 32
"""The longest run of white space between two tokens (a limit of the contract)."""

COMMA, COLON = Literal(","), Literal(":")
WS = RuleRef("ws")
WS_RULE = Rule(
    "ws", repeat(char_class((ord(char), ord(char)) for char in " \t\n\r"), 0, MAX_WHITE_SPACE), standard=True
)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The punctuation of one layout, with the white space that goes with it.

    `gap` stands after an opening bracket and after each value in a bracket.
    """

    name: str
    gap: Expression
    comma: Expression
    colon: Expression

    def named(self, key: str, value: RuleRef) -> Expression:
        """A member with a fixed key (its JSON text), in normal form."""
        if isinstance(self.colon, Literal):
            return Sequence((Literal(key + self.colon.text), value))
        return Sequence((Literal(key), WS, COLON, WS, value, WS))

    def member(self, key: Expression, value: Expression) -> list[Expression]:
        """`key: value` and the gap behind it."""
        return [key, self.colon, value, self.gap]


LAYOUTS = {
    "free": Layout("free", WS, sequence([COMMA, WS]), sequence([WS, COLON, WS])),
    "compact": Layout("compact", EMPTY, COMMA, COLON),
    "spaced": Layout("spaced", EMPTY, Literal(", "), Literal(": ")),
}


@lru_cache
def needed_rules(layout: Layout, name: str) -> tuple[Rule, ...]:
    """The standard rule `name` and those it refers to, directly or not."""
    standard = standard_rules(layout)
    found = {name: standard[name]}
    pending = [standard[name]]
    while pending:
        for part in walk(pending.pop().body):
            if isinstance(part, RuleRef) and part.name not in found:
                found[part.name] = standard[part.name]
                pending.append(standard[part.name])
    return tuple(found.values())


@lru_cache
def standard_rules(layout: Layout) -> dict[str, Rule]:
    """The rules that every grammar of the layout may refer to, by name."""
    value, string = RuleRef("value"), RuleRef(JSON_STRING.name)
    item = sequence([value, layout.gap])
    member = sequence(layout.member(string, value))
    bodies = {
        "value": Alternatives(
            (
                string,
                RuleRef("number"),
                RuleRef("object"),
                RuleRef("array"),
                RuleRef("boolean"),
                RuleRef("null"),
            )
        ),
        "object": bracketed(layout, "{", member, "}"),
        "array": bracketed(layout, "[", item, "]"),
        "boolean": alternatives([Literal("true"), Literal("false")]),
        "null": Literal("null"),
    }
    rules = {name: Rule(name, body, standard=True) for name, body in bodies.items()}
    for rule in (JSON_STRING, NUMBER_RULE, INTEGER_RULE, WS_RULE):
        rules[rule.name] = rule
    return rules


def bracketed(layout: Layout, opening: str, item: Expression, closing: str) -> Expression:
    """Any number of items, each with its gap, between brackets."""
    more = repeat(sequence([layout.comma, item]), 0, None)
    some = repeat(sequence([item, more]), 0, 1)
    return sequence([Literal(opening), layout.gap, some, Literal(closing)])
