"""Numbers as JSON text: which spellings of which numbers a schema allows.

Three spellings are generated (RFC 8259, section 6, has more, which no printer writes):

    whole   -?(0|[1-9][0-9]*)                     64-bit integers
    plain   whole.fraction                        common magnitudes, at most 17 significant digits
    power   d.fraction e sign digits              the rest of binary64's range

A bounded number must lie in the range before and after a reader has rounded it (`grid`).

A whole number is also an integer when it is spelled `3.0` (3 == 3.0 in JSON Schema since draft-06), so an
integer may end in `.0`.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from math import lcm

from infernix.gbnf.errors import UnsupportedSchema
from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Expression,
    Literal,
    Rule,
    RuleRef,
    alternatives,
    char_class,
    repeat,
    sequence,
    walk,
)

from .digits import DigitLanguage, digit_automaton
from .document import INT64_MAX, INT64_MIN
from .grid import EXACT, MAX_FLOAT, SIGNIFICANT_DIGITS, Grid
from .numbers import ALL_NUMBERS, DIGITS, FRACTION, INTEGER, NumberSet, integer_bounds, scaled_divisor

__all__ = ["INTEGER_RULE", "NUMBER_RULE", "number_text"]

SAFE_DIGITS = 15
"""Every decimal of 15 digits comes back unchanged from binary64."""
INT64_DIGITS = 19
LEADING_ZEROS = 6
"""0.000000123 is the smallest magnitude that is still written without an exponent."""

DIGIT = char_class([(ord("0"), ord("9"))])
NONZERO = char_class([(ord("1"), ord("9"))])
MINUS = Literal("-")
POINT_ZERO = repeat(Literal(".0"), 0, 1)
E = char_class([(ord("E"), ord("E")), (ord("e"), ord("e"))])


def _free_number() -> Expression:
    """Any finite number, with any number of digits: whole, plain, or with an exponent that
    cannot overflow (a mantissa of up to 20 digits before the point below 1e289, else one digit)."""
    whole = alternatives([Literal("0"), sequence([NONZERO, repeat(DIGIT, 0, 307)])])
    short = alternatives([Literal("0"), sequence([NONZERO, repeat(DIGIT, 0, 18)])])
    fraction = repeat(sequence([Literal("."), repeat(DIGIT, 1, None)]), 0, 1)
    largest = sequence([_mantissa(Decimal(1), MAX_FLOAT.scaleb(-308)), E, _exponent(308, 308)])
    forms = [
        sequence([whole, fraction]),
        sequence([short, fraction, E, _exponent(-999, 288)]),
        sequence([DIGIT, fraction, E, _exponent(289, 307)]),
        largest,
    ]
    return sequence([repeat(MINUS, 0, 1), alternatives(forms)])


def _exponent(low: int, high: int) -> Expression:
    """An exponent between two bounds; a sign `+` and one leading zero are optional."""
    signs: list[Expression] = []
    zero = repeat(Literal("0"), 0, 1)
    if high >= 0:
        signs.append(sequence([repeat(Literal("+"), 0, 1), zero, _digits(max(low, 0), high)]))
    if low <= 0:
        signs.append(sequence([MINUS, zero, _digits(max(-high, 0), -low)]))
    return alternatives(signs)


def _digits(low: int, high: int, point_zero: int = -1) -> Expression:
    """Whole numbers between two bounds that are not negative; short ones perhaps also with `.0`."""
    return digit_automaton(DigitLanguage(Decimal(low), Decimal(high), INT64_DIGITS, point_zero=point_zero))


def _mantissa(low: Decimal, high: Decimal) -> Expression:
    """`d` or `d.fraction` between two decimals of [1, 10)."""
    return digit_automaton(DigitLanguage(low, high, SIGNIFICANT_DIGITS, SIGNIFICANT_DIGITS - 1))


ANY_MANTISSA = sequence([NONZERO, repeat(sequence([Literal("."), repeat(DIGIT, 1, SIGNIFICANT_DIGITS - 1)]), 0, 1)])


def _whole(low: int, high: int, point_zero: int = -1) -> Expression:
    """64-bit integers between two bounds; zero also as `-0`, and with `.0` if they have few enough digits."""
    forms: list[Expression] = []
    if high >= 0:
        forms.append(_digits(max(low, 0), high, point_zero))
    if low <= 0:
        forms.append(sequence([MINUS, _digits(max(-high, 0), -low, point_zero)]))
    return alternatives(forms)


def _decimals(low: Decimal, high: Decimal) -> list[Expression]:
    """Positive decimals between two bounds, plain and with a power of ten."""
    forms: list[Expression] = []
    plain = digit_automaton(
        DigitLanguage(low, high, SIGNIFICANT_DIGITS, SIGNIFICANT_DIGITS + LEADING_ZEROS, LEADING_ZEROS, whole=False)
    )
    if plain != NOTHING:
        forms.append(plain)
    first, last = low.adjusted(), high.adjusted()
    smallest, largest = low.scaleb(-first, EXACT), high.scaleb(-last, EXACT)
    if first == last:
        return [*forms, sequence([_mantissa(smallest, largest), E, _exponent(first, first)])]
    forms.append(sequence([_mantissa(smallest, Decimal(10)), E, _exponent(first, first)]))
    if last - first > 1:
        forms.append(sequence([ANY_MANTISSA, E, _exponent(first + 1, last - 1)]))
    forms.append(sequence([_mantissa(Decimal(1), largest), E, _exponent(last, last)]))
    return forms


def _mirrored(numbers: NumberSet) -> NumberSet:
    """The range of the negated numbers."""
    low = None if numbers.high is None else -numbers.high
    high = None if numbers.low is None else -numbers.low
    return numbers._replace(low=low, low_open=numbers.high_open, high=high, high_open=numbers.low_open)


def _zero() -> Expression:
    """Zero with a point."""
    return sequence([Literal("0."), repeat(Literal("0"), 1, SIGNIFICANT_DIGITS - 1)])


@lru_cache(maxsize=1024)
def number_text(numbers: NumberSet) -> Expression:
    """The texts of the numbers in a set.

    Raises UnsupportedSchema (without a pointer) if the set has members but none that can be written, or needs
    too large an automaton.
    """
    if numbers == ALL_NUMBERS:
        return RuleRef(NUMBER_RULE.name)
    if numbers == NumberSet(kind=INTEGER):
        return RuleRef(INTEGER_RULE.name)
    if numbers.divisors or numbers.avoided or numbers.kind == FRACTION:
        forms = _stepped(numbers)
    elif numbers.whole:
        low, high = integer_bounds(numbers)
        forms = [_whole(low, high, _point_zero(numbers))] if low <= high else []
    else:
        forms = _ranged(numbers)
    result = alternatives(form for form in forms if form != NOTHING)
    if result == NOTHING:
        raise UnsupportedSchema("no number of the range can be written exactly in 64 bits")
    return result


def _point_zero(numbers: NumberSet) -> int:
    """How many digits a whole number may have that is also written with `.0`: so many that binary64 keeps it."""
    return -1 if numbers.kind == DIGITS else SAFE_DIGITS


def _ranged(numbers: NumberSet) -> list[Expression]:
    """All numbers of a range."""
    low, high = integer_bounds(numbers)
    forms = [_whole(low, high)] if low <= high else []
    for sign, side in ((None, numbers), (MINUS, _mirrored(numbers))):
        grid = Grid(side)
        positive: list[Expression] = []
        if grid.low is not None and grid.high is not None and grid.low <= grid.high:
            positive = _decimals(grid.low, grid.high)
        if numbers.contains(0):
            positive.append(_zero())
        if positive:
            body = alternatives(positive)
            forms.append(body if sign is None else sequence([sign, body]))
    return forms


def _stepped(numbers: NumberSet) -> list[Expression]:
    """Multiples of the divisors, or numbers with a fraction: plain decimals that binary64 keeps."""
    modulus, places = scaled_divisor(numbers.divisors, numbers.whole) if numbers.divisors else (1, SAFE_DIGITS)
    whole = numbers.whole or places == 0
    zeros = ""
    if whole and not numbers.avoided:
        while modulus % 10 == 0:  # multiples of ten end in a zero; the rest is smaller
            modulus, zeros = modulus // 10, zeros + "0"
    forms: list[Expression] = []
    for sign, side in ((None, numbers), (MINUS, _mirrored(numbers))):
        greatest = 10**SAFE_DIGITS - 1 if not whole else INT64_MAX if sign is None else -INT64_MIN
        low, high = _closed(side, Decimal(greatest))
        if high < low:
            continue
        body = _multiples(low, high, modulus, places, zeros, numbers)
        forms.append(body if sign is None else sequence([sign, body]))
    return forms


def _closed(numbers: NumberSet, limit: Decimal) -> tuple[Decimal, Decimal]:
    """The range's bounds that are not negative and within a limit, inclusive on a grid of 15 decimal places."""
    step = Decimal(1).scaleb(-SAFE_DIGITS)
    low, high = Decimal(0), limit
    if numbers.low is not None and numbers.low >= 0:
        low = Decimal(numbers.low)
        low = EXACT.add(low, step) if numbers.low_open else low
    if numbers.high is not None:
        high = min(limit, Decimal(numbers.high))
        high = EXACT.subtract(high, step) if numbers.high_open and numbers.high <= limit else high
    return low, high


def _multiples(low: Decimal, high: Decimal, modulus: int, places: int, zeros: str, numbers: NumberSet) -> Expression:
    """Plain texts between two bounds whose value times 10**places is a multiple of the modulus."""
    if numbers.whole or places == 0:
        unit = Decimal(10 ** len(zeros))
        low = (low / unit).to_integral_value(ROUND_CEILING)
        high = (high / unit).to_integral_value(ROUND_FLOOR)
        if numbers.avoided:
            tracked = lcm(modulus, *numbers.avoided)
            return digit_automaton(
                DigitLanguage(
                    max(low, Decimal(0)), high, INT64_DIGITS, modulus=tracked, point_zero=_point_zero(numbers),
                    divisor=modulus, avoided=numbers.avoided,
                )
            )  # fmt: skip
        return _whole_multiples(low, high, modulus, zeros, _point_zero(numbers))
    return digit_automaton(
        DigitLanguage(
            low,
            high,
            SAFE_DIGITS,
            min(places, SAFE_DIGITS - 1),
            SAFE_DIGITS,
            fraction=numbers.kind == FRACTION,
            modulus=modulus,
            scale=places if numbers.divisors else 0,
        )
    )


def _whole_multiples(low: Decimal, high: Decimal, modulus: int, zeros: str, point_zero: int) -> Expression:
    """Multiples of the modulus between two bounds, with zeros behind them; zero itself is just `0`."""
    least, digits = max(low, Decimal(1)), INT64_DIGITS
    if not zeros:
        return digit_automaton(
            DigitLanguage(max(low, Decimal(0)), high, digits, modulus=modulus, point_zero=point_zero)
        )
    forms = [sequence([digit_automaton(DigitLanguage(least, high, digits, modulus=modulus)), Literal(zeros)])]
    if point_zero > len(zeros):
        short = DigitLanguage(least, high, point_zero - len(zeros), modulus=modulus)
        forms.append(sequence([digit_automaton(short), Literal(zeros + ".0")]))
    if low <= 0 <= high:
        forms.append(sequence([Literal("0"), POINT_ZERO if point_zero >= 0 else EMPTY]))
    return alternatives(form for form in forms if NOTHING not in walk(form))


INTEGER_RULE = Rule("integer", _whole(INT64_MIN, INT64_MAX, SAFE_DIGITS), standard=True)
"""Any 64-bit integer."""
NUMBER_RULE = Rule("number", _free_number(), standard=True)
"""Any finite number."""
