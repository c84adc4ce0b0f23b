"""Every array the kernels work on: one name, one dtype, one paragraph each.

The arrays live in a `Heap` (`matcher.store`); a kernel opens the ones it needs from the
heap header `h`: `items(h)`, `moves(h)`, ... (see `matcher.jit`). Allocation is always
"take the next free entry", counted in the header word that stands beside the array below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .jit import array_view, header_view
from .trie import CHILD, NODE, SUBTREE

# ── Reserved names ──────────────────────────────────────────────────────────────────────
UNKNOWN = 0
"""A move that has not been computed. Set number 0 is therefore never used."""
DEAD = 1
"""The empty Earley set: nothing can follow. Set number 1."""
FIRST_SET = 2
FULL = -1
"""A kernel's status: an array has no room left. Nothing was changed but memos."""
NO_ROW = -2
"""A kernel's status: there is no free dense mask row. The caller adds some and asks again."""
BOTTOM = -1
"""The origin of the outermost frame. Origins below 0 are holes: hole k is `-1 - k`."""
EXIT = 0
"""State 0 has no edges. An item in it records that its frame was completed into a hole."""

SYMBOLIC = 1 << 30
"""A count of `SYMBOLIC + k` means "whatever it was at the start of the token, plus k"."""

# ── Grammar tables ──────────────────────────────────────────────────────────────────────
STATE = np.dtype([("first_edge", "i4"), ("edge_count", "i4"), ("flags", "i4"), ("counter", "i4"), ("twin", "i4")])
"""A state of some rule's automaton. `counter` is the index of the counted rule it belongs to, or -1.
`twin` is the state that stands for it in shapes: one from which the same bytes can be read, as far as bounds of
counters do not matter; the state itself if there was none before. Edges into texts with exceptions lead to twins."""
FINAL, LOOP, UNIT_END, BYTES_ONLY = 1, 2, 4, 8
"""Flags. FINAL: the rule may end here. LOOP: the start of a counted rule: final from `minimum`
units on, its edges open below `maximum`. UNIT_END: an item that arrives here moves on to the
counter's loop state with one more unit counted. BYTES_ONLY: no call, epsilon or token edge leaves it."""

EDGE = np.dtype([("kind", "i4"), ("low", "i4"), ("high", "i4"), ("target", "i4")])
BYTE, CALL, EPSILON, TOKEN, FALLBACK = 0, 1, 2, 3, 4
"""Edge kinds. BYTE: one byte in [low, high]. CALL: a string of rule `low`. EPSILON: nothing.
TOKEN: a whole token of token set `low`. FALLBACK, a state's last edge: for bytes that no edge
of the state takes, the BYTE edges of `target`."""

COUNTER = np.dtype([("minimum", "i4"), ("maximum", "i4"), ("loop", "i4")])
"""Bounds of a counted rule (`maximum` -1: unbounded) and its loop state."""

# ── Earley sets ─────────────────────────────────────────────────────────────────────────
ITEM = np.dtype([("state", "i4"), ("goal", "i4"), ("origin", "i4"), ("count", "i4")])
"""An Earley item: in `state`, on the way to completing rule `goal` for the set `origin`,
with `count` units of a counted rule done."""

WAIT = np.dtype([("rule", "i4"), ("state", "i4"), ("goal", "i4"), ("origin", "i4"), ("count", "i4"), ("need", "i4")])
"""An item that waits for `rule`: what it becomes once the rule is completed, and its need."""

SET = np.dtype(
    [
        ("first", "i4"),
        ("size", "i4"),  # the kernel: items[first : first + size], sorted
        ("closure_first", "i4"),
        ("closure_size", "i4"),  # its items with byte or token edges; -1: not expanded yet
        ("wait_first", "i4"),
        ("wait_size", "i4"),  # its waiting items
        ("flags", "i4"),
        ("need", "i4"),  # units that must have been allowed; see `needs.py`
        ("part_first", "i4"),
        ("part_size", "i4"),  # arena: the sets it is divided into for its mask; 0: not yet
        ("shape", "i4"),  # its shape, or -1
        ("mask", "i4"),  # its finished mask, or -1
        ("row", "i4"),  # where its moves are, as far as they are not narrow
        ("narrow", "i4"),  # how many narrow moves it has
        ("shift_of", "i4"),  # the set whose shift it was found to be, or 0 (see `loops.py`)
        ("hash", "i4"),
    ]
)
"""One line of a processor's cache."""
LOOPS = np.dtype([("asked", "i8"), ("loops", "i8"), ("raises", "i8"), ("way", "i4"), ("settled", "i4")])
"""Kinds of characters, as bits: those of which it is known whether they all lead from a set back to it or to
its shift, those that do, and those of them that lead to the shift. For a set inside a character: the set to which all
ways to end it lead, or DEAD, and which ways those are (0: not asked yet)."""
FAMILY = np.dtype([("kinds", "i8"), ("depth", "i4"), ("text", "i4")])
"""Kinds of characters, as bits, of which every text may follow a set, if it has at most `depth` of them
(`matcher.families`), and whether the set reads a text at all: 1 or 2 for no and yes. 0 if that is not known yet."""
NARROW = 8
"""**Moves.** Most sets have a way on for a few bytes only. Such a *narrow* set lists them, at most so many:
its row of `narrow` has the bytes, then the moves. For all other bytes it shares a row of `moves`: that of
DEAD, or of the set that its only item falls back to. A set with more bytes has a row of its own."""
UNKNOWN_ROW, DEAD_ROW, FIRST_ROW = 0, 1, 2
"""Rows of `moves`: that of sets which are not expanded yet, that of DEAD, and the first of the others."""

HAS_EXIT, HAS_TOKENS, HAS_SYMBOLIC = 1, 2, 4
"""Flags of a set. HAS_EXIT: it holds an exit item (for a set of a real text: the text is in the
language). HAS_TOKENS: token edges leave it (known once expanded). HAS_SYMBOLIC: an item, or an
item of one of its origins, has a symbolic count."""

# ── Masks ───────────────────────────────────────────────────────────────────────────────
SHAPE = np.dtype(
    [
        ("set", "i4"),  # the abstract set
        ("base_row", "i4"),  # dense row of the tokens that stay inside, or -1: sparse
        ("base_first", "i4"),
        ("base_size", "i4"),  # the same tokens in the arena by ascending need (sparse or symbolic)
        ("need_first", "i4"),  # arena: how many of them need at most 0, 1, ... max_need units
        ("max_need", "i4"),
        ("group_first", "i4"),
        ("group_size", "i4"),
        ("call_first", "i4"),
        ("call_size", "i4"),  # arena: the rules called from the start, whose own shapes complete this one
        ("symbolic", "i4"),  # 1 if its counts are symbolic
        ("pivot", "i4"),  # byte whose next set's mask this one is derived from, or 256
        ("clear_first", "i4"),
        ("clear_size", "i4"),  # arena: ranges (first, end) of `trie_ids` to take out of that mask
    ]
)
GROUP = np.dtype([("hole", "i4"), ("branch", "i4"), ("counted", "i4")])
"""All exits of a shape into one hole: the branch to walk from there. `counted`: they are exits of
the symbolic counter, which its bounds allow or not; other frames may be completed in any case."""

BRANCH = np.dtype(
    [
        ("member_first", "i4"),
        ("member_size", "i4"),  # arena: pairs (trie node with children, units used)
        ("token_first", "i4"),
        ("token_size", "i4"),  # arena: pairs (token, units used), by units
        ("child_first", "i4"),
        ("child_size", "i4"),  # arena: pairs (byte, branch) in order; for other cases see `branch.py`
    ]
)
"""A node of the merged trie below a group's exits: many trie nodes that one walk visits at once."""

TAIL = np.dtype(
    [
        ("branch", "i4"),
        ("set", "i4"),  # the abstract set
        ("alive_first", "i4"),
        ("alive_size", "i4"),  # arena: pairs (branch with tokens, need) by need: what is alive below the branch
        ("tokens", "i4"),  # how many tokens these branches have
        ("max_need", "i4"),
        ("least_units", "i4"),  # the least and the most units that its tokens have used
        ("most_units", "i4"),
        ("exit_first", "i4"),
        ("exit_size", "i4"),  # arena: (branch, hole, counted, units): where a frame is completed into a hole
        ("call_first", "i4"),
        ("call_size", "i4"),
        ("symbolic", "i4"),
    ]
)
"""What an abstract set allows below a branch: a shape for the trie below an exit."""

MASK = np.dtype(
    [
        ("row", "i4"),  # the base row, or -1: none
        ("first", "i4"),
        ("size", "i4"),  # arena: pairs (word index, word) that differ from the base
        ("key_first", "i4"),
        ("key_size", "i4"),  # arena: what describes it, see `mask.describe`
        ("hash", "i8"),
    ]
)

COVER = np.dtype([("set", "i4"), ("row", "i4"), ("first", "i4"), ("size", "i4")])
"""What many sets allow whatever their origins are (`matcher.cover`): the set without them, a dense row, and the
same tokens in the arena as ranges (first, end) of `trie_ids`, in order."""

# ── The header ──────────────────────────────────────────────────────────────────────────
ARRAYS: dict[str, tuple[type | np.dtype, int]] = {
    "states": (STATE, 0),
    "edges": (EDGE, 0),
    "rules": (np.int32, 0),  # start state of each rule
    "counters": (COUNTER, 0),
    "token_sets": (np.int64, 0),  # address of each token set's bit row
    "items": (ITEM, 0),
    "waits": (WAIT, 0),
    "sets": (SET, 0),
    "loops": (LOOPS, 0),  # set -> what is known about its loops
    "families": (FAMILY, 0),  # set -> what is known about its family
    "moves": (np.int32, 256),  # row x byte -> set
    "narrow": (np.int32, 2 * NARROW),  # set -> bytes, and sets after them
    "set_index": (np.int32, 0),  # hash table of sets
    "agenda": (ITEM, 3),  # worklists, a column each: for steps, for closures, for completed frames
    "seen": (np.int64, 3),  # hash tables of the worklists
    "completions": (np.int64, 3),  # memo (origin, goal) -> set
    "tails": (TAIL, 0),
    "tail_index": (np.int32, 0),  # hash table of tails by branch and set: number + 1
    "shapes": (SHAPE, 0),
    "groups": (GROUP, 0),
    "branches": (BRANCH, 0),
    "arena": (np.int32, 0),  # variable-length lists of everything about masks
    "covers": (COVER, 0),
    "masks": (MASK, 0),
    "mask_index": (np.int32, 0),  # hash table of masks
    "rows": (np.int64, 0),  # address of each dense mask row
    "found": (np.int32, 4),  # scratch of a trie walk, see `ranges.py`
    "exits": (np.int32, 6),  # likewise
    "cleared": (np.int32, 2),  # scratch of a trie walk: ranges of `trie_ids`
    "path": (np.int32, 2),  # scratch of walks below exits: (branch, set)
    "below": (np.int32, 2),  # scratch: (branch, set) that are still to be described
    "stack": (np.int32, 8),  # scratch of a trie walk, a level each: see `levels.py`
    "family": (np.int32, 2),  # scratch: sets, and after how many characters each was met
    "tallies": (np.int64, 2),  # scratch: counts by byte, or by units
    "key": (np.int32, 0),  # scratch: the description of a mask
    "holes": (np.int32, 2),  # scratch: the (goal, origin) that each hole of a shape stands for
    "bits": (np.uint32, 0),  # scratch: one mask row, all zero between uses
    "touched": (np.uint8, 0),  # scratch: which of its words are in use, all zero between uses
    "trie_nodes": (NODE, 0),
    "child_bytes": (np.uint8, 0),
    "subtrees": (SUBTREE, 0),
    "children": (CHILD, 0),
    "trie_ids": (np.int32, 0),
    "all_tokens": (np.uint32, 0),  # a mask row of all of them
    "trie_parent": (np.int32, 0),
    "token_begun": (np.int32, 0),  # characters in each token of `trie_ids`
    "byte_kinds": (np.uint8, 0),
    "kind_bytes": (np.int16, 0),  # the bytes of each kind, as a chain (`characters.kind_chains`)
    "nodes_of_byte": (np.int32, 0),  # the trie's nodes by byte, and where each byte's begin
    "byte_begin": (np.int32, 0),
    "token_data": (np.uint8, 0),  # the bytes of all tokens, and where each begins
    "token_begin": (np.int64, 0),
    "eos_ids": (np.int32, 0),
}
"""name -> (dtype, columns). The order is the order of the header's (address, rows) pairs."""

_SLOT = {name: number for number, name in enumerate(ARRAYS)}
_COUNTERS = 2 * len(ARRAYS)

# Header words after the arrays. `USED[name]` counts the entries of that array in use.
USED = {
    name: _COUNTERS + number
    for number, name in enumerate(
        ("items", "waits", "sets", "moves", "completions", "tails", "shapes", "groups", "branches", "arena", "masks")
    )
}
N_ITEMS, N_WAITS, N_SETS, N_COMPLETIONS = USED["items"], USED["waits"], USED["sets"], USED["completions"]
N_MOVES = USED["moves"]
N_TAILS = USED["tails"]
N_SHAPES, N_GROUPS, N_BRANCHES = USED["shapes"], USED["groups"], USED["branches"]
N_ARENA, N_MASKS = USED["arena"], USED["masks"]
AGENDA_SIZE = _COUNTERS + len(USED)  # three words: the items on each worklist
STAMP = AGENDA_SIZE + 3  # three words: what marks a live entry of `seen`
OVERFLOW = STAMP + 3  # 1 if a worklist had no room, or no work was left
KEY_SIZE = OVERFLOW + 1
N_ROWS = KEY_SIZE + 1  # dense mask rows in use
MAX_ROWS = N_ROWS + 1
VOCABULARY_SIZE = MAX_ROWS + 1
WORDS = VOCABULARY_SIZE + 1  # 32-bit words in a mask row
FEATURES = WORDS + 1  # optimisations that are switched off: bits of `OFF_*`
FOR_PIVOT = FEATURES + 1  # 1 while the shape of a pivot is worked out, which has none itself
ARENA_STOP = FOR_PIVOT + 1  # where the arena ends for the mask that is being built
TAILS_STOP = ARENA_STOP + 1  # how many tails there may be for it
ITEMS_STOP = TAILS_STOP + 1  # how many items
STOPPED = ITEMS_STOP + 1  # 1 if that mask has had too much (`matcher.whole`)
N_COVERS = STOPPED + 1  # covers in use
FAMILY_SIZE = N_COVERS + 1  # sets in `family`
NEXT_FAMILY = FAMILY_SIZE + 1  # how many nodes a walk visits before it looks for a family
N_FOUND, N_EXITS, N_CLEARED = NEXT_FAMILY + 1, NEXT_FAMILY + 2, NEXT_FAMILY + 3  # entries of a walk's lists
VISITED = N_CLEARED + 1  # nodes that a walk visited, without those that it passed by skimming or in chains
NEXT_LEVEL = VISITED + 1  # the level at which it goes on after skimming, or after a chain
WORK_LEFT = NEXT_LEVEL + 1  # how many items may still be put on long worklists; `Store.call` sets it anew
CARRIED = WORK_LEFT + 1  # 1 once the shapes may have the sets of another heap (`Store.retire`)
# Addresses of linked kernels (`jit.linked`).
LINK_EXPAND = CARRIED + 1
LINK_SETTLE, LINK_STEP, LINK_COMPLETE = LINK_EXPAND + 1, LINK_EXPAND + 2, LINK_EXPAND + 3
LINK_SHAPE_OF, LINK_WALK, LINK_DIVIDE = LINK_EXPAND + 4, LINK_EXPAND + 5, LINK_EXPAND + 6
LINK_FIND_MASK, LINK_WALK_TAIL, LINK_DESCRIBE = LINK_EXPAND + 7, LINK_EXPAND + 8, LINK_EXPAND + 9
LINK_INTERN, LINK_EXPAND_BRANCH, LINK_CHILD_BY_BYTE = LINK_EXPAND + 10, LINK_EXPAND + 11, LINK_EXPAND + 12
LINK_ASK, LINK_DESCRIBE_BELOW, LINK_LIST_CALLS = LINK_EXPAND + 13, LINK_EXPAND + 14, LINK_EXPAND + 15
LINK_WHOLE, LINK_ALL_LEAD = LINK_EXPAND + 16, LINK_EXPAND + 17
LINK_FAMILY, LINK_ALL_JOIN, LINK_SCAN = LINK_EXPAND + 18, LINK_EXPAND + 19, LINK_EXPAND + 20
HEADER_WORDS = LINK_EXPAND + 21
OFF_SHAPES, OFF_SYMBOLIC, OFF_CALLS, OFF_PIVOT, OFF_MEMO, OFF_TWINS, OFF_SHARING, OFF_PARTS, OFF_LOOPS = (
    1 << bit for bit in range(9)
)
OFF_PLAIN, OFF_COVER, OFF_FAMILIES, OFF_BASES, OFF_SKIMMING = 1 << 9, 1 << 10, 1 << 11, 1 << 14, 1 << 15
"""Bits of the FEATURES word, each switches one optimisation off: walk every set itself, not its
shape; keep every count concrete; walk called rules with their caller; never derive a mask from
another set's; build every mask anew; for the compiler, give every state itself as twin, and
never share the tables of equal rules; never divide a set into parts; walk subtrees even where every byte
leads back to the same set; take every step by the worklists, and for each byte alone; walk a set that is
too ambiguous for shapes through the whole trie; walk subtrees where texts lead to sets of one family; build no mask
on what it has in common with others; walk every subtree level by level."""

SMALL_LIMITS, WHOLE_MASKS = 1 << 12, 1 << 13
"""Two more bits of FEATURES, for tests: do for small sets what is meant for large ones; and for all sets what is
meant for those that are too ambiguous for shapes."""


def array_words(name: str) -> tuple[int, int]:
    """The header words that hold the address and the number of rows of an array."""
    return 2 * _SLOT[name], 2 * _SLOT[name] + 1


def _view(name: str) -> Callable[[int], Any]:
    dtype, columns = ARRAYS[name]
    return array_view(_SLOT[name], dtype, columns)


head = header_view(HEADER_WORDS)
states = _view("states")
edges = _view("edges")
rules = _view("rules")
counters = _view("counters")
token_sets = _view("token_sets")
items = _view("items")
waits = _view("waits")
sets = _view("sets")
loops = _view("loops")
families = _view("families")
moves = _view("moves")
narrow = _view("narrow")
set_index = _view("set_index")
agenda = _view("agenda")
seen = _view("seen")
completions = _view("completions")
tails = _view("tails")
tail_index = _view("tail_index")
below = _view("below")
cleared = _view("cleared")
shapes = _view("shapes")
groups = _view("groups")
branches = _view("branches")
arena = _view("arena")
masks = _view("masks")
covers = _view("covers")
mask_index = _view("mask_index")
rows = _view("rows")
found = _view("found")
exits = _view("exits")
path = _view("path")
stack = _view("stack")
family = _view("family")
key = _view("key")
tallies = _view("tallies")
holes = _view("holes")
bits = _view("bits")
touched = _view("touched")
trie_nodes = _view("trie_nodes")
child_bytes = _view("child_bytes")
subtrees = _view("subtrees")
children = _view("children")
trie_ids = _view("trie_ids")
all_tokens = _view("all_tokens")
trie_parent = _view("trie_parent")
token_begun = _view("token_begun")
byte_kinds = _view("byte_kinds")
kind_bytes = _view("kind_bytes")
nodes_of_byte = _view("nodes_of_byte")
byte_begin = _view("byte_begin")
token_data = _view("token_data")
token_begin = _view("token_begin")
eos_ids = _view("eos_ids")
