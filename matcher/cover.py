"""Covers: what a set allows wherever its frames began.

In a very ambiguous text the items of a set are few, but stand there once for each place where their frames may
have begun. Without goals and origins they are *collapsed* to a small set, the same after every byte. A token that
stays inside its frames from there, or ends just where one is completed, is legal whatever the origins are: it is
walked once, and kept as a row and as ranges of the trie. The set itself then has to be walked only for the other
tokens (`matcher.whole`).
"""

from __future__ import annotations

from .branch import limit, take
from .jit import int64, kernel, words_at
from .parts import collapse
from .ranges import write_found
from .scan import NO_COVER, scan_trie
from .tables import (
    DEAD,
    FEATURES,
    FULL,
    ITEMS_STOP,
    MAX_ROWS,
    N_COVERS,
    N_FOUND,
    N_ITEMS,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    OFF_COVER,
    STOPPED,
    WORDS,
    arena,
    covers,
    found,
    head,
    items,
    rows,
    sets,
    shapes,
)
from .worklist import Heap

COVER_ITEMS = 1 << 20
"""How many items of Earley sets the walk of a cover may make. Beyond that nothing is covered."""
CROWD, TIMES = 8, 4
"""A set of more items is ambiguous if it has so many times the items of the collapsed set."""


@kernel
def is_ambiguous(h: Heap, number: int) -> bool:
    """Whether a set has many items that differ only in the frames that they belong to."""
    size = sets(h)[number]["size"]
    if size <= limit(h, CROWD) or head(h)[FEATURES] & OFF_COVER:
        return False
    image = collapse(h, number)
    return bool(image != FULL and size >= TIMES * sets(h)[image]["size"])


@kernel
def cover_of(h: Heap, number: int) -> int:
    """The cover of a set, walked if it is new, or NO_COVER. FULL or NO_ROW without room."""
    if head(h)[FEATURES] & OFF_COVER:
        return NO_COVER
    image = collapse(h, number)
    if image == FULL:
        return FULL
    for cover in range(head(h)[N_COVERS]):
        if covers(h)[cover]["set"] == image:
            return cover
    if head(h)[N_COVERS] >= len(covers(h)) or image == DEAD:
        return NO_COVER
    return walk_cover(h, image)


@kernel
def walk_cover(h: Heap, image: int) -> int:
    """Walk the trie from a collapsed set and keep what it allows. Returns the cover, FULL or NO_ROW."""
    cover = int64(head(h)[N_COVERS])
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    shapes(h)[head(h)[N_SHAPES]]["call_size"] = 0  # a walk is that of a shape, which is not kept
    head(h)[ITEMS_STOP] = min(head(h)[N_ITEMS] + COVER_ITEMS, len(items(h)))
    head(h)[STOPPED] = 0
    status = scan_trie(h, head(h)[N_SHAPES], image, DEAD, NO_COVER)
    head(h)[ITEMS_STOP] = len(items(h))
    if status == FULL and not head(h)[STOPPED]:
        return FULL
    if status == FULL:
        head(h)[N_FOUND] = 0
    n_found = head(h)[N_FOUND]
    first = take(h, 2 * n_found)
    if first == FULL:
        return FULL
    row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
    write_found(h, row)
    for i in range(n_found):
        arena(h)[first + 2 * i] = found(h)[i, 0]
        arena(h)[first + 2 * i + 1] = found(h)[i, 1]
    record = covers(h)[cover]
    record["set"] = image
    record["row"] = head(h)[N_ROWS]
    record["first"] = first
    record["size"] = n_found
    head(h)[N_ROWS] += 1
    head(h)[N_COVERS] = cover + 1
    return int(cover)
