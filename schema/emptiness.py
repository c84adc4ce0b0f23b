"""Is there any string that satisfies these assertions? Answered by looking for one.

Whether two patterns exclude each other, or a name can exist that matches none of them, is
asked often; building the automaton of their combination only to see whether it is empty is
slow. The search here walks the product of the patterns' automata, one character of each kind
at a time, and stops at the first member: most languages have a short one, and most empty
intersections die within a few characters. Where it does not come to an end soon, or where
lengths and excluded values matter, the automaton decides (`strings.is_empty`).
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import MAX_CODE_POINT, SURROGATES

from . import strings
from .bounded import text_lengths
from .formats import format_expression
from .nfa import LazyNfa
from .patterns import UNFOLDING, format_nfa, pattern_nfa, search_expression
from .strings import StringLanguage

__all__ = ["disjoint", "is_empty"]

MAX_PLACES = 300
"""So many places of the product are looked at before the automaton is asked."""
CACHED = 1024

Cells = tuple[frozenset[int], ...]
"""For each automaton, the cells that the text so far leads to."""


@lru_cache(CACHED)
def is_empty(language: StringLanguage) -> bool:
    """Whether no string belongs to the language. Raises as `strings.is_empty`."""
    if language.max_length is not None and language.min_length > language.max_length:
        return True
    if not (language.patterns or language.formats or language.not_patterns or language.excluded):
        return False
    length = _length_of_a_member(language)
    if length is None:
        return strings.is_empty(language)
    if length < 0 or (language.max_length is not None and length > language.max_length):
        return True
    if language.excluded and language.max_length is None and _is_endless(language._replace(excluded=frozenset())):
        return False
    if length >= language.min_length and not language.excluded:
        return False
    return strings.is_empty(language)


def _is_endless(language: StringLanguage) -> bool:
    """Whether a language with a member and without a greatest length is infinite, so that no exclusions empty it."""
    if language.formats or language.not_patterns:
        return strings.is_endless(language)
    if len(language.patterns) != 1:
        return not language.patterns
    lengths = text_lengths(search_expression(language.patterns[0]))
    return lengths is not None and lengths[1] is None


def disjoint(first: StringLanguage, second: StringLanguage) -> bool:
    """Whether no string belongs to both languages. Raises as `strings.is_empty`."""
    return is_empty(strings.intersect(first, second))


def _length_of_a_member(language: StringLanguage) -> int | None:
    """The length of a string of the patterns and formats alone, of a shortest one if there is a greatest length.

    -1 if there is none, None if none was found.
    """
    if len(language.patterns) + len(language.formats) == 1 and not language.not_patterns:
        part = search_expression(language.patterns[0]) if language.patterns else format_expression(language.formats[0])
        lengths = text_lengths(part)
        return -1 if lengths is None else lengths[0]
    try:
        with UNFOLDING:
            return _search(*_automata(language), language.max_length is not None)
    except LimitError:
        return None


def _automata(language: StringLanguage) -> tuple[list[LazyNfa], list[LazyNfa]]:
    """The automata that must accept, and those that must not."""
    required = [pattern_nfa(pattern) for pattern in language.patterns]
    required += [format_nfa(name) for name in language.formats]
    return required, [pattern_nfa(pattern) for pattern in language.not_patterns]


def _search(required: list[LazyNfa], forbidden: list[LazyNfa], shortest: bool) -> int | None:
    """Walk the product to a place where all required automata accept and no forbidden one does.

    Breadth first for a shortest text; else depth first, which is sooner at some text. Returns its length, -1 if
    there is none, None if too many places were seen. The required automata must all go on; forbidden ones may die.
    """
    automata = [*required, *forbidden]
    start: Cells = tuple(frozenset([automaton.start]) for automaton in automata)
    seen = {start}
    waiting = deque([(start, 0)])
    while waiting:
        cells, length = waiting.popleft() if shortest else waiting.pop()
        ends = [any(automaton.edges(cell)[1] for cell in mine) for automaton, mine in zip(automata, cells, strict=True)]
        if all(ends[: len(required)]) and not any(ends[len(required) :]):
            return length
        for after in _successors(automata, len(required), cells):
            if after not in seen:
                seen.add(after)
                waiting.append((after, length + 1))
        if len(seen) > MAX_PLACES:
            return None
    return -1


def _successors(automata: list[LazyNfa], required: int, cells: Cells) -> dict[Cells, None]:
    """The places that one more character leads to, found by a sweep over the bounds of all edges."""
    changes: dict[int, list[tuple[int, int, int]]] = {0: []}
    for place, (automaton, mine) in enumerate(zip(automata, cells, strict=True)):
        for cell in mine:
            for ranges, target in automaton.edges(cell)[0]:
                for low, high in ranges:
                    changes.setdefault(low, []).append((place, target, 1))
                    changes.setdefault(high + 1, []).append((place, target, -1))
    open_edges: list[dict[int, int]] = [{} for _ in automata]
    after = [frozenset[int]()] * len(automata)
    found: dict[Cells, None] = {}
    for code in sorted(changes):
        for place, target, change in changes[code]:
            counts = open_edges[place]
            counts[target] = counts.get(target, 0) + change
            if not counts[target]:
                del counts[target]
        for place in {place for place, _, _ in changes[code]}:
            after[place] = frozenset(open_edges[place])
        if code <= MAX_CODE_POINT and not SURROGATES[0] <= code <= SURROGATES[1] and all(after[:required]):
            found[tuple(after)] = None
    return found
