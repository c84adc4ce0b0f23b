"""Code-point ranges -> sequences of byte ranges, the way UTF-8 spells them.

A matcher works on bytes, a grammar on code points. A class such as `[à-ü]` becomes a
few *sequences*, each a product of one to four byte ranges:

    U+00E0-U+00FC                 C3 [A0-BC]
    any code point                [00-7F]
                                  [C2-DF] [80-BF]
                                  E0 [A0-BF] [80-BF]
                                  [E1-EC] [80-BF] [80-BF]
                                  ED [80-9F] [80-BF]            no surrogates
                                  [EE-EF] [80-BF] [80-BF]
                                  F0 [90-BF] [80-BF] [80-BF]    no overlong forms
                                  [F1-F3] [80-BF] [80-BF] [80-BF]
                                  F4 [80-8F] [80-BF] [80-BF]

RFC 3629, section 3: an n-byte form carries its code point in base 64, one digit in each
continuation byte and the most significant rest in the lead byte. So the encodings of a
range of n-byte code points are a range of n-digit numbers, and splitting such a range
into products of digit ranges is one step repeated for each digit: cut it into *runs* of
leading digits that have the same set of tails. Neighbouring leading digits with equal
tails share one run, also when they come from different ranges; that is what keeps the
list of a class like `\\w` short.
"""

from __future__ import annotations

from functools import lru_cache

from .grammar import MAX_CODE_POINT, Ranges

__all__ = ["ByteRange", "ByteSequence", "utf8_sequences"]

ByteRange = tuple[int, int]
"""Inclusive."""
ByteSequence = tuple[ByteRange, ...]
"""One to four byte ranges: the strings with one byte of each."""

# The forms of RFC 3629: first and last code point, bits of the lead byte, continuation bytes.
# Starting each form where the shorter one ends is what excludes overlong spellings.
_FORMS = (
    (0x00, 0x7F, 0x00, 0),
    (0x80, 0x7FF, 0xC0, 1),
    (0x800, 0xFFFF, 0xE0, 2),
    (0x10000, MAX_CODE_POINT, 0xF0, 3),
)
_CONTINUATION = 0x80
_DIGIT_BITS = 6
_CACHED_CLASSES = 4096

_Run = tuple[int, int, Ranges]
"""Leading digits low..high, and the tails that follow each of them, as ranges of numbers."""


def utf8_sequences(ranges: Ranges) -> list[ByteSequence]:
    """The byte sequences whose union is exactly the UTF-8 encodings of `ranges`.

    `ranges` must be normal (see `Ranges`): sorted, disjoint, without surrogates. The
    sequences are disjoint and in byte order, and no byte string of one is a proper prefix
    of another's. Their number is the least that fixing the bytes from left to right allows.
    """
    return list(_cached_sequences(ranges))


@lru_cache(maxsize=_CACHED_CLASSES)
def _cached_sequences(ranges: Ranges) -> tuple[ByteSequence, ...]:
    sequences: list[ByteSequence] = []
    for first, last, lead, continuations in _FORMS:
        part = tuple((max(low, first), min(high, last)) for low, high in ranges if low <= last and high >= first)
        sequences += _products(part, continuations, lead)
    return tuple(sequences)


def _products(numbers: Ranges, digits: int, mark: int) -> list[ByteSequence]:
    """The numbers as products of byte ranges: a leading byte `mark + digit`, then `digits` more digits.

    Recursion is as deep as the longest form, four.
    """
    if digits == 0:
        return [((mark + low, mark + high),) for low, high in numbers]
    sequences: list[ByteSequence] = []
    for low, high, tails in _merged(_runs(numbers, _DIGIT_BITS * digits)):
        lead = (mark + low, mark + high)
        sequences += [(lead, *rest) for rest in _products(tails, digits - 1, _CONTINUATION)]
    return sequences


def _runs(numbers: Ranges, bits: int) -> list[_Run]:
    """Cut each range at multiples of 2**bits: a partial head, whole blocks, a partial tail."""
    mask = (1 << bits) - 1
    whole = ((0, mask),)
    runs: list[_Run] = []
    for low, high in numbers:
        first, last = low >> bits, high >> bits
        start, end = low & mask, high & mask
        if first == last:
            _add_partial(runs, first, (start, end))
            continue
        if start:
            _add_partial(runs, first, (start, mask))
            first += 1
        if end != mask:
            last -= 1
        if first <= last:
            runs.append((first, last, whole))
        if end != mask:
            runs.append((last + 1, last + 1, ((0, end),)))
    return runs


def _add_partial(runs: list[_Run], digit: int, tails: tuple[int, int]) -> None:
    """Add tails of one leading digit; the previous range may have begun the same digit."""
    if runs and runs[-1][1] == digit:
        runs[-1] = (digit, digit, (*runs[-1][2], tails))
    else:
        runs.append((digit, digit, (tails,)))


def _merged(runs: list[_Run]) -> list[_Run]:
    """Join neighbouring runs that have the same tails."""
    merged: list[_Run] = []
    for low, high, tails in runs:
        if merged and merged[-1][1] + 1 == low and merged[-1][2] == tails:
            merged[-1] = (merged[-1][0], high, tails)
        else:
            merged.append((low, high, tails))
    return merged
