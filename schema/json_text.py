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

from functools import lru_cache

from infernix.gbnf.errors import LimitError
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
    without_fallback,
)

from .dfa import MAX_STATES

__all__ = ["JSON_CHAR", "JSON_STRING", "QUOTE", "encode", "encode_class", "encode_text"]

QUOTE = Literal('"')
SHORT_ESCAPES = {0x08: "b", 0x09: "t", 0x0A: "n", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
FIRST_UNESCAPED = 0x20
_LAST_LOW_ESCAPE, _BACKSLASH = ord('"'), ord("\\")  # below a space, these two, and nothing else is escaped
HEX_BASE = 16
CACHED_CLASSES = 4096


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

JSON_STRING = Rule("json-string", sequence([QUOTE, repeat(JSON_CHAR, 0, None), QUOTE]), standard=True)
"""Any JSON string with its quotes. One rule for all grammars, so that its token sets are shared."""


def encode_text(text: str) -> str:
    """The canonical JSON form of `text`, without quotes."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(_encode_char(ord(char)) for char in text)


def _encode_char(code: int) -> str:
    if code in SHORT_ESCAPES:
        return "\\" + SHORT_ESCAPES[code]
    return chr(code) if code >= FIRST_UNESCAPED else f"\\u{code:04x}"


@lru_cache(CACHED_CLASSES)
def _escaped_codes(ranges: Ranges) -> tuple[int, ...]:
    """The members of a class that have no raw form, in ascending order."""
    candidates = [*range(FIRST_UNESCAPED), ord('"'), ord("\\")]
    return tuple(code for code in candidates if any(low <= code <= high for low, high in ranges))


@lru_cache(CACHED_CLASSES)
def _raw_ranges(ranges: Ranges) -> Ranges:
    """The class without its escaped members."""
    parts: list[tuple[int, int]] = []
    for low, high in ranges:
        start = low
        for code in _escaped_codes(((low, high),)):
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
    raw = _raw_ranges(ranges)
    return alternatives([CharClass(raw), *choices]) if raw else choices[0]


def encode(expression: Expression) -> Expression:
    """The canonical JSON forms, without quotes, of the texts of an expression over characters.

    Raises `LimitError` where an automaton grows beyond `MAX_STATES` by the states inside its escapes.
    """
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
            return _encode_automaton(without_fallback(node))
        case _:
            raise TypeError(f"no expression over characters: {node}")


Slot = tuple[bool, int]
"""Where an edge of a spelled state leads: (True, one of the added states) or (False, a target)."""
Spelling = tuple[tuple[tuple[int, int, Slot], ...], ...]


def _encode_automaton(automaton: Automaton) -> Automaton:
    """Replace each edge on an escaped character by a path that spells its escape.

    Escapes are unique and prefix-free and raw characters exclude the backslash, so the
    result is deterministic. Most states have edges on the same characters, so what they
    become is worked out once, with numbered targets, and then filled in.
    """
    states: list[tuple[tuple[int, int, int], ...]] = [()] * len(automaton.edges)
    for state, edges in enumerate(automaton.edges):
        if not any(low <= _LAST_LOW_ESCAPE or low <= _BACKSLASH <= high for low, high, _ in edges):
            states[state] = edges
            continue
        targets: dict[int, int] = {}
        shape = tuple([(low, high, targets.setdefault(target, len(targets))) for low, high, target in edges])
        first, *added = _spell(shape)
        places = list(targets)
        offset = len(states) - 1  # the added states are numbered from 1
        fill = [
            tuple([(low, high, offset + at if inner else places[at]) for low, high, (inner, at) in spelled])
            for spelled in (first, *added)
        ]
        states[state] = fill[0]
        states.extend(fill[1:])
        if len(states) > MAX_STATES:
            raise LimitError(f"a string automaton needs more than {MAX_STATES} states with its escapes")
    return Automaton(tuple(states), automaton.accepting)


@lru_cache(CACHED_CLASSES)
def _spell(shape: tuple[tuple[int, int, int], ...]) -> Spelling:
    """The canonical forms of the edges of one state: itself, then the states inside its escapes."""
    tree: list[dict[tuple[int, int], Slot]] = [{}]
    for low, high, target in shape:
        for part in _raw_ranges(((low, high),)):
            tree[0][part] = (False, target)
        for code in _escaped_codes(((low, high),)):
            *path, last = (ord(char) for char in _encode_char(code))
            state = 0
            for char in path:
                if (char, char) not in tree[state]:
                    tree[state][char, char] = (True, len(tree))
                    tree.append({})
                state = tree[state][char, char][1]
            tree[state][last, last] = (False, target)
    return tuple(_merge_edges(edges) for edges in tree)


def _merge_edges(edges: dict[tuple[int, int], Slot]) -> tuple[tuple[int, int, Slot], ...]:
    """Ascending edges; neighbours that lead to the same place become one."""
    merged: list[tuple[int, int, Slot]] = []
    for (low, high), slot in sorted(edges.items()):
        if merged and merged[-1][1] + 1 == low and merged[-1][2] == slot:
            merged[-1] = (merged[-1][0], high, slot)
        else:
            merged.append((low, high, slot))
    return tuple(merged)
