"""The keys of an object other than its declared ones, as JSON text.

An object that allows additional properties must not spell a declared name as an additional
one: its value would escape the declared schema. "Any key but these" is a prefix tree of the
names laid over the automaton of all keys: a character that leaves the tree *falls back* to
where the automaton of all keys would be. So it is as large as the names, and cheap to build.

Keys are written in canonical JSON escapes, so that each has exactly one spelling.
"""

from __future__ import annotations

from functools import lru_cache

from infernix.gbnf.grammar import Automaton, written_out

from .json_text import encode_text

__all__ = ["any_key_but"]

Edges = tuple[tuple[int, int, int], ...]

# The automaton of all keys after the opening quote, at fixed state numbers. State 0 is before
# that quote, END after the closing one; NAMED is ANY where the key may not end.
END, ANY, NAMED, ESCAPE, U, U0, U00, U000, U001, TREE = range(1, 11)


def _edges(*parts: tuple[str, int]) -> Edges:
    """Edges from ranges written as pairs of characters, such as "azAZ", and their targets."""
    flat = [(ord(chars[i]), ord(chars[i + 1]), target) for chars, target in parts for i in range(0, len(chars), 2)]
    return tuple(sorted(flat))


_RAW = " !#[]\ud7ff\ue000\U0010ffff"
_ALL_KEYS: tuple[Edges, ...] = (
    _edges(('""', TREE)),
    (),
    _edges((_RAW, ANY), ("\\\\", ESCAPE), ('""', END)),
    _edges((_RAW, ANY), ("\\\\", ESCAPE)),
    _edges(('""\\\\bbffnnrrtt', ANY), ("uu", U)),
    _edges(("00", U0)),
    _edges(("00", U00)),
    _edges(("00", U000), ("11", U001)),
    _edges(("07bbef", ANY)),
    _edges(("09af", ANY)),
)
_LAST_ASCII = 0x7F
CACHED = 256
"""Automata that are kept: the same objects occur in many schemas."""


@lru_cache(CACHED)
def any_key_but(names: frozenset[str]) -> Automaton:
    """The JSON texts, with quotes and in canonical escapes, of every string that is not in `names`."""
    tree: list[list[tuple[int, int, int]]] = [[]]
    under = [ANY]  # for each node of the tree, where the automaton of all keys is
    path = [0]  # the nodes of the last name
    last = ""
    for text in sorted(map(encode_text, names)):  # in this order a node's edges come ascending
        del path[_shared(last, text) + 1 :]
        last = text
        for char in text[len(path) - 1 :]:
            node, child = path[-1], len(tree)
            tree[node].append((ord(char), ord(char), TREE + child))
            tree.append([])
            under.append(_follow(under[node], char))
            path.append(child)
        under[path[-1]] = NAMED
    edges: list[Edges] = list(_ALL_KEYS)
    fallback = [-1] * len(edges)
    for children, other in zip(tree, under, strict=True):
        row = tuple(children)
        # A character of several bytes cannot fall back in its middle: such rows are written out.
        if row and row[-1][0] > _LAST_ASCII:
            row, other = written_out(row, _ALL_KEYS[other]), -1
        edges.append(row)
        fallback.append(other)
    return Automaton(tuple(edges), frozenset([END]), tuple(fallback))


def _shared(first: str, second: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    for at, (mine, other) in enumerate(zip(first, second, strict=False)):
        if mine != other:
            return at
    return min(len(first), len(second))


def _follow(state: int, char: str) -> int:
    """The state of the automaton of all keys after a character of a key's canonical form."""
    if state in (ANY, NAMED):  # a character that begins no escape stays there
        return ESCAPE if char == "\\" else ANY
    code = ord(char)
    return next(target for low, high, target in _ALL_KEYS[state] if low <= code <= high)
