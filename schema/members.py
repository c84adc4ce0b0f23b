"""Objects as text: declared properties in order, then the other keys.

An object is a list of *slots*: a declared property is required or optional, the other keys
are one slot that repeats. The difficulty is the comma, which separates members that may be
absent, which the grammar has an expression for (`Joined`). Where their number is bounded, there is a rule for each
pair (slot, members so far).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from infernix.gbnf.errors import UnsupportedSchema
from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Expression,
    Literal,
    alternatives,
    joined,
    repeat,
    sequence,
)

from .document import json_text_of
from .emptiness import is_empty
from .json_text import JSON_STRING
from .nodes import Kind, ObjectTerm, Property
from .object_terms import names_listed
from .strings import StringLanguage, checker, json_text

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["object_body"]

MAX_FREE_ORDER = 4
"""So many required names that nobody declares may come in any order."""
MAX_COUNTING_RULES = 65_536
"""At most this many rules for one object whose members are counted."""


class _Slot(NamedTuple):
    """A member of an object: at least `minimum` times (0 or 1), at most once unless it `repeats`."""

    member: Expression
    minimum: int
    repeats: bool = False


def object_body(lowering: Lowering, term: ObjectTerm, pointer: str) -> Expression | None:
    """The text of the objects of a term, braces included; None if it has none."""
    declared = [*term.properties, *term.late]
    if any(item.required and not item.node.productive for item in declared):
        return None
    other = _kinds(lowering, term.others, pointer)
    needed = _kinds(lowering, term.needed, pointer) if term.needed else None
    if term.needed and needed is None:
        return None
    slots = [_property_slot(lowering, item) for item in term.properties if item.node.productive]
    late = [_property_slot(lowering, item).member for item in term.late]
    counts = _counts(term, other is not None)
    if counts is not None:
        if needed is not None:
            raise UnsupportedSchema("a count beside an undeclared property that must exist", term.counted)
        slots += [_Slot(member, 1) for member in late]
        inner = _counted(lowering, slots, other, counts, pointer)
    else:
        if late:
            slots.append(_Slot(_late_members(lowering, late, other, pointer), 1))
        elif other is not None:
            slots.append(_Slot(other, 0, repeats=True))
        if needed is not None:
            # At the very end: a reader that lets the last of equal keys win still finds it.
            slots.append(_Slot(needed, 1, repeats=True))
        inner = _members(lowering.layout.comma, slots)
    if inner == NOTHING:
        return None
    return sequence([Literal("{"), lowering.layout.gap, inner, Literal("}")])


def _property_slot(lowering: Lowering, item: Property) -> _Slot:
    member = lowering.layout.named(json_text_of(item.name), lowering.value(item.node))
    return _Slot(member, int(item.required))


def _kinds(lowering: Lowering, kinds: tuple[Kind, ...], pointer: str) -> Expression | None:
    """One undeclared member of the given kinds; None if there can be none."""
    alike = tuple((keys, lowering.alike.class_of(node)) for keys, node in kinds)
    if alike in lowering.kinds:
        return lowering.kinds[alike]
    forms = [
        sequence(lowering.layout.member(_key(lowering, keys), lowering.value(node)))
        for keys, node in kinds
        if node.productive and not _is_empty(keys)
    ]
    member = lowering.fresh_rule(pointer + "-other", alternatives(forms)) if forms else None
    lowering.kinds[alike] = member
    return member


def _late_members(lowering: Lowering, late: list[Expression], other: Expression | None, pointer: str) -> Expression:
    """Required members without a declared place, other members between them.

    A few of them may come in any order, by a rule for each set that has been written; more
    come in the order given.
    """
    comma = lowering.layout.comma
    others = repeat(sequence([comma, other]), 0, None) if other is not None else EMPTY
    before = repeat(sequence([other, comma]), 0, None) if other is not None else EMPTY
    if not 1 < len(late) <= MAX_FREE_ORDER:
        members = [part for member in late for part in (comma, member, others)][1:]
        return sequence([before, *members])
    full = (1 << len(late)) - 1
    follow: dict[int, Expression] = {full: others}
    for written in range(full - 1, 0, -1):
        next_one = alternatives(
            sequence([member, follow[written | 1 << index]])
            for index, member in enumerate(late)
            if not written >> index & 1
        )
        follow[written] = lowering.rule(pointer + "-late", sequence([others, comma, next_one]))
    first = alternatives(sequence([member, follow[1 << index]]) for index, member in enumerate(late))
    return sequence([before, first])


def _is_empty(keys: StringLanguage) -> bool:
    """Whether no key is left once the taken names are excluded."""
    return bool(keys.excluded) and keys != StringLanguage(excluded=keys.excluded) and is_empty(keys)


def _key(lowering: Lowering, keys: StringLanguage) -> Expression:
    """The text of a key of the language, quotes included."""
    if keys.is_free:
        return lowering.standard(JSON_STRING.name)
    for pattern in keys.patterns:
        names = names_listed(pattern)
        if names is not None:
            belongs = checker(keys)
            return alternatives(Literal(json_text_of(name)) for name in names if belongs(name))
    return json_text(keys)


def _counts(term: ObjectTerm, is_open: bool) -> tuple[int, int | None] | None:
    """The bounds on the number of members that are not met anyway; None if there are none.

    Repeated keys among the others cannot be told apart by a grammar, so at most one of the
    others may be needed to reach the minimum.
    """
    declared = [item for item in (*term.properties, *term.late) if item.node.productive]
    required = sum(item.required for item in declared) + bool(term.needed)
    minimum, maximum = term.minimum, term.maximum
    if minimum <= required:
        minimum = 0
    elif is_open and minimum > required + 1:
        reason = "minProperties would count keys that may repeat"
        raise UnsupportedSchema(reason, term.counted)
    if maximum is not None and not is_open and maximum >= len(declared):
        maximum = None
    return None if minimum == 0 and maximum is None else (minimum, maximum)


def _members(comma: Expression, slots: list[_Slot]) -> Expression:
    """Any choice of members in order, with commas between them."""
    items: list[tuple[Expression, bool]] = []
    for slot in slots:
        more = [repeat(sequence([comma, slot.member]), 0, None)] if slot.repeats else []
        items.append((sequence([slot.member, *more]), slot.minimum > 0))
    if not items:
        return EMPTY
    return joined(items, comma) if any(required for _, required in items) else repeat(joined(items, comma), 0, 1)


def _counted(
    lowering: Lowering,
    slots: list[_Slot],
    other: Expression | None,
    counts: tuple[int, int | None],
    pointer: str,
) -> Expression:
    """Members whose number is bounded: `rows[c]` is what may follow c members, from the last slot on."""
    minimum, maximum = counts
    comma = lowering.layout.comma
    # Beyond `top` members nothing depends on their number any more.
    top = min(maximum if maximum is not None else minimum, max(len(slots), minimum))
    if (top + 1) * len(slots) > MAX_COUNTING_RULES:
        raise UnsupportedSchema("too many properties to count", pointer)

    def joined(member: Expression, count: int) -> Expression:
        return sequence([comma, member]) if count else member

    rows = [_last(comma, other, count, minimum, maximum) for count in range(top + 1)]
    for position in reversed(range(len(slots))):
        slot = slots[position]
        rows = [
            _row(lowering, slot, joined(slot.member, count), rows, count, maximum, pointer)
            for count in range(min(top, position) + 1)
        ]
    return rows[0]


def _last(comma: Expression, other: Expression | None, count: int, minimum: int, maximum: int | None) -> Expression:
    """What may follow `count` declared members: the others, as many as the bounds leave."""
    least = max(minimum - count, 0)
    most = None if maximum is None else maximum - count
    if other is None:
        return NOTHING if least else EMPTY
    if most is not None and most < least:
        return NOTHING
    more = sequence([comma, other])
    if count:
        return repeat(more, least, most)
    if most == 0:
        return EMPTY
    some = sequence([other, repeat(more, max(least - 1, 0), None if most is None else most - 1)])
    return some if least else repeat(some, 0, 1)


def _row(
    lowering: Lowering,
    slot: _Slot,
    member: Expression,
    rows: list[Expression],
    count: int,
    maximum: int | None,
    pointer: str,
) -> Expression:
    """What may follow `count` members from this slot on: the slot's member or, if optional, not."""
    choices: list[Expression] = []
    if maximum is None or count < maximum:
        following = rows[min(count + 1, len(rows) - 1)]
        if following != NOTHING:
            choices.append(sequence([member, following]))
    if not slot.minimum and rows[count] != NOTHING:
        choices.append(rows[count])
    if not choices:
        return NOTHING
    body = alternatives(choices)
    return body if body == EMPTY else lowering.rule(pointer + "-count", body)
