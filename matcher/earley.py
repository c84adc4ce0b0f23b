"""Earley sets as values: predict, scan, complete, intern.

An Earley set is a sorted tuple of items `(state, goal, origin, count)`. Its origins are
*other sets*, not positions in a text. Equal sets are stored once and named by a small
integer, so parsing one byte is a function on integers, computed once and then looked up:

    step(N, byte):                                   # Earley 1970; names as in Kallmeyer 2010
        scan      every item of closure(N) over the byte
        complete  for each item that is final: advance every item of closure(origin)
                  that waits for its goal, to a fixed point
        intern    the items that have a way on

    closure(N) predicts: a call of rule R adds R's start state, with goal R and origin N.

Four things keep the number of sets small.

* *Tail calls.* Where nothing is left to do after a call, the predicted item inherits its
  caller's goal and origin, as Leo (1991) does for right recursion: `A -> x A | ""` needs
  two sets, however long the text.
* *Finished items are dropped* once they are completed; only items with a way on remain.
* *Counts are dominated.* Of several items that differ only in a count that has reached the
  minimum, the smallest can do all that the others can.
* *Zero-length completions never happen*: the compiler bypasses calls of nullable rules.

A frame whose origin is a *hole* (below 0) cannot be completed here, because what waits for
it is not known: an EXIT item records it. The outermost frame has the hole BOTTOM, so a
set of a real text holds an EXIT item exactly if the text is in the language. The masks
(`matcher.mask`) use more holes to answer for many contexts at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import entry, int64, kernel, linked, words_at
from .moves import has_only_bytes, known_move, list_moves, open_row, remember_move
from .needs import settle_needs
from .plain import NOT_PLAIN, is_flat, plain_run, plain_step
from .sets import intern, singleton
from .tables import (
    AGENDA_SIZE,
    BOTTOM,
    BYTE,
    CALL,
    DEAD,
    DEAD_ROW,
    EPSILON,
    EXIT,
    FALLBACK,
    FINAL,
    FIRST_SET,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    HAS_TOKENS,
    ITEMS_STOP,
    LINK_COMPLETE,
    LINK_EXPAND,
    LINK_SETTLE,
    LINK_STEP,
    N_COMPLETIONS,
    N_ITEMS,
    N_WAITS,
    NARROW,
    OVERFLOW,
    SYMBOLIC,
    TOKEN,
    UNKNOWN,
    WORK_LEFT,
    agenda,
    completions,
    edges,
    head,
    items,
    rules,
    sets,
    states,
    token_begin,
    token_data,
    token_sets,
    waits,
)
from .worklist import CLOSURE, COMPLETED, STEP, Heap, begin, is_final, is_open, mix, push, stop

WAITS_PER_STEP = 16
"""To look at so many waiting items takes as long as to put one on a worklist."""
NOT_ONE = 256
"""What `only_byte` returns where no byte or several can follow."""


# ── Predict ─────────────────────────────────────────────────────────────────────────────


@linked(LINK_EXPAND)
def expand(h: Heap, number: int) -> int:
    """Compute the closure of a set: its items with byte or token edges, and its waiting items.

    Its moves are DEAD from now on for bytes that no edge takes. Returns 0 or FULL.
    """
    record = sets(h)[number]
    if record["closure_size"] >= 0:
        return 0
    if not record["flags"] & (HAS_SYMBOLIC | HAS_EXIT) and is_flat(h, number):
        record["wait_size"] = 0
        return list_closure(h, number, record["first"], record["first"] + record["size"])
    begin(h, CLOSURE)
    kernel_items = items(h)
    for i in range(record["first"], record["first"] + record["size"]):
        item = kernel_items[i]
        push(h, CLOSURE, item["state"], item["goal"], item["origin"], item["count"])
    wait_first = head(h)[N_WAITS]
    if predict(h, number) == FULL:
        head(h)[N_WAITS] = wait_first
        return FULL
    record["wait_first"] = wait_first
    record["wait_size"] = head(h)[N_WAITS] - wait_first
    if record["flags"] & HAS_SYMBOLIC:
        settle_needs(h, number)
    return keep_closure(h, number)


@kernel
def predict(h: Heap, number: int) -> int:
    """Follow the epsilon edges and calls of everything on the CLOSURE worklist, to a fixed point."""
    todo = agenda(h)
    state_table = states(h)
    edge_table = edges(h)
    waiting = waits(h)
    i = 0
    while i < head(h)[AGENDA_SIZE + CLOSURE] and not head(h)[OVERFLOW]:
        item = todo[i, CLOSURE]
        i += 1
        state = state_table[item["state"]]
        if not is_open(h, item["state"], item["count"]):
            continue
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edge_table[e]
            if edge["kind"] == EPSILON:
                push(h, CLOSURE, edge["target"], item["goal"], item["origin"], item["count"])
            elif edge["kind"] == CALL:
                start = rules(h)[edge["low"]]
                after = state_table[edge["target"]]
                if after["flags"] & FINAL and after["edge_count"] == 0:
                    push(h, CLOSURE, start, item["goal"], item["origin"], 0)
                    continue
                push(h, CLOSURE, start, edge["low"], number, 0)
                n = head(h)[N_WAITS]
                if n >= len(waiting):
                    return FULL
                waiting[n]["rule"] = edge["low"]
                waiting[n]["state"] = edge["target"]
                waiting[n]["goal"] = item["goal"]
                waiting[n]["origin"] = item["origin"]
                waiting[n]["count"] = item["count"]
                head(h)[N_WAITS] = n + 1
    return FULL if head(h)[OVERFLOW] else 0


@kernel
def keep_closure(h: Heap, number: int) -> int:
    """Store the CLOSURE worklist's items that have byte or token edges, and make room for the set's moves."""
    todo = agenda(h)
    stored = items(h)
    record = sets(h)[number]
    size = head(h)[AGENDA_SIZE + CLOSURE]
    first = head(h)[N_ITEMS]
    if first + size > len(stored):
        return FULL
    if first + size > head(h)[ITEMS_STOP]:
        return stop(h)
    kept = first
    for i in range(size):
        item = todo[i, CLOSURE]
        state = states(h)[item["state"]]
        scans = False
        if is_open(h, item["state"], item["count"]):
            for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
                kind = edges(h)[e]["kind"]
                scans |= kind == BYTE or kind == FALLBACK or kind == TOKEN
                if kind == TOKEN:
                    record["flags"] |= HAS_TOKENS
        if scans:
            stored[kept]["state"] = item["state"]
            stored[kept]["goal"] = item["goal"]
            stored[kept]["origin"] = item["origin"]
            stored[kept]["count"] = item["count"]
            kept += 1
    head(h)[N_ITEMS] = kept
    return list_closure(h, number, first, kept)


@kernel
def list_closure(h: Heap, number: int, first: int, end: int) -> int:
    """Let the items [first, end) be the closure of a set, and make room for its moves. Returns 0 or FULL."""
    width = int64(0)  # how many bytes the edges take, at most
    fallbacks = 0
    for i in range(first, end):
        state = states(h)[items(h)[i]["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == BYTE:
                width += edge["high"] - edge["low"] + 1
            elif edge["kind"] == FALLBACK:
                fallbacks += 1
    if width > NARROW or (fallbacks > 0 and end > first + 1):
        status = open_row(h, number, first, end)
    elif fallbacks > 0:
        status = fall_back(h, number, first)
    else:
        status = list_moves(h, number, first, end, DEAD_ROW)
    if status == FULL:
        return FULL
    sets(h)[number]["closure_first"] = first
    sets(h)[number]["closure_size"] = end - first
    return 0


@kernel
def fall_back(h: Heap, number: int, first: int) -> int:
    """Let a set share the row of the set that its only closure item falls back to. Returns 0 or FULL.

    For a byte that none of the item's own edges takes, both move alike.
    """
    item = items(h)[first]
    state = states(h)[item["state"]]
    target = int64(edges(h)[state["first_edge"] + state["edge_count"] - 1]["target"])
    other = DEAD
    if has_only_bytes(h, target):
        other = singleton(h, target, item["goal"], item["origin"], item["count"])
        if other == FULL or expand(h, other) == FULL:
            return FULL
    if other == DEAD or sets(h)[other]["row"] == DEAD_ROW:
        return open_row(h, number, first, first + 1)
    return list_moves(h, number, first, first + 1, sets(h)[other]["row"])


# ── Complete ────────────────────────────────────────────────────────────────────────────


@kernel
def push_waiting(h: Heap, origin: int, goal: int) -> int:
    """Advance every item of closure(origin) that waits for `goal`. Returns 0 or FULL."""
    if expand(h, origin) == FULL:
        return FULL
    record = sets(h)[origin]
    waiting = waits(h)
    if record["wait_size"] >= WAITS_PER_STEP:
        head(h)[WORK_LEFT] -= record["wait_size"] // WAITS_PER_STEP
    for w in range(record["wait_first"], record["wait_first"] + record["wait_size"]):
        wait = waiting[w]
        if wait["rule"] == goal:
            push(h, STEP, wait["state"], wait["goal"], wait["origin"], wait["count"])
    return 0


@kernel
def complete_all(h: Heap) -> int:
    """Complete the final items of the STEP worklist, to a fixed point. Returns 0 or FULL."""
    todo = agenda(h)
    begin(h, COMPLETED)
    i = 0
    while i < head(h)[AGENDA_SIZE + STEP] and not head(h)[OVERFLOW]:
        item = todo[i, STEP]
        i += 1
        if item["state"] != EXIT and is_final(h, item["state"], item["count"]):
            if item["origin"] < 0:
                count = item["count"] if item["count"] >= SYMBOLIC else 0
                push(h, STEP, EXIT, item["goal"], item["origin"], count)
            elif is_first_completion(h, item) and push_waiting(h, item["origin"], item["goal"]) == FULL:
                return FULL
    return FULL if head(h)[OVERFLOW] else 0


@kernel
def is_first_completion(h: Heap, item: Any) -> bool:
    """Whether this step has not completed the frame of an item yet: in an ambiguous text it may end in many ways."""
    before = head(h)[AGENDA_SIZE + COMPLETED]
    push(h, COMPLETED, EXIT, item["goal"], item["origin"], 0)
    return bool(head(h)[AGENDA_SIZE + COMPLETED] > before)


@linked(LINK_SETTLE)
def settle(h: Heap) -> int:
    """Complete what is on the STEP worklist and intern the result. DEAD for nothing, FULL without room."""
    if complete_all(h) == FULL:
        return FULL
    return intern(h)


# ── Steps ───────────────────────────────────────────────────────────────────────────────


@kernel
def scan_byte(h: Heap, number: int, byte: int) -> None:
    """Put every item of closure(number), advanced over a byte, on the STEP worklist."""
    record = sets(h)[number]
    stored = items(h)
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        item = stored[i]
        scan_item(h, byte, item["state"], item["goal"], item["origin"], item["count"])


@kernel
def scan_item(h: Heap, byte: int, at: int, goal: int, origin: int, count: int) -> None:
    """Put one item, advanced over a byte, on the STEP worklist."""
    state = states(h)[at]
    edge_table = edges(h)
    taken = False
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edge_table[e]
        if edge["kind"] == BYTE and edge["low"] <= byte <= edge["high"]:
            push(h, STEP, edge["target"], goal, origin, count)
            taken = True
        elif edge["kind"] == FALLBACK and not taken:
            scan_edges(h, byte, edge["target"], goal, origin, count)


@kernel
def scan_edges(h: Heap, byte: int, at: int, goal: int, origin: int, count: int) -> None:
    """Put one item, advanced over a byte by the BYTE edges of state `at`, on the STEP worklist."""
    state = states(h)[at]
    for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
        edge = edges(h)[e]
        if edge["kind"] == BYTE and edge["low"] <= byte <= edge["high"]:
            push(h, STEP, edge["target"], goal, origin, count)


@kernel
def scan_token(h: Heap, number: int, token: int) -> None:
    """Put every item of closure(number), advanced over a token edge, on the STEP worklist."""
    record = sets(h)[number]
    stored = items(h)
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        item = stored[i]
        state = states(h)[item["state"]]
        for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
            edge = edges(h)[e]
            if edge["kind"] == TOKEN:
                words = words_at(token_sets(h)[edge["low"]], token // 32 + 1)
                if (words[token // 32] >> np.uint32(token % 32)) & np.uint32(1):
                    push(h, STEP, edge["target"], item["goal"], item["origin"], item["count"])


@linked(LINK_STEP)
def step(h: Heap, number: int, byte: int) -> int:
    """The set after one byte, computed once. Returns DEAD if none, FULL without room."""
    known = known_move(h, number, byte)
    if known != UNKNOWN:
        return known
    after = plain_step(h, number, byte)
    if after == NOT_PLAIN:
        if expand(h, number) == FULL:
            return FULL
        known = known_move(h, number, byte)
        if known != UNKNOWN:
            return known
        begin(h, STEP)
        scan_byte(h, number, byte)
        after = settle(h)
    if after != FULL and sets(h)[number]["closure_size"] >= 0:
        remember_move(h, number, byte, after)
    return after


@kernel
def step_once(h: Heap, number: int, byte: int) -> int:
    """The same for a set that is probably not asked again: what makes no calls is not expanded for it."""
    if sets(h)[number]["closure_size"] >= 0 or not is_flat(h, number):
        return step(h, number, byte)
    begin(h, STEP)
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        scan_item(h, byte, item["state"], item["goal"], item["origin"], item["count"])
    return settle(h)


@kernel
def know_tokens(h: Heap, number: int) -> int:
    """See to it that the flag HAS_TOKENS of a set is known. Returns 0 or FULL."""
    if sets(h)[number]["closure_size"] >= 0 or is_flat(h, number):
        return 0
    return expand(h, number)


@linked(LINK_COMPLETE)
def complete(h: Heap, origin: int, goal: int) -> int:
    """The set reached when `goal` is completed for set `origin`, computed once. DEAD for BOTTOM."""
    if origin < FIRST_SET:
        return DEAD
    memo = completions(h)
    limit = len(memo) - 1
    slot = mix(int64(origin) * 65599 + goal) & limit
    while memo[slot, 0] != 0:
        if memo[slot, 0] == origin and memo[slot, 1] == goal:
            return int(memo[slot, 2])
        slot = (slot + 1) & limit
    begin(h, STEP)
    if push_waiting(h, origin, goal) == FULL:
        return FULL
    after = settle(h)
    if after == FULL or head(h)[N_COMPLETIONS] * 2 > limit:
        return FULL
    memo[slot, 0] = origin
    memo[slot, 1] = goal
    memo[slot, 2] = after
    head(h)[N_COMPLETIONS] += 1
    return after


@entry
def advance(h: Heap, number: int, token: int) -> int:
    """The set after one token: its byte path and its token edges, tried independently and merged.

    Returns DEAD if neither exists, FULL without room.
    """
    if know_tokens(h, number) == FULL:
        return FULL
    place = token_begin(h)[token]
    end = token_begin(h)[token + 1]
    after = int64(number) if place < end else int64(DEAD)  # no bytes, no byte path
    while place < end and after != DEAD:
        after, reached = plain_run(h, after, place, end)
        if reached == place:
            after = step_once(h, after, token_data(h)[place])
            reached += 1
        if after == FULL:
            return FULL
        place = reached
    if sets(h)[number]["flags"] & HAS_TOKENS:
        begin(h, STEP)
        scan_token(h, number, token)
        if head(h)[AGENDA_SIZE + STEP] > 0:
            return merge(h, after)
    return after


@kernel
def merge(h: Heap, number: int) -> int:
    """Intern the union of set `number` and of what the STEP worklist leads to."""
    record = sets(h)[number]
    if number != DEAD:
        for i in range(record["first"], record["first"] + record["size"]):
            item = items(h)[i]
            push(h, STEP, item["state"], item["goal"], item["origin"], item["count"])
    return settle(h)


@entry
def advance_bytes(h: Heap, number: int, text: np.ndarray, taken: np.ndarray) -> int:
    """The set after the bytes `text`; `taken[0]` counts those that were legal, from where it stood."""
    after = number
    while taken[0] < len(text):
        following = step(h, after, text[taken[0]])
        if following == DEAD or following == FULL:
            return following
        after = following
        taken[0] += 1
    return after


@entry
def only_byte(h: Heap, number: int) -> int:
    """The one byte that can follow a set, NOT_ONE if there are none or several. FULL without room."""
    if expand(h, number) == FULL:
        return FULL
    only = NOT_ONE
    for byte in range(256):
        if known_move(h, number, byte) != DEAD:
            if only != NOT_ONE:
                return NOT_ONE
            only = byte
    return only


@entry
def adopt(h: Heap, block: np.ndarray) -> int:
    """Intern a set given as items that are complete already. FULL without room."""
    begin(h, STEP)
    for i in range(len(block)):
        item = block[i]
        push(h, STEP, item["state"], item["goal"], item["origin"], item["count"])
    return intern(h)


@entry
def first_set(h: Heap, rule: int, nullable: int) -> int:
    """The set before the first byte: the root rule's start, and an exit if the empty text is in the language."""
    begin(h, STEP)
    push(h, STEP, rules(h)[rule], rule, BOTTOM, 0)
    if nullable:
        push(h, STEP, EXIT, rule, BOTTOM, 0)
    return intern(h)
