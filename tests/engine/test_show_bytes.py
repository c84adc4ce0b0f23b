"""Bytes and places in words."""

from __future__ import annotations

import pytest

from infernix.engine.commands.show_bytes import describe_bytes, excerpt_at, position_of

CONTINUATION = range(0x80, 0xC0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (b"", ""),
        (b"a", "'a'"),
        (b"ab", "'a' or 'b'"),
        (b"abcd", "'a'-'d'"),
        (b"0123456789abcdefABCDEF", "'0'-'9', 'A'-'F' or 'a'-'f'"),
        (b" \t\n\r", "tab, newline, carriage return or space"),
        (b"'\"", "'\"' or \"'\""),
        (b"\x00\x7f", "byte 0x00 or byte 0x7f"),
        (CONTINUATION, "byte 0x80-byte 0xbf"),
        ([*b"xz", *range(0xC2, 0xF5)], "'x', 'z' or any non-ASCII character"),
        (b"\xc3", "byte 0xc3"),
    ],
)
def test_sets_of_bytes(values: bytes, expected: str) -> None:
    assert describe_bytes(values) == expected


def test_other_things_come_last() -> None:
    assert describe_bytes(b"ab", ["the end"]) == "'a', 'b' or the end"
    assert describe_bytes(b"", ["the end"]) == "the end"
    assert describe_bytes([*b"a", *range(0xC2, 0xF5)], ["the end"]) == "'a', any non-ASCII character or the end"


def test_places_count_characters() -> None:
    data = "ab\néx\n".encode()
    assert [position_of(data, offset) for offset in (0, 2, 3, 5, 6, 7)] == [
        (1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1),
    ]  # fmt: skip
    assert excerpt_at(data, 5) == ["éx", " ^"]
    assert excerpt_at(data, 7) == ["", "^"]
    assert excerpt_at(b"\ta", 1) == ["\ta", "\t^"]
