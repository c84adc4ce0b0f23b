"""Texts that are nearly GBNF: a valid text with a fault or two, some of which turn out to be none.

Nothing here decides what is valid. Pieces are exchanged between tokens, so that what goes wrong is
seldom the first character, and the pieces are those at the borders of the language: escapes, counts,
brackets, names, token terminals, white space that is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..choices import Choose, chance, one_of

__all__ = ["near_gbnf"]

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\[(?:[^\]\\\n]|\\.)*\]|[A-Za-z0-9_.\-]+|::=|\s+|.', re.DOTALL)
SIGNS = ["(", ")", "[", "]", "{", "}", '"', "|", "||", "*", "+", "?", "**", "+?", "^", ",", "-", ".", "~", "\\"]
SIGNS += ["::=", ":=", "=", "::", "()", "( )", '""', "(= ", '(="a")', "# a\n", "#", "\n", "\r", "\r\n", "\n\n", " "]
COUNTS = ["{0}", "{1}", "{2,1}", "{,2}", "{2,}", "{0,0}", "{ 1 , 2 }", "{1 }", "{}", "{,}", "{-1}", "{1.5}", "{a}"]
COUNTS += [
    "{1,2}{2}",
    "{2}*",
    "*{2}",
    "{02}",
    "{2147483647}",
    "{2147483648}",
    "{0,2147483648}",
    "{99999999999999999999}",
]
ESCAPES = ["\\n", "\\0", "\\e", "\\a", "\\q", "\\'", "\\?", "\\/", "\\-", "\\]", "\\d", "\\w", "\\.", "\\\n", "\\"]
ESCAPES += ["\\x", "\\x4", "\\x41", "\\x41B", "\\x00000041", "\\x110000", "\\xD800", "\\x{41}", "\\xG", "\\X41"]
ESCAPES += ["\\u", "\\u41", "\\u0041", "\\ud800", "\\udfff", "\\ud83d\\ude00", "\\u{41}", "\\U00000041", "\\U0010FFFF"]
ESCAPES += ["\\U00110000", "\\UFFFFFFFF", "\\U0041"]
CLASSES = ["[]", "[^]", "[^^]", "[-]", "[a-]", "[-a]", "[a-b-c]", "[z-a]", "[a-a]", "[\\d]", "[\\]]", "[[]", "[]]"]
CLASSES += ["[\\\\-a]", "[\\x41-\\x5a]", "[\n]", "[\\n-a]", '["]', "[a", "[^", "[", "[a\\", "[\\^-a]", "[+--]"]
NAMES = ["true", "false", "root", "Root", "zz", "1a", "-a", ".a", "_", "a.b", "a-", "é", "ａ", "root[max_tokens=1]"]
NAMES += ["TagDispatch", 'Regex("a")', 'Substring("ab")', "'a'", "<think>", "$", "%", "@", ";", "//", "/*"]
ODD = [
    "\ufeff",
    "\u00a0",
    "\u2028",
    "\u200b",
    "\x00",
    "\x0b",
    "\x0c",
    "\x85",
    "\x7f",
    "\u0301",
    "\u202e",
    "\U0010ffff",
    "“",
]
LINES = ['root ::= "b"', 'x ::= "b"', 'zz ::= "b"', "zz ::=", "::= zz", 'zz : := "a"', 'zz\n::= "a"', "zz ::= zz", "zz"]
LINES += [
    'y ::= "a" z ::= "b"',
    "zz ::= Token(0)",
    "# nothing",
    "zz ::= |",
    'zz ::= "a" |',
    "zz ::= ()",
    "zz ::= ( | )",
]


def near_gbnf(choose: Choose, source: str, odd_ids: Sequence[int]) -> str:
    """The text with a fault, seldom two; `odd_ids` are token ids at the borders of what may be named."""
    for _ in range(1 + chance(choose, 4)):
        source = one_of(choose, FAULTS)(choose, source, odd_ids)
    return source


def _with_tokens(change: Callable[[Choose, list[str]], None]) -> Callable[[Choose, str, Sequence[int]], str]:
    def fault(choose: Choose, source: str, _: Sequence[int]) -> str:
        tokens = _TOKEN.findall(source) or [""]
        change(choose, tokens)
        return "".join(tokens)

    return fault


def _delete(choose: Choose, tokens: list[str]) -> None:
    del tokens[choose(len(tokens))]


def _double(choose: Choose, tokens: list[str]) -> None:
    place = choose(len(tokens))
    tokens.insert(place, tokens[place])


def _swap(choose: Choose, tokens: list[str]) -> None:
    one, other = choose(len(tokens)), choose(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _insert(choose: Choose, tokens: list[str]) -> None:
    pieces = one_of(choose, (SIGNS, COUNTS, CLASSES, NAMES, ODD))
    tokens.insert(choose(len(tokens) + 1), one_of(choose, pieces))


def _exchange(choose: Choose, tokens: list[str]) -> None:
    pieces = one_of(choose, (SIGNS, COUNTS, CLASSES, NAMES, ODD))
    tokens[choose(len(tokens))] = one_of(choose, pieces)


def _escape(choose: Choose, tokens: list[str]) -> None:
    """An escape, or a character that needs one, inside a string or a class if there is any."""
    piece = one_of(choose, one_of(choose, (ESCAPES, ESCAPES, ODD, ["\n", '"', "]"])))
    places = [i for i, token in enumerate(tokens) if token[:1] in ('"', "[") and len(token) > 1]
    if not places:
        tokens.append(f'"{piece}"')
        return
    place = one_of(choose, places)
    inside = 1 + choose(len(tokens[place]) - 1)
    tokens[place] = tokens[place][:inside] + piece + tokens[place][inside:]


def _token_terminal(choose: Choose, source: str, odd_ids: Sequence[int]) -> str:
    ids = [str(one_of(choose, odd_ids)) for _ in range(1 + choose(2))]
    lists = (", ".join(ids), ids[0], "", f"{ids[0]},", f"-{ids[0]}", f"0x{ids[0]}", f'"{ids[0]}"', f"{ids[0]} {ids[0]}")
    name = one_of(choose, ("Token", "ExcludeToken", "token", "Token "))
    return source.rstrip("\n") + one_of(choose, (" ", " | ")) + f"{name}({one_of(choose, lists)})\n"


def _cut(choose: Choose, source: str, _: Sequence[int]) -> str:
    return source[: choose(len(source) + 1)]


def _line(choose: Choose, source: str, _: Sequence[int]) -> str:
    return f"{source.rstrip()}{one_of(choose, (chr(10), ' '))}{one_of(choose, LINES)}\n"


FAULTS = (
    *map(_with_tokens, (_delete, _double, _swap, _insert, _insert, _exchange, _escape, _escape, _escape)),
    _token_terminal,
    _line,
    _cut,
)
