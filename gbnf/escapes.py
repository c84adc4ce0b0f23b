"""Strings and character classes: from their spelling to code points and ranges.

Both dialects write escapes with a backslash and differ in which ones they know; an
`Escapes` value is one dialect's table. Errors point at the escape or range that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import GrammarError
from .grammar import MAX_CODE_POINT, SURROGATES
from .source import clip

__all__ = ["LLAMA", "XGRAMMAR", "Escapes", "Spelling", "class_ranges", "string_text"]

_HEX_BASE = 16
_DIGITS = {count: re.compile(rf"[0-9A-Fa-f]{{{count}}}" if count else "[0-9A-Fa-f]+") for count in (0, 2, 4, 8)}


@dataclass(frozen=True)
class Escapes:
    """The escapes of one dialect.

    `in_string` and `in_class` map the character after the backslash to what it stands for.
    `numeric` maps it to the number of hexadecimal digits that must follow, 0 for as many as
    there are. `shown` lists the escapes of strings for error messages.
    """

    in_string: Mapping[str, str]
    in_class: Mapping[str, str]
    numeric: Mapping[str, int]
    shown: str


def _themselves(characters: str) -> dict[str, str]:
    return {char: char for char in characters}


_WHITE = {"n": "\n", "r": "\r", "t": "\t"}
_C_STYLE = {
    **_WHITE,
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
    "0": "\0",
    "e": "\x1b",
    **_themselves("\"\\/'?"),
}
_LLAMA_SIMPLE = {**_WHITE, **_themselves('\\"[]-')}

XGRAMMAR = Escapes(
    in_string=_C_STYLE,
    in_class={**_C_STYLE, **_themselves("^$.*+()[]{}|-")},
    numeric={"x": 0, "u": 4, "U": 8},  # \x is greedy, as in C: "\x41B" is U+041B
    shown=r"\n \r \t \b \f \a \v \0 \e \" \\ \/ \' \? \xH.. \uHHHH \UHHHHHHHH",
)
LLAMA = Escapes(
    in_string=_LLAMA_SIMPLE,
    in_class=_LLAMA_SIMPLE,
    numeric={"x": 2, "u": 4, "U": 8},
    shown=r"\n \r \t \" \\ \[ \] \- \xHH \uHHHH \UHHHHHHHH",
)


@dataclass(frozen=True)
class Spelling:
    """A string or class as it stands in the text, delimiters included, and where it begins."""

    text: str
    line: int
    column: int

    def error(self, offset: int, message: str) -> GrammarError:
        """An error `offset` code points into the token, which may span lines."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        if line_start == 0:
            return GrammarError(message, self.line, self.column + offset)
        return GrammarError(message, self.line + self.text.count("\n", 0, offset), offset - line_start + 1)


def string_text(spelling: Spelling, escapes: Escapes) -> str:
    """The text of a string with its quotes."""
    text, end = spelling.text, len(spelling.text) - 1
    pieces: list[str] = []
    offset = 1
    while (backslash := text.find("\\", offset, end)) >= 0:
        pieces.append(text[offset:backslash])
        char, offset = _escape(spelling, backslash, escapes, in_class=False)
        pieces.append(char)
    pieces.append(text[offset:end])
    return "".join(pieces)


def class_ranges(spelling: Spelling, escapes: Escapes) -> tuple[list[tuple[int, int]], bool]:
    """The ranges of a class with its brackets, in no order, and whether it is negated.

    A `-` between two characters makes a range; first, last, or after a range it is itself.
    """
    negated = spelling.text.startswith("[^")
    members = _members(spelling, escapes, start=2 if negated else 1)
    ranges: list[tuple[int, int]] = []
    index = 0
    while index < len(members):
        low, _, offset = members[index]
        if index + 2 < len(members) and members[index + 1][1]:
            high = members[index + 2][0]
            if high < low:
                shown = clip(spelling.text[offset : _end(spelling, members, index + 3)])
                raise spelling.error(offset, f"the range {shown} is empty: its end comes before its start")
            index += 3
        else:
            high = low
            index += 1
        ranges.append((ord(low), ord(high)))
    return ranges, negated


_Member = tuple[str, bool, int]
"""A character of a class, whether it is an unescaped `-`, and its offset."""


def _members(spelling: Spelling, escapes: Escapes, start: int) -> list[_Member]:
    text, end = spelling.text, len(spelling.text) - 1
    members: list[_Member] = []
    offset = start
    while offset < end:
        begin = offset
        if text[offset] == "\\":
            char, offset = _escape(spelling, offset, escapes, in_class=True)
            members.append((char, False, begin))
        else:
            offset += 1
            members.append((text[begin], text[begin] == "-", begin))
    return members


def _end(spelling: Spelling, members: list[_Member], index: int) -> int:
    """Where the member before `index` ends."""
    return members[index][2] if index < len(members) else len(spelling.text) - 1


def _escape(spelling: Spelling, offset: int, escapes: Escapes, in_class: bool) -> tuple[str, int]:
    """The character of the escape whose backslash is at `offset`, and the offset after it."""
    letter = spelling.text[offset + 1]
    simple = escapes.in_class if in_class else escapes.in_string
    if letter in simple:
        return simple[letter], offset + 2
    if letter not in escapes.numeric:
        raise spelling.error(offset, _unknown(letter, escapes, in_class))
    count = escapes.numeric[letter]
    digits = _DIGITS[count].match(spelling.text, offset + 2)
    if digits is None:
        needed = f"{count} hexadecimal digits" if count else "at least one hexadecimal digit"
        raise spelling.error(offset, f"\\{letter} needs {needed}")
    code = int(digits.group(), _HEX_BASE)
    shown = clip(spelling.text[offset : digits.end()])
    if code > MAX_CODE_POINT:
        raise spelling.error(offset, f"{shown} is beyond U+10FFFF, the last code point")
    if SURROGATES[0] <= code <= SURROGATES[1]:
        raise spelling.error(offset, f"{shown} is a surrogate, which UTF-8 cannot encode: write the character itself")
    return chr(code), digits.end()


def _unknown(letter: str, escapes: Escapes, in_class: bool) -> str:
    if in_class and letter in "dDwWsS":
        return f"\\{letter} is no escape of GBNF: write the ranges, such as [0-9], [A-Za-z0-9_] or [ \\t\\r\\n]"
    return f"unknown escape \\{clip(letter)}: strings know {escapes.shown}"
