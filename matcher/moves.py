"""Moves: from a set and a byte to a set, remembered.

Most sets have a way on for a few bytes only, or for the bytes of a long text and a few others. So a
set lists a few moves of its own (it is *narrow*), and for all other bytes it shares a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import int64, kernel
from .tables import (
    BYTE,
    DEAD,
    FALLBACK,
    FEATURES,
    FULL,
    N_MOVES,
    NARROW,
    OFF_PLAIN,
    UNKNOWN,
    edges,
    head,
    items,
    moves,
    narrow,
    sets,
    states,
)
from .worklist import Heap


@kernel
def list_moves(h: Heap, number: int, first: int, end: int, row: int) -> int:
    """Make a set narrow: the bytes of its closure items [first, end) are listed, others have the moves of `row`."""
    record = sets(h)[number]
    record["row"] = row
    record["narrow"] = 0
    for i in range(first, end):
        state = states(h)[items(h)[i]["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == BYTE:
                for byte in range(edge["low"], edge["high"] + 1):
                    add_byte(h, number, byte)
    return 0


@kernel
def add_byte(h: Heap, number: int, byte: int) -> None:
    """Add a byte to a set's narrow moves, in order, unless it is there."""
    record = sets(h)[number]
    own = narrow(h)[number]
    at = record["narrow"]
    while at > 0 and own[at - 1] >= byte:
        at -= 1
    if at < record["narrow"] and own[at] == byte:
        return
    for i in range(record["narrow"], at, -1):
        own[i] = own[i - 1]
    own[at] = byte
    own[NARROW + record["narrow"]] = UNKNOWN
    record["narrow"] += 1


@kernel
def has_only_bytes(h: Heap, number: int) -> bool:
    """Whether byte edges, at least one, are all that leave a state."""
    state = states(h)[number]
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        if edges(h)[e]["kind"] != BYTE:
            return False
    return bool(state["edge_count"] > 0)


@kernel
def has_exceptions(h: Heap, number: int) -> bool:
    """Whether some item of a set (expanded) falls back: it reads a text that must not be one of a few."""
    record = sets(h)[number]
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        state = states(h)[items(h)[i]["state"]]
        if edges(h)[state["first_edge"] + state["edge_count"] - 1]["kind"] == FALLBACK:
            return True
    return False


@kernel
def open_row(h: Heap, number: int, first: int, end: int) -> int:
    """Give a set its own row of moves, DEAD for what no edge of its closure items [first, end) takes. 0 or FULL."""
    own = head(h)[N_MOVES]
    if own >= len(moves(h)):
        return FULL
    row = moves(h)[own]
    for byte in range(256):
        row[byte] = DEAD
    for i in range(first, end):
        state = states(h)[items(h)[i]["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == BYTE:
                mark_live(row, edge)
            elif edge["kind"] == FALLBACK:
                other = states(h)[edge["target"]]
                for f in range(other["first_edge"], other["first_edge"] + other["edge_count"]):
                    if edges(h)[f]["kind"] == BYTE:
                        mark_live(row, edges(h)[f])
    sets(h)[number]["row"] = own
    sets(h)[number]["narrow"] = 0
    head(h)[N_MOVES] = own + 1
    return 0


@kernel
def mark_live(row: np.ndarray, edge: Any) -> None:
    """In a row of moves, the bytes of an edge are not known to be dead."""
    for byte in range(edge["low"], edge["high"] + 1):
        row[byte] = UNKNOWN


@kernel
def known_move(h: Heap, number: int, byte: int) -> int:
    """The set after one byte if it was computed before, or UNKNOWN."""
    record = sets(h)[number]
    for i in range(record["narrow"]):
        if narrow(h)[number, i] == byte:
            return int64(narrow(h)[number, NARROW + i])
    return int64(moves(h)[record["row"], byte])


@kernel
def remember_move(h: Heap, number: int, byte: int, after: int) -> None:
    """Remember the set after one byte, and after all bytes around it that the same edges take."""
    record = sets(h)[number]
    for i in range(record["narrow"]):
        if narrow(h)[number, i] == byte:
            narrow(h)[number, NARROW + i] = after
            return
    low = 0
    high = 255
    if head(h)[FEATURES] & OFF_PLAIN:
        low = high = byte
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        state = states(h)[items(h)[i]["state"]]
        low, high = same_edges(h, state, byte, low, high)
        if state["edge_count"] > 0:
            last = edges(h)[state["first_edge"] + state["edge_count"] - 1]
            if last["kind"] == FALLBACK:
                low, high = same_edges(h, states(h)[last["target"]], byte, low, high)
    row = moves(h)[record["row"]]
    for alike in range(low, high + 1):
        row[alike] = after


@kernel
def same_edges(h: Heap, state: Any, byte: int, low: int, high: int) -> tuple[int, int]:
    """The part of the range [low, high] around a byte in which the same edges of a state take each byte."""
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["kind"] != BYTE:
            continue
        if edge["high"] < byte:
            low = max(low, edge["high"] + 1)
        elif edge["low"] > byte:
            high = min(high, edge["low"] - 1)
        else:
            low = max(low, edge["low"])
            high = min(high, edge["high"])
    return low, high
