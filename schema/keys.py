"""The keys of an object other than its declared ones, as JSON text.

An object that allows additional properties must not spell a declared name as an additional
one: its value would escape the declared schema. "Any key but these" is a prefix tree of the
names laid over the automaton of all keys, or of those that a pattern allows: a character that leaves the
tree *falls back* to where that automaton would be. So it adds as much as the names are long, and is
cheap to build.

Keys are written in canonical JSON escapes, so that each has exactly one spelling.
"""

from __future__ import annotations

from functools import lru_cache

from infernix.gbnf.grammar import ANY_CHAR, Automaton, written_out

from .json_text import encode, encode_text

__all__ = ["ANY_KEY", "any_key_but", "quoted", "texts_but"]

Edges = tuple[tuple[int, int, int], ...]

CACHED = 256
"""Automata that are kept: the same objects occur in many schemas."""
QUOTE = ord('"')
_LAST_ASCII = 0x7F
_AFTER_QUOTE = 1


def quoted(values: Automaton) -> Automaton:
    """The JSON texts, with quotes and in canonical escapes, of the strings of an automaton without fallback."""
    inner = encode(values)
    assert isinstance(inner, Automaton)
    end = len(inner.edges) + _AFTER_QUOTE
    closing = (QUOTE, QUOTE, end)
    rows: list[Edges] = [((QUOTE, QUOTE, _AFTER_QUOTE),)]
    for state, edges in enumerate(inner.edges):
        moved = [(low, high, target + _AFTER_QUOTE) for low, high, target in edges]
        rows.append(tuple(sorted([*moved, closing]) if state in inner.accepting else moved))
    return Automaton((*rows, ()), frozenset([end]))


ANY_KEY = quoted(Automaton((tuple((low, high, 0) for low, high in ANY_CHAR.ranges),), frozenset([0])))
"""Any key at all."""


@lru_cache(CACHED)
def any_key_but(names: frozenset[str]) -> Automaton:
    """The JSON texts, with quotes and in canonical escapes, of every string that is not in `names`."""
    return texts_but(ANY_KEY, names)


def texts_but(keys: Automaton, names: frozenset[str]) -> Automaton:
    """The texts of `keys` (see `quoted`) without those of some of its strings."""
    edges = list(keys.edges)
    ((_, _, start),) = edges[0]
    root = len(edges)
    edges[0] = ((QUOTE, QUOTE, root),)
    edges.append(())
    under = [start]  # for each node of the tree, where `keys` is
    ends: list[int] = []
    path = [root]  # the nodes of the last name
    last = ""
    steps: dict[tuple[int, str], int] = {}
    looping = _looping(keys.edges[start], start)
    for text in sorted(map(encode_text, names)):  # in this order a node's edges come ascending
        del path[_shared(last, text) + 1 :]
        last = text
        rest = text[len(path) - 1 :]
        if not rest:  # the empty name
            ends.append(root)
            continue
        # All but the first of the new edges are rows by themselves, so the whole branch is made at once.
        codes = list(map(ord, rest))
        branch = range(len(edges), len(edges) + len(rest))
        rows = [((code, code, node),) for code, node in zip(codes, branch, strict=True)]
        edges[path[-1]] += rows[0]
        edges += rows[1:]
        edges.append(())
        state = under[path[-1] - root]
        if state == start and looping.issuperset(rest):
            under += [start] * len(rest)
        else:
            under += _passed(keys, state, rest, steps)
        path += branch
        ends.append(path[-1])
    # Where a name ends, the text must not: there the fallback is a copy without the closing quote.
    unnamed: dict[int, int] = {}
    for node in ends:
        state = under[node - root]
        if state not in unnamed:
            unnamed[state] = len(edges) + len(unnamed)
        under[node - root] = unnamed[state]
    edges += [tuple([edge for edge in keys.edges[state] if edge[0] != QUOTE]) for state in unnamed]
    fallback = [-1] * root + under + [-1] * len(unnamed)
    if not all(map(str.isascii, names)):
        for node, other in enumerate(fallback):
            # A character of several bytes cannot fall back in its middle: such rows are written out.
            if other >= 0 and edges[node] and edges[node][-1][0] > _LAST_ASCII:
                edges[node] = written_out(edges[node], edges[other])
                fallback[node] = -1
    return Automaton(tuple(edges), keys.accepting, tuple(fallback))


def _passed(keys: Automaton, state: int, text: str, steps: dict[tuple[int, str], int]) -> list[int]:
    """The states of `keys` after each character of a part of a key; `steps` remembers single steps."""
    passed = []
    for char in text:
        following = steps.get((state, char))
        if following is None:
            following = steps[state, char] = _follow(keys.edges[state], ord(char))
        state = following
        passed.append(state)
    return passed


@lru_cache(CACHED)
def _looping(edges: Edges, state: int) -> frozenset[str]:
    """The ASCII characters that lead from a state back to it; in "any key", nearly all do."""
    return frozenset(
        chr(code) for low, high, to in edges if to == state for code in range(low, min(high, _LAST_ASCII) + 1)
    )


def _shared(first: str, second: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    for at, (mine, other) in enumerate(zip(first, second, strict=False)):
        if mine != other:
            return at
    return min(len(first), len(second))


def _follow(edges: Edges, code: int) -> int:
    """Where a character of a key's canonical form leads."""
    for low, high, target in edges:
        if low <= code <= high:
            return target
    raise AssertionError("a key of the language leaves its automaton")
