"""From a set to the tokens that may come next: shapes finished in context.

A set's shape (`matcher.shape`) says what it allows as far as its context does not matter.
The rest is worked out here:

* For each exit into a hole, complete the hole's goal in its real origin, and walk the merged
  trie below (`matcher.branch`) from the set that follows (`follow`).
* For each rule called from the start, the same with the shape of its beginning.
* With a symbolic count, let the set have done c units. A token that needs u more is legal if
  c + u <= maximum; leaving after u units, if also minimum <= c + u. Tokens are sorted by u,
  so each context takes a slice: no work grows with the bounds.
* A mask derived from a pivot starts as a copy of that set's mask.

**Description.** All this is a short list of integers, and it determines the mask. It is the
key under which finished masks are stored, dense or sparse, for all grammars of the vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .branch import expand_branch, take
from .earley import STEP, Heap, begin, complete, expand, intern, mix, push, step
from .jit import entry, int64, kernel, linked, words_at
from .shape import (
    NO_PIVOT,
    SPARSE_LIMIT,
    add_words,
    clear_words,
    copy_words,
    divide,
    least_count,
    list_holes,
    set_bit,
    shape_of,
    symbolic_counter,
)
from .tables import (
    DEAD,
    FEATURES,
    FULL,
    HAS_EXIT,
    KEY_SIZE,
    LINK_DESCRIBE,
    LINK_FIND_MASK,
    LINK_FOLLOW,
    MAX_ROWS,
    N_ARENA,
    N_FOLLOWS,
    N_MASKS,
    N_ROWS,
    NO_ROW,
    OFF_MEMO,
    UNKNOWN,
    WORDS,
    arena,
    bits,
    branches,
    counters,
    eos_ids,
    follows,
    groups,
    head,
    holes,
    key,
    mask_index,
    masks,
    moves,
    path,
    rows,
    rules,
    sets,
    shapes,
    trie_ids,
)

ALL_UNITS = 1 << 29
"""A slice's upper bound that excludes nothing."""
NO_BUDGET = -1
NO_MASK = -1
LONG_FOLLOW = 32
"""More alive branches than this below one exit are remembered."""

# The description of a mask: 1 if the text may end, the number of components, three words for each
# component (shape, budget, mask of its pivot), then three for each alive branch with tokens: its
# number, and the first and the end of a slice of its tokens. The components are the shapes of the
# set's parts and of the rules called from them.
END_WORD, COMPONENTS_WORD, FIRST_COMPONENT = 0, 1, 2
TRIPLE = 3


# ── Describing ──────────────────────────────────────────────────────────────────────────


@kernel
def write_key(h: Heap, value: int) -> None:
    """Append to the description of a mask. What has no room is dropped; `describe` notices."""
    size = head(h)[KEY_SIZE]
    if size < len(key(h)):
        key(h)[size] = value
        head(h)[KEY_SIZE] = size + 1


@kernel
def units_left(h: Heap, counter: int, done: int) -> tuple[int, int]:
    """How many units more a counter must count at least and may count at most, with `done` done."""
    if counter < 0:
        return int64(0), int64(ALL_UNITS)
    bounds = counters(h)[counter]
    least = max(int64(0), bounds["minimum"] - done)
    most = int64(ALL_UNITS)
    if bounds["maximum"] >= 0:
        most = bounds["maximum"] - done
    return least, most


@kernel
def budget_of(h: Heap, shape: int, most: int) -> int:
    """What `most` units mean for the base of a shape: NO_BUDGET if all of it is allowed."""
    record = shapes(h)[shape]
    if not record["symbolic"] or most >= record["max_need"]:
        return NO_BUDGET
    return most


@linked(LINK_DESCRIBE)
def describe(h: Heap, number: int) -> int:
    """Write the description of a set's mask into `key`; `prepare` has done its components. Returns 0 or FULL."""
    record = sets(h)[number]
    head(h)[KEY_SIZE] = 0
    write_key(h, 1 if record["flags"] & HAS_EXIT else 0)
    write_key(h, 0)
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        describe_component(h, part)
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            describe_component(h, called(h, part, arena(h)[c]))
    key(h)[COMPONENTS_WORD] = (head(h)[KEY_SIZE] - FIRST_COMPONENT) // TRIPLE
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        if describe_exits(h, part) == FULL:
            return FULL
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            if describe_exits(h, called(h, part, arena(h)[c])) == FULL:
                return FULL
    return FULL if head(h)[KEY_SIZE] >= len(key(h)) else 0


@kernel
def called(h: Heap, part: int, rule: int) -> int:
    """The set of the beginning of a rule called from a part. FULL without room."""
    begin(h, STEP)
    push(h, STEP, rules(h)[rule], rule, part, 0)
    return intern(h)


@kernel
def component_units(h: Heap, component: int, shape: int) -> tuple[int, int]:
    """How many units more a component must and may count, if its shape is symbolic."""
    if not shapes(h)[shape]["symbolic"]:
        return int64(0), int64(ALL_UNITS)
    counter = symbolic_counter(h, component)
    return units_left(h, counter, least_count(h, component, counter))


@kernel
def describe_component(h: Heap, component: int) -> None:
    """Describe what the shape of a component contributes."""
    shape = int64(sets(h)[component]["shape"])
    _, most = component_units(h, component, shape)
    write_key(h, shape)
    write_key(h, budget_of(h, shape, most))
    pivot = shapes(h)[shape]["pivot"]
    write_key(h, NO_MASK if pivot == NO_PIVOT else sets(h)[step(h, component, pivot)]["mask"])


@kernel
def describe_exits(h: Heap, component: int) -> int:
    """Describe what is alive below the exits of a component. Returns 0 or FULL."""
    shape = int64(sets(h)[component]["shape"])
    record = shapes(h)[shape]
    least, most = component_units(h, component, shape)
    used = list_holes(h, component)
    for g in range(record["group_first"], record["group_first"] + record["group_size"]):
        group = groups(h)[g]
        if group["hole"] < used:
            goal, origin = holes(h)[group["hole"], 0], holes(h)[group["hole"], 1]
            if leave(h, group, origin, goal, least, most) == FULL:
                return FULL
    return 0


@kernel
def leave(h: Heap, group: Any, origin: int, goal: int, least: int, most: int) -> int:
    """Describe what is alive below a group's exits once `goal` is completed for `origin`. Returns 0 or FULL."""
    branch = int64(group["branch"])
    if not group["counted"]:
        least, most = int64(0), int64(ALL_UNITS)
    after = complete(h, origin, goal)
    if after == FULL:
        return FULL
    if after == DEAD:
        return 0
    memo = follows(h)
    limit = len(memo) - 1
    slot = mix(int64(branch) * 65599 + after) & limit
    while memo[slot, 0] != 0:
        if memo[slot, 0] == branch + 1 and memo[slot, 1] == after:
            for i in range(memo[slot, 2], memo[slot, 2] + memo[slot, 3]):
                describe_branch(h, arena(h)[i], least, most)
            return 0
        slot = (slot + 1) & limit
    size = follow(h, branch, after)
    if size == FULL:
        return FULL
    for i in range(size):
        describe_branch(h, path(h)[i, 0], least, most)
    if size <= LONG_FOLLOW:
        return 0
    first = take(h, size)
    if first == FULL or 2 * head(h)[N_FOLLOWS] > limit:
        return FULL
    for i in range(size):
        arena(h)[first + i] = path(h)[i, 0]
    memo[slot, 0] = branch + 1
    memo[slot, 1] = after
    memo[slot, 2] = first
    memo[slot, 3] = size
    head(h)[N_FOLLOWS] += 1
    return 0


@linked(LINK_FOLLOW)
def follow(h: Heap, branch: int, number: int) -> int:
    """Walk the branches below an exit from the set that follows it.

    Leaves the alive branches in the first column of `path` and returns how many, or FULL.
    """
    found = path(h)
    found[0, 0] = branch
    found[0, 1] = number
    size = 1
    done = 0
    while done < size:
        branch = found[done, 0]
        before = found[done, 1]
        done += 1
        if branches(h)[branch]["member_size"] == 0:
            continue
        if expand_branch(h, branch) == FULL or expand(h, before) == FULL:
            return FULL
        first = branches(h)[branch]["child_first"]
        for c in range(branches(h)[branch]["child_size"]):
            byte = arena(h)[first + 2 * c]
            after = int64(moves(h)[before, byte])
            if after == UNKNOWN:
                after = step(h, before, byte)
                if after == FULL:
                    return FULL
            if after == DEAD:
                continue
            if size >= len(found):
                return FULL
            found[size, 0] = arena(h)[first + 2 * c + 1]
            found[size, 1] = after
            size += 1
    return size


@kernel
def describe_branch(h: Heap, number: int, least: int, most: int) -> None:
    """Add to the description the tokens of an alive branch whose units lie in [least, most]."""
    branch = branches(h)[number]
    words = arena(h)
    first = int64(0)
    end = int64(branch["token_size"])
    while first < end and words[branch["token_first"] + 2 * first + 1] < least:
        first += 1
    while first < end and words[branch["token_first"] + 2 * end - 1] > most:
        end -= 1
    if first < end:
        write_key(h, number)
        write_key(h, first)
        write_key(h, end)


# ── Finished masks ──────────────────────────────────────────────────────────────────────


@kernel
def mask_of(h: Heap, number: int) -> int:
    """The finished mask of a set. FULL or NO_ROW without room."""
    record = sets(h)[number]
    if record["mask"] >= 0 and not head(h)[FEATURES] & OFF_MEMO:
        return int64(record["mask"])
    if divide(h, number) == FULL:
        return FULL
    for p in range(record["part_first"], record["part_first"] + record["part_size"]):
        part = int64(arena(h)[p])
        status = prepare(h, part)
        if status < 0:
            return status
        calls = shapes(h)[sets(h)[part]["shape"]]
        for c in range(calls["call_first"], calls["call_first"] + calls["call_size"]):
            status = prepare(h, called(h, part, arena(h)[c]))
            if status < 0:
                return status
    return described_mask(h, number)


@kernel
def prepare(h: Heap, component: int) -> int:
    """See to it that a component has its shape, and the pivot of the shape its mask. 0, FULL or NO_ROW."""
    if component == FULL:
        return FULL
    shape = shape_of(h, component)
    if shape < 0:
        return shape
    if shapes(h)[shape]["pivot"] == NO_PIVOT:
        return 0
    pivot = step(h, component, shapes(h)[shape]["pivot"])
    if pivot == FULL:
        return FULL
    mask = plain_mask(h, pivot)
    return mask if mask < 0 else 0


@kernel
def described_mask(h: Heap, number: int) -> int:
    """The mask of a set whose parts have shapes, and their pivots masks. FULL or NO_ROW without room."""
    status = describe(h, number)
    if status < 0:
        return status
    mask = find_mask(h)
    if mask >= 0:
        sets(h)[number]["mask"] = mask
    return mask


@kernel
def plain_mask(h: Heap, number: int) -> int:
    """The mask of a pivot: one item, whose shape has no pivot and no calls. FULL or NO_ROW without room."""
    if sets(h)[number]["mask"] >= 0:
        return int64(sets(h)[number]["mask"])
    if divide(h, number) == FULL:
        return FULL
    shape = shape_of(h, number)
    if shape < 0:
        return shape
    return described_mask(h, number)


@linked(LINK_FIND_MASK)
def find_mask(h: Heap) -> int:
    """The mask that `key` describes: a stored one, or a new one. FULL or NO_ROW without room."""
    size = head(h)[KEY_SIZE]
    digest = int64(size)
    for i in range(size):
        digest = mix(digest * 31 + key(h)[i] + 1)
    index = mask_index(h)
    limit = len(index) - 1
    slot = digest & limit
    while index[slot] != 0:
        if has_key(h, index[slot] - 1, digest):
            return int64(index[slot] - 1)
        slot = (slot + 1) & limit
    if head(h)[N_ROWS] >= head(h)[MAX_ROWS]:
        return NO_ROW
    mask = head(h)[N_MASKS]
    first = take(h, size)
    if first == FULL or mask >= len(masks(h)):
        return FULL
    for i in range(size):
        arena(h)[first + i] = key(h)[i]
    record = masks(h)[mask]
    record["key_first"] = first
    record["key_size"] = size
    record["hash"] = digest
    if build_mask(h, mask) == FULL:
        return FULL
    head(h)[N_MASKS] = mask + 1
    index[slot] = mask + 1
    return mask


@kernel
def has_key(h: Heap, mask: int, digest: int) -> bool:
    """Whether a stored mask has exactly the description in `key`."""
    record = masks(h)[mask]
    if record["hash"] != digest or record["key_size"] != head(h)[KEY_SIZE]:
        return False
    for i in range(head(h)[KEY_SIZE]):
        if arena(h)[record["key_first"] + i] != key(h)[i]:
            return False
    return True


# ── Building ────────────────────────────────────────────────────────────────────────────


@kernel
def base_count(h: Heap, shape: int, budget: int) -> int:
    """How many tokens of a shape's base, sorted by need, a budget allows."""
    record = shapes(h)[shape]
    if budget == NO_BUDGET:
        return int64(record["base_size"])
    return int64(arena(h)[record["need_first"] + budget])


@kernel
def is_listed_base(h: Heap, shape: int, budget: int) -> bool:
    """Whether what a budget allows of a base is at hand as a list."""
    return budget != NO_BUDGET or shapes(h)[shape]["base_row"] < 0


@kernel
def first_triple(h: Heap) -> int:
    """Where the alive branches begin in `key`."""
    return FIRST_COMPONENT + TRIPLE * int64(key(h)[COMPONENTS_WORD])


@kernel
def build_mask(h: Heap, mask: int) -> int:
    """Build the mask that `key` describes, sparse if it is small. Returns 0 or FULL."""
    total = len(eos_ids(h))
    sparse = True
    for i in range(FIRST_COMPONENT, first_triple(h), TRIPLE):
        total += base_count(h, key(h)[i], key(h)[i + 1])
        sparse = sparse and key(h)[i + 2] == NO_MASK and is_listed_base(h, key(h)[i], key(h)[i + 1])
    for i in range(first_triple(h), head(h)[KEY_SIZE], TRIPLE):
        total += key(h)[i + 2] - key(h)[i + 1]
    if sparse and total <= SPARSE_LIMIT:
        return build_sparse(h, mask)
    row = words_at(rows(h)[head(h)[N_ROWS]], head(h)[WORDS])
    clear_words(row)
    for i in range(FIRST_COMPONENT, first_triple(h), TRIPLE):
        if key(h)[i + 2] != NO_MASK:
            add_pivot(h, key(h)[i], key(h)[i + 2], row)
        add_base(h, key(h)[i], key(h)[i + 1], row)
    add_outside(h, row)
    masks(h)[mask]["row"] = head(h)[N_ROWS]
    head(h)[N_ROWS] += 1
    return 0


@kernel
def add_base(h: Heap, shape: int, budget: int, row: np.ndarray) -> None:
    """Allow in `row` what a budget allows of a shape's base."""
    record = shapes(h)[shape]
    if not is_listed_base(h, shape, budget):
        add_words(row, words_at(rows(h)[record["base_row"]], head(h)[WORDS]))
        return
    allowed = base_count(h, shape, budget)
    first = int64(record["base_first"])
    if record["base_row"] < 0 or 2 * allowed < record["base_size"]:
        for t in range(first, first + allowed):
            set_bit(row, arena(h)[t])
        return
    # Nearly all of a large base: start from its row and take out the few that need too much.
    scratch = bits(h)
    copy_words(scratch, words_at(rows(h)[record["base_row"]], head(h)[WORDS]))
    for t in range(first + allowed, first + record["base_size"]):
        clear_bit(scratch, arena(h)[t])
    add_words(row, scratch)
    clear_words(scratch)


@kernel
def add_pivot(h: Heap, shape: int, mask: int, row: np.ndarray) -> None:
    """Allow in `row` a pivot's mask without what does not hold for this shape: EOS, and the cleared tokens."""
    scratch = bits(h)
    write_mask(h, mask, scratch)
    for i in range(len(eos_ids(h))):
        clear_bit(scratch, eos_ids(h)[i])
    record = shapes(h)[shape]
    for i in range(record["clear_first"], record["clear_first"] + 2 * record["clear_size"], 2):
        for t in range(arena(h)[i], arena(h)[i + 1]):
            clear_bit(scratch, trie_ids(h)[t])
    add_words(row, scratch)
    clear_words(scratch)


@kernel
def clear_bit(row: np.ndarray, token: int) -> None:
    """Forbid a token in a mask row."""
    row[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))


@kernel
def add_outside(h: Heap, row: np.ndarray) -> None:
    """Allow in `row` the described tokens that leave their shape, and EOS where the text may end."""
    if key(h)[END_WORD]:
        for i in range(len(eos_ids(h))):
            set_bit(row, eos_ids(h)[i])
    for i in range(first_triple(h), head(h)[KEY_SIZE], TRIPLE):
        first = branches(h)[key(h)[i]]["token_first"]
        for t in range(key(h)[i + 1], key(h)[i + 2]):
            set_bit(row, arena(h)[first + 2 * t])


@kernel
def build_sparse(h: Heap, mask: int) -> int:
    """Build a small mask as pairs (word index, word bits). Returns 0 or FULL."""
    row = bits(h)
    first = head(h)[N_ARENA]
    if first + 2 * (SPARSE_LIMIT + 1) > len(arena(h)):
        return FULL
    for i in range(FIRST_COMPONENT, first_triple(h), TRIPLE):
        start = shapes(h)[key(h)[i]]["base_first"]
        for t in range(start, start + base_count(h, key(h)[i], key(h)[i + 1])):
            set_bit(row, arena(h)[t])
    add_outside(h, row)
    # The same tokens once more: each one's word, when first met, is moved into the list.
    size = 0
    for i in range(FIRST_COMPONENT, first_triple(h), TRIPLE):
        start = shapes(h)[key(h)[i]]["base_first"]
        for t in range(start, start + base_count(h, key(h)[i], key(h)[i + 1])):
            size = move_word(h, first, size, arena(h)[t] >> 5)
    if key(h)[END_WORD]:
        for i in range(len(eos_ids(h))):
            size = move_word(h, first, size, eos_ids(h)[i] >> 5)
    for i in range(first_triple(h), head(h)[KEY_SIZE], TRIPLE):
        tokens = branches(h)[key(h)[i]]["token_first"]
        for t in range(key(h)[i + 1], key(h)[i + 2]):
            size = move_word(h, first, size, arena(h)[tokens + 2 * t] >> 5)
    head(h)[N_ARENA] = first + 2 * size
    masks(h)[mask]["row"] = -1
    masks(h)[mask]["first"] = first
    masks(h)[mask]["size"] = size
    return 0


@kernel
def move_word(h: Heap, first: int, size: int, word: int) -> int:
    """Move a word of the scratch row, if it is not zero, to the list at `first`. Returns the list's size."""
    value = int64(bits(h)[word])
    if value == 0:
        return size
    bits(h)[word] = 0
    arena(h)[first + 2 * size] = word
    arena(h)[first + 2 * size + 1] = value if value < 0x80000000 else value - 0x100000000
    return size + 1


@entry
def write_mask(h: Heap, mask: int, out: Any) -> None:
    """Write a finished mask into a caller's row `uint32[words]`."""
    record = masks(h)[mask]
    if record["row"] >= 0:
        copy_words(out, words_at(rows(h)[record["row"]], head(h)[WORDS]))
        return
    clear_words(out)
    for i in range(record["first"], record["first"] + 2 * record["size"], 2):
        out[arena(h)[i]] = np.uint32(int64(arena(h)[i + 1]) & 0xFFFFFFFF)


@entry
def fill(h: Heap, number: int, out: Any) -> int:
    """Write the mask of a set into `out`. Returns the mask, or FULL or NO_ROW without room."""
    mask = mask_of(h, number)
    if mask >= 0:
        write_mask(h, mask, out)
    return mask
