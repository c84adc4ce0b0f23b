"""Syntax errors in the user's terms.

The parser knows which terminals it would have taken; a reader of the message knows
grammars, not our terminals. So each situation has its own sentence, chosen by what was
found, what came before it, and a few questions about what would have been taken:

    an element, but no `|`     we are at the start of an alternative
    an element and a `|`       an element has just ended
    nothing but a rule's name  we are between rules
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import GrammarError
from .source import Source, clip

if TYPE_CHECKING:
    from lark import Token

__all__ = ["Situation", "unexpected_character", "unexpected_token"]

_END = "$END"
_QUANTIFIERS = frozenset({"QUANTIFIER", "LBRACE"})
_ALTERNATIVE_ENDS = frozenset({"VBAR", "RPAR", "RULE_NAME", "_ANNOTATION", "_NEWLINE", _END})
_ALTERNATIVE_BEGINNINGS = frozenset({"_DEFINES", "VBAR", "LPAR", "_ANNOTATION"})
_BOUNDS = "bounds are written {n}, {n,} or {n,m}"
_NEEDS_IDS = "this needs token ids in parentheses, such as Token(1, 2)"
_ANNOTATION_LAST = "the annotation (= ...) can only be the last thing in a rule, outside parentheses"
_NAME_FIRST = "a rule's name must be the first thing on its line"
_NO_ELEMENT = 'expected an element before the next rule: write "" for the empty string'
_TRIVIA = re.compile(r"(?:[ \t\n]|#[^\n]*)*")


@dataclass(frozen=True)
class Situation:
    """What the token loop knows when the parser stops.

    `expected` are the terminals it would have taken, `previous` is the token before the
    error, `opened` the innermost open parenthesis, both None if there is none.
    """

    source: Source
    expected: frozenset[str]
    previous: Token | None
    opened: Token | None

    @property
    def before(self) -> str:
        """The kind of the previous token."""
        return self.previous.type if self.previous else ""

    @property
    def at_element(self) -> bool:
        """An alternative has begun and has no element yet."""
        return "STRING" in self.expected and "VBAR" not in self.expected

    @property
    def after_element(self) -> bool:
        """An element has ended."""
        return "VBAR" in self.expected

    @property
    def lacks_ids(self) -> bool:
        """`Token` without its parenthesis."""
        return self.expected == {"LPAR"}

    @property
    def between_rules(self) -> bool:
        """Only a new rule can follow."""
        return "RULE_NAME" in self.expected and "STRING" not in self.expected


def unexpected_token(here: Situation, token: Token) -> GrammarError:
    """The error for a token, or the end of the text, that cannot stand where it is."""
    if here.lacks_ids:
        return _at(here, here.previous or token, _NEEDS_IDS)
    if here.opened is not None and (token.type in (_END, "RULE_NAME") or _next_rule(here, token)):
        return _at(here, here.opened, "this parenthesis is never closed")
    if token.type == "_DEFINES" and here.before == "NAME" and here.previous is not None:
        return _at(here, here.previous, _NAME_FIRST if not _next_rule(here, token) else _NO_ELEMENT)
    if token.type == _END:
        return _unexpected_end(here)
    if here.before == "RULE_NAME" and "_DEFINES" in here.expected:
        return _undefined(here, here.previous or token, token.start_pos or 0)
    if token.type == "NAME" and here.between_rules and here.before != "RPAR":
        trivia = _TRIVIA.match(here.source.text, token.end_pos or 0)
        return _undefined(here, token, trivia.end() if trivia else 0)
    if token.type == "OPTIONS" and "CLASS" in here.expected:
        return unexpected_character(here, token.start_pos or 0, "xgrammar")
    message = _number_message(here) or _element_message(here, token) or _rule_message(here, token)
    return _at(here, token, message or f"unexpected {_shown(token)}")


def unexpected_character(here: Situation, offset: int, dialect: str) -> GrammarError:
    """The error for a character that begins no token."""
    char = here.source.text[offset]
    if here.lacks_ids and here.previous is not None:
        return _at(here, here.previous, _NEEDS_IDS)
    if char == "=" and here.before == "LPAR" and here.opened is not None:
        return _at(here, here.opened, _ANNOTATION_LAST)
    message = _number_message(here) or _CHARACTERS.get(char)
    if char == "[" or char == '"':
        what = "string" if char == '"' else "character class"
        where = " on its line" if dialect == "xgrammar" else ""
        message = f"this {what} is never closed{where}"
    elif char in "<!" and dialect == "xgrammar":
        message = "`<...>` belongs to the llama.cpp dialect: a token is written Token(id)"
    if message is None:
        message = f"unexpected character {_named(char)}"
    return here.source.error_at(offset, message)


_CHARACTERS = {
    "'": "strings are written with double quotes",
    ":": "a rule is defined with `::=`",
    "=": "a rule is defined with `::=`",
    "\ufeff": "the text begins with a byte-order mark: save it as UTF-8 without one",
    "\\": "an escape can only stand in a string or a class",
    "/": "comments begin with `#`; text is written in double quotes",
}


def _at(here: Situation, token: Token, message: str) -> GrammarError:
    return here.source.error(message, token.line or 1, token.column or 1)


def _unexpected_end(here: Situation) -> GrammarError:
    """The text ends too early: the place is just after its last token."""
    last = here.previous
    if last is None:
        return here.source.error("the grammar is empty: expected a rule, `name ::= ...`", 1, 1)
    message = _number_message(here)
    if message is None and here.at_element:
        message = _NO_ELEMENT.replace("next rule", "end of the grammar")
    if message is None and "_DEFINES" in here.expected:
        message = f"expected `::=` after the rule name `{clip(last)}`"
    return here.source.error(message or "the grammar ends too early", last.end_line or 1, last.end_column or 1)


def _next_rule(here: Situation, token: Token) -> bool:
    """`name ::=` on a new line, where the name was taken for an element."""
    if token.type != "_DEFINES" or here.before != "NAME" or here.previous is None:
        return False
    start = here.previous.start_pos or 0
    return not here.source.text[here.source.text.rfind("\n", 0, start) + 1 : start].strip(" \t")


def _undefined(here: Situation, name: Token, offset: int) -> GrammarError:
    """A rule's name without `::=`; the place is where that should stand."""
    return here.source.error_at(offset, f"expected `::=` after the rule name `{clip(name)}`")


def _number_message(here: Situation) -> str | None:
    """Inside `{...}` and `Token(...)` only numbers and commas can stand."""
    expected = here.expected - {"_NEWLINE"}
    if expected == {"COMMA", "RPAR"}:
        return "expected `,` or `)`"
    if expected == {"INTEGER"}:
        in_bounds = here.opened is None or here.before == "LBRACE"
        return f"expected a number: {_BOUNDS}" if in_bounds else "expected a token id, a non-negative integer"
    if expected and expected <= {"COMMA", "RBRACE", "INTEGER"}:
        return f"expected {'`,` or ' if 'COMMA' in expected else ''}`}}`: {_BOUNDS}"
    return None


def _element_message(here: Situation, token: Token) -> str | None:
    """What is wrong where elements, quantifiers and `|` can stand."""
    if here.at_element and token.type in _ALTERNATIVE_ENDS:
        return 'an alternative is empty: write "" for the empty string'
    if token.type in _QUANTIFIERS and here.before in _ALTERNATIVE_BEGINNINGS:
        return f"nothing stands before {_shown(token)} that it could repeat"
    if here.after_element and token.type in _QUANTIFIERS:
        return "an element takes one quantifier: put it in parentheses to repeat it again"
    if token.type == "RPAR":
        return "this `)` closes no parenthesis"
    if token.type == "_ANNOTATION":
        return _ANNOTATION_LAST
    if token.type == "INTEGER" and (here.at_element or here.after_element):
        return "a number cannot stand here: names begin with a letter, counts are written {n}"
    return None


def _rule_message(here: Situation, token: Token) -> str | None:
    """What is wrong between rules."""
    if token.type == "_DEFINES":
        return "`::=` must follow the name of a rule"
    if here.before == "_NEWLINE" and here.between_rules:
        return f"a rule ends with its line: put {_shown(token)} on the line before, or use parentheses"
    if here.between_rules and here.before == "RPAR":
        return "the annotation (= ...) must be the last thing in a rule"
    if here.between_rules:
        return f"expected a rule, `name ::= ...`, found {_shown(token)}"
    return None


def _shown(token: Token) -> str:
    return "the end of the line" if token.type == "_NEWLINE" else f"`{clip(token)}`"


def _named(char: str) -> str:
    name = unicodedata.name(char, "")
    shown = f"`{char}` " if char.isprintable() and not char.isspace() else ""
    return f"{shown}(U+{ord(char):04X}{' ' + name if name else ''})"
