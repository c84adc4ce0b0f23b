"""What a walk finds, as two lists of ranges, since neighbours in the trie usually share their fate.

    found   (first, end, need, rising)                tokens `trie_ids[first:end]`
    exits   (first, end, hole, counted, units, mode)  trie nodes [first, end); only those with children matter

`rising`: each character that a token begins adds one to its need. The modes of exits: ALONE, one node;
LEVEL, all nodes that are not inside a character; RISING, the same, and each character adds one to the units.
"""

from __future__ import annotations

import numpy as np

from .jit import int64, kernel
from .loops import LEVEL, RISING
from .tables import (
    EXIT,
    N_EXITS,
    N_FOUND,
    SYMBOLIC,
    all_tokens,
    arena,
    exits,
    found,
    head,
    items,
    sets,
    token_begun,
    trie_ids,
)
from .words import clear_bit, clear_words, copy_words, set_bit
from .worklist import Heap, stop


@kernel
def add_found(h: Heap, first: int, end: int, need: int, rising: bool) -> int:
    """Add tokens in trie order to `found`. Returns 0 or FULL."""
    if first == end:
        return 0
    hits = found(h)
    size = head(h)[N_FOUND]
    if size > 0 and hits[size - 1, 1] == first and hits[size - 1, 2] == need and hits[size - 1, 3] == rising:
        hits[size - 1, 1] = end
        return 0
    if size >= len(hits):
        return stop(h)
    hits[size, 0] = first
    hits[size, 1] = end
    hits[size, 2] = need
    hits[size, 3] = rising
    head(h)[N_FOUND] = size + 1
    return 0


@kernel
def write_found(h: Heap, row: np.ndarray) -> None:
    """Write a mask row that allows what was found. Where that is most tokens, by taking out the others of all."""
    hits = found(h)
    size = head(h)[N_FOUND]
    ids = trie_ids(h)
    tokens = int64(0)
    for i in range(size):
        tokens += hits[i, 1] - hits[i, 0]
    if 2 * tokens <= len(ids):
        clear_words(row)
        for i in range(size):
            for t in range(hits[i, 0], hits[i, 1]):
                set_bit(row, ids[t])
        return
    copy_words(row, all_tokens(h))
    last = int64(0)
    for i in range(size + 1):
        following = int64(hits[i, 0]) if i < size else int64(len(ids))
        for t in range(last, following):
            clear_bit(row, ids[t])
        if i < size:
            last = int64(hits[i, 1])


@kernel
def most_need(h: Heap, n_found: int) -> int:
    """The greatest need of a token that was found."""
    hits = found(h)
    begun = token_begun(h)
    most = int64(0)
    for i in range(n_found):
        need = int64(hits[i, 2])
        if not hits[i, 3]:
            most = max(most, need)
            continue
        for t in range(hits[i, 0], hits[i, 1]):
            most = max(most, need + begun[t])
    return most


@kernel
def count_needs(h: Heap, n_found: int, counts: int) -> None:
    """Count the tokens that were found by need, in words of the arena from `counts` on."""
    hits = found(h)
    begun = token_begun(h)
    words = arena(h)
    for i in range(n_found):
        need = counts + int64(hits[i, 2])
        if not hits[i, 3]:
            words[need] += hits[i, 1] - hits[i, 0]
            continue
        for t in range(hits[i, 0], hits[i, 1]):
            words[need + begun[t]] += 1


@kernel
def place_tokens(h: Heap, n_found: int, places: int, base: int) -> None:
    """Put the tokens that were found into the arena from `base` on, each at the next place of its need."""
    hits = found(h)
    begun = token_begun(h)
    ids = trie_ids(h)
    words = arena(h)
    for i in range(n_found):
        need = places + int64(hits[i, 2])
        rising = hits[i, 3] != 0
        for t in range(hits[i, 0], hits[i, 1]):
            at = need + begun[t] if rising else need
            words[base + words[at]] = ids[t]
            words[at] += 1


@kernel
def add_exits(h: Heap, first: int, end: int, number: int, less: int, mode: int) -> int:
    """Add the exit items of a set, reached at trie nodes [first, end), to `exits`. Returns 0 or FULL.

    `less` is taken off the units, which rise from there on with the characters begun.
    """
    out = exits(h)
    size = head(h)[N_EXITS]
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["state"] == EXIT:
            if size >= len(out):
                return stop(h)
            counted = item["count"] >= SYMBOLIC
            out[size, 0] = first
            out[size, 1] = end
            out[size, 2] = -1 - item["origin"]
            out[size, 3] = counted
            out[size, 4] = item["count"] - SYMBOLIC - less if counted else 0
            out[size, 5] = LEVEL if mode == RISING and not counted else mode
            size += 1
    head(h)[N_EXITS] = size
    return 0
