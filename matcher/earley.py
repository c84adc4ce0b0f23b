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
from .tables import (
    AGENDA_SIZE,
    BOTTOM,
    BYTE,
    CALL,
    DEAD,
    EPSILON,
    EXIT,
    FALLBACK,
    FINAL,
    FIRST_SET,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    HAS_TOKENS,
    LINK_COMPLETE,
    LINK_EXPAND,
    LINK_INTERN,
    LINK_SETTLE,
    LINK_STEP,
    LOOP,
    N_COMPLETIONS,
    N_ITEMS,
    N_SETS,
    N_WAITS,
    OVERFLOW,
    STAMP,
    SYMBOLIC,
    TOKEN,
    UNIT_END,
    UNKNOWN,
    agenda,
    completions,
    counters,
    edges,
    head,
    items,
    moves,
    rules,
    seen,
    set_index,
    sets,
    states,
    token_begin,
    token_data,
    token_sets,
    waits,
)

Heap = int
"""The address of the heap header, which every kernel takes as `h` (see `matcher.jit`)."""

STEP, CLOSURE = 0, 1
"""The two worklists: completing an item may need a closure, which has its own."""

NOT_ONE = 256
"""What `only_byte` returns where no byte or several can follow."""

_LOW_31 = 0x7FFFFFFF
_ODD = 0x5BD1E995  # any odd 31-bit number with well-mixed bits


@kernel
def mix(value: int) -> int:
    """Scatter the bits of a non-negative number below 2^62; the result is below 2^31."""
    value = (value ^ (value >> 31)) & _LOW_31
    value = value * _ODD
    return (value ^ (value >> 29)) & _LOW_31


@kernel
def item_hash(state: int, goal: int, origin: int, count: int) -> int:
    """A hash of an item, below 2^31. No factor can overflow: fields are below 2^31."""
    low = int64(state) * 31 + int64(goal) * 1013
    high = int64(origin + 64) * 8191 + int64(count) * 131071
    return mix(mix(low & 0x3FFFFFFFFFFFFFF) + (high & 0x3FFFFFFFFFFFFFF))


# ── Worklists ───────────────────────────────────────────────────────────────────────────


@kernel
def begin(h: Heap, lane: int) -> None:
    """Empty a worklist. Old entries of its hash table die because the stamp moves past them."""
    head(h)[STAMP + lane] += head(h)[AGENDA_SIZE + lane]
    head(h)[AGENDA_SIZE + lane] = 0


@kernel
def push(h: Heap, lane: int, state: int, goal: int, origin: int, count: int) -> None:
    """Put an item on a worklist unless it is there already; sets OVERFLOW if there is no room."""
    record = states(h)[state]
    if record["flags"] & UNIT_END:
        counter = counters(h)[record["counter"]]
        state = counter["loop"]
        if count >= SYMBOLIC:
            count += 1
        elif counter["maximum"] >= 0 or count < counter["minimum"]:
            count += 1
    todo = agenda(h)
    table = seen(h)
    base = head(h)[STAMP + lane]
    size = head(h)[AGENDA_SIZE + lane]
    limit = len(table) - 1
    slot = item_hash(state, goal, origin, count) & limit
    while table[slot, lane] >= base:
        other = todo[table[slot, lane] - base, lane]
        if other["state"] == state and other["goal"] == goal and other["origin"] == origin and other["count"] == count:
            return
        slot = (slot + 1) & limit
    if size + 1 >= len(todo):
        head(h)[OVERFLOW] = 1
        return
    table[slot, lane] = base + size
    todo[size, lane]["state"] = state
    todo[size, lane]["goal"] = goal
    todo[size, lane]["origin"] = origin
    todo[size, lane]["count"] = count
    head(h)[AGENDA_SIZE + lane] = size + 1


@kernel
def is_open(h: Heap, state: int, count: int) -> bool:
    """Whether the edges of a state may be taken: a counted rule's loop closes at its maximum."""
    record = states(h)[state]
    if record["flags"] & LOOP and count < SYMBOLIC:
        maximum = counters(h)[record["counter"]]["maximum"]
        return maximum < 0 or count < maximum
    return True


@kernel
def is_final(h: Heap, state: int, count: int) -> bool:
    """Whether an item in this state completes its goal."""
    record = states(h)[state]
    if record["flags"] & FINAL:
        return True
    if record["flags"] & LOOP:
        return count >= SYMBOLIC or count >= counters(h)[record["counter"]]["minimum"]
    return False


# ── Predict ─────────────────────────────────────────────────────────────────────────────


@linked(LINK_EXPAND)
def expand(h: Heap, number: int) -> int:
    """Compute the closure of a set: its items with byte or token edges, and its waiting items.

    Bytes that no edge takes are marked DEAD in the set's row of moves. Returns 0 or FULL.
    """
    record = sets(h)[number]
    if record["closure_size"] >= 0:
        return 0
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
    while i < head(h)[AGENDA_SIZE + CLOSURE]:
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
                if after["flags"] == FINAL and after["edge_count"] == 0:
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
    """Store the CLOSURE worklist's items that have byte or token edges; mark dead bytes."""
    todo = agenda(h)
    stored = items(h)
    record = sets(h)[number]
    size = head(h)[AGENDA_SIZE + CLOSURE]
    first = head(h)[N_ITEMS]
    if first + size > len(stored):
        return FULL
    row = moves(h)[number]
    for byte in range(256):
        if row[byte] == UNKNOWN:
            row[byte] = DEAD
    kept = first
    for i in range(size):
        item = todo[i, CLOSURE]
        state = states(h)[item["state"]]
        scans = False
        if is_open(h, item["state"], item["count"]):
            for e in range(state["first_edge"], state["first_edge"] + state["edge_count"]):
                edge = edges(h)[e]
                if edge["kind"] == BYTE:
                    scans = True
                    mark_live(row, edge)
                elif edge["kind"] == FALLBACK:
                    scans = True
                    other = states(h)[edge["target"]]
                    for f in range(other["first_edge"], other["first_edge"] + other["edge_count"]):
                        if edges(h)[f]["kind"] == BYTE:
                            mark_live(row, edges(h)[f])
                elif edge["kind"] == TOKEN:
                    scans = True
                    record["flags"] |= HAS_TOKENS
        if scans:
            stored[kept]["state"] = item["state"]
            stored[kept]["goal"] = item["goal"]
            stored[kept]["origin"] = item["origin"]
            stored[kept]["count"] = item["count"]
            kept += 1
    head(h)[N_ITEMS] = kept
    record["closure_first"] = first
    record["closure_size"] = kept - first
    return 0


@kernel
def mark_live(row: np.ndarray, edge: Any) -> None:
    """In a row of moves, the bytes of an edge are no longer known to be dead."""
    for byte in range(edge["low"], edge["high"] + 1):
        if row[byte] == DEAD:
            row[byte] = UNKNOWN


# ── Complete ────────────────────────────────────────────────────────────────────────────


@kernel
def push_waiting(h: Heap, origin: int, goal: int) -> int:
    """Advance every item of closure(origin) that waits for `goal`. Returns 0 or FULL."""
    if expand(h, origin) == FULL:
        return FULL
    record = sets(h)[origin]
    waiting = waits(h)
    for w in range(record["wait_first"], record["wait_first"] + record["wait_size"]):
        wait = waiting[w]
        if wait["rule"] == goal:
            push(h, STEP, wait["state"], wait["goal"], wait["origin"], wait["count"])
    return 0


@kernel
def complete_all(h: Heap) -> int:
    """Complete the final items of the STEP worklist, to a fixed point. Returns 0 or FULL."""
    todo = agenda(h)
    i = 0
    while i < head(h)[AGENDA_SIZE + STEP]:
        item = todo[i, STEP]
        i += 1
        if item["state"] != EXIT and is_final(h, item["state"], item["count"]):
            if item["origin"] < 0:
                count = item["count"] if item["count"] >= SYMBOLIC else 0
                push(h, STEP, EXIT, item["goal"], item["origin"], count)
            elif push_waiting(h, item["origin"], item["goal"]) == FULL:
                return FULL
    return FULL if head(h)[OVERFLOW] else 0


# ── Intern ──────────────────────────────────────────────────────────────────────────────


@kernel
def comes_before(a: Any, b: Any) -> bool:
    """The order of the items of a set: by state, goal, origin, count.

    Counts come last, so that items which differ only in their count are neighbours.
    """
    if a["state"] != b["state"]:
        return bool(a["state"] < b["state"])
    if a["goal"] != b["goal"]:
        return bool(a["goal"] < b["goal"])
    if a["origin"] != b["origin"]:
        return bool(a["origin"] < b["origin"])
    return bool(a["count"] < b["count"])


@kernel
def swap(todo: Any, i: int, j: int) -> None:
    """Exchange two items of the STEP worklist."""
    a = todo[i, STEP]
    b = todo[j, STEP]
    state, goal, origin, count = a["state"], a["goal"], a["origin"], a["count"]
    a["state"], a["goal"], a["origin"], a["count"] = b["state"], b["goal"], b["origin"], b["count"]
    b["state"], b["goal"], b["origin"], b["count"] = state, goal, origin, count


@kernel
def sort_agenda(todo: Any, size: int) -> None:
    """Sort the first `size` items of the STEP worklist (Shell's method, Ciura's gaps)."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            j = i
            while j >= gap and comes_before(todo[j, STEP], todo[j - gap, STEP]):
                swap(todo, j, j - gap)
                j -= gap
        gap //= 3


@kernel
def keep_items(h: Heap) -> int:
    """Reduce the STEP worklist to the items a set keeps: those with a way on, and exits.

    Returns how many there are; they are sorted and not dominated.
    """
    todo = agenda(h)
    kept = 0
    for i in range(head(h)[AGENDA_SIZE + STEP]):
        item = todo[i, STEP]
        edge_count = states(h)[item["state"]]["edge_count"]
        if item["state"] == EXIT or (edge_count > 0 and is_open(h, item["state"], item["count"])):
            if kept != i:
                swap(todo, kept, i)
            kept += 1
    sort_agenda(todo, kept)
    size = 0
    for i in range(kept):
        if size > 0 and is_dominated(h, todo[size - 1, STEP], todo[i, STEP]):
            continue
        if size != i:
            swap(todo, size, i)
        size += 1
    return size


@kernel
def is_dominated(h: Heap, a: Any, b: Any) -> bool:
    """Whether `a`, the predecessor of `b` in a sorted set, can do whatever `b` can.

    They differ only in their counts, `a` has fewer units, and that is already enough.
    """
    if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"]:
        return False
    counter = states(h)[a["state"]]["counter"]
    if counter < 0 or b["count"] >= SYMBOLIC:
        return False
    return bool(a["count"] >= counters(h)[counter]["minimum"])


@linked(LINK_INTERN)
def intern(h: Heap) -> int:
    """The number of the set whose items are on the STEP worklist: an old one, or a new one.

    Returns DEAD for no items, FULL without room.
    """
    todo = agenda(h)
    size = keep_items(h)
    if size == 0:
        return DEAD
    digest = int64(size)
    for i in range(size):
        item = todo[i, STEP]
        digest = mix(digest * 31 + item_hash(item["state"], item["goal"], item["origin"], item["count"]))
    index = set_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != UNKNOWN:
        if holds_agenda(h, index[slot], size, digest):
            return int(index[slot])
        slot = (slot + 1) & limit
    number = new_set(h, size, digest)
    if number != FULL:
        index[slot] = number
    return number


@kernel
def holds_agenda(h: Heap, number: int, size: int, digest: int) -> bool:
    """Whether set `number` consists of exactly the first `size` items of the STEP worklist."""
    record = sets(h)[number]
    if record["hash"] != digest or record["size"] != size:
        return False
    todo = agenda(h)
    stored = items(h)
    for i in range(size):
        a = stored[record["first"] + i]
        b = todo[i, STEP]
        if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"] or a["count"] != b["count"]:
            return False
    return True


@kernel
def new_set(h: Heap, size: int, digest: int) -> int:
    """Store the first `size` items of the STEP worklist as a new set. Returns its number or FULL."""
    number = head(h)[N_SETS]
    first = head(h)[N_ITEMS]
    stored = items(h)
    # The index stays at most half full, and a row of moves must exist.
    if number >= len(sets(h)) or first + size > len(stored):
        return FULL
    todo = agenda(h)
    record = sets(h)[number]
    record["first"] = first
    record["size"] = size
    record["hash"] = digest
    record["closure_size"] = -1
    record["shape"] = -1
    record["part_size"] = 0
    record["mask"] = -1
    flags = 0
    for i in range(size):
        item = todo[i, STEP]
        stored[first + i]["state"] = item["state"]
        stored[first + i]["goal"] = item["goal"]
        stored[first + i]["origin"] = item["origin"]
        stored[first + i]["count"] = item["count"]
        if item["state"] == EXIT:
            flags |= HAS_EXIT
        if item["count"] >= SYMBOLIC:
            flags |= HAS_SYMBOLIC
        elif item["origin"] >= FIRST_SET:
            flags |= sets(h)[item["origin"]]["flags"] & HAS_SYMBOLIC
    record["flags"] = flags
    head(h)[N_ITEMS] = first + size
    head(h)[N_SETS] = number + 1
    record["need"] = units_needed(h, number) if flags & HAS_SYMBOLIC else 0
    return number


@linked(LINK_SETTLE)
def settle(h: Heap) -> int:
    """Complete what is on the STEP worklist and intern the result. DEAD for nothing, FULL without room."""
    if complete_all(h) == FULL:
        return FULL
    return intern(h)


# ── Needed units ────────────────────────────────────────────────────────────────────────


@kernel
def origin_need(h: Heap, goal: int, origin: int) -> int:
    """The least need of the items of closure(origin) that wait for `goal`; 0 if none is symbolic."""
    if origin < FIRST_SET or not sets(h)[origin]["flags"] & HAS_SYMBOLIC:
        return int64(0)
    record = sets(h)[origin]
    least = int64(SYMBOLIC)
    for w in range(record["wait_first"], record["wait_first"] + record["wait_size"]):
        wait = waits(h)[w]
        if wait["rule"] == goal:
            least = min(least, int64(wait["need"]))
    return least


@kernel
def wait_need(h: Heap, goal: int, origin: int, count: int) -> int:
    """How many units must have been allowed for a waiting item: with a symbolic count, it has begun one."""
    if count >= SYMBOLIC:
        return int64(count) - SYMBOLIC + 1
    return origin_need(h, goal, origin)


@kernel
def item_need(h: Heap, state: int, goal: int, origin: int, count: int) -> int:
    """How many units of the symbolic counter must have been allowed for this item to be alive.

    An item at the loop state has done `count` units; one inside the body has begun another.
    A frame that a symbolic frame waits for is alive as long as the latter is.
    """
    if count >= SYMBOLIC and (state == EXIT or states(h)[state]["flags"] & LOOP):
        return int64(count) - SYMBOLIC
    return wait_need(h, goal, origin, count)


@kernel
def settle_needs(h: Heap, number: int) -> None:
    """Work out the needs of a set's waiting items.

    Those of frames that were predicted here depend on each other; they settle from above.
    """
    record = sets(h)[number]
    first, end = record["wait_first"], record["wait_first"] + record["wait_size"]
    waiting = waits(h)
    for w in range(first, end):
        wait = waiting[w]
        if wait["origin"] == number and wait["count"] < SYMBOLIC:
            waiting[w]["need"] = SYMBOLIC
        else:
            waiting[w]["need"] = wait_need(h, wait["goal"], wait["origin"], wait["count"])
    changed = True
    while changed:
        changed = False
        for w in range(first, end):
            wait = waiting[w]
            if wait["origin"] == number and wait["count"] < SYMBOLIC:
                least = origin_need(h, wait["goal"], number)
                if least < wait["need"]:
                    waiting[w]["need"] = least
                    changed = True


@kernel
def units_needed(h: Heap, number: int) -> int:
    """The least need of the items of a set: its texts are possible if so many units are allowed."""
    record = sets(h)[number]
    least = int64(SYMBOLIC)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        least = min(least, item_need(h, item["state"], item["goal"], item["origin"], item["count"]))
    return least


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
    if expand(h, number) == FULL:
        return FULL
    known = moves(h)[number, byte]
    if known != UNKNOWN:
        return int(known)
    begin(h, STEP)
    scan_byte(h, number, byte)
    after = settle(h)
    if after != FULL:
        moves(h)[number, byte] = after
    return after


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
    if expand(h, number) == FULL:
        return FULL
    begins = token_begin(h)
    after = number
    for i in range(begins[token], begins[token + 1]):
        after = step(h, after, token_data(h)[i])
        if after == DEAD or after == FULL:
            break
    if after == FULL:
        return FULL
    if begins[token] == begins[token + 1]:
        after = DEAD  # no bytes, no byte path
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
        if moves(h)[number, byte] != DEAD:
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
