"""Sets of numbers: a range, a kind, and divisors. Everything is an exact decimal.

    NumberSet(low, low_open, high, high_open, kind, divisors)

`None` is an absent bound; an open bound excludes its end. The kind says whether all
numbers, only whole ones (`integer`, a subdomain of number: 1.0 and 1e0 are whole) or
only the others (`fraction`, the complement that `not` needs) belong to the set. Draft-04
has another idea of integers: numbers *written* without fraction and exponent (`digits`).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

from .document import INT64_MAX, INT64_MIN

__all__ = [
    "ALL_NUMBERS",
    "ANY_NUMBER",
    "DIGITS",
    "FRACTION",
    "INTEGER",
    "Exact",
    "NumberSet",
    "integer_bounds",
    "is_whole",
    "scaled_divisor",
]

Exact = int | Decimal

MAX_TRIED = 100
"""So many members of a range are tried before it counts as one that avoided divisors do not empty."""
ANY_NUMBER = "number"
INTEGER = "integer"
DIGITS = "digits"
FRACTION = "fraction"


class NumberSet(NamedTuple):
    """Numbers in a range, of a kind, divisible by every divisor and by none of `avoided`, which are whole.

    (`avoided` is what `not` makes of a divisor; the kind is then one of whole numbers.)
    """

    low: Exact | None = None
    low_open: bool = False
    high: Exact | None = None
    high_open: bool = False
    kind: str = ANY_NUMBER
    divisors: tuple[Exact, ...] = ()
    avoided: tuple[int, ...] = ()

    def meet(self, other: NumberSet) -> NumberSet | None:
        """The intersection; None when it is plainly empty."""
        low, low_open = self.low, self.low_open
        if other.low is not None and (low is None or (other.low, other.low_open) > (low, low_open)):
            low, low_open = other.low, other.low_open
        high, high_open = self.high, self.high_open
        if other.high is not None and (high is None or (other.high, not other.high_open) < (high, not high_open)):
            high, high_open = other.high, other.high_open
        kind = _meet_kinds(self.kind, other.kind)
        if kind is None:
            return None
        divisors = self.divisors + tuple(item for item in other.divisors if item not in self.divisors)
        avoided = self.avoided + tuple(item for item in other.avoided if item not in self.avoided)
        result = NumberSet(low, low_open, high, high_open, kind, divisors, avoided)
        return None if result.is_empty() else result

    def is_empty(self) -> bool:
        """Whether the set is empty; exact except for fractions with divisors, and avoided divisors in long ranges."""
        if self.avoided and any(_divides(item, self._step_mantissa()) for item in self.avoided):
            return True
        if self.kind == FRACTION and any(is_whole(divisor) for divisor in self.divisors):
            return True
        if self.low is None or self.high is None:
            return False
        if self.low > self.high:
            return True
        if self.low == self.high:
            if self.low_open or self.high_open:
                return True
            return not self._replace(kind=INTEGER if self.kind == DIGITS else self.kind).contains(self.low)
        step = self._step()
        if step is None:
            return False
        index = ceil(Fraction(self.low) / step)
        if self.low_open and index * step == self.low:
            index += 1
        if index * step > self.high or (index * step == self.high and self.high_open):
            return True
        return (
            bool(self.avoided)
            and not any(self.contains(int((index + more) * step)) for more in range(MAX_TRIED))
            and (index + MAX_TRIED) * step > self.high
        )

    def _step_mantissa(self) -> int:
        """The least common multiple of the divisors among the whole numbers."""
        return scaled_divisor(self.divisors, True)[0]

    @property
    def whole(self) -> bool:
        """Whether only whole numbers belong to the set."""
        return self.kind in (INTEGER, DIGITS)

    def _step(self) -> Fraction | None:
        """The distance of neighbouring members, where they are evenly spaced."""
        if self.divisors:
            mantissa, places = scaled_divisor(self.divisors, self.whole)
            return Fraction(mantissa, 10**places)
        return Fraction(1) if self.whole else None

    def contains(self, value: Exact) -> bool:
        """Whether `value` is a member."""
        if self.low is not None and (value < self.low or (self.low_open and value == self.low)):
            return False
        if self.high is not None and (value > self.high or (self.high_open and value == self.high)):
            return False
        if self.kind == DIGITS:
            if not isinstance(value, int):
                return False
        elif self.kind != ANY_NUMBER and is_whole(value) != (self.kind == INTEGER):
            return False
        if any(_divides(divisor, value) for divisor in self.avoided):
            return False
        return all(_divides(divisor, value) for divisor in self.divisors)


ALL_NUMBERS = NumberSet()


def _meet_kinds(first: str, second: str) -> str | None:
    """The numbers of both kinds; None if there are none."""
    if first in (second, ANY_NUMBER):
        return second
    if second == ANY_NUMBER:
        return first
    return DIGITS if FRACTION not in (first, second) else None


def is_whole(value: Exact) -> bool:
    """Whether the number has no fraction."""
    return isinstance(value, int) or value == value.to_integral_value()


def _ratio(value: Exact) -> tuple[int, int]:
    """`value` as integer and number of decimal places: value == integer / 10**places."""
    if isinstance(value, int):
        return value, 0
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    magnitude = int("".join(map(str, digits)) or "0")
    if exponent > 0:
        magnitude, exponent = magnitude * 10**exponent, 0
    return (-magnitude if sign else magnitude), -exponent


def _divides(divisor: Exact, value: Exact) -> bool:
    """Whether `value` is a whole multiple of `divisor`, exactly."""
    top, top_places = _ratio(value)
    bottom, bottom_places = _ratio(divisor)
    places = max(top_places, bottom_places)
    return bool(top * 10 ** (places - top_places) % (bottom * 10 ** (places - bottom_places)) == 0)


def scaled_divisor(divisors: tuple[Exact, ...], whole: bool) -> tuple[int, int]:
    """The least common multiple of all divisors (and 1 if `whole`) as (mantissa, places).

    A number is a member of the divisors' common multiples iff number * 10**places is a
    whole multiple of mantissa. The form is reduced: mantissa has no needless factor 10.
    """
    ratios = [_ratio(divisor) for divisor in divisors] + ([(1, 0)] if whole else [])
    places = max(scale for _, scale in ratios)
    mantissa = lcm(*(top * 10 ** (places - scale) for top, scale in ratios))
    while places and mantissa % 10 == 0:
        mantissa, places = mantissa // 10, places - 1
    return mantissa, places


def integer_bounds(numbers: NumberSet) -> tuple[int, int]:
    """The least and greatest 64-bit integer in the range (least > greatest: there is none)."""
    low, high = INT64_MIN, INT64_MAX
    if numbers.low is not None:
        low = max(low, _whole(numbers.low, ROUND_CEILING) + (numbers.low_open and is_whole(numbers.low)))
    if numbers.high is not None:
        high = min(high, _whole(numbers.high, ROUND_FLOOR) - (numbers.high_open and is_whole(numbers.high)))
    return low, high


def _whole(value: Exact, rounding: str) -> int:
    if isinstance(value, int):
        return value
    return int(value.to_integral_value(rounding=rounding))
