"""Byte sequences of classes, against Python's own UTF-8 codec over all code points."""

from __future__ import annotations

import itertools
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.gbnf.grammar import ANY_CHAR, MAX_CODE_POINT, Ranges, char_class, normal_ranges
from infernix.gbnf.utf8 import ByteSequence, utf8_sequences

SURROGATES = range(0xD800, 0xE000)


def word_ranges() -> Ranges:
    r"""`\w` as Python's `re` has it: several hundred ranges over all planes."""
    word = re.compile(r"\w")
    return normal_ranges((c, c) for c in range(sys.maxunicode + 1) if word.match(chr(c)))


def byte_regex(sequences: list[ByteSequence]) -> re.Pattern[bytes]:
    """The union of the sequences as a bytes regular expression."""
    parts = [b"".join(b"[\\x%02x-\\x%02x]" % (low, high) for low, high in sequence) for sequence in sequences]
    return re.compile(b"|".join(parts) if parts else b"(?!)")


CLASSES = {
    "nothing": (),
    "one": ((0x41, 0x41),),
    "not quote or backslash": char_class([(0x22, 0x22), (0x5C, 0x5C)], negated=True).ranges,
    "any": ANY_CHAR.ranges,
    "boundaries": normal_ranges([(0x7F, 0x80), (0x7FF, 0x800), (0xFFFF, 0x10000), (0x10FFFF, 0x10FFFF)]),
    "around the surrogates": normal_ranges([(0xD7FE, 0xD7FF), (0xE000, 0xE001)]),
    "every third of the first 12288": normal_ranges((c, c) for c in range(0, 0x3000, 3)),
    "word": word_ranges(),
}


def spelled(sequences: list[ByteSequence]) -> list[bytes]:
    """Every byte string of every sequence, with repetitions if there are any."""
    return [
        bytes(values)
        for sequence in sequences
        for values in itertools.product(*(range(low, high + 1) for low, high in sequence))
    ]


@pytest.mark.parametrize("ranges", CLASSES.values(), ids=CLASSES.keys())
def test_exactly_the_encodings_of_the_class(ranges: Ranges) -> None:
    """All byte strings of the sequences, in order, are the class's characters as Python encodes them.

    Equality of the sorted lists says everything at once: nothing is missing, nothing is spelled twice,
    nothing ill-formed is in it. UTF-8 sorts like its code points.
    """
    expected = [chr(code).encode() for low, high in ranges for code in range(low, high + 1)]
    assert sorted(spelled(utf8_sequences(ranges))) == expected


@pytest.mark.parametrize("ranges", CLASSES.values(), ids=CLASSES.keys())
def test_sequences_come_in_byte_order(ranges: Ranges) -> None:
    firsts = [tuple(low for low, _ in sequence) for sequence in utf8_sequences(ranges)]
    assert firsts == sorted(firsts)


def test_any_character_is_the_table_of_rfc_3629() -> None:
    tail = (0x80, 0xBF)
    assert utf8_sequences(ANY_CHAR.ranges) == [
        ((0x00, 0x7F),),
        ((0xC2, 0xDF), tail),
        ((0xE0, 0xE0), (0xA0, 0xBF), tail),
        ((0xE1, 0xEC), tail, tail),
        ((0xED, 0xED), (0x80, 0x9F), tail),
        ((0xEE, 0xEF), tail, tail),
        ((0xF0, 0xF0), (0x90, 0xBF), tail, tail),
        ((0xF1, 0xF3), tail, tail, tail),
        ((0xF4, 0xF4), (0x80, 0x8F), tail, tail),
    ]


def test_every_string_of_up_to_two_bytes() -> None:
    """Exhaustively: a one- or two-byte string matches iff it is one character."""
    pattern = byte_regex(utf8_sequences(ANY_CHAR.ranges))
    for length in (1, 2):
        for values in itertools.product(range(256), repeat=length):
            data = bytes(values)
            try:
                expected = len(data.decode()) == 1
            except UnicodeDecodeError:
                expected = False
            assert bool(pattern.fullmatch(data)) == expected, data


def test_ill_formed_strings_of_three_and_four_bytes() -> None:
    """Overlong forms, surrogates, values over U+10FFFF: each lead byte with its critical second bytes."""
    pattern = byte_regex(utf8_sequences(ANY_CHAR.ranges))
    edges = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)
    for lead in range(256):
        for length in (3, 4):
            for rest in itertools.product(edges, repeat=length - 1):
                data = bytes((lead, *rest))
                try:
                    expected = len(data.decode()) == 1
                except UnicodeDecodeError:
                    expected = False
                assert bool(pattern.fullmatch(data)) == expected, data


def test_equal_tails_share_a_sequence() -> None:
    """U+00C0-CF is C3 80-8F and U+0100-010F is C4 80-8F: one product."""
    assert utf8_sequences(((0xC0, 0xCF), (0x100, 0x10F))) == [((0xC3, 0xC4), (0x80, 0x8F))]


def test_the_result_is_the_callers_own() -> None:
    utf8_sequences(((0x41, 0x41),)).clear()
    assert utf8_sequences(((0x41, 0x41),)) == [((0x41, 0x41),)]


@given(st.lists(st.tuples(st.integers(0, MAX_CODE_POINT), st.integers(0, 5000)), max_size=8))
def test_random_classes_are_disjoint_products_of_the_right_size(pairs: list[tuple[int, int]]) -> None:
    ranges = normal_ranges((low, min(low + width, MAX_CODE_POINT)) for low, width in pairs)
    pattern = byte_regex(utf8_sequences(ranges))
    for low, high in ranges:
        for code in (low, (low + high) // 2, high):
            if code not in SURROGATES:
                assert pattern.fullmatch(chr(code).encode())
        for code in (low - 1, high + 1):
            if 0 <= code <= MAX_CODE_POINT and code not in SURROGATES:
                assert not pattern.fullmatch(chr(code).encode())
