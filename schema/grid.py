"""Which decimals of a range survive being read: the grid of 17 significant digits.

A number that is written must lie in the range twice: as the decimal that it is, and as the number
that remains after a reader has rounded it to binary64 and printed it again ("published"). Both
conditions are monotone in the decimal, so they only move the bounds of the range inwards, and
both moved bounds are decimals of 17 digits, because what is written has no more.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf, nextafter

from .numbers import NumberSet

__all__ = ["EXACT", "MAX_FLOAT", "SIGNIFICANT_DIGITS", "Grid"]

SIGNIFICANT_DIGITS = 17
"""Every binary64 number is the nearest one to some decimal of 17 digits (a limit of the contract)."""
MAX_FLOAT = Decimal(repr(1.7976931348623157e308))

_UP = Context(prec=SIGNIFICANT_DIGITS, rounding=ROUND_CEILING, Emin=-999999, Emax=999999)
_DOWN = Context(prec=SIGNIFICANT_DIGITS, rounding=ROUND_FLOOR, Emin=-999999, Emax=999999)
EXACT = Context(prec=2000, Emin=-999999, Emax=999999)


class Grid:
    """Decimals of 17 significant digits on the positive side of a range.

    `low` and `high` are the least and the greatest that may be written: in the range, and
    published inside it. They are None where there is no such decimal.
    """

    def __init__(self, numbers: NumberSet) -> None:
        self.low = self._least(numbers)
        self.high = self._greatest(numbers)

    @staticmethod
    def _least(numbers: NumberSet) -> Decimal | None:
        bound, is_open = Decimal(0), True
        if numbers.low is not None and numbers.low >= 0:
            bound, is_open = Decimal(numbers.low), numbers.low_open or numbers.low == 0
        if bound > MAX_FLOAT:
            return None
        written = _next_up(bound, is_open)
        published = _published(float(written))
        if published > bound or (published == bound and not is_open):
            return written
        # The least double that is published inside, and the least decimal that rounds to it.
        double = nextafter(float(written), inf)
        edge = _UP.plus(_middle(nextafter(double, 0.0), double))
        return edge if float(edge) >= double else _UP.next_plus(edge)

    @staticmethod
    def _greatest(numbers: NumberSet) -> Decimal | None:
        bound, is_open = MAX_FLOAT, False
        if numbers.high is not None and numbers.high <= MAX_FLOAT:
            bound, is_open = Decimal(numbers.high), numbers.high_open
        if bound <= 0:
            return None
        written = _next_down(bound, is_open)
        published = _published(float(written))
        if published < bound or (published == bound and not is_open):
            return written
        double = nextafter(float(written), 0.0)
        edge = _DOWN.plus(_middle(double, nextafter(double, inf)))
        return edge if float(edge) <= double else _DOWN.next_minus(edge)


def _next_up(bound: Decimal, is_open: bool) -> Decimal:
    """The least positive decimal of 17 digits from `bound` on, as far down as binary64 reaches."""
    if bound == 0:
        return Decimal("5e-324")
    written = _UP.plus(bound)
    return _UP.next_plus(written) if is_open and written == bound else written


def _next_down(bound: Decimal, is_open: bool) -> Decimal:
    written = _DOWN.plus(bound)
    return _DOWN.next_minus(written) if is_open and written == bound else written


def _published(value: float) -> Decimal:
    """What a reader prints for the binary64 number."""
    return Decimal(repr(value))


def _middle(low: float, high: float) -> Decimal:
    return EXACT.divide(EXACT.add(Decimal(low), Decimal(high)), Decimal(2))
