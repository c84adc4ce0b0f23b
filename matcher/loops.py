"""Loops: which characters lead from a set back to itself, or to its shift.

The *shift* of a set has one unit more in some of its counts. A step from it leads to the shift of where the
step from the set leads, so what loops once, loops for ever. This holds

* for symbolic counts, in whose steps bounds play no part, if every item has one and no origin but a hole;
* for other counts as long as bounds play no part: from the minimum on, and before the maximum. One more thing
  may go wrong: an item without such a count can bring one forth, by completing what waits in its origin. That
  count is always the same one, so it would have to be that of the shift by chance. Hence the shift's own step is
  looked at too, where it would have to be the same again, and it cannot be: of two counts above
  the minimum a set keeps only the lower one (`matcher.sets`).
"""

from __future__ import annotations

from .characters import BROKEN, KINDS, first_tail, span
from .earley import step
from .jit import int64, kernel, linked
from .tables import (
    DEAD,
    EXIT,
    FEATURES,
    FULL,
    HAS_EXIT,
    HAS_SYMBOLIC,
    LINK_ALL_LEAD,
    LINK_ASK,
    OFF_LOOPS,
    SYMBOLIC,
    UNKNOWN,
    counters,
    head,
    items,
    kind_bytes,
    loops,
    sets,
    states,
)
from .worklist import Heap

ALONE, LEVEL, RISING = 0, 1, 2
"""What `stays` returns: some character leads elsewhere; all lead back or to a set as good; all lead to a shift
with one symbolic unit more."""
UNBOUNDED = 1 << 30
"""Characters that may follow without a count reaching its maximum: more than any token has."""


@kernel
def stays(h: Heap, number: int, kinds: int, most: int) -> int:
    """Whether all characters of some kinds (bits), at most so many in a row, lead from a set back to itself or
    to its shift. Or FULL."""
    known = loops(h)[number]
    if head(h)[FEATURES] & OFF_LOOPS or (kinds & known["asked"] & ~known["loops"]) != 0:
        return ALONE
    before = sets(h)[number]["shift_of"]
    if before != 0 and (kinds & ~known["asked"]) != 0:
        learn(h, number, before)
    unknown = int64(kinds & ~known["asked"])
    if unknown != 0:
        status = ask(h, number, unknown)
        if status != 1:
            return FULL if status == FULL else ALONE
    if (kinds & known["raises"]) == 0:
        return LEVEL
    if is_symbolic(h, number):
        return RISING
    return LEVEL if most < room(h, number) else ALONE


@kernel
def learn(h: Heap, number: int, before: int) -> None:
    """What leads from a set to its shift leads from the shift to its own shift."""
    raises = loops(h)[before]["raises"]
    known = loops(h)[number]
    known["asked"] |= raises
    known["loops"] |= raises
    known["raises"] |= raises


@linked(LINK_ASK)
def ask(h: Heap, number: int, kinds: int) -> int:
    """Find out about kinds that were not asked for yet, up to the first that does not loop. 1, 0 or FULL."""
    known = loops(h)[number]
    for kind in range(BROKEN + 1):
        if (kinds >> kind) & 1:
            target = kind_loops(h, number, kind)
            if target == FULL:
                return FULL
            bit = int64(1) << kind
            known["asked"] |= bit
            if target == DEAD:
                return 0
            known["loops"] |= bit
            if target != number:
                known["raises"] |= bit
                if sets(h)[target]["shift_of"] == 0:
                    sets(h)[target]["shift_of"] = number
    return 1


@kernel
def kind_loops(h: Heap, number: int, kind: int) -> int:
    """Where all characters of one kind lead from a set, if that is the set itself or its shift. DEAD if it is not.

    FULL without room.
    """
    target = kind_end(h, number, kind)
    if target == FULL or target == DEAD:
        return target
    if sets(h)[number]["flags"] & HAS_SYMBOLIC:
        if not is_symbolic(h, number):
            return target if target == number else int64(DEAD)
        return target if is_shift(h, number, target) else int64(DEAD)
    if target == number:
        return target
    if not is_shift(h, number, target):
        return DEAD
    second = kind_end(h, target, kind)
    if second == FULL or (second != DEAD and is_shift(h, target, second)):
        return target if second != FULL else FULL
    return DEAD


@kernel
def kind_end(h: Heap, number: int, kind: int) -> int:
    """The one set to which all characters of a kind lead, or DEAD if there is no such set. FULL without room."""
    target = int64(DEAD)
    byte = int64(kind_bytes(h)[kind])
    while byte >= 0:
        after = step(h, number, byte)
        if after == FULL:
            return FULL
        low, high, tails = first_tail(byte)
        if target == DEAD:
            target = first_end(h, after, low, tails)
            if target == FULL or target == DEAD:
                return target
        status = all_lead(h, after, span(low, high), tails, target)
        if status != 1:
            return FULL if status == FULL else DEAD
        byte = int64(kind_bytes(h)[KINDS + byte])
    return target


@kernel
def is_symbolic(h: Heap, number: int) -> bool:
    """Whether all items of a set have symbolic counts and holes for origins."""
    record = sets(h)[number]
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        if item["count"] < SYMBOLIC or item["origin"] >= 0:
            return False
    return True


@kernel
def is_shift(h: Heap, number: int, other: int) -> bool:
    """Whether one set is the shift of another: the same items, but those of some counters have one unit more.

    Counts that are not symbolic must be past their minimum, and all counts of one counter must agree.
    """
    record = sets(h)[number]
    shifted = sets(h)[other]
    if record["size"] != shifted["size"]:
        return False
    for i in range(record["size"]):
        a = items(h)[record["first"] + i]
        b = items(h)[shifted["first"] + i]
        if a["state"] != b["state"] or a["goal"] != b["goal"] or a["origin"] != b["origin"]:
            return False
        more = b["count"] - a["count"]
        if a["count"] >= SYMBOLIC:
            if more != 1:
                return False
        elif more != 0:
            counter = states(h)[a["state"]]["counter"]
            if more != 1 or counter < 0 or a["count"] < counters(h)[counter]["minimum"]:
                return False
        if i > 0 and not agree(h, record["first"], shifted["first"], i):
            return False
    return True


@kernel
def agree(h: Heap, first: int, shifted: int, i: int) -> bool:
    """Whether item i of a set is raised as an earlier item of the same counter is."""
    counter = states(h)[items(h)[first + i]["state"]]["counter"]
    if counter < 0:
        return True
    more = items(h)[shifted + i]["count"] - items(h)[first + i]["count"]
    for j in range(i):
        if states(h)[items(h)[first + j]["state"]]["counter"] == counter:
            return bool(items(h)[shifted + j]["count"] - items(h)[first + j]["count"] == more)
    return True


@kernel
def room(h: Heap, number: int) -> int:
    """How many units may follow before a count of a set reaches its maximum."""
    record = sets(h)[number]
    least = int64(UNBOUNDED)
    for i in range(record["first"], record["first"] + record["size"]):
        item = items(h)[i]
        counter = states(h)[item["state"]]["counter"]
        if item["state"] != EXIT and counter >= 0:
            maximum = counters(h)[counter]["maximum"]
            if maximum >= 0:
                least = min(least, int64(maximum - item["count"]))
    return least


@kernel
def first_end(h: Heap, after: int, low: int, tails: int) -> int:
    """The set after one of the characters whose first byte led to `after`. FULL without room."""
    for tail in range(tails):
        if after == FULL or after == DEAD:
            return after
        after = step(h, after, low if tail == 0 else 0x80)
    return after


@linked(LINK_ALL_LEAD)
def all_lead(h: Heap, after: int, bytes_: int, tails: int, target: int) -> int:
    """Whether all ways to go on with so many continuation bytes lead to `target`: 1, 0 or FULL.

    The first of them is one of `bytes_` (`characters.span`). The sets on the way must be alive as long as the target,
    and have no exits.
    """
    if tails == 0:
        return int64(after == target)
    if not is_inner(h, after, target):
        return 0
    previous = int64(UNKNOWN)
    for byte in range(bytes_ >> 8, (bytes_ & 0xFF) + 1):
        following = step(h, after, byte)
        if following != previous:
            if following == FULL:
                return FULL
            previous = following
            status = all_lead(h, following, span(0x80, 0xBF), tails - 1, target)
            if status != 1:
                return status
    return 1


@kernel
def settled(h: Heap, number: int, way: int) -> int:
    """The one set to which all ways to end a character lead from a set inside it (`Trie`'s `way`), or DEAD, or FULL."""
    known = loops(h)[number]
    if known["way"] != way:
        bytes_ = way >> 2
        target = first_end(h, number, bytes_ >> 8, way & 3)
        status = int64(0)
        if target != FULL and target != DEAD:
            status = all_lead(h, number, bytes_, way & 3, target)
        if target == FULL or status == FULL:
            return FULL
        known["settled"] = target if status == 1 else int64(DEAD)
        known["way"] = way
    return int64(known["settled"])


@kernel
def is_inner(h: Heap, number: int, target: int) -> bool:
    """Whether a set inside a character is as good as the target, apart from the character's missing bytes."""
    if number == DEAD:
        return False
    return bool(not sets(h)[number]["flags"] & HAS_EXIT and sets(h)[number]["need"] == sets(h)[target]["need"])
