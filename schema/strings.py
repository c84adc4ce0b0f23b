"""The string family of JSON Schema: length, pattern, format and excluded values as one language.

A `StringLanguage` is a conjunction of assertions about a decoded string. `json_text` turns
it into an expression over JSON text, by the cheapest exact means:

1. nothing asserted: the rule `JSON_STRING`, any legal spelling of any string;
2. only a length: a counted repetition of characters in any legal spelling;
3. otherwise the language of the values (`values`), each character in its canonical spelling.

The values of one pattern stay an expression, with its counters, if it reads its texts
deterministically or is too large for an automaton (`forms.py`); a length is worked
into the counters where that is possible (`bounded.py`). All else is an automaton: patterns and formats are
intersected, exclusions subtracted and lengths counted, within the limits of the contract.

Errors carry no pointer; the caller knows the place in the schema and adds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from infernix.gbnf.errors import LimitError, UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.grammar import (
    ANY_CHAR,
    NOTHING,
    Automaton,
    Expression,
    Literal,
    RuleRef,
    alternatives,
    repeat,
    sequence,
)
from infernix.gbnf.regex import ANY_TEXT

from . import automata
from .bounded import bounded
from .dfa import Dfa
from .formats import COUNTED_FORMATS, format_expression
from .forms import best_form
from .json_text import JSON_CHAR, JSON_STRING, QUOTE, encode
from .keys import any_key_but, quoted, texts_but
from .lengths import with_length
from .names import all_but
from .patterns import UNFOLDING, format_dfa, format_nfa, pattern_dfa, pattern_nfa, search_expression

__all__ = [
    "FREE",
    "JSON_STRING",
    "MAX_AUTOMATON_LENGTH",
    "StringLanguage",
    "checker",
    "contains",
    "disjoint",
    "intersect",
    "is_empty",
    "is_endless",
    "json_text",
    "values",
]

MAX_AUTOMATON_LENGTH = 8192
"""The largest length bound that an automaton counts."""
CACHED_LANGUAGES = 1024
CACHED_AUTOMATA = 64


class StringLanguage(NamedTuple):
    """The strings that satisfy all of these assertions.

    Lengths count Unicode characters. `patterns` must match somewhere, `not_patterns`
    nowhere (both in JSON Schema's reading); `formats` are names of `formats.FORMATS`;
    `excluded` are exact strings that are not allowed.
    """

    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    excluded: frozenset[str] = frozenset()
    not_patterns: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether nothing is asserted."""
        return self is FREE or self == FREE


FREE = StringLanguage()
"""All strings."""


def intersect(first: StringLanguage, second: StringLanguage) -> StringLanguage:
    """The strings of both languages."""
    if first is FREE or second is FREE:
        return second if first is FREE else first
    bounds = [bound for bound in (first.max_length, second.max_length) if bound is not None]
    return StringLanguage(
        max(first.min_length, second.min_length),
        min(bounds, default=None),
        _merge(first.patterns, second.patterns),
        _merge(first.formats, second.formats),
        first.excluded | second.excluded,
        _merge(first.not_patterns, second.not_patterns),
    )


def _merge(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + second))


def contains(language: StringLanguage, value: str) -> bool:
    """Whether one string belongs to the language. For many strings use `checker`."""
    return checker(language)(value)


def checker(language: StringLanguage) -> Callable[[str], bool]:
    """A test for members that reads each assertion by itself, without building automata.

    Raises `InvalidSchema` or `UnsupportedSchema` for a pattern that cannot be used.
    """
    required = [pattern_nfa(pattern) for pattern in language.patterns]
    required += [format_nfa(name) for name in language.formats]
    forbidden = [pattern_nfa(pattern) for pattern in language.not_patterns]
    longest = language.max_length

    def check(value: str) -> bool:
        if value in language.excluded or len(value) < language.min_length:
            return False
        if longest is not None and len(value) > longest:
            return False
        try:
            with UNFOLDING:
                return all(nfa.accepts(value) for nfa in required) and not any(nfa.accepts(value) for nfa in forbidden)
        except LimitError as error:
            raise UnsupportedSchema(f"a string is too long for its pattern: {error}") from error

    return check


def is_empty(language: StringLanguage) -> bool:
    """Whether no string belongs to the language.

    Raises `InvalidSchema` for a broken pattern and `UnsupportedSchema` for one outside the
    dialect or beyond the limits.
    """
    return values(language) == NOTHING


def is_endless(language: StringLanguage) -> bool:
    """Whether infinitely many strings belong to the language. Raises as `is_empty`."""
    dfa = _automaton(language)
    return not dfa.is_empty and dfa.lengths[1] is None


def disjoint(first: StringLanguage, second: StringLanguage) -> bool:
    """Whether no string belongs to both languages. Raises as `is_empty`."""
    return is_empty(intersect(first, second))


def json_text(language: StringLanguage, raw: bool = False) -> Expression:
    """The strings of the language as JSON text with their quotes, or with `raw` as they are.

    A language without assertions is a reference to the rule `JSON_STRING`, which the caller
    puts into the grammar. Raises `UnsatisfiableSchema` for an empty language, and
    otherwise as `is_empty`; the errors have no pointer.
    """
    if language.is_free and not raw:
        return RuleRef(JSON_STRING.name)
    only_length = language._replace(min_length=0, max_length=None).is_free
    if only_length and not raw and _bounds_agree(language):
        return sequence([QUOTE, repeat(JSON_CHAR, language.min_length, language.max_length), QUOTE])
    if language.excluded and language.max_length is None and not raw:
        allowed = language._replace(excluded=frozenset())
        if allowed.is_free:
            return any_key_but(language.excluded)
        names = frozenset(filter(checker(allowed), language.excluded))
        if not names:
            return json_text(allowed)
        base = _endless_texts(allowed)
        if base is not None:
            return texts_but(base, names)
    inner = values(language)
    if inner == NOTHING:
        raise UnsatisfiableSchema("no string satisfies these assertions")
    try:
        return inner if raw else sequence([QUOTE, encode(inner), QUOTE])
    except LimitError as error:
        raise _too_large(error) from error


@lru_cache(CACHED_LANGUAGES)
def _endless_texts(language: StringLanguage) -> Automaton | None:
    """The automaton of the JSON texts of an infinite language; None for a finite one."""
    values_of = _automaton(language).to_expression() if is_endless(language) else None
    if not isinstance(values_of, Automaton):
        return None
    try:
        return quoted(values_of)
    except LimitError as error:
        raise _too_large(error) from error


def _bounds_agree(language: StringLanguage) -> bool:
    return language.max_length is None or language.min_length <= language.max_length


@lru_cache(CACHED_LANGUAGES)
def values(language: StringLanguage) -> Expression:
    """The strings of the language, decoded, as an expression; `NOTHING` for no strings at all."""
    if not _bounds_agree(language):
        return NOTHING
    parts = _required_parts(language)
    minimum, maximum = language.min_length, language.max_length
    if not language.excluded and not language.not_patterns and len(parts) <= 1:
        direct = bounded(parts[0], minimum, maximum) if parts else repeat(ANY_CHAR, minimum, maximum)
        if direct is not None:
            counted = bool(language.formats) and COUNTED_FORMATS.issuperset(language.formats)
            return direct if counted else best_form(direct)
    if language._replace(excluded=frozenset()).is_free:
        return all_but(language.excluded)
    return _automaton(language).to_expression()


def _required_parts(language: StringLanguage) -> list[Expression]:
    """The expressions that all must match; those that match everything are left out."""
    found = [search_expression(pattern) for pattern in language.patterns]
    found.extend(format_expression(name) for name in language.formats)
    return [part for part in found if part != ANY_TEXT]


@lru_cache(CACHED_AUTOMATA)
def _automaton(language: StringLanguage) -> Dfa:
    """All assertions together as one automaton, or `UnsupportedSchema` beyond the limits."""
    try:
        required = [pattern_dfa(pattern) for pattern in language.patterns]
        required += [format_dfa(name) for name in language.formats]
        forbidden = [pattern_dfa(pattern) for pattern in language.not_patterns]
        if language.excluded:
            names = alternatives(Literal(text) for text in sorted(language.excluded))
            forbidden.append(automata.build(names))
        result, *others = sorted(required, key=lambda dfa: len(dfa.moves)) or [automata.build(ANY_TEXT)]
        for dfa in others:
            result = automata.intersect(result, dfa)
        for dfa in forbidden:
            result = automata.difference(result, dfa)
        return _count(result, language.min_length, language.max_length)
    except LimitError as error:
        raise _too_large(error) from error


def _too_large(error: LimitError) -> UnsupportedSchema:
    return UnsupportedSchema(f"this combination of string assertions is too large: {error}")


def _count(dfa: Dfa, minimum: int, maximum: int | None) -> Dfa:
    """Keep the length bounds; only those that the language does not keep by itself are counted."""
    if dfa.is_empty:
        return dfa
    shortest, longest = dfa.lengths
    minimum = minimum if shortest < minimum else 0
    maximum = None if maximum is None or (longest is not None and longest <= maximum) else maximum
    if max(minimum, maximum or 0) > MAX_AUTOMATON_LENGTH:
        raise LimitError(f"a length bound of more than {MAX_AUTOMATON_LENGTH} beside other assertions")
    return with_length(dfa, minimum, maximum)
