"""The last step of laying out a rule: literals become states, a byte each.

Literals that leave one state share their prefixes, as in a trie. And a literal that leads to one state from several
is spelled once, since calls that may take nothing let it begin in two places.

**ALSO.** Where the members of an object are all optional, each may be followed by any later one. One trie of names
for each place would be quadratic. But what may follow one member is what may follow the next, and one name more; so
that trie is a copy of the next one, in which only the states on the path of the new name are new (path copying:
Driscoll, Sarnak, Sleator, Tarjan, "Making Data Structures Persistent", 1989).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .closing import HIGH, KIND, LOW, TARGET
from .jit import int64, kernel
from .rule_automaton import ALSO, END, LITERAL, START
from .tables import BYTE, BYTES_ONLY, EPSILON, FALLBACK, FINAL, FULL, LOOP, UNIT_END

COPY_GROWTH, COPY_SLACK = 4, 64
"""At most so many edges are copied: so many times the edges and twice the bytes of literals that a rule has, and so
many more. Where a copy would be too much, or the tables have no room for it, an epsilon leads to what would be
copied."""

BASE, NEXT_EDGE, NEXT_STATE, FIRST_INNER, QUEUED, COPIES_LEFT = 0, 1, 2, 3, 4, 5
"""Words of `pen`: the rule's first state, free places of the tables, the first state inside literals, how long the
queue is, and how many edges may still be copied."""
FIRST, AFTER, DEPTH, STATE, OTHER = 0, 1, 2, 3, 4
"""Columns of `queue`, which has the states inside literals that are still to be written. From DEPTH bytes on, the
literals [FIRST, AFTER) of `sorted_rows` part there; or, with ONE for AFTER, the literal of row FIRST goes on,
beside all edges of state OTHER, if that is not NONE."""
ONE, NONE = -1, -1
NO_TARGET = -1


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

    States inside literals follow the rule's own.
    """
    spelled = 0
    copying = 0
    for k in range(len(rows)):
        if rows[k, KIND] == LITERAL:
            spelled += rows[k, HIGH]
        copying += rows[k, KIND] == ALSO
    pen = np.zeros(6, dtype=np.int64)
    pen[BASE] = used[0]
    pen[NEXT_EDGE] = used[1]
    pen[FIRST_INNER] = used[0] + len(kept)
    pen[NEXT_STATE] = pen[FIRST_INNER]
    # A state that copies others may have an epsilon more.
    edges = len(rows) + (2 if copying > 0 else 1) * spelled
    room = len(edge_table) - pen[NEXT_EDGE] - edges
    if pen[NEXT_STATE] + spelled > len(state_table) or room < 0:
        return FULL
    pen[COPIES_LEFT] = min(room, COPY_GROWTH * edges + COPY_SLACK)
    queue = np.empty((spelled + 1, 5), dtype=np.int64)
    sorted_rows = np.empty(len(rows), dtype=np.int64)
    spelled_to = np.full((len(literals) + 1, 3), NO_TARGET, dtype=np.int64)
    waiting = np.zeros(len(kept), dtype=np.uint8)  # states that copy others, which must be there
    for i in range(len(kept)):
        s = kept[i]
        for k in range(row_begin[s], row_begin[s + 1]):
            if rows[k, KIND] == ALSO:
                waiting[i] = 1
        if waiting[i]:
            continue
        first_edge = pen[NEXT_EDGE]
        first = row_begin[s]
        end = first
        if i != END or counter >= 0:
            for k in range(row_begin[s], row_begin[s + 1]):
                if rows[k, KIND] == LITERAL:
                    sorted_rows[end] = k
                    end += 1
                else:
                    target = pen[BASE] + numbers[rows[k, TARGET]]
                    add_row(edge_table, pen, rows[k, KIND], rows[k, LOW], rows[k, HIGH], target)
        if counter >= 0 or end - first < 2:
            for k in range(first, end):
                row = rows[sorted_rows[k]]
                target = pen[BASE] + numbers[row[TARGET]]
                part = rest_of(row, 1, sorted_rows[k], target, NONE, queue, pen, spelled_to)
                add_row(edge_table, pen, BYTE, literals[row[LOW]], literals[row[LOW]], part)
        else:
            sort_literals(rows, sorted_rows, first, end, literals)
            branch(rows, sorted_rows, first, end, 0, literals, final, numbers, edge_table, queue, pen, spelled_to)
        flags = FINAL if final[s] else 0
        if counter >= 0 and i <= END:
            flags = LOOP if i == START else UNIT_END
        add_state(state_table, edge_table, pen, pen[BASE] + i, first_edge, flags, counter)
    done = write_inner(
        rows, sorted_rows, literals, final, numbers, counter, state_table, edge_table, queue, pen, spelled_to, 0
    )
    path = np.empty(len(kept) if copying > 0 else 0, dtype=np.int64)
    for i in range(len(kept)):
        size = 0
        at = int64(i)
        while waiting[at] == 1:
            waiting[at] = 2
            path[size] = at
            size += 1
            at = numbers[copied_state(rows, row_begin, kept[at])]
        while size > 0:
            size -= 1
            at = path[size]
            write_copy(
                rows, row_begin, kept[at], at, literals, final, numbers, waiting, state_table, edge_table, queue, pen,
                spelled_to,
            )  # fmt: skip
            waiting[at] = 0
            done = write_inner(
                rows,
                sorted_rows,
                literals,
                final,
                numbers,
                counter,
                state_table,
                edge_table,
                queue,
                pen,
                spelled_to,
                done,
            )
    used[0] = pen[NEXT_STATE]
    used[1] = pen[NEXT_EDGE]
    return 0


@kernel
def write_inner(
    rows: np.ndarray,
    sorted_rows: np.ndarray,
    literals: np.ndarray,
    final: np.ndarray,
    numbers: np.ndarray,
    counter: int,
    state_table: Any,
    edge_table: Any,
    queue: np.ndarray,
    pen: np.ndarray,
    spelled_to: np.ndarray,
    done: int,
) -> int:
    """Write the states inside literals that are in the queue, from place `done` on. Returns where it ends then."""
    while done < pen[QUEUED]:
        first, after = queue[done, FIRST], queue[done, AFTER]
        depth, state, other = queue[done, DEPTH], queue[done, STATE], queue[done, OTHER]
        done += 1
        first_edge = pen[NEXT_EDGE]
        if after != ONE:
            ends = branch(
                rows, sorted_rows, first, after, depth, literals, final, numbers, edge_table, queue, pen, spelled_to
            )
            add_state(state_table, edge_table, pen, state, first_edge, FINAL if ends else 0, counter)
            continue
        row = rows[first]
        target = pen[BASE] + numbers[row[TARGET]]
        if other != NONE:
            flags = copy_edges(state_table, edge_table, pen, other)
            if depth == row[HIGH]:
                add_row(edge_table, pen, EPSILON, 0, 0, target)
                flags |= FINAL if final[row[TARGET]] else 0
            else:
                add_literal(row, first, depth, target, first_edge, literals, edge_table, queue, pen, spelled_to)
            add_state(state_table, edge_table, pen, state, first_edge, flags, counter)
            continue
        for at in range(depth, row[HIGH]):
            byte = literals[row[LOW] + at]
            first_edge = pen[NEXT_EDGE]
            add_row(edge_table, pen, BYTE, byte, byte, target if at + 1 == row[HIGH] else state + 1)
            add_state(state_table, edge_table, pen, state, first_edge, 0, counter)
            state += 1
    return done


@kernel
def add_row(edge_table: Any, pen: np.ndarray, kind: int, low: int, high: int, target: int) -> None:
    """Write an edge."""
    edge = edge_table[pen[NEXT_EDGE]]
    edge["kind"] = kind
    edge["low"] = low
    edge["high"] = high
    edge["target"] = target
    pen[NEXT_EDGE] += 1


@kernel
def only_bytes(edge_table: Any, first: int, end: int) -> int:
    """BYTES_ONLY if no call, epsilon or token edge is among the edges [first, end), or 0."""
    for e in range(first, end):
        kind = edge_table[e]["kind"]
        if kind != BYTE and kind != FALLBACK:
            return 0
    return BYTES_ONLY


@kernel
def add_state(
    state_table: Any, edge_table: Any, pen: np.ndarray, number: int, first_edge: int, flags: int, counter: int
) -> None:
    """Write a state whose edges are the latest ones."""
    state = state_table[number]
    state["first_edge"] = first_edge
    state["edge_count"] = pen[NEXT_EDGE] - first_edge
    state["flags"] = flags | only_bytes(edge_table, first_edge, pen[NEXT_EDGE])
    state["counter"] = counter
    state["twin"] = number


@kernel
def rest_of(
    row: np.ndarray,
    depth: int,
    place: int,
    target: int,
    other: int,
    queue: np.ndarray,
    pen: np.ndarray,
    spelled_to: np.ndarray,
) -> int:
    """The state from which the rest of a literal leads to `target`, beside the edges of state `other`, or NONE.

    `spelled_to` has, for each byte of the literals, the target and the other state that the rest from there on was
    spelled for last, and the state.
    """
    rest = row[HIGH] - depth
    if rest == 0 and other == NONE:
        return target
    known = spelled_to[row[LOW] + depth]
    if known[0] == target and known[1] == other:
        return int64(known[2])
    state = pen[NEXT_STATE]
    pen[NEXT_STATE] += 1 if other != NONE else rest
    entry = queue[pen[QUEUED]]
    pen[QUEUED] += 1
    entry[FIRST] = place
    entry[AFTER] = ONE
    entry[DEPTH] = depth
    entry[STATE] = state
    entry[OTHER] = other
    known[0] = target
    known[1] = other
    known[2] = state
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
    edge_table: Any,
    queue: np.ndarray,
    pen: np.ndarray,
    spelled_to: np.ndarray,
) -> bool:
    """Write the edges of a state where sorted literals part that share `depth` bytes. Whether one ends the rule.

    A literal that is at its end is an epsilon: its target is reached already. A unit's end must not
    be reached by an epsilon, so counted rules share nothing.
    """
    ends = False
    at = first
    while at < end:
        row = rows[sorted_rows[at]]
        target = pen[BASE] + numbers[row[TARGET]]
        if row[HIGH] == depth:
            add_row(edge_table, pen, EPSILON, 0, 0, target)
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
            part = rest_of(row, depth + 1, sorted_rows[at], target, NONE, queue, pen, spelled_to)
        else:
            part = pen[NEXT_STATE]
            pen[NEXT_STATE] += 1
            entry = queue[pen[QUEUED]]
            pen[QUEUED] += 1
            entry[FIRST] = at
            entry[AFTER] = after
            entry[DEPTH] = depth + 1
            entry[STATE] = part
            entry[OTHER] = NONE
        add_row(edge_table, pen, BYTE, byte, byte, part)
        at = after
    return ends


# ── Copies ──────────────────────────────────────────────────────────────────────────────


@kernel
def copied_state(rows: np.ndarray, row_begin: np.ndarray, state: int) -> int:
    """The state whose edges a state has too."""
    for k in range(row_begin[state], row_begin[state + 1]):
        if rows[k, KIND] == ALSO:
            return int64(rows[k, TARGET])
    return state


@kernel
def write_copy(
    rows: np.ndarray,
    row_begin: np.ndarray,
    s: int,
    number: int,
    literals: np.ndarray,
    final: np.ndarray,
    numbers: np.ndarray,
    waiting: np.ndarray,
    state_table: Any,
    edge_table: Any,
    queue: np.ndarray,
    pen: np.ndarray,
    spelled_to: np.ndarray,
) -> None:
    """Write a state of the rule that has edges of its own, and those of a state that is there already.

    Of more such states, only one is copied.
    """
    first_edge = pen[NEXT_EDGE]
    copied = numbers[copied_state(rows, row_begin, s)]
    if waiting[copied]:  # a circle
        add_row(edge_table, pen, EPSILON, 0, 0, pen[BASE] + copied)
    else:
        copy_edges(state_table, edge_table, pen, pen[BASE] + copied)
    for k in range(row_begin[s], row_begin[s + 1]):
        row = rows[k]
        target = pen[BASE] + numbers[row[TARGET]]
        if row[KIND] == LITERAL:
            add_literal(row, k, 0, target, first_edge, literals, edge_table, queue, pen, spelled_to)
        elif row[KIND] != ALSO:
            add_row(edge_table, pen, row[KIND], row[LOW], row[HIGH], target)
        elif numbers[row[TARGET]] != copied:
            add_row(edge_table, pen, EPSILON, 0, 0, target)
    add_state(state_table, edge_table, pen, pen[BASE] + number, first_edge, FINAL if final[s] else 0, -1)


@kernel
def copy_edges(state_table: Any, edge_table: Any, pen: np.ndarray, state: int) -> int:
    """Copy the edges of a state, or lead there by an epsilon if too many are copied. Returns its FINAL flag."""
    source = state_table[state]
    if source["edge_count"] > pen[COPIES_LEFT]:
        add_row(edge_table, pen, EPSILON, 0, 0, state)
    else:
        pen[COPIES_LEFT] -= source["edge_count"]
        for e in range(source["first_edge"], source["first_edge"] + source["edge_count"]):
            edge = edge_table[e]
            add_row(edge_table, pen, edge["kind"], edge["low"], edge["high"], edge["target"])
    return int64(source["flags"] & FINAL)


@kernel
def add_literal(
    row: np.ndarray,
    place: int,
    depth: int,
    target: int,
    first_edge: int,
    literals: np.ndarray,
    edge_table: Any,
    queue: np.ndarray,
    pen: np.ndarray,
    spelled_to: np.ndarray,
) -> None:
    """Add a literal, from `depth` on, to the state whose edges begin at `first_edge`.

    If it begins as one that was copied, it takes over its edge, to a copy of where that led.
    """
    byte = literals[row[LOW] + depth]
    for e in range(first_edge, pen[NEXT_EDGE]):
        edge = edge_table[e]
        if edge["kind"] == BYTE and edge["low"] == byte and edge["high"] == byte and is_inner(edge["target"], pen):
            edge["target"] = rest_of(row, depth + 1, place, target, edge["target"], queue, pen, spelled_to)
            return
    part = rest_of(row, depth + 1, place, target, NONE, queue, pen, spelled_to)
    add_row(edge_table, pen, BYTE, byte, byte, part)


@kernel
def is_inner(state: int, pen: np.ndarray) -> bool:
    """Whether a state is inside literals: written already, or before what is added to the queue now."""
    return bool(pen[FIRST_INNER] <= state < pen[NEXT_STATE])


# ── Sorting ─────────────────────────────────────────────────────────────────────────────


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
