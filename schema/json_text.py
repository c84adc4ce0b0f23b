"""Strings as JSON text: the free string language, and the canonical escaping of an expression.

The free language (`JSON_STRING`) is RFC 8259, section 7, for strings of Unicode scalar values:

    string    = quotation-mark *char quotation-mark
    char      = unescaped / escape ( one of "\\/bfnrt / u 4HEXDIG )
    unescaped = every scalar value from U+0020 on, without the quotation mark and the backslash

where a `\\u` escape of a surrogate is only legal as the first half of a pair. Canonical
escaping is what `json.dumps(text, ensure_ascii=False)` writes: each character has exactly
one form, so an expression over characters becomes an expression over JSON text by
replacing its leaves.
"""

from __future__ import annotations

from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Literal,
    Ranges,
    Repeat,
    Rule,
    Sequence,
    alternatives,
    char_class,
    fold,
    normal_ranges,
    repeat,
    sequence,
)

__all__ = ["JSON_CHAR", "JSON_STRING", "QUOTE", "encode", "encode_class", "encode_text"]

QUOTE = Literal('"')
SHORT_ESCAPES = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
FIRST_UNESCAPED = 0x20
HEX_BASE = 16


def _one_of(chars: str) -> CharClass:
    return char_class((ord(char), ord(char)) for char in chars)


def _any_escape() -> Expression:
    """What may follow the backslash: one decoded character, a surrogate pair included."""
    digit = char_class([(ord("0"), ord("9")), (ord("a"), ord("f")), (ord("A"), ord("F"))])
    three, two = repeat(digit, 3, 3), repeat(digit, 2, 2)
    not_d = char_class([(ord("0"), ord("9")), *[(ord(c), ord(c)) for c in "abcefABCEF"]])
    d = _one_of("dD")
    pair = [d, _one_of("89abAB"), two, Literal("\\u"), d, _one_of("cdefCDEF"), two]
    unit = alternatives([sequence([not_d, three]), sequence([d, _one_of("01234567"), two]), sequence(pair)])
    return alternatives([_one_of('"\\/bfnrt'), sequence([Literal("u"), unit])])


JSON_CHAR = alternatives(
    [
        char_class([(0, FIRST_UNESCAPED - 1), (ord('"'), ord('"')), (ord("\\"), ord("\\"))], negated=True),
        sequence([Literal("\\"), _any_escape()]),
    ]
)
"""One character of a JSON string in any legal form: raw or escaped."""

JSON_STRING = Rule("json-string", sequence([QUOTE, repeat(JSON_CHAR, 0, None), QUOTE]))
"""Any JSON string with its quotes. One rule for all grammars, so that its token sets are shared."""


def encode_text(text: str) -> str:
    """The canonical JSON form of `text`, without quotes."""
    return "".join(_encode_char(ord(char)) for char in text)


def _encode_char(code: int) -> str:
    if code in SHORT_ESCAPES:
        return "\\" + SHORT_ESCAPES[code]
    return chr(code) if code >= FIRST_UNESCAPED else f"\\u{code:04x}"


def _escaped_codes(ranges: Ranges) -> list[int]:
    """The members of a class that have no raw form, in ascending order."""
    candidates = [*range(FIRST_UNESCAPED), ord('"'), ord("\\")]
    return [code for code in candidates if any(low <= code <= high for low, high in ranges)]


def _raw_ranges(ranges: Ranges, escaped: list[int]) -> Ranges:
    """The class without its escaped members."""
    parts: list[tuple[int, int]] = []
    for low, high in ranges:
        start = low
        for code in escaped:
            if start <= code <= high:
                parts.append((start, code - 1))
                start = code + 1
        parts.append((start, high))
    return normal_ranges((low, high) for low, high in parts if low <= high)


def encode_class(ranges: Ranges) -> Expression:
    """One character of a class in its canonical JSON form."""
    escaped = _escaped_codes(ranges)
    if not escaped:
        return CharClass(ranges)
    short = "".join(SHORT_ESCAPES[code] for code in escaped if code in SHORT_ESCAPES)
    forms: list[Expression] = [_one_of(short)] if short else []
    hexadecimal = [code for code in escaped if code not in SHORT_ESCAPES]
    for high in sorted({code // HEX_BASE for code in hexadecimal}):
        last = "".join(f"{code % HEX_BASE:x}" for code in hexadecimal if code // HEX_BASE == high)
        forms.append(sequence([Literal(f"u00{high:x}"), _one_of(last)]))
    choices: list[Expression] = [sequence([Literal("\\"), alternatives(forms)])]
    raw = _raw_ranges(ranges, escaped)
    return alternatives([CharClass(raw), *choices]) if raw else choices[0]


def encode(expression: Expression) -> Expression:
    """The canonical JSON forms, without quotes, of the texts of an expression over characters."""
    return fold(expression, _encode_node)


def _encode_node(node: Expression, parts: list[Expression]) -> Expression:
    match node:
        case Literal(text):
            return Literal(encode_text(text))
        case CharClass(ranges):
            return encode_class(ranges)
        case Sequence():
            return sequence(parts)
        case Alternatives():
            return alternatives(parts)
        case Repeat(_, minimum, maximum):
            return repeat(parts[0], minimum, maximum)
        case Automaton():
            return _encode_automaton(node)
        case _:
            raise TypeError(f"no expression over characters: {node}")


def _encode_automaton(automaton: Automaton) -> Automaton:
    """Replace each edge on an escaped character by a path that spells its escape.

    Escapes are unique and prefix-free and raw characters exclude the backslash, so the
    result is deterministic. Equal tails of escapes share their states.
    """
    states: list[dict[tuple[int, int], int]] = []
    spelled: dict[tuple[tuple[str, int], ...], int] = {}

    def spell(words: tuple[tuple[str, int], ...]) -> int:
        """The state from which exactly these `(rest of an escape, target)` words lead on."""
        if words[0][0] == "":
            return words[0][1]
        if words not in spelled:
            state = spelled[words] = len(states)
            states.append({})
            for char in sorted({word[0] for word, _ in words}):
                rest = tuple((word[1:], target) for word, target in words if word[0] == char)
                states[state][ord(char), ord(char)] = spell(rest)
        return spelled[words]

    states.extend({} for _ in automaton.edges)
    for state, edges in enumerate(automaton.edges):
        words: list[tuple[str, int]] = []
        for low, high, target in edges:
            escaped = _escaped_codes(((low, high),))
            words.extend((_encode_char(code)[1:], target) for code in escaped)
            for part in _raw_ranges(((low, high),), escaped):
                states[state][part] = target
        if words:
            states[state][ord("\\"), ord("\\")] = spell(tuple(sorted(words)))
    return Automaton(
        tuple(_merge_edges(edges) for edges in states),
        automaton.accepting,
    )


def _merge_edges(edges: dict[tuple[int, int], int]) -> tuple[tuple[int, int, int], ...]:
    """Ascending edges; neighbours with the same target become one."""
    merged: list[tuple[int, int, int]] = []
    for (low, high), target in sorted(edges.items()):
        if merged and merged[-1][1] + 1 == low and merged[-1][2] == target:
            merged[-1] = (merged[-1][0], high, target)
        else:
            merged.append((low, high, target))
    return tuple(merged)
