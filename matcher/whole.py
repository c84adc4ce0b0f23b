"""Whole masks: a walk from a set itself, for grammars too ambiguous for shapes.

A shape is worth its price because many sets share it. But where sets grow with every byte, as those of
`root ::= root root | [^]`, they have hundreds of holes, a frame is completed into each of them everywhere,
and what follows is walked for each hole and each branch. So a mask may walk only so many new tails, and take only so
much of the arena and of the scratch arrays; then it is given up, and its set walked as it is. This gives the mask at
once, for this set alone.
"""

from __future__ import annotations

from .earley import expand
from .jit import linked, words_at
from .scan import scan_trie
from .shape import add_token_edges
from .tables import (
    DEAD,
    FULL,
    HAS_EXIT,
    HAS_TOKENS,
    LINK_WHOLE,
    MAX_ROWS,
    N_MASKS,
    N_ROWS,
    N_SHAPES,
    NO_ROW,
    WORDS,
    eos_ids,
    found,
    head,
    masks,
    rows,
    sets,
    shapes,
    trie_ids,
)
from .words import clear_words, set_bit
from .worklist import Heap


@linked(LINK_WHOLE)
def whole_mask(h: Heap, number: int) -> int:
    """The mask of a set, walked as it is: a row of its own. FULL or NO_ROW without room."""
    mask = head(h)[N_MASKS]
    shape = head(h)[N_SHAPES]
    if mask >= len(masks(h)) or shape >= len(shapes(h)) or expand(h, number) == FULL:
        return FULL
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    shapes(h)[shape]["call_size"] = 0  # a walk is that of a shape, which is not kept
    n_found, _, _ = scan_trie(h, shape, number, DEAD)
    if n_found == FULL:
        return FULL
    row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
    clear_words(row)
    for i in range(n_found):
        for t in range(found(h)[i, 0], found(h)[i, 1]):
            set_bit(row, trie_ids(h)[t])
    flags = sets(h)[number]["flags"]
    if flags & HAS_TOKENS:
        add_token_edges(h, number, row)
    if flags & HAS_EXIT:
        for i in range(len(eos_ids(h))):
            set_bit(row, eos_ids(h)[i])
    record = masks(h)[mask]
    record["row"] = head(h)[N_ROWS]
    record["size"] = 0
    record["key_size"] = 0
    record["hash"] = 0
    head(h)[N_ROWS] += 1
    head(h)[N_MASKS] = mask + 1
    sets(h)[number]["mask"] = mask
    return int(mask)
