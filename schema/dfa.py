"""The data structures of string automata: symbols, deterministic automata, distances.

The states of a `Dfa` are integers with start 0; its edges are labelled with the *symbols* of
an `Alphabet`, the classes of code points that none of the expressions involved tells apart.
`common_alphabet` refines the labels of automata that are to meet. The operations are in
`automata`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    NOTHING,
    Automaton,
    CharClass,
    Expression,
    Literal,
    Ranges,
    normal_ranges,
    walk,
    without_fallback,
)
from infernix.gbnf.time_limit import check_time

__all__ = ["DEAD", "MAX_STATES", "Alphabet", "Dfa", "common_alphabet", "renumbered", "sources", "trim"]

DEAD = -1
"""The missing state: nothing is accepted from here."""
MAX_STATES = 65_536
"""No automaton, and no intermediate one, may have more states (a limit of the contract)."""

MAX_CLASSES = 8192
"""No alphabet tells apart more classes: each of its symbols knows which of them it belongs to."""

Groups = tuple[tuple[int, ...], ...]
Shape = tuple[tuple[int, int, int], ...]


class Alphabet:
    """Code points grouped into symbols: two of one symbol belong to the same of the given classes.

    Raises `LimitError` for more than `MAX_CLASSES` different classes.
    """

    def __init__(self, classes: Iterable[Ranges]) -> None:
        bits: dict[Ranges, int] = {}
        flips: dict[int, int] = {}  # where the set of classes changes, as a bit mask
        for ranges in classes:
            if ranges in bits:
                continue
            if len(bits) == MAX_CLASSES:
                raise LimitError(f"a string automaton tells apart more than {MAX_CLASSES} classes of characters")
            bit = bits[ranges] = 1 << len(bits)
            for low, high in ranges:
                flips[low] = flips.get(low, 0) ^ bit
                flips[high + 1] = flips.get(high + 1, 0) ^ bit
        members: dict[int, list[tuple[int, int]]] = {}
        inside, start = 0, 0
        for point in sorted(flips):
            if inside:
                members.setdefault(inside, []).append((start, point - 1))
            inside ^= flips[point]
            start = point
        self._symbols: dict[Ranges, tuple[int, ...]] = {}
        self._edges: dict[Groups, Shape] = {}
        self.ranges: list[Ranges] = [normal_ranges(part) for part in members.values()]
        """The code points of each symbol."""

    @classmethod
    def of(cls, expression: Expression) -> Alphabet:
        """The alphabet of the classes in an expression; every character has a symbol."""
        return cls([ANY_CHAR.ranges, *_leaves(expression)])

    @property
    def size(self) -> int:
        """The number of symbols."""
        return len(self.ranges)

    def symbols(self, ranges: Ranges) -> tuple[int, ...]:
        """The symbols that make up one of the classes the alphabet was made for, ascending.

        No symbol lies partly inside, so those whose intervals begin inside are all of them.
        """
        found = self._symbols.get(ranges)
        if found is None:
            check_time()
            intervals, inside = self._intervals, set()
            for low, high in ranges:
                at = bisect_left(intervals, (low,))
                while at < len(intervals) and intervals[at][0] <= high:
                    inside.add(intervals[at][2])
                    at += 1
            found = self._symbols[ranges] = tuple(sorted(inside))
        return found

    def edges(self, groups: Groups) -> Shape:
        """The code points of several groups of symbols, as ascending edges to the numbers of the groups.

        Most states of an automaton have edges on the same characters, so there are few of these.
        """
        found = self._edges.get(groups)
        if found is None:
            ranges = [normal_ranges(part for symbol in symbols for part in self.ranges[symbol]) for symbols in groups]
            found = tuple(sorted((low, high, group) for group, parts in enumerate(ranges) for low, high in parts))
            self._edges[groups] = found
        return found

    @cached_property
    def _intervals(self) -> list[tuple[int, int, int]]:
        return sorted((low, high, symbol) for symbol, parts in enumerate(self.ranges) for low, high in parts)

    def symbol_of(self, code: int) -> int | None:
        """The symbol of one code point, None for one outside all classes."""
        at = bisect_right(self._intervals, code, key=lambda interval: interval[0]) - 1
        if at < 0 or code > self._intervals[at][1]:
            return None
        return self._intervals[at][2]


def _leaves(expression: Expression) -> Iterator[Ranges]:
    for node in walk(expression):
        match node:
            case Literal(text):
                for char in set(text):
                    yield ((ord(char), ord(char)),)
            case CharClass(ranges):
                yield ranges
            case Automaton():
                for state in without_fallback(node).edges:
                    for low, high, _ in state:
                        yield ((low, high),)


@dataclass(frozen=True)
class Dfa:
    """A deterministic automaton, started in state 0.

    `moves[state][symbol]` is the next state or `DEAD`. An automaton without states accepts
    nothing. Functions of this module return it *trim*: every state is reachable and leads
    to an accepting one.
    """

    alphabet: Alphabet
    moves: list[list[int]]
    accepting: list[bool]

    @property
    def is_empty(self) -> bool:
        """Whether no text is accepted."""
        return not self.moves

    @cached_property
    def distances(self) -> tuple[list[int], list[int | None]]:
        """For each state the length of the shortest and of the longest accepted text (None: no longest)."""
        return [length for length in _shortest(self) if length is not None], _longest(self)

    @property
    def lengths(self) -> tuple[int, int | None]:
        """The lengths of the shortest and of the longest accepted text; the language is not empty."""
        shortest, longest = self.distances
        return shortest[0], longest[0]

    def accepts(self, text: str) -> bool:
        """Whether the whole `text` is accepted."""
        if self.is_empty:
            return False
        state = 0
        for char in text:
            symbol = self.alphabet.symbol_of(ord(char))
            state = DEAD if symbol is None else self.moves[state][symbol]
            if state == DEAD:
                return False
        return self.accepting[state]

    def to_expression(self) -> Expression:
        """The language as an `Automaton` node, or `NOTHING`."""
        if self.is_empty:
            return NOTHING
        edges = []
        for row in self.moves:
            by_target: dict[int, list[int]] = {}
            for symbol, target in enumerate(row):
                if target != DEAD:
                    by_target.setdefault(target, []).append(symbol)
            targets = list(by_target)
            shape = self.alphabet.edges(tuple(map(tuple, by_target.values())))
            edges.append(tuple([(low, high, targets[group]) for low, high, group in shape]))
        return Automaton(tuple(edges), frozenset(state for state, final in enumerate(self.accepting) if final))


def common_alphabet(dfas: Iterable[Dfa]) -> list[Dfa]:
    """The same automata over one alphabet that is fine enough for all of them."""
    given = list(dfas)
    if len({id(dfa.alphabet) for dfa in given}) <= 1:
        return given
    alphabet = Alphabet(ranges for dfa in given for ranges in dfa.alphabet.ranges)
    samples = [ranges[0][0] for ranges in alphabet.ranges]
    result = []
    for dfa in given:
        coarse = [dfa.alphabet.symbol_of(code) for code in samples]
        moves = [[DEAD if symbol is None else row[symbol] for symbol in coarse] for row in dfa.moves]
        result.append(Dfa(alphabet, moves, dfa.accepting))
    return result


def trim(dfa: Dfa, start: int = 0) -> Dfa:
    """Only the states on a way from `start` to an accepting state, numbered breadth first."""
    if start == DEAD or not dfa.moves:
        return Dfa(dfa.alphabet, [], [])
    lengths = _shortest(dfa)
    if lengths[start] is None:
        return Dfa(dfa.alphabet, [], [])
    return renumbered(dfa, start, {state for state, length in enumerate(lengths) if length is None})


def renumbered(dfa: Dfa, start: int, without: Collection[int] = ()) -> Dfa:
    """The states that `start` reaches, except some that lead to nothing, numbered breadth first."""
    numbers = {DEAD: DEAD, **dict.fromkeys(without, DEAD), start: 0}
    order = [start]
    for state in order:  # grows while it is walked
        for target in dfa.moves[state]:
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
    moves = [[numbers[target] for target in dfa.moves[state]] for state in order]
    return Dfa(dfa.alphabet, moves, [dfa.accepting[state] for state in order])


def sources(dfa: Dfa) -> list[list[tuple[int, int]]]:
    """For each state the `(symbol, source)` pairs that lead to it."""
    sources: list[list[tuple[int, int]]] = [[] for _ in dfa.moves]
    for state, row in enumerate(dfa.moves):
        for symbol, target in enumerate(row):
            if target != DEAD:
                sources[target].append((symbol, state))
    return sources


def _shortest(dfa: Dfa) -> list[int | None]:
    """The length of the shortest text accepted from each state, None if there is none."""
    incoming = sources(dfa)
    lengths: list[int | None] = [0 if final else None for final in dfa.accepting]
    layer, length = [state for state, final in enumerate(dfa.accepting) if final], 0
    while layer:
        length += 1
        following = []
        for target in layer:
            for _, state in incoming[target]:
                if lengths[state] is None:
                    lengths[state] = length
                    following.append(state)
        layer = following
    return lengths


def _longest(dfa: Dfa) -> list[int | None]:
    """The length of the longest text accepted from each state of a trim automaton, None on a cycle."""
    incoming = sources(dfa)
    lengths: list[int | None] = [None] * len(dfa.moves)
    open_edges = [sum(target != DEAD for target in row) for row in dfa.moves]
    ready = [state for state, count in enumerate(open_edges) if count == 0]
    # A state is settled when everything behind it is; states that reach a cycle never are.
    for state in ready:  # grows while it is walked
        behind = [lengths[target] or 0 for target in dfa.moves[state] if target != DEAD]
        lengths[state] = 1 + max(behind, default=-1)
        for _, source in incoming[state]:
            open_edges[source] -= 1
            if open_edges[source] == 0:
                ready.append(source)
    return lengths
