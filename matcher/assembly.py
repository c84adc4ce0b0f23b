"""From the edges of a rule's automaton to rows of the tables: prune, remove epsilons, merge, spell.

    prune    edges that cannot lead to the end of the rule go
    close    each state gets the edges of its epsilon closure, unless that makes too many edges
    merge    states are numbered in the order in which the start reaches them; states with equal
             edges become one
    spell    literals become states, a byte each, once for each target; literals that leave one state
             share their prefixes (a trie), and ALSO edges become copies of what they lead to

All of it is one kernel, since a large grammar has 100,000 edges, and everything happens in arrays that
are made once a rule. States 0 and 1 keep their numbers, since counted rules give them a meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .closing import EPSILON_GROWTH, EPSILON_SLACK, KIND, SOURCE, TARGET, by_column, close, prune
from .jit import entry, int64, kernel
from .rule_automaton import END, START
from .spelling import spell
from .tables import FALLBACK, FULL

__all__ = ["EPSILON_GROWTH", "EPSILON_SLACK", "lay_out", "list_fallbacks"]


@entry
def lay_out(edges: Any, sizes: Any, literals: Any, state_table: Any, edge_table: Any, ends: Any) -> int:
    """Lay out rules one behind the other. Returns 0, or FULL if there is no room.

    `edges` is `int32[n, 5]` (see `rule_automaton`; calls of rule -1 are dropped), `literals` their bytes, each those
    of all rules in order. `sizes` has a row for each rule: how many edges, states and bytes of literals it has, and
    the index of a counted rule's counter, or -1. `ends[0]` is how many states and edges are in use, and each
    further row will be how many there are with one more rule.
    """
    edge = int64(0)
    literal = int64(0)
    for rule in range(len(sizes)):
        ends[rule + 1, 0] = ends[rule, 0]
        ends[rule + 1, 1] = ends[rule, 1]
        last_edge = edge + sizes[rule, 0]
        last_literal = literal + sizes[rule, 2]
        own_edges = edges[edge:last_edge]
        own_literals = literals[literal:last_literal]
        counter = sizes[rule, 3]
        states = sizes[rule, 1]
        used = ends[rule + 1]
        if lay_out_rule(own_edges, states, own_literals, counter, state_table, edge_table, used) == FULL:
            return FULL
        edge = last_edge
        literal = last_literal
    return 0


@kernel
def lay_out_rule(
    edges: Any, states: int, literals: Any, counter: int, state_table: Any, edge_table: Any, used: Any
) -> int:
    """Lay out one rule behind the `used[0]` states and `used[1]` edges of the tables; moves both on. 0 or FULL."""
    edges = prune(edges, states)
    # The last one is where a byte is taken that leads nowhere.
    states += 1
    begin, order = by_column(edges, SOURCE, states)
    rows, row_begin, final = close(edges, states, begin, order, counter >= 0)
    numbers, kept = merge(rows, row_begin, final, states, counter >= 0, literals)
    return spell(rows, row_begin, final, numbers, kept, literals, counter, state_table, edge_table, used)


# ── Merge ───────────────────────────────────────────────────────────────────────────────


@kernel
def merge(
    rows: np.ndarray, row_begin: np.ndarray, final: np.ndarray, states: int, counted: bool, literals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number the states that the start reaches, equal ones alike.

    Returns the new number of each state (-1: not reached), and for each new state one with that number.
    """
    numbers = np.full(states, -1, dtype=np.int64)
    kept = np.empty(states + 1, dtype=np.int64)
    size = 8
    while size < 2 * states:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    numbers[START] = START
    numbers[END] = END
    kept[START] = START
    kept[END] = END
    if not counted:
        # A state in which the rule may end, and nothing more, is the end.
        table[row_hash(rows, row_begin, final, END) & (size - 1)] = END
    found = 2
    i = 0
    while i < found:
        s = kept[i]
        i += 1
        if i - 1 == END:
            continue
        for k in range(row_begin[s], row_begin[s + 1]):
            t = rows[k, TARGET]
            if numbers[t] >= 0:
                continue
            slot = row_hash(rows, row_begin, final, t) & (size - 1)
            while table[slot] >= 0 and not same_row(rows, row_begin, final, kept[table[slot]], t):
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = found
                kept[found] = t
                found += 1
            numbers[t] = table[slot]
    return numbers, kept[:found]


@kernel
def row_hash(rows: np.ndarray, row_begin: np.ndarray, final: np.ndarray, state: int) -> int:
    """A hash of whether a rule may end in a state, and of the state's edges."""
    value = int64(final[state]) + 17
    for k in range(row_begin[state], row_begin[state + 1]):
        for c in range(KIND, TARGET + 1):
            value = ((value * 1000003) ^ int64(rows[k, c])) & 0x7FFFFFFFFF
    return value ^ (value >> 17)


@kernel
def same_row(rows: np.ndarray, row_begin: np.ndarray, final: np.ndarray, a: int, b: int) -> bool:
    """Whether two states have the same edges, and a rule may end in both or in neither."""
    size = row_begin[a + 1] - row_begin[a]
    if final[a] != final[b] or row_begin[b + 1] - row_begin[b] != size:
        return False
    for k in range(size):
        for c in range(KIND, TARGET + 1):
            if rows[row_begin[a] + k, c] != rows[row_begin[b] + k, c]:
                return False
    return True


# ── What a rule falls back to ───────────────────────────────────────────────────────────


@entry
def list_fallbacks(state_table: Any, edge_table: Any, first: int, end: int, listed: Any, content: Any) -> int:
    """List the states among [first, end) that FALLBACK edges lead to, and all that these reach.

    `listed` gets their numbers, in an order that depends on the edges only, and `content` what they consist of,
    with `listed[0]` and `content[0]` for the lengths. Room: a word a state, and four an edge and two a state.
    """
    place = np.full(end - first, -1, dtype=np.int64)
    size = 0
    for s in range(first, end):
        state = state_table[s]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            if edge_table[e]["kind"] == FALLBACK:
                size = list_state(edge_table[e]["target"], first, place, listed, size)
    words = 1
    done = 0
    while done < size:
        state = state_table[listed[1 + done]]
        done += 1
        content[words] = state["edge_count"]
        content[words + 1] = state["flags"]
        words += 2
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edge_table[e]
            size = list_state(edge["target"], first, place, listed, size)
            content[words] = edge["kind"]
            content[words + 1] = edge["low"]
            content[words + 2] = edge["high"]
            content[words + 3] = place[edge["target"] - first]
            words += 4
    listed[0] = size
    content[0] = words
    return size


@kernel
def list_state(state: int, first: int, place: np.ndarray, listed: np.ndarray, size: int) -> int:
    """Add a state to the list unless it is there. Returns how many there are now."""
    if place[state - first] < 0:
        place[state - first] = size
        listed[1 + size] = state
        size += 1
    return size
