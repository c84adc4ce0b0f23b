"""What the LALR parser does at each terminal and each rule: it builds the IR as it goes.

Lark calls the method named like a terminal when it shifts one, and the method named like
a rule when it reduces one. So there is no parse tree to walk, nesting costs no recursion,
and an error inside a token is raised before the next token is read. The methods keep no
state: what depends on the whole text is in `parser`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import GrammarError, LimitError
from .escapes import XGRAMMAR, Escapes, Spelling, class_ranges, string_text
from .grammar import (
    EMPTY,
    MAX_CLASS_RANGES,
    MAX_CLASS_TEXT,
    MAX_COUNT,
    CharClass,
    Expression,
    Literal,
    Rule,
    RuleRef,
    TokenSet,
    char_class,
    repeat,
)
from .normal import normal_form, raw_alternatives, raw_sequence
from .source import clip

if TYPE_CHECKING:
    from lark import Token

__all__ = ["BOOLEANS", "Callbacks", "XGrammarCallbacks", "at", "number"]

_MAX_DIGITS = len(str(MAX_COUNT))
BOOLEANS = frozenset({"true", "false"})
_QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}

_Bounds = tuple[int, int | None]


def at(token: Token, message: str) -> GrammarError:
    """An error at a token."""
    return GrammarError(message, token.line, token.column)


def number(token: Token, digits: str) -> int:
    """The value of decimal digits; refuses what no 32-bit number can hold before converting it."""
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS or int(digits) > MAX_COUNT:
        raise at(token, f"{clip(digits)} is too large: numbers go up to {MAX_COUNT:,}")
    return int(digits)


class Callbacks:
    """What both dialects have in common. `escapes` is the dialect's table."""

    def __init__(self, escapes: Escapes) -> None:
        self._escapes = escapes

    def start(self, rules: list[Rule]) -> list[Rule]:
        """All rules in order."""
        return rules

    def rule(self, parts: list[Any]) -> Rule:
        """A name, a body and perhaps an annotation, each in normal form."""
        name, body, *rest = parts
        lookahead = normal_form(rest[0]) if rest else None
        return Rule(str(name), normal_form(body), lookahead, line=name.line, column=name.column)

    def choices(self, sequences: list[Expression]) -> Expression:
        """`a | b`."""
        return raw_alternatives(sequences)

    def sequence(self, items: list[Expression]) -> Expression:
        """`a b`."""
        return raw_sequence(items)

    def group(self, body: list[Expression]) -> Expression:
        """`( a )`, or `()` for the empty string."""
        return body[0] if body else EMPTY

    def repeated(self, parts: list[Any]) -> Expression:
        """An element and its quantifiers, of which the first binds closest."""
        expression, *quantifiers = parts
        for minimum, maximum in quantifiers:
            expression = repeat(expression, minimum, maximum)
        return expression  # type: ignore[no-any-return]

    def exactly(self, bounds: list[Token]) -> _Bounds:
        """`{n}`."""
        count = number(bounds[0], bounds[0])
        return count, count

    def at_least(self, bounds: list[Token]) -> _Bounds:
        """`{n,}`."""
        return number(bounds[0], bounds[0]), None

    def between(self, bounds: list[Token]) -> _Bounds:
        """`{n,m}`."""
        minimum, maximum = (number(token, token) for token in bounds)
        if maximum < minimum:
            raise at(bounds[1], f"the upper bound {maximum} is less than the lower bound {minimum}")
        return minimum, maximum

    def QUANTIFIER(self, token: Token) -> _Bounds:  # noqa: N802 - terminals are spelled like this
        """`*`, `+` or `?`."""
        return _QUANTIFIERS[token]

    def STRING(self, token: Token) -> Literal:  # noqa: N802
        """`"..."`."""
        text = string_text(_spelling(token), self._escapes) if "\\" in token else token[1:-1]
        return Literal(text) if text else EMPTY

    def CLASS(self, token: Token) -> CharClass:  # noqa: N802
        """`[...]`. Raises `LimitError` for a class that is too large."""
        if len(token) > MAX_CLASS_TEXT:
            raise _too_large(token, f"is written with more than {MAX_CLASS_TEXT:,} characters")
        ranges, negated = class_ranges(_spelling(token), self._escapes)
        found = char_class(ranges, negated)
        if len(found.ranges) > MAX_CLASS_RANGES:
            raise _too_large(token, f"has more than {MAX_CLASS_RANGES:,} separate ranges")
        return found


class XGrammarCallbacks(Callbacks):
    """The constructs of XGrammar's dialect."""

    def __init__(self) -> None:
        super().__init__(XGRAMMAR)

    def annotation(self, body: list[Expression]) -> Expression:
        """`(= a )`."""
        return body[0]

    def tokens(self, parts: list[Token]) -> TokenSet:
        """`Token(1, 2)` or `ExcludeToken(1, 2)`."""
        keyword, *ids = parts
        return TokenSet(tuple(sorted({number(token, token) for token in ids})), keyword == "ExcludeToken")

    def NAME(self, token: Token) -> RuleRef:  # noqa: N802
        """A reference to a rule."""
        if token in BOOLEANS:
            raise at(token, f'`{token}` is a reserved word: write "{token}" for the text')
        return RuleRef(str(token))

    def RULE_NAME(self, token: Token) -> Token:  # noqa: N802
        """The name that a rule defines."""
        if token in BOOLEANS:
            raise at(token, f"`{token}` is a reserved word and cannot name a rule")
        return token

    def OPTIONS(self, token: Token) -> None:  # noqa: N802
        """`[max_tokens=5]` after a rule's name."""
        raise at(token, f"rule options such as {clip(token)} are not supported: limits belong to the request")

    def UNAVAILABLE(self, token: Token) -> None:  # noqa: N802
        """A constructor that XGrammar has and that is not offered here."""
        raise at(token, f"{token} is not available in GBNF here: use rules, strings, classes and Token")


def _spelling(token: Token) -> Spelling:
    return Spelling(str(token), token.line or 1, token.column or 1)


def _too_large(token: Token, problem: str) -> LimitError:
    return LimitError(f"{token.line}:{token.column}: this character class {problem}")
