"""All strings but a few: the names that an object has not declared."""

from __future__ import annotations

from collections.abc import Iterable

from infernix.gbnf.grammar import ANY_CHAR, Automaton, complement, normal_ranges

__all__ = ["all_but"]

Edges = tuple[tuple[int, int, int], ...]


def all_but(texts: Iterable[str]) -> Automaton:
    """The automaton of every string that is not one of `texts`.

    It is the prefix tree of the texts with its ends not accepting; a character that leaves
    the tree leads to a state that accepts everything. Equal subtrees are shared, so that
    the size grows with what the texts differ in.
    """
    tree, ends = _prefix_tree(texts)
    # States are numbered from the leaves to the root, after the state that accepts everything.
    anything = 0
    states: dict[tuple[Edges, bool], int] = {
        (tuple((low, high, anything) for low, high in ANY_CHAR.ranges), True): anything
    }
    state_of = [anything] * len(tree)
    for node in range(len(tree) - 1, -1, -1):
        below = [(ord(char), ord(char), state_of[child]) for char, child in tree[node].items()]
        used = normal_ranges((low, high) for low, high, _ in below)
        leaving = [(low, high, anything) for low, high in complement(used)]
        key = tuple(sorted(below + leaving)), node not in ends
        state_of[node] = states.setdefault(key, len(states))
    start = state_of[0]
    # The start must be state 0: it changes places with the state that accepts everything.
    place = {start: anything, anything: start}
    renamed = {
        place.get(number, number): (
            tuple((low, high, place.get(to, to)) for low, high, to in edges),
            accepting,
        )
        for (edges, accepting), number in states.items()
    }
    return Automaton(
        tuple(renamed[number][0] for number in range(len(renamed))),
        frozenset(number for number, (_, accepting) in renamed.items() if accepting),
    )


def _prefix_tree(texts: Iterable[str]) -> tuple[list[dict[str, int]], set[int]]:
    """The children of each node, parents before children, and the nodes where a text ends."""
    tree: list[dict[str, int]] = [{}]
    ends: set[int] = set()
    for text in texts:
        node = 0
        for char in text:
            if char not in tree[node]:
                tree[node][char] = len(tree)
                tree.append({})
            node = tree[node][char]
        ends.add(node)
    return tree, ends
