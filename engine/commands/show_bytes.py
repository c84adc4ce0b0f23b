"""Bytes and places in a text, in words that a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infernix.gbnf.errors import GrammarError

__all__ = ["describe_bytes", "excerpt_at", "position_of"]

ASCII_END = 0x80
CONTINUATION = range(0x80, 0xC0)  # bytes inside a UTF-8 sequence
LEAD_BYTES = frozenset(range(0xC2, 0xF5))  # bytes that start a UTF-8 sequence of two to four bytes
SHORT_RUN = 3  # runs up to this length are listed one by one
NAMES = {0x20: "space", 0x09: "tab", 0x0A: "newline", 0x0D: "carriage return", 0x27: '"\'"'}


def describe_bytes(values: Iterable[int], others: Sequence[str] = ()) -> str:
    """A set of bytes as character ranges, such as `'0'-'9', 'e' or space`, then other things; empty for nothing.

    >>> describe_bytes(b"0123456789e ")
    "space, '0'-'9' or 'e'"
    >>> describe_bytes(range(0xC2, 0xF5))
    'any non-ASCII character'
    >>> describe_bytes(b"ab", ["the end"])
    "'a', 'b' or the end"
    """
    remaining = set(values)
    parts = []
    if remaining >= LEAD_BYTES:
        remaining -= LEAD_BYTES
        parts = ["any non-ASCII character"]
    parts = [part for run in _runs(sorted(remaining)) for part in _describe_run(run)] + parts
    parts += others
    return parts[0] if len(parts) == 1 else " or ".join([", ".join(parts[:-1]), parts[-1]]) if parts else ""


def _runs(values: list[int]) -> Iterable[range]:
    """Maximal runs of consecutive values that are all letters, all digits, or otherwise alike."""
    start = 0
    for index in range(1, len(values) + 1):
        if (
            index == len(values)
            or values[index] != values[index - 1] + 1
            or _kind(values[index]) != _kind(values[start])
        ):
            yield range(values[start], values[index - 1] + 1)
            start = index


def _kind(value: int) -> str:
    char = chr(value)
    if value >= ASCII_END:
        return "continuation" if value in CONTINUATION else "lead"
    if value in NAMES or value < 0x20:
        return "named"
    return "digit" if char.isdigit() else "upper" if char.isupper() else "lower" if char.islower() else "other"


def _describe_run(run: range) -> list[str]:
    if len(run) <= SHORT_RUN or _kind(run[0]) == "named":
        return [_name(value) for value in run]
    return [f"{_name(run[0])}-{_name(run[-1])}"]


def _name(value: int) -> str:
    if value in NAMES:
        return NAMES[value]
    if 0x20 <= value < ASCII_END - 1:
        return f"'{chr(value)}'"
    return f"byte 0x{value:02x}"


def position_of(data: bytes, offset: int) -> tuple[int, int]:
    """Line and column (1-based, in characters) of a byte offset."""
    start = data.rfind(b"\n", 0, offset) + 1
    before = data[start:offset].decode("utf-8", errors="replace")
    return data.count(b"\n", 0, offset) + 1, len(before) + 1


def excerpt_at(data: bytes, offset: int) -> list[str]:
    """The line around a byte offset, and a caret below the character there."""
    line, column = position_of(data, offset)
    start = data.rfind(b"\n", 0, offset) + 1
    end = data.find(b"\n", offset)
    text = data[start : end if end >= 0 else len(data)].decode("utf-8", errors="replace")
    return GrammarError("", line, column, text).excerpt().splitlines()
