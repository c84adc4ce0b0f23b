"""The last step of laying out a rule: literals become states, a byte each.

Literals that leave one state share their prefixes, as in a trie.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .closing import HIGH, KIND, LOW, TARGET
from .jit import int64, kernel
from .rule_automaton import END, LITERAL, START
from .tables import BYTE, BYTES_ONLY, EPSILON, FALLBACK, FINAL, FULL, LOOP, UNIT_END


@kernel
def spell(
    rows: np.ndarray,
    row_begin: np.ndarray,
    final: np.ndarray,
    numbers: np.ndarray,
    kept: np.ndarray,
    literals: np.ndarray,
    counter: int,
    state_table: Any,
    edge_table: Any,
    used: np.ndarray,
) -> int:
    """Write the states and edges of a rule, literals spelled out. Returns 0 or FULL.

    The states inside literals follow the rule's own. They are numbered when they are first pointed
    to and written in that order: `queue` has what remains, a place where sorted literals part
    (first, end, depth), or the rest of one literal (its place, -1, depth).
    """
    base = used[0]
    spelled = 0
    for k in range(len(rows)):
        if rows[k, KIND] == LITERAL:
            spelled += rows[k, HIGH]
    states = len(kept) + spelled
    edges = len(rows) + spelled
    if base + states > len(state_table) or used[1] + edges > len(edge_table):
        return FULL
    queue = np.empty((spelled + 1, 3), dtype=np.int64)
    sorted_rows = np.empty(len(rows), dtype=np.int64)
    writer = np.zeros(4, dtype=np.int64)  # next state, next edge, next free state inside literals, end of the queue
    writer[0] = base
    writer[1] = used[1]
    writer[2] = base + len(kept)
    for i in range(len(kept)):
        s = kept[i]
        first_edge = writer[1]
        first = row_begin[s]
        end = first
        if i != END or counter >= 0:
            for k in range(row_begin[s], row_begin[s + 1]):
                if rows[k, KIND] == LITERAL:
                    sorted_rows[end] = k
                    end += 1
                else:
                    add_row(
                        edge_table, writer, rows[k, KIND], rows[k, LOW], rows[k, HIGH], base + numbers[rows[k, TARGET]]
                    )
        if counter >= 0 or end - first < 2:
            for k in range(first, end):
                row = rows[sorted_rows[k]]
                target = chain(row, 1, sorted_rows[k], base + numbers[row[TARGET]], queue, writer)
                byte = literals[row[LOW]]
                add_row(edge_table, writer, BYTE, byte, byte, target)
        else:
            sort_literals(rows, sorted_rows, first, end, literals)
            branch(rows, sorted_rows, first, end, 0, literals, final, numbers, base, edge_table, queue, writer)
        flags = FINAL if final[s] else 0
        if counter >= 0 and i <= END:
            flags = LOOP if i == START else UNIT_END
        add_state(state_table, edge_table, writer, first_edge, flags, counter)
    done = 0
    while done < writer[3]:
        first, end, depth = queue[done, 0], queue[done, 1], queue[done, 2]
        done += 1
        if end >= 0:
            first_edge = writer[1]
            ends = branch(
                rows, sorted_rows, first, end, depth, literals, final, numbers, base, edge_table, queue, writer
            )
            add_state(state_table, edge_table, writer, first_edge, FINAL if ends else 0, counter)
            continue
        row = rows[first]
        for at in range(depth, row[HIGH]):
            byte = literals[row[LOW] + at]
            last = at + 1 == row[HIGH]
            first_edge = writer[1]
            add_row(edge_table, writer, BYTE, byte, byte, base + numbers[row[TARGET]] if last else writer[0] + 1)
            add_state(state_table, edge_table, writer, first_edge, 0, counter)
    used[0] = writer[0]
    used[1] = writer[1]
    return 0


@kernel
def add_row(edge_table: Any, writer: np.ndarray, kind: int, low: int, high: int, target: int) -> None:
    """Write an edge."""
    edge = edge_table[writer[1]]
    edge["kind"] = kind
    edge["low"] = low
    edge["high"] = high
    edge["target"] = target
    writer[1] += 1


@kernel
def only_bytes(edge_table: Any, first: int, end: int) -> int:
    """BYTES_ONLY if no call, epsilon or token edge is among the edges [first, end), or 0."""
    for e in range(first, end):
        kind = edge_table[e]["kind"]
        if kind != BYTE and kind != FALLBACK:
            return 0
    return BYTES_ONLY


@kernel
def add_state(state_table: Any, edge_table: Any, writer: np.ndarray, first_edge: int, flags: int, counter: int) -> None:
    """Write a state whose edges are the latest ones."""
    state = state_table[writer[0]]
    state["first_edge"] = first_edge
    state["edge_count"] = writer[1] - first_edge
    state["flags"] = flags | only_bytes(edge_table, first_edge, writer[1])
    state["counter"] = counter
    state["twin"] = writer[0]
    writer[0] += 1


@kernel
def chain(row: np.ndarray, depth: int, place: int, target: int, queue: np.ndarray, writer: np.ndarray) -> int:
    """The state from which the rest of a literal leads to `target`."""
    rest = row[HIGH] - depth
    if rest == 0:
        return target
    queue[writer[3], 0] = place
    queue[writer[3], 1] = -1
    queue[writer[3], 2] = depth
    writer[3] += 1
    state = writer[2]
    writer[2] += rest
    return int64(state)


@kernel
def branch(
    rows: np.ndarray,
    sorted_rows: np.ndarray,
    first: int,
    end: int,
    depth: int,
    literals: np.ndarray,
    final: np.ndarray,
    numbers: np.ndarray,
    base: int,
    edge_table: Any,
    queue: np.ndarray,
    writer: np.ndarray,
) -> bool:
    """Write the edges of a state where sorted literals part that share `depth` bytes. Whether one ends the rule.

    A literal that is at its end is an epsilon: its target is reached already. A unit's end must not
    be reached by an epsilon, so counted rules share nothing.
    """
    ends = False
    at = first
    while at < end:
        row = rows[sorted_rows[at]]
        target = base + numbers[row[TARGET]]
        if row[HIGH] == depth:
            add_row(edge_table, writer, EPSILON, 0, 0, target)
            ends |= final[row[TARGET]] != 0
            at += 1
            continue
        byte = literals[row[LOW] + depth]
        after = at + 1
        while after < end:
            other = rows[sorted_rows[after]]
            if literals[other[LOW] + depth] != byte:
                break
            after += 1
        if after - at == 1:
            part = chain(row, depth + 1, sorted_rows[at], target, queue, writer)
        else:
            queue[writer[3], 0] = at
            queue[writer[3], 1] = after
            queue[writer[3], 2] = depth + 1
            writer[3] += 1
            part = writer[2]
            writer[2] += 1
        add_row(edge_table, writer, BYTE, byte, byte, part)
        at = after
    return ends


@kernel
def sort_literals(rows: np.ndarray, sorted_rows: np.ndarray, first: int, end: int, literals: np.ndarray) -> None:
    """Sort places of literal edges by their bytes (Shell's method, Knuth's gaps)."""
    gap = 1
    while gap < (end - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, end):
            moving = sorted_rows[i]
            j = i
            while j >= first + gap and comes_before(rows[moving], rows[sorted_rows[j - gap]], literals):
                sorted_rows[j] = sorted_rows[j - gap]
                j -= gap
            sorted_rows[j] = moving
        gap //= 3


@kernel
def comes_before(a: np.ndarray, b: np.ndarray, literals: np.ndarray) -> bool:
    """Whether one literal edge has lesser bytes than another, a beginning being less than the whole."""
    shared = min(a[HIGH], b[HIGH])
    for i in range(shared):
        x = literals[a[LOW] + i]
        y = literals[b[LOW] + i]
        if x != y:
            return bool(x < y)
    return bool(a[HIGH] < b[HIGH])
