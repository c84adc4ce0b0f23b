"""The first half of laying out a rule: what cannot lead to its end goes, and so do epsilons.

Edges are rows of `int32[n, 5]` (`matcher.rule_automaton`).
"""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .rule_automaton import ALSO, END, START
from .tables import BYTE, CALL, EPSILON, FALLBACK

SOURCE, KIND, LOW, HIGH, TARGET = 0, 1, 2, 3, 4
"""Columns of an edge."""
EPSILON_GROWTH, EPSILON_SLACK = 4, 64
"""Epsilons stay where removing them would grow a rule's edges by more than this factor and slack."""
FEW_EDGES = 32
"""In rows of so many edges, equal edges are looked for one by one."""


@kernel
def by_column(edges: np.ndarray, column: int, states: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges by their source or target: where each state's begin, and their order (counting sort, stable)."""
    begin = np.zeros(states + 1, dtype=np.int64)
    for e in range(len(edges)):
        begin[edges[e, column] + 1] += 1
    for s in range(states):
        begin[s + 1] += begin[s]
    place = begin.copy()
    order = np.empty(len(edges), dtype=np.int64)
    for e in range(len(edges)):
        s = edges[e, column]
        order[place[s]] = e
        place[s] += 1
    return begin, order


@kernel
def prune(edges: np.ndarray, states: int) -> np.ndarray:
    """The edges that can lead to the end of the rule.

    Where a state falls back, an edge that leads nowhere stays, to a state without a way on (number
    `states`): its bytes must not fall back instead.
    """
    useful = find_useful(edges, states)
    falls = np.zeros(states, dtype=np.uint8)
    for e in range(len(edges)):
        if edges[e, KIND] == FALLBACK:
            falls[edges[e, SOURCE]] = 1
    kept = np.empty((len(edges), 5), dtype=np.int32)
    n = 0
    for e in range(len(edges)):
        if edges[e, KIND] == CALL and edges[e, LOW] < 0:
            continue
        leads = useful[edges[e, TARGET]] or edges[e, KIND] == FALLBACK
        if leads or (edges[e, KIND] == BYTE and falls[edges[e, SOURCE]]):
            for c in range(5):
                kept[n, c] = edges[e, c]
            if not leads:
                kept[n, TARGET] = states
            n += 1
    return kept[:n]


@kernel
def find_useful(edges: np.ndarray, states: int) -> np.ndarray:
    """Which states lead to the end. A state that falls back leads where the byte edges of the other one lead."""
    into_begin, into = by_column(edges, TARGET, states)
    useful = np.zeros(states, dtype=np.uint8)
    stack = np.empty(states, dtype=np.int64)
    stack[0] = END
    size = 1
    useful[END] = 1
    while size > 0:
        size -= 1
        t = stack[size]
        for i in range(into_begin[t], into_begin[t + 1]):
            kind = edges[into[i], KIND]
            s = edges[into[i], SOURCE]
            if kind == FALLBACK or (kind == CALL and edges[into[i], LOW] < 0):
                continue
            if not useful[s]:
                useful[s] = 1
                stack[size] = s
                size += 1
            if kind != BYTE:
                continue
            for k in range(into_begin[s], into_begin[s + 1]):
                f = edges[into[k], SOURCE]
                if edges[into[k], KIND] == FALLBACK and not useful[f]:
                    useful[f] = 1
                    stack[size] = f
                    size += 1
    return useful


@kernel
def close(
    edges: np.ndarray, states: int, begin: np.ndarray, order: np.ndarray, counted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of edges of all states that matter, without epsilons if that does not make too many edges.

    Returns the rows `int32[m, 5]`, where each state's begin, and in which states the rule may end.
    """
    final = np.zeros(states, dtype=np.uint8)
    leaves = np.zeros(states, dtype=np.uint8)
    wanted = np.zeros(states, dtype=np.uint8)
    wanted[START] = 1
    epsilons = 0
    for e in range(len(edges)):
        if edges[e, KIND] == EPSILON:
            leaves[edges[e, SOURCE]] = 1
            epsilons += 1
        else:
            wanted[edges[e, TARGET]] = 1
    closure = np.empty(states, dtype=np.int64)
    stamp = np.full(states, -1, dtype=np.int64)
    sizes = np.zeros(states + 1, dtype=np.int64)
    budget = EPSILON_GROWTH * len(edges) + EPSILON_SLACK
    for s in range(states):
        if not wanted[s]:
            continue
        if not leaves[s]:
            sizes[s + 1] = begin[s + 1] - begin[s]
            continue
        found = find_closure(edges, begin, order, s, closure, stamp)
        for i in range(found):
            sizes[s + 1] += begin[closure[i] + 1] - begin[closure[i]]  # epsilons included: room enough
        budget -= plain_edges(edges, begin, order, closure, found) + found // EPSILON_GROWTH
        if budget < 0 and not counted:
            return keep_epsilons(edges, states, begin, order)
    total = 0
    for s in range(states):
        total += sizes[s + 1]
    rows = np.empty((2 * total if counted else total, 5), dtype=np.int32)
    row_begin = np.zeros(states + 1, dtype=np.int64)
    stamp[:] = -1
    n = 0
    if not counted:
        final[END] = 1
    else:
        mark_final(edges, states, begin, order, wanted, leaves, closure, stamp, final)
        stamp[:] = -1
    for s in range(states):
        row_begin[s] = n
        if not wanted[s]:
            continue
        found = 1
        closure[0] = s
        if leaves[s]:
            found = find_closure(edges, begin, order, s, closure, stamp)
        for i in range(found):
            if closure[i] == END and not counted:
                final[s] = 1
            for k in range(begin[closure[i]], begin[closure[i] + 1]):
                e = order[k]
                if edges[e, KIND] != EPSILON:
                    n = add_edge(rows, row_begin[s], n, edges[e], s, edges[e, TARGET], found > 2)
        if counted:
            # Only an item that arrives at the end itself counts a unit.
            for k in range(row_begin[s], n):
                if final[rows[k, TARGET]]:
                    n = add_edge(rows, row_begin[s], n, rows[k], s, END, False)
    row_begin[states] = n
    if counted:
        final[:] = 0
    else:
        spread_final(rows[:n], ALSO, final)
    return rows[:n], row_begin, final


@kernel
def mark_final(
    edges: np.ndarray,
    states: int,
    begin: np.ndarray,
    order: np.ndarray,
    wanted: np.ndarray,
    leaves: np.ndarray,
    closure: np.ndarray,
    stamp: np.ndarray,
    final: np.ndarray,
) -> None:
    """Mark the states, apart from END itself, from which epsilons lead to the end."""
    for s in range(states):
        if wanted[s] and leaves[s]:
            found = find_closure(edges, begin, order, s, closure, stamp)
            for i in range(found):
                if closure[i] == END:
                    final[s] = 1


@kernel
def find_closure(
    edges: np.ndarray, begin: np.ndarray, order: np.ndarray, state: int, closure: np.ndarray, stamp: np.ndarray
) -> int:
    """Fill `closure` with the states that epsilons reach from a state, itself first. Returns how many.

    It is its own worklist: what is found is looked at in turn. `stamp` remembers for whom a state was found.
    """
    closure[0] = state
    stamp[state] = state
    found = 1
    done = 0
    while done < found:
        s = closure[done]
        done += 1
        for k in range(begin[s], begin[s + 1]):
            e = order[k]
            t = edges[e, TARGET]
            if edges[e, KIND] == EPSILON and stamp[t] != state:
                stamp[t] = state
                closure[found] = t
                found += 1
    return found


@kernel
def plain_edges(edges: np.ndarray, begin: np.ndarray, order: np.ndarray, closure: np.ndarray, found: int) -> int:
    """How many edges, but epsilons, leave the states of a closure."""
    count = 0
    for i in range(found):
        for k in range(begin[closure[i]], begin[closure[i] + 1]):
            if edges[order[k], KIND] != EPSILON:
                count += 1
    return count


@kernel
def add_edge(rows: np.ndarray, first: int, n: int, edge: np.ndarray, source: int, target: int, check: bool) -> int:
    """Append an edge to the row that begins at `first`, unless it is there. Returns the new end."""
    if check and n - first <= FEW_EDGES:
        for k in range(first, n):
            if (
                rows[k, KIND] == edge[KIND]
                and rows[k, LOW] == edge[LOW]
                and rows[k, HIGH] == edge[HIGH]
                and rows[k, TARGET] == target
            ):
                return n
    rows[n, SOURCE] = source
    rows[n, KIND] = edge[KIND]
    rows[n, LOW] = edge[LOW]
    rows[n, HIGH] = edge[HIGH]
    rows[n, TARGET] = target
    return n + 1


@kernel
def keep_epsilons(
    edges: np.ndarray, states: int, begin: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leave the epsilons in place; a state is final if epsilons lead from it to the end."""
    rows = np.empty((len(edges), 5), dtype=np.int32)
    for k in range(len(edges)):
        for c in range(5):
            rows[k, c] = edges[order[k], c]
    final = np.zeros(states, dtype=np.uint8)
    final[END] = 1
    spread_final(rows, EPSILON, final)
    return rows, begin, final


@kernel
def spread_final(rows: np.ndarray, kind: int, final: np.ndarray) -> None:
    """The rule may also end where an epsilon or an ALSO edge (or only ALSO edges: `kind`) leads to where it may end."""
    changed = True
    while changed:
        changed = False
        # Backwards, since these edges mostly lead to states that were made later.
        for k in range(len(rows) - 1, -1, -1):
            leads = rows[k, KIND] == kind or rows[k, KIND] == ALSO
            if leads and final[rows[k, TARGET]] and not final[rows[k, SOURCE]]:
                final[rows[k, SOURCE]] = 1
                changed = True
