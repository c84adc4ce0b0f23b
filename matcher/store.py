"""Where the kernels' arrays live, what they may grow to, and what happens when they are full.

    Tables   the automata of all grammars of a vocabulary; equal rules are stored once
    Masks    shapes, branches and finished masks, shared by those grammars
    Heap     Earley sets and their moves, and the header that kernels take
    Store    the three together, and the lock that guards them

Every array is allocated at its full size at once: fresh zeroed memory costs nothing until
it is touched, so nothing moves and no kernel resizes. A heap that is full is *retired*, as is one that is nearly
full when a text begins: a new one takes its place, and each matcher carries its own live sets over the next time it
needs the heap. A retired heap goes when its last matcher has left it. Masks survive, unless
they were what was full.

Kernels release the GIL, so stores of other vocabularies go on while one is locked.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import Rule

from . import earley, mask, tables
from .bitmask import address_of, pack
from .characters import byte_kinds, kind_chains
from .jit import JIT, direct, link, open_arrays
from .memory import LARGE_PAGE, touch, zeros
from .tables import ARRAYS, FIRST_SET, FULL, HEADER_WORDS, N_COMPLETIONS, N_TAILS, NO_ROW, USED, array_words
from .tails import carry_over
from .vocabulary import Vocabulary

__all__ = ["Heap", "KnownSet", "Store", "Tables"]

SETS = 1 << 17
"""Earley sets in a heap."""
LAST_ATTEMPT, MANY_SETS = 3, 1 << 15
"""A kernel gets so many more attempts with more room, and further ones while the heap is still a small one."""
SETS_PER_ROW = 2
"""How many sets there are for a row of moves (1 KiB); most sets have none."""
ITEMS_PER_SET, WAITS_PER_SET = 16, 8
COVERS = 64
"""Sets without origins of which it is known what they allow (`matcher.cover`)."""
MEMBERS = 64
"""Sets in a family, at most (`matcher.families`)."""
WORKLIST = 1 << 17
"""Items in one Earley set or closure, at most."""
MAX_WORK = 1 << 26
"""Items that one call of a kernel may put on long worklists: seconds of work, while nobody else gets the lock."""
SHAPES, BRANCHES, ARENA = 1 << 16, 1 << 21, 1 << 26
ROW_BYTES = 128 << 20
"""Memory for dense mask rows."""
READY_BYTES = 64 << 20
"""Memory for masks of listed words that are written out as rows."""
MAX_STEPS = 1 << 18
"""Steps from a set over a token that a heap remembers; then it begins anew. Some 30 MiB, and as much for the sets."""
READY_AT_ONCE = 64
ROWS_AT_ONCE = 8
ROW_BLOCKS_AT_ONCE = 80
"""Blocks of rows that a new store has."""
STATES, EDGES = 1 << 21, 1 << 22
MAX_TOKEN_SETS = 1 << 13
"""Different token sets in the tables of a store; a grammar may have half as many."""

LARGE_VOCABULARY = 1 << 14
"""From so many tokens on, arrays are made of large pages: thirty of them are no matter then."""
TOUCHED_AT_ONCE = {
    **{"sets": 28, "narrow": 28, "items": 24, "waits": 8, "moves": 40, "arena": 88, "masks": 8, "shapes": 8},
    **{"set_index": 8, "completions": 16, "tails": 8, "mask_index": 8, "agenda": 16, "seen": 24, "branches": 8},
    **{"found": 8, "exits": 8, "cleared": 4, "path": 8, "groups": 4, "states": 16, "edges": 16, "rules": 4},
    **{"loops": 14, "families": 6, "tail_index": 8, "key": 8, "holes": 4},
}
"""Bytes of each array, for each token of the vocabulary, that a new store touches: the first request would wait
for the memory otherwise. For a large vocabulary, which is taken for one of TOUCHED_FOR tokens at least, that is as much
as some dozens of JSON Schemas need."""
TOUCHED_FOR = 1 << 18
GROWING = {"items": "items", "waits": "waits", "moves": "moves"} | dict.fromkeys(
    ("sets", "loops", "families", "narrow"), "sets"
)
"""The arrays of a heap that are used from the front, and what counts their entries."""
AHEAD = 1 << 20
"""So many bytes of each of them are touched before a text begins (for a large vocabulary)."""

TERMINATED = 0
"""The set number of a matcher that has accepted EOS (no real set has it)."""


def allocate(rows: dict[str, int], large_pages: bool) -> dict[str, NDArray[Any]]:
    """Zeroed arrays for the header, of so many rows each. Raises LimitError if the system has no memory."""
    arrays = {}
    for name, count in rows.items():
        dtype, columns = ARRAYS[name]
        arrays[name] = zeros((count, columns) if columns else (count,), dtype, large_pages)
    return arrays


def has_large_pages(vocabulary: Vocabulary) -> bool:
    """Whether the arrays for a vocabulary are made of large pages."""
    return vocabulary.size >= LARGE_VOCABULARY


def buffer_of(row: NDArray[np.uint32]) -> memoryview:
    """A view of a row that copies in half of numpy's time; its `obj` is the row."""
    return memoryview(row)  # type: ignore[arg-type]


def read_only(rows: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The same rows for readers, who cannot make them writable again. Kernels write by address."""
    return np.frombuffer(memoryview(rows).toreadonly(), dtype=rows.dtype).reshape(rows.shape)  # type: ignore[arg-type]


def power_of_two(least: int) -> int:
    """The smallest power of two that is at least `least`."""
    return 1 << max(0, least - 1).bit_length()


class StandardRule(NamedTuple):
    """A rule that every grammar of a front end contains, as it stands in the tables."""

    reached: tuple[Rule, ...]
    """The rule and all it refers to: the same objects, or it is another language."""
    number: int
    nullable: bool


class Tables:
    """The grammar tables: arrays with room, and how much of each is used."""

    def __init__(self, states: int, edges: int, large_pages: bool) -> None:
        rows = {"states": states, "edges": edges, "rules": states, "counters": states // 4 + 1}
        self.arrays = allocate(rows | {"token_sets": MAX_TOKEN_SETS}, large_pages)
        self.used = dict.fromkeys(self.arrays, 0)
        self.used["states"] = 1  # the EXIT state
        self.arrays["states"][tables.EXIT]["counter"] = -1
        self.arrays["states"][tables.EXIT]["flags"] = tables.BYTES_ONLY
        self.rule_numbers: dict[Any, list[int]] = {}
        """What a group of mutually recursive rules consists of -> the rules' numbers."""
        self.standard: dict[int, StandardRule] = {}
        """id of a standard rule -> what it was linked as."""
        self.twins: dict[Any, NDArray[np.int32]] = {}
        """What a part of an automaton consists of -> the states that stand for it in shapes."""
        self.token_rows: dict[Any, tuple[int, NDArray[np.uint32]]] = {}
        """Token set -> its number and its bit row, kept alive here."""

    def has_room(self, **wanted: int) -> bool:
        """Whether so many more entries fit into the arrays named."""
        return all(self.used[name] + n <= len(self.arrays[name]) for name, n in wanted.items())

    def append(self, name: str, rows: NDArray[Any]) -> None:
        """Append entries to an array that has room for them."""
        start = self.used[name]
        self.arrays[name][start : start + len(rows)] = rows
        self.used[name] = start + len(rows)


class Masks:
    """Everything about masks that outlives a heap, and the dense rows as numpy views."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        nodes, tokens = len(trie.byte), len(trie.token_ids)
        depth = int(trie.depth.max(initial=0))
        self.words = vocabulary.words
        self.max_rows = max(ROWS_AT_ONCE, ROW_BYTES // (4 * self.words))
        self.max_rows = min(self.max_rows, 1 << 16)
        self.large_pages = has_large_pages(vocabulary)
        rows = {"shapes": SHAPES, "groups": 4 * SHAPES, "branches": BRANCHES, "arena": ARENA}
        rows |= {"tails": 2 * SHAPES, "tail_index": 8 * SHAPES, "masks": 4 * SHAPES, "mask_index": 8 * SHAPES}
        rows |= {"rows": self.max_rows + ROWS_AT_ONCE, "bits": self.words, "touched": self.words}
        rows |= {"found": tokens + 1, "exits": nodes + (1 << 12), "cleared": nodes, "path": nodes + (1 << 10)}
        rows |= {"stack": depth + 2, "tallies": depth + 512, "key": 6 * tokens + (1 << 16)}
        rows |= {"below": 1 << 12, "holes": WORKLIST, "family": MEMBERS}
        self.arrays = allocate(rows, self.large_pages)
        self.buffers: list[memoryview] = []
        """Dense row number -> a read-only view of it; its `obj` is the array."""
        self.ready: dict[int, memoryview] = {}
        """Number of a mask of listed words -> its row, written out for those that ask for arrays."""
        self.spare_rows: list[tuple[NDArray[np.uint32], int]] = []
        """Rows for masks that are written out, and their addresses."""

    def add_rows(self, header: NDArray[np.int64]) -> bool:
        """Add dense rows; False if the memory for rows is used up."""
        if len(self.buffers) >= self.max_rows:
            return False
        block = zeros((ROWS_AT_ONCE, self.words), np.uint32, self.large_pages)
        for i, row in enumerate(block):
            self.arrays["rows"][len(self.buffers) + i] = row.ctypes.data
        touch(block, block.nbytes)
        self.buffers.extend(map(buffer_of, read_only(block)))
        header[tables.MAX_ROWS] = len(self.buffers)
        return True

    def spare_row(self) -> int:
        """The address of a row to write a mask into: the same one until it is kept."""
        if not self.spare_rows:
            block = zeros((READY_AT_ONCE, self.words), np.uint32, self.large_pages)
            self.spare_rows.extend(zip(read_only(block), map(address_of, block), strict=True))
        return self.spare_rows[-1][1]

    def keep_spare(self, number: int) -> memoryview:
        """Keep the spare row, which holds a mask now. Where there is no room, the older half of the others goes."""
        if number not in self.ready:
            row, _ = self.spare_rows.pop()
            if len(self.ready) >= max(2, READY_BYTES // row.nbytes):
                for old in list(self.ready)[: len(self.ready) // 2]:
                    del self.ready[old]
            self.ready[number] = buffer_of(row)
        return self.ready[number]

    def is_crowded(self, header: NDArray[np.int64]) -> bool:
        """Whether more than half of some array is used, so that a new start is better."""
        return len(self.buffers) >= self.max_rows or any(
            2 * header[USED[name]] > len(self.arrays[name])
            for name in ("shapes", "groups", "branches", "tails", "arena", "masks")
        )


class KnownSet:
    """A set as matchers know it: what was asked before, by any of them, is one attribute or look-up away."""

    __slots__ = ("after", "mask", "number")

    def __init__(self, number: int, mask: int | memoryview | None = None) -> None:
        self.number = number
        self.mask = mask
        """A dense row, or the number of a mask of listed words; None if it is not known yet."""
        self.after: dict[int, KnownSet] = {}
        """The sets after tokens."""


_numbers = itertools.count(1)


class Heap:
    """Earley sets, the header, and what answers repeated questions without a kernel."""

    def __init__(self, parts: dict[str, NDArray[Any]], masks: Masks, set_limit: int) -> None:
        self.masks = masks
        self.set_limit = set_limit
        rows = {"items": ITEMS_PER_SET * set_limit, "waits": WAITS_PER_SET * set_limit}
        rows |= {
            "sets": set_limit,
            "loops": set_limit,
            "families": set_limit,
            "narrow": set_limit,
            "moves": set_limit // SETS_PER_ROW,
        }
        rows |= {"set_index": power_of_two(2 * set_limit), "completions": power_of_two(set_limit)}
        rows |= {"agenda": WORKLIST, "seen": 2 * WORKLIST, "covers": COVERS}
        self.arrays = parts | masks.arrays | allocate(rows, masks.large_pages)
        self.header = np.zeros(HEADER_WORDS, dtype=np.int64)
        self.address = self.header.ctypes.data if JIT else next(_numbers)
        """What kernels know the heap by."""
        for name in ARRAYS:
            address, length = array_words(name)
            self.header[address] = self.arrays[name].ctypes.data
            self.header[length] = len(self.arrays[name])
        assert mask.fill is not None  # all linked kernels are defined by now
        link(self.header)
        if not JIT:
            open_arrays[self.address] = [*(self.arrays[name] for name in ARRAYS), self.header]
            weakref.finalize(self, open_arrays.pop, self.address, None)
        self.header[tables.STAMP : tables.STAMP + 3] = 1
        self.header[tables.N_SETS] = FIRST_SET
        self.header[tables.MAX_ROWS] = len(masks.buffers)
        self.arrays["sets"][tables.DEAD]["shape"] = -1
        self.arrays["sets"][tables.DEAD]["mask"] = -1
        self.arrays["sets"][tables.DEAD]["row"] = tables.DEAD_ROW
        self.arrays["moves"][tables.DEAD_ROW] = tables.DEAD
        self.header[tables.N_MOVES] = tables.FIRST_ROW
        self.header[tables.ARENA_STOP] = len(self.arrays["arena"])
        self.header[tables.TAILS_STOP] = len(self.arrays["tails"])
        self.header[tables.ITEMS_STOP] = len(self.arrays["items"])
        self.header[tables.WORK_LEFT] = MAX_WORK
        self.migrated = 0
        """How many sets matchers have carried over from an earlier heap."""
        self.nearly_full = [
            (USED[name], 3 * len(self.arrays[name]) // 4) for name in ("sets", "items", "waits", "moves")
        ]
        self.nearly_full.append((N_COMPLETIONS, 3 * len(self.arrays["completions"]) // 8))  # full at a half
        self.at_hand = dict.fromkeys(GROWING, 0)
        """How many bytes of a growing array are touched."""
        self.nothing = buffer_of(read_only(np.zeros(masks.words, dtype=np.uint32)))
        """The mask of all sets that no token can follow."""
        self.known = {TERMINATED: KnownSet(TERMINATED, self.nothing)}
        """The sets that matchers have been at, by number."""
        self.steps = 0
        """How many steps over tokens they remember."""

    def known_set(self, number: int) -> KnownSet:
        """What is known of a set."""
        known = self.known.get(number)
        if known is None:
            known = self.known[number] = KnownSet(number)
        return known

    def remember_step(self, before: KnownSet, token: int, after: KnownSet) -> None:
        """Remember that a token leads from one set to another. All are forgotten when there are too many."""
        if self.steps >= MAX_STEPS:
            for known in self.known.values():
                known.after.clear()
            self.steps = 0
        before.after[token] = after
        self.steps += 1

    def is_nearly_full(self) -> bool:
        """Whether more than three quarters of some array are used, so that a new text would soon fill it.

        Not if most of that is what running matchers have brought with them: it would fill the next heap as well.
        """
        header = self.header
        return 2 * self.migrated < header[tables.N_SETS] and any(header[used] > most for used, most in self.nearly_full)

    def touch(self, name: str, size: int) -> None:
        """Touch the first `size` bytes of an array."""
        touch(self.arrays[name], size)
        if name in GROWING:
            self.at_hand[name] = size

    def touch_ahead(self) -> None:
        """Touch more of the growing arrays that will soon need it, and add rows: no mask waits for cleared pages."""
        for name, counter in GROWING.items():
            array, at_hand = self.arrays[name], self.at_hand[name]
            if int(self.header[USED[counter]]) * array.dtype.itemsize * array[0].size + AHEAD > at_hand:
                touch(array.reshape(-1).view(np.uint8)[at_hand:], LARGE_PAGE)
                self.at_hand[name] += LARGE_PAGE
        if self.header[tables.N_ROWS] + ROWS_AT_ONCE > self.header[tables.MAX_ROWS]:
            self.masks.add_rows(self.header)

    def used_bytes(self) -> dict[str, int]:
        """How much is in use of each array that is the heap's own; hash tables count as full."""
        entries = {name: int(self.header[USED[counter]]) for name, counter in GROWING.items()}
        used = {name: count * self.arrays[name][:1].nbytes for name, count in entries.items()}
        return used | {name: self.arrays[name].nbytes for name in ("set_index", "completions")}

    def items_of(self, number: int) -> NDArray[Any]:
        """A copy of the items of a set."""
        record = self.arrays["sets"][number]
        return self.arrays["items"][record["first"] : record["first"] + record["size"]].copy()


def carry_shapes(old: Heap, heap: Heap) -> bool:
    """Make the shapes and tails known to a new heap with the same masks. False if they do not fit."""
    for name in ("shapes", "groups", "branches", "tails", "arena", "masks"):
        heap.header[USED[name]] = old.header[USED[name]]
    heap.header[tables.N_ROWS] = old.header[tables.N_ROWS]
    old.header[tables.CARRIED] = 1
    heap.masks.arrays["tail_index"][:] = 0
    return bool(carry_over(heap.address, old.address) != FULL)


def text_kernels() -> tuple[Callable[..., int], Callable[..., int]]:
    """The two kernels that a text needs all the time: `advance`, of (heap, set, token), and `fill`, of (heap, set,
    address of a row)."""
    return direct(earley.advance, 3), direct(mask.fill, 3)


class Store:
    """All that one vocabulary's grammars share; `lock` guards every kernel call on it."""

    def __init__(self, vocabulary: Vocabulary, features: int = 0, states: int = STATES, edges: int = EDGES) -> None:
        self.lock = threading.RLock()
        self.advance, self.fill = text_kernels()
        self.features = features
        self.layouts: set[str] = set()
        """Those of JSON Schema whose common shapes are walked (`matcher.common_shapes`)."""
        self.replaced = False
        """Whether the vocabulary has a newer store, because the tables of this one are full."""
        self.set_limit = SETS
        self.words = vocabulary.words
        self.size = vocabulary.size
        self.eos_ids = vocabulary.eos_ids
        self.vocabulary = weakref.ref(vocabulary)
        trie = vocabulary.trie
        self.fixed: dict[str, NDArray[Any]] = {
            "trie_nodes": trie.nodes,
            "child_bytes": trie.child_bytes,
            "subtrees": trie.subtrees,
            "children": trie.children,
            "trie_ids": trie.token_ids,
            "all_tokens": pack(trie.token_ids, vocabulary.size),
            "trie_parent": trie.parent,
            "token_begun": np.repeat(trie.nodes["begun"][:-1], np.diff(trie.nodes["first_token"])),
            "byte_kinds": byte_kinds(),
            "kind_bytes": kind_chains(),
            "nodes_of_byte": trie.nodes_of_byte,
            "byte_begin": trie.byte_begin,
            "token_data": vocabulary.bytes_data if len(vocabulary.bytes_data) else np.zeros(1, np.uint8),
            "token_begin": vocabulary.bytes_offsets,
            "eos_ids": np.asarray(vocabulary.eos_ids, dtype=np.int32),
        }
        self.tables = Tables(states, edges, has_large_pages(vocabulary))
        self.heap = self.new_heap(Masks(vocabulary), None)
        tokens = max(self.size, TOUCHED_FOR) if self.masks.large_pages else self.size
        for name, share in TOUCHED_AT_ONCE.items():
            self.heap.touch(name, share * tokens)
        for _ in range(ROW_BLOCKS_AT_ONCE):
            self.masks.add_rows(self.heap.header)

    @property
    def masks(self) -> Masks:
        """The masks that the heap uses."""
        return self.heap.masks

    def new_heap(self, masks: Masks, old: Heap | None) -> Heap:
        """A fresh heap. With `old`, as much of it is touched as was used there."""
        heap = Heap(self.tables.arrays | self.fixed, masks, self.set_limit)
        if old is not None:
            for name, used in old.used_bytes().items():
                heap.touch(name, used)
        heap.header[tables.FEATURES] = self.features
        heap.header[tables.WORDS] = self.words
        heap.header[tables.VOCABULARY_SIZE] = self.size
        return heap

    def new_masks(self) -> Masks:
        """Fresh masks."""
        vocabulary = self.vocabulary()
        assert vocabulary is not None  # whoever asks for a mask holds it
        return Masks(vocabulary)

    def retire(self, live: int, fresh_masks: bool) -> None:
        """Replace the heap (and the masks) because something is full. `live` sets will be carried over.

        An error or an interruption may come between any two instructions. So the heap is replaced at the very end, and
        until then the old one goes on. But its masks do not once their shapes may have the sets of the new heap
        (CARRIED): then this is done once more, with fresh masks.
        """
        old = self.heap
        # Most of the new heap stays free after the move, or it would be full again at once.
        carried = live + int(old.header[tables.N_SHAPES]) + int(old.header[N_TAILS])
        while self.set_limit < 4 * carried:
            self.set_limit *= 2
        walks_concrete_sets = self.features & tables.OFF_SHAPES
        fresh_masks = bool(fresh_masks or walks_concrete_sets or old.header[tables.CARRIED])
        if fresh_masks or old.masks.is_crowded(old.header):
            heap = self.new_heap(self.new_masks(), old)
        else:
            heap = self.new_heap(old.masks, old)
            if not carry_shapes(old, heap):
                heap = self.new_heap(self.new_masks(), None)
        self.heap = heap

    def call(self, owner: Any, kernel: Callable[..., int], *arguments: Any) -> int:
        """Run a kernel on the current heap for `owner` (a matcher), making room as often as needed.

        The kernel gets the header, the owner's current set, then `arguments`. The caller
        holds the lock. Raises LimitError if what is asked for does not fit at all.
        """
        attempt = -1
        while attempt < LAST_ATTEMPT or self.set_limit < MANY_SETS:
            attempt += 1
            if self.heap.header[tables.CARRIED]:
                self.retire(owner.live_sets(), fresh_masks=True)
            if owner.heap is not self.heap and not owner.migrate(self.heap):
                self.set_limit *= 2
                self.retire(owner.live_sets(), fresh_masks=False)
                continue
            header = self.heap.header
            header[tables.WORK_LEFT] = MAX_WORK
            header[tables.OVERFLOW] = 0
            status = kernel(self.heap.address, owner.number, *arguments)
            while status == NO_ROW and self.masks.add_rows(header):
                status = kernel(self.heap.address, owner.number, *arguments)
            if status != FULL and status != NO_ROW:
                return int(status)
            if header[tables.OVERFLOW]:
                much = f"{MAX_WORK} steps" if header[tables.WORK_LEFT] < 0 else f"{WORKLIST} Earley items at once"
                raise LimitError(f"the grammar is too ambiguous here: more than {much}")
            if attempt > 0:
                self.set_limit *= 2
            self.retire(owner.live_sets(), fresh_masks=attempt > 0 or status == NO_ROW)
        raise LimitError("the matcher's memory budget is too small for this grammar and text")
