"""One pattern or format at a time: its expression and its automata, made once for all schemas.

The same patterns come up again and again, within a schema and from schema to schema, so what is made
of them is kept. Errors carry no pointer; the caller knows the place and adds it.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from threading import Lock

from infernix.gbnf.errors import InvalidSchema, LimitError, RegexError, RegexSyntaxError, UnsupportedSchema
from infernix.gbnf.grammar import Expression
from infernix.gbnf.regex import parse_search

from .automata import build
from .dfa import Dfa
from .formats import format_expression
from .nfa import LazyNfa

__all__ = ["UNFOLDING", "format_dfa", "format_nfa", "matches", "pattern_dfa", "pattern_nfa", "search_expression"]

CACHED_PATTERNS = 1024
CACHED_AUTOMATA = 256
SHOWN = 100
"""So many characters of a pattern are shown in a message."""

UNFOLDING = Lock()
"""Held while a `LazyNfa` from here is used: they unfold as they are used, by one thread at a time."""
# A child process has no thread that would give it back, and no use for an automaton that is half unfolded.
os.register_at_fork(before=UNFOLDING.acquire, after_in_parent=UNFOLDING.release, after_in_child=UNFOLDING.release)


@lru_cache(CACHED_PATTERNS)
def search_expression(pattern: str) -> Expression:
    """The strings in which a pattern is found. Raises InvalidSchema or UnsupportedSchema for a useless one."""
    try:
        return parse_search(pattern)
    except RegexSyntaxError as error:
        raise InvalidSchema(f"the pattern {_shown(pattern)} is broken {error}") from error
    except (RegexError, LimitError) as error:
        raise UnsupportedSchema(f"the pattern {_shown(pattern)} cannot be enforced, {error}") from error


def _shown(pattern: str) -> str:
    """A pattern in a message, its end left out if it is long; as it is, for backslashes are confusing enough."""
    shown = pattern if len(pattern) <= SHOWN else pattern[:SHOWN] + "..."
    return f"'{shown}'" if shown.isprintable() else repr(shown)


@lru_cache(CACHED_AUTOMATA)
def pattern_nfa(pattern: str) -> LazyNfa:
    """The automaton of `search_expression` that unfolds where a text leads. Raises as that does."""
    return LazyNfa(search_expression(pattern))


@lru_cache(CACHED_AUTOMATA)
def pattern_dfa(pattern: str) -> Dfa:
    """The minimal automaton of `search_expression`. Raises as that does, and LimitError for one too large."""
    return build(search_expression(pattern))


@cache
def format_nfa(name: str) -> LazyNfa:
    """The automaton of a format that unfolds where a text leads."""
    return LazyNfa(format_expression(name))


@cache
def format_dfa(name: str) -> Dfa:
    """The minimal automaton of a format."""
    return build(format_expression(name))


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text. Raises as `search_expression`."""
    with UNFOLDING:
        return pattern_nfa(pattern).accepts(text)
