"""Whole masks: a walk from a set itself, for grammars too ambiguous for shapes.

A shape is worth its price because many sets share it. But where sets grow with every byte, as those of
`root ::= root root | [^]`, they have hundreds of holes, a frame is completed into each of them everywhere,
and what follows is walked for each hole and each branch. So a mask may walk only so many new tails, and take only so
much of the arena and of the scratch arrays; then it is given up, and its set walked as it is. A set that is seen to be
ambiguous is walked so at once. What the set allows whatever its origins are need not be walked again
(`matcher.cover`). This gives the mask, for this set alone.
"""

from __future__ import annotations

from .cover import cover_of, is_ambiguous
from .earley import expand
from .jit import int64, kernel, linked, words_at
from .listing import LISTED_LIMIT, begin_list, change, end_list
from .scan import NO_COVER, scan_trie
from .shape import add_token_edges
from .tables import (
    ARENA_STOP,
    DEAD,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_TOKENS,
    LINK_WHOLE,
    MAX_ROWS,
    N_ARENA,
    N_FOUND,
    N_MASKS,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    WHOLE_MASKS,
    WORDS,
    covers,
    eos_ids,
    found,
    head,
    masks,
    rows,
    sets,
    shapes,
    trie_ids,
)
from .words import clear_words, copy_words, set_bit
from .worklist import Heap


@kernel
def is_whole(h: Heap, number: int) -> bool:
    """Whether a set is walked whole at once, without trying shapes."""
    return bool(head(h)[FEATURES] & WHOLE_MASKS) or is_ambiguous(h, number)


@linked(LINK_WHOLE)
def whole_mask(h: Heap, number: int) -> int:
    """The mask of a set, walked as it is. FULL or NO_ROW without room."""
    mask = head(h)[N_MASKS]
    shape = head(h)[N_SHAPES]
    if mask >= len(masks(h)) or shape >= len(shapes(h)) or expand(h, number) == FULL:
        return FULL
    cover = cover_of(h, number)
    if cover == FULL or cover == NO_ROW:
        return cover
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    shapes(h)[shape]["call_size"] = 0  # a walk is that of a shape, which is not kept
    if scan_trie(h, shape, number, DEAD, cover) == FULL:
        return FULL
    n_found = int64(head(h)[N_FOUND])
    tokens = len(eos_ids(h))
    for i in range(n_found):
        tokens += found(h)[i, 1] - found(h)[i, 0]
    if cover != NO_COVER and tokens <= LISTED_LIMIT and not sets(h)[number]["flags"] & HAS_TOKENS:
        if head(h)[N_ARENA] + 2 * tokens > head(h)[ARENA_STOP]:
            return FULL
        list_whole(h, mask, number, covers(h)[cover]["row"], n_found)
    else:
        write_whole(h, mask, number, cover, n_found)
    record = masks(h)[mask]
    record["key_size"] = 0
    record["hash"] = 0
    head(h)[N_MASKS] = mask + 1
    sets(h)[number]["mask"] = mask
    return int(mask)


@kernel
def list_whole(h: Heap, mask: int, number: int, row: int, n_found: int) -> None:
    """Make a mask of what a cover's row has and what was found beside it."""
    begin_list(h, mask, row)
    for i in range(n_found):
        for t in range(found(h)[i, 0], found(h)[i, 1]):
            change(h, mask, trie_ids(h)[t], True)
    if sets(h)[number]["flags"] & HAS_EXIT:
        for i in range(len(eos_ids(h))):
            change(h, mask, eos_ids(h)[i], True)
    end_list(h, mask)


@kernel
def write_whole(h: Heap, mask: int, number: int, cover: int, n_found: int) -> None:
    """Write the same into a row of its own."""
    row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
    if cover == NO_COVER:
        clear_words(row)
    else:
        copy_words(row, words_at(rows(h)[covers(h)[cover]["row"]], head(h)[WORDS]))
    for i in range(n_found):
        for t in range(found(h)[i, 0], found(h)[i, 1]):
            set_bit(row, trie_ids(h)[t])
    flags = sets(h)[number]["flags"]
    if flags & HAS_TOKENS:
        add_token_edges(h, number, row)
    if flags & HAS_EXIT:
        for i in range(len(eos_ids(h))):
            set_bit(row, eos_ids(h)[i])
    masks(h)[mask]["row"] = head(h)[N_ROWS]
    masks(h)[mask]["size"] = 0
    head(h)[N_ROWS] += 1
