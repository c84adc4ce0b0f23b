"""Grammars as text and as values: the IR, GBNF in and out, checks, regexes, choices, UTF-8."""

from .checks import (
    GrammarWarning,
    check,
    check_tokens,
    nullable_rules,
    productive_rules,
    reachable_rules,
)
from .errors import ChoiceError, GrammarError, LimitError, RegexError, RequestError
from .facts import Facts, nullable, productive
from .grammar import Expression, Grammar, Rule
from .parser import MAX_NESTING, MAX_TOKENS, parse_gbnf
from .printer import print_grammar
from .utf8 import utf8_sequences

__all__ = [
    "MAX_NESTING",
    "MAX_TOKENS",
    "ChoiceError",
    "Expression",
    "Facts",
    "Grammar",
    "GrammarError",
    "GrammarWarning",
    "LimitError",
    "RegexError",
    "RequestError",
    "Rule",
    "check",
    "check_tokens",
    "nullable",
    "nullable_rules",
    "parse_gbnf",
    "print_grammar",
    "productive",
    "productive_rules",
    "reachable_rules",
    "utf8_sequences",
]
