r"""The characters of a regular expression: class escapes, character escapes, bracket classes.

The sets are those of ECMAScript 2025: `\d` and `\w` are ASCII (22.2.2.9), `\s` is
WhiteSpace together with LineTerminator (12.2, 12.3), and `.` is everything but a
LineTerminator. Every reader here takes the pattern and an index and returns what it
read with the index behind it; the index of an offending character ends up in the
`RegexError`.
"""

from __future__ import annotations

from .errors import LimitError, RegexError, RegexSyntaxError
from .grammar import MAX_CLASS_RANGES, CharClass, Ranges, char_class, complement, normal_ranges

__all__ = ["DOT", "read_class", "read_escape"]

DIGIT: Ranges = normal_ranges([(ord("0"), ord("9"))])
WORD: Ranges = normal_ranges([(ord(low), ord(high)) for low, high in ("az", "AZ", "09", "__")])
LINE_TERMINATORS: Ranges = normal_ranges([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])
# TAB, VT, FF, SP, NBSP, ZWNBSP and the other characters of category Space_Separator.
SPACE: Ranges = normal_ranges(
    [
        *LINE_TERMINATORS,
        *[(code, code) for code in (0x09, 0x0B, 0x0C, 0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF)],
        (0x2000, 0x200A),
    ]
)
DOT = CharClass(complement(LINE_TERMINATORS))
"""What `.` matches."""

CLASS_ESCAPES: dict[str, Ranges] = {
    "d": DIGIT,
    "D": complement(DIGIT),
    "w": WORD,
    "W": complement(WORD),
    "s": SPACE,
    "S": complement(SPACE),
}
CONTROL_ESCAPES = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D}
HEX_LENGTHS = {"x": 2, "u": 4}
CONTROL_LETTER_MASK = 0x1F  # \cJ is the control character with the low five bits of "J"
BACKSPACE = 0x08  # \b means this inside brackets, a word boundary outside
REFUSED_ESCAPES = {
    "b": "word boundaries are not supported",
    "B": "word boundaries are not supported",
    "k": "back-references are not supported",
    "p": "Unicode property classes are not supported",
    "P": "Unicode property classes are not supported",
}


def _is_surrogate(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF


def read_escape(pattern: str, at: int, in_class: bool = False) -> tuple[Ranges | int, int]:
    r"""Read the escape whose backslash is at index `at`.

    Returns the ranges of a class escape such as `\d`, or the one code point of a
    character escape, and the index behind it. Raises `RegexError` at the backslash.
    """
    if at + 1 == len(pattern):
        raise RegexSyntaxError("the expression ends with a backslash", at, pattern)
    letter = pattern[at + 1]
    if letter in CLASS_ESCAPES:
        return CLASS_ESCAPES[letter], at + 2
    if letter in CONTROL_ESCAPES:
        return CONTROL_ESCAPES[letter], at + 2
    if letter in HEX_LENGTHS:
        return _read_hex(pattern, at, HEX_LENGTHS[letter])
    if letter == "b" and in_class:
        return BACKSPACE, at + 2
    if letter == "c":
        return _read_control_letter(pattern, at)
    if letter.isdecimal():
        return _read_null(pattern, at)
    # ECMAScript lets every character but those of identifiers stand for itself; the
    # underscore is an identifier character, yet every engine in use accepts it.
    if letter.isascii() and not letter.isalnum():
        return ord(letter), at + 2
    raise RegexError(REFUSED_ESCAPES.get(letter, f"unknown escape \\{letter}"), at, pattern)


def _read_hex(pattern: str, at: int, length: int) -> tuple[int, int]:
    digits = pattern[at + 2 : at + 2 + length]
    if len(digits) < length or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise RegexError(f"\\{pattern[at + 1]} needs exactly {length} hexadecimal digits", at, pattern)
    code = int(digits, 16)
    if _is_surrogate(code):
        raise RegexError("surrogate escapes are not supported; write the character itself", at, pattern)
    return code, at + 2 + length


def _read_control_letter(pattern: str, at: int) -> tuple[int, int]:
    letter = pattern[at + 2 : at + 3]
    if not (letter.isascii() and letter.isalpha()):
        raise RegexError("\\c needs an ASCII letter", at, pattern)
    return ord(letter) & CONTROL_LETTER_MASK, at + 3


def _read_null(pattern: str, at: int) -> tuple[int, int]:
    if pattern[at + 1] != "0":
        raise RegexError("back-references are not supported", at, pattern)
    if pattern[at + 2 : at + 3].isdecimal():
        raise RegexError("octal escapes are not supported", at, pattern)
    return 0, at + 2


def read_class(pattern: str, at: int) -> tuple[CharClass, int]:
    """Read the bracket class whose `[` is at index `at`; return it and the index behind its `]`.

    A hyphen is literal at either end, and beside a class escape. `[]` matches nothing
    and `[^]` any character, as in ECMAScript. Raises `LimitError` for more than `MAX_CLASS_RANGES` ranges.
    """
    index = at + 1
    negated = pattern.startswith("^", index)
    index += negated
    ranges: list[tuple[int, int]] = []
    while index < len(pattern):
        if pattern[index] == "]":
            found = char_class(ranges, negated)
            if len(found.ranges) > MAX_CLASS_RANGES:
                raise LimitError(
                    f"at position {at}: this character class has more than {MAX_CLASS_RANGES:,} separate ranges"
                )
            return found, index + 1
        low, after = _read_class_atom(pattern, index)
        if not pattern.startswith("-", after) or after + 1 >= len(pattern) or pattern[after + 1] == "]":
            ranges.extend(_as_ranges(low))
            index = after
            continue
        high, end = _read_class_atom(pattern, after + 1)
        if isinstance(low, int) and isinstance(high, int):
            if high < low:
                raise RegexSyntaxError("the range is out of order", index, pattern)
            ranges.append((low, high))
        else:
            ranges.extend((*_as_ranges(low), *_as_ranges(ord("-")), *_as_ranges(high)))
        index = end
    raise RegexSyntaxError("the character class is not closed", at, pattern)


def _as_ranges(atom: Ranges | int) -> Ranges:
    return ((atom, atom),) if isinstance(atom, int) else atom


def _read_class_atom(pattern: str, index: int) -> tuple[Ranges | int, int]:
    if pattern[index] == "\\":
        return read_escape(pattern, index, in_class=True)
    code = ord(pattern[index])
    if _is_surrogate(code):
        raise RegexError("surrogate code points are not characters", index, pattern)
    return code, index + 1
