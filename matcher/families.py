"""Families: where characters of some kinds lead from a set, again and again.

A set may have no loop and still take nearly every text. Of a key that must contain a letter, a character that is no
letter leads back, and a letter to a set that takes anything; a pattern with a `maxLength` has a state for each length.
So go on from the set, one character after another, over the kinds of characters that all sets met so far take. If no
new set is met any more, the family is *closed*, and any text of such characters may follow. If some set takes no more
of them, or if there are too many sets, texts of so many characters may.
"""

from __future__ import annotations

from .branch import limit
from .calls import is_text
from .characters import BROKEN, first_tail, span
from .earley import expand, step
from .jit import int64, kernel, linked
from .loops import ALONE, LEVEL, UNBOUNDED
from .moves import has_exceptions
from .tables import (
    DEAD,
    FAMILY_SIZE,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    LINK_ALL_JOIN,
    LINK_FAMILY,
    NEXT_FAMILY,
    OFF_FAMILIES,
    UNKNOWN,
    VISITED,
    byte_kinds,
    families,
    family,
    head,
    items,
    sets,
    states,
)
from .worklist import Heap

PRICE = 512
"""A walk looks for a family after each so many nodes at which it did not know what to do (VISITED), so that this takes
a part of its time."""
FEW_ITEMS = 4
"""Sets of more items have no family: stepping from each to each takes too long."""


@kernel
def takes_all(h: Heap, number: int, kinds: int, most: int) -> int:
    """LEVEL if every text of characters of some kinds (bits), at most so many, may follow a set; or ALONE, or FULL.

    No frame is completed into a hole on the way either, so a subtree of such characters has tokens, and no exits.
    """
    known = families(h)[number]
    if known["depth"] == 0:
        unfit = sets(h)[number]["flags"] & (HAS_EXIT | HAS_SYMBOLIC) or head(h)[FEATURES] & OFF_FAMILIES
        if unfit or head(h)[VISITED] < head(h)[NEXT_FAMILY]:
            return ALONE
        head(h)[NEXT_FAMILY] = head(h)[VISITED] + limit(h, PRICE)
        if meet_family(h, number) == FULL:
            return FULL
    return LEVEL if (kinds & ~known["kinds"]) == 0 and most <= known["depth"] else ALONE


@linked(LINK_FAMILY)
def meet_family(h: Heap, number: int) -> int:
    """Find the family of a set, and note for each member what may follow it. Returns 0 or FULL."""
    families(h)[number]["depth"] = UNBOUNDED  # of no kind
    text = reads_text(h, number)
    if text != 1:
        return text
    members = family(h)
    members[0, 0] = number
    members[0, 1] = 0
    head(h)[FAMILY_SIZE] = 1
    kinds = (int64(1) << BROKEN) - 1
    depth = int64(0)
    first = int64(0)  # of those that are met after `depth` characters, and not before
    while first < head(h)[FAMILY_SIZE] <= len(members):
        end = head(h)[FAMILY_SIZE]
        kept = kinds
        for m in range(first, end):
            if kept != FULL:
                kept = join_after(h, members[m, 0], kept, depth + 1)
        if kept == FULL:
            return FULL
        if kept == 0 or (depth > 0 and 2 * count_bits(kept) < count_bits(kinds)):
            head(h)[FAMILY_SIZE] = end
            break
        kinds = kept
        depth += 1
        first = end
    closed = first == head(h)[FAMILY_SIZE]
    for m in range(min(head(h)[FAMILY_SIZE], len(members))):
        known = families(h)[members[m, 0]]
        left = int64(UNBOUNDED) if closed else depth - members[m, 1]
        if known["kinds"] == 0 and left > 0:
            known["kinds"] = kinds
            known["depth"] = left
    return 0


@kernel
def reads_text(h: Heap, number: int) -> int:
    """Whether many different bytes can follow a set, and it is no text with exceptions or a count: 1, 0 or FULL."""
    known = families(h)[number]
    if known["text"] == 0:
        if expand(h, number) == FULL:
            return FULL
        known["text"] = 2 if is_text(h, number) and not has_many(h, number) else 1
    return int(known["text"] - 1)


@kernel
def has_many(h: Heap, number: int) -> bool:
    """Whether a set (expanded) counts units or has exceptions, so that characters lead to many different sets.

    Or whether it has many items.
    """
    record = sets(h)[number]
    if record["size"] > FEW_ITEMS:
        return True
    for i in range(record["closure_first"], record["closure_first"] + record["closure_size"]):
        if states(h)[items(h)[i]["state"]]["counter"] >= 0:
            return True
    return has_exceptions(h, number)


@kernel
def count_bits(bits: int) -> int:
    """How many bits of a non-negative number are set."""
    count = 0
    while bits != 0:
        bits &= bits - 1
        count += 1
    return count


@kernel
def join_after(h: Heap, number: int, kinds: int, depth: int) -> int:
    """Let the sets after a member join, for the kinds that it takes. Which these are, or FULL."""
    size = head(h)[FAMILY_SIZE]
    taken = taken_kinds(h, number, kinds, depth)
    if taken == kinds or taken == FULL or taken == 0:
        return taken
    head(h)[FAMILY_SIZE] = size  # some joined after characters of a kind that is not taken as a whole
    return taken_kinds(h, number, taken, depth)


@kernel
def taken_kinds(h: Heap, number: int, kinds: int, depth: int) -> int:
    """Which of some kinds a set takes, every character of the kind, and goes on reading a text. FULL without room.

    The sets after the characters join the family at this depth.
    """
    taken = int64(kinds)
    previous = int64(UNKNOWN)
    previous_tail = int64(-1)
    joined = int64(0)
    for byte in range(256):
        kind = int64(byte_kinds(h)[byte])
        if kind >= BROKEN or not (taken >> kind) & 1:
            continue
        after = step(h, number, byte)
        low, high, missing = first_tail(byte)
        tail = span(low, high) * 4 + missing
        if after != previous or tail != previous_tail:
            joined = int64(FULL)
            if after != FULL:
                joined = all_join(h, after, span(low, high), missing, depth)
            if joined == FULL:
                return FULL
            previous = after
            previous_tail = tail
        if joined == 0:
            taken &= ~(int64(1) << kind)
    return int(taken)


@linked(LINK_ALL_JOIN)
def all_join(h: Heap, after: int, bytes_: int, missing: int, depth: int) -> int:
    """Whether all ways to go on with so many continuation bytes lead to sets that read a text: 1, 0 or FULL.

    The first of the bytes is one of `bytes_` (`characters.span`). No set on the way may have an exit, since a token may
    end inside a character. The last ones join the family at this depth.
    """
    if after == DEAD or sets(h)[after]["flags"] & HAS_EXIT:
        return 0
    if missing == 0:
        join(h, after, depth)
        return reads_text(h, after)
    previous = int64(UNKNOWN)
    for byte in range(bytes_ >> 8, (bytes_ & 0xFF) + 1):
        following = step(h, after, byte)
        if following == FULL:
            return FULL
        if following != previous:
            previous = following
            status = all_join(h, following, span(0x80, 0xBF), missing - 1, depth)
            if status != 1:
                return int(status)
    return 1


@kernel
def join(h: Heap, number: int, depth: int) -> None:
    """Add a set to the family, unless it is there. One that has no room makes it too large."""
    members = family(h)
    size = head(h)[FAMILY_SIZE]
    for m in range(min(size, len(members))):
        if members[m, 0] == number:
            return
    if size < len(members):
        members[size, 0] = number
        members[size, 1] = depth
    head(h)[FAMILY_SIZE] = min(size + 1, len(members) + 1)
