"""Automata over the digits of a decimal: ranges, remainders, numbers of digits, all at once.

A text `III.FFF` is read from left to right, and five things are remembered: how many digits
have been read, how the text compares so far with the lower and the upper bound, the remainder by
a modulus, and whether the fraction is zero so far. That is a deterministic automaton, and
building it by exploring the states that occur keeps it small: away from the bounds all prefixes of
one length are one state.

    bound      50.25              after "50.2": equal so far, position 1 of the fraction
    "50.1"     below at once      dead for a lower bound, free for an upper one

Numbers are not negative here; signs, exponents and zero belong to `number_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from infernix.gbnf.errors import UnsupportedSchema
from infernix.gbnf.grammar import NOTHING, Automaton, Expression
from infernix.gbnf.time_limit import check_time

from .dfa import MAX_STATES

__all__ = ["DigitLanguage", "digit_automaton", "explore"]

TOO_MANY = f"the set of numbers needs more than {MAX_STATES} states"
ZERO = ord("0")
POINT = ord(".")

State = NamedTuple
Edge = tuple[int, int, NamedTuple]


def explore(
    start: NamedTuple, edges_of: Callable[[NamedTuple], Iterable[Edge]], accepts: Callable[[NamedTuple], bool]
) -> Expression:
    """The automaton of all states reachable from `start` that lead to an accepted text."""
    numbers: dict[NamedTuple, int] = {start: 0}
    order: list[NamedTuple] = [start]
    edges: list[list[tuple[int, int, int]]] = []
    for state in order:  # grows while it is walked
        check_time()
        mine: list[tuple[int, int, int]] = []
        for low, high, target in edges_of(state):
            number = numbers.get(target)
            if number is None:
                number = numbers[target] = len(order)
                order.append(target)
            mine.append((low, high, number))
        edges.append(mine)
        if len(order) > MAX_STATES:
            raise UnsupportedSchema(TOO_MANY)
    accepting = [number for number, state in enumerate(order) if accepts(state)]
    live = _live(edges, accepting)
    if 0 not in live:
        return NOTHING
    renumbered = {number: index for index, number in enumerate(sorted(live))}
    return Automaton(
        tuple(
            _joined((low, high, renumbered[target]) for low, high, target in edges[number] if target in live)
            for number in sorted(live)
        ),
        frozenset(renumbered[number] for number in accepting),
    )


def _live(edges: list[list[tuple[int, int, int]]], accepting: list[int]) -> set[int]:
    """The states from which an accepting one can be reached."""
    sources: list[list[int]] = [[] for _ in edges]
    for number, mine in enumerate(edges):
        for _, _, target in mine:
            sources[target].append(number)
    live = set(accepting)
    stack = list(accepting)
    while stack:
        for source in sources[stack.pop()]:
            if source not in live:
                live.add(source)
                stack.append(source)
    return live


def _joined(edges: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Ascending edges with neighbours of one target joined."""
    result: list[tuple[int, int, int]] = []
    for low, high, target in sorted(edges):
        if result and result[-1][1] + 1 == low and result[-1][2] == target:
            result[-1] = (result[-1][0], high, target)
        else:
            result.append((low, high, target))
    return tuple(result)


@dataclass(frozen=True, slots=True)
class DigitLanguage:
    """Plain decimals between two bounds (inclusive, not negative), without needless leading zeros.

    `digits` is the greatest number of significant digits, `places` that of fraction digits
    (0: no point at all), `zeros` that of zeros right behind the point before the first
    significant digit. `whole` allows a text without a point, `fraction` demands a fraction that is not zero.
    The value times 10**`scale` must be a multiple of `divisor` (then places <= scale) and of none of `avoided`;
    all of these divide `modulus`, and a `divisor` of 0 stands for it. A text without a
    point and of at most `point_zero` digits may end in `.0` as well (-1: none may).
    """

    low: Decimal
    high: Decimal
    digits: int
    places: int = 0
    zeros: int = 0
    whole: bool = True
    fraction: bool = False
    modulus: int = 1
    scale: int = 0
    point_zero: int = -1
    divisor: int = 0
    avoided: tuple[int, ...] = ()


class _Prefix(NamedTuple):
    """A state. `lower` and `upper`: the prefix minus the bound's prefix, as a sign; `place`: digits
    read behind the point, BEFORE_POINT before it; `used`: significant digits; `rest`: the remainder."""

    used: int
    place: int
    lower: int
    upper: int
    rest: int
    nonzero: bool
    started: bool


BEFORE_POINT = -1
BEFORE_ZERO = -1
SINGLE_DIGITS = [(digit, digit) for digit in range(10)]
_IN_POINT_ZERO = _Prefix(0, -2, 0, 0, 0, False, True)
"""Between the point and the zero of a final `.0`."""
_AFTER_POINT_ZERO = _Prefix(0, -3, 0, 0, 0, False, True)


class _Bound(NamedTuple):
    """The digits of a bound before and behind the point; no digits for an integer part of zero."""

    whole: str
    fraction: str

    def fraction_is_zero_from(self, place: int) -> bool:
        return not self.fraction[place:].strip("0")


def _split(bound: Decimal) -> _Bound:
    text = format(bound, "f")
    whole, _, fraction = text.partition(".")
    return _Bound(whole.lstrip("0"), fraction)


@lru_cache(maxsize=1024)
def digit_automaton(language: DigitLanguage) -> Expression:
    """The automaton of a `DigitLanguage`; NOTHING if it is empty.

    Raises UnsupportedSchema (without a pointer) when it would have too many states.
    """
    if language.low > language.high:
        return NOTHING
    reader = _Reader(language)
    if reader.least_states() > MAX_STATES:
        raise UnsupportedSchema(TOO_MANY)
    return explore(_Prefix(0, BEFORE_POINT, 0, 0, 0, False, False), reader.edges, reader.accepts)


class _Reader:
    """The transition function of one `DigitLanguage`."""

    def __init__(self, language: DigitLanguage) -> None:
        self.language = language
        self.low = _split(language.low)
        self.high = _split(language.high)
        self.whole_modulus = self._modulus_at(0)
        places = range(language.places + 1)
        self.moduli = [self._modulus_at(place) for place in places] if language.modulus > 1 else [1] * len(places)

    def _modulus_at(self, place: int) -> int:
        """What the remainder after so many digits of the fraction is taken by: a power of ten will multiply it."""
        modulus = self.language.modulus
        return modulus // gcd(modulus, 10 ** max(self.language.scale - place, 0))

    def least_states(self) -> int:
        """A lower bound on the number of states: away from the bounds every remainder occurs after every digit."""
        free = len(self.high.whole) - 1
        if len(self.low.whole) >= free:
            return 0
        return sum(min(10**position, self.whole_modulus) for position in range(free))

    def edges(self, state: NamedTuple) -> Iterator[Edge]:
        """The digits and the point that may follow."""
        assert isinstance(state, _Prefix)
        if state == _IN_POINT_ZERO:
            yield ZERO, ZERO, _AFTER_POINT_ZERO
        elif state.place == BEFORE_POINT:
            yield from self._whole_digits(state)
            follower = self._pointed(state) if state.started else None
            if follower is not None:
                yield POINT, POINT, follower
        elif state.place >= 0:
            yield from self._fraction_digits(state)

    def _whole_digits(self, state: _Prefix) -> Iterator[Edge]:
        if state.started and state.used == 0:
            return  # nothing but a point follows a leading zero
        position = state.used
        if position >= self.language.digits or position >= len(self.high.whole):
            if not state.started:
                yield ZERO, ZERO, state._replace(started=True)
            return
        low = self.low.whole[position] if position < len(self.low.whole) else ""
        high, modulus = self.high.whole[position], self.whole_modulus
        # A digit decides a comparison that is open; the low bound's digits may have ended before.
        low_digit = int(low) if low else BEFORE_ZERO
        high_digit = int(high)
        for first, last in _digit_groups(low, high, modulus > 1):
            if not state.started and first == 0:
                yield ZERO, ZERO, state._replace(started=True)
                first = 1
            if first <= last:
                lower = state.lower or _sign(first - low_digit)
                upper = state.upper or _sign(first - high_digit)
                rest = (state.rest * 10 + first) % modulus
                yield ZERO + first, ZERO + last, _Prefix(position + 1, BEFORE_POINT, lower, upper, rest, False, True)

    def _pointed(self, state: _Prefix) -> _Prefix | None:
        """The state behind the point: the integer part is complete, so the comparison is by length first."""
        if not self.language.places:
            may_end = state.used <= self.language.point_zero and self.accepts(state)
            return _IN_POINT_ZERO if may_end else None
        lower, upper = self._compared(state)
        if lower < 0 or upper > 0:
            return None
        return state._replace(place=0, lower=lower, upper=upper)

    def _compared(self, state: _Prefix) -> tuple[int, int]:
        """The integer part against those of the bounds."""
        lower = _sign(state.used - len(self.low.whole)) or state.lower
        upper = _sign(state.used - len(self.high.whole)) or state.upper
        return lower, upper

    def _fraction_digits(self, state: _Prefix) -> Iterator[Edge]:
        language = self.language
        if state.place >= language.places or state.used >= language.digits:
            return
        low = self._digit(self.low, state.place) if state.lower == 0 else ""
        high = self._digit(self.high, state.place) if state.upper == 0 else ""
        leading = state.used == 0
        following = state.place + 1
        modulus = self.moduli[following]
        # So many digits count as used that all that may still follow, by number of places, are left.
        least_used = language.digits - (language.places - following)
        for first, last in _digit_groups(low, high, modulus > 1, leading or language.fraction):
            lower = state.lower or _sign(first - int(low))
            upper = state.upper or _sign(first - int(high))
            if lower < 0 or upper > 0:
                continue
            significant = not leading or first > 0
            if not significant and state.place >= language.zeros:
                continue
            tight = lower == 0 or upper == 0 or not significant or language.modulus > 1
            place = following
            if not tight and language.places >= language.digits:
                place = 1  # far from the bounds only the number of digits counts
            used = max(state.used + 1, least_used) if significant else 0
            rest = (state.rest * 10 + first) % modulus
            nonzero = language.fraction and (state.nonzero or first > 0)
            yield ZERO + first, ZERO + last, _Prefix(used, place, lower, upper, rest, nonzero, True)

    @staticmethod
    def _digit(bound: _Bound, place: int) -> str:
        return bound.fraction[place] if place < len(bound.fraction) else "0"

    def accepts(self, state: NamedTuple) -> bool:
        """Whether the text read so far is complete and in the language."""
        assert isinstance(state, _Prefix)
        language = self.language
        if state.place < BEFORE_POINT:
            return state == _AFTER_POINT_ZERO
        if not state.started or state.place == 0 or (language.fraction and not state.nonzero):
            return False
        lower, upper = state.lower, state.upper
        if state.place == BEFORE_POINT:
            if not language.whole:
                return False
            lower, upper = self._compared(state)
        place = max(state.place, 0)
        if lower < 0 or upper > 0 or (lower == 0 and not self.low.fraction_is_zero_from(place)):
            return False
        missing = language.scale - place
        value = state.rest * 10 ** max(missing, 0)
        return value % (language.divisor or language.modulus) == 0 and all(value % item for item in language.avoided)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


@cache
def _digit_groups(low: str, high: str, single: bool, zero_apart: bool = False) -> list[tuple[int, int]]:
    """0 to 9 cut into ranges that compare alike with both digits; or every digit on its own."""
    if single:
        return SINGLE_DIGITS
    cuts = {0, 10}
    if zero_apart:
        cuts.add(1)
    for text in (low, high):
        if text:
            cuts |= {int(text), int(text) + 1}
    edges = sorted(cuts)
    return [(start, stop - 1) for start, stop in pairwise(edges)]
