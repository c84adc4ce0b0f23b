"""Arrays as text: prefixes, repetition, counted and distinct items.

[A, B], rest C, 1 to 5 items     A ("," B ("," C){0,3})?
contains X, 2 or more            a rule for each place (items so far, X so far), see `counting`
unique items of {a, b, c}        a rule for each set of values used so far
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from infernix.gbnf.errors import UnsupportedSchema
from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Expression,
    Literal,
    Rule,
    RuleRef,
    alternatives,
    repeat,
    sequence,
)

from .counting import Count
from .nodes import ArrayTerm, Values

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["array_body"]

MAX_RULES = 4096
"""At most this many rules for one array whose items are counted or must differ."""


def array_body(lowering: Lowering, term: ArrayTerm, pointer: str) -> Expression | None:
    """The text of the arrays of a term, brackets included; None if it has none."""
    maximum = term.maximum
    for position in range(len(term.prefix) + 1):
        if not term.at(position).productive:  # the array must end before a position without a value
            maximum = position if maximum is None else min(maximum, position)
            break
    if maximum is not None and maximum < term.minimum:
        return None
    differ = term.unique is not None and (maximum is None or maximum > 1)
    if term.count is not None:
        if differ:
            raise UnsupportedSchema("uniqueItems beside contains", term.unique or pointer)
        inner = _counted(lowering, term, term.count, maximum, pointer)
    elif differ:
        inner = _distinct(lowering, term, maximum, pointer)
    else:
        inner = _items(lowering, term, maximum, pointer)
    if inner == NOTHING:
        return None
    return sequence([Literal("["), lowering.layout.gap, inner, Literal("]")])


def _items(lowering: Lowering, term: ArrayTerm, maximum: int | None, pointer: str) -> Expression:
    """Prefix items, each of which may be the last one once the minimum is reached, then the rest."""
    if maximum == 0:
        return EMPTY
    layout = lowering.layout

    def item(position: int) -> Expression:
        return sequence([lowering.value(term.at(position)), layout.gap])

    length = len(term.prefix) if maximum is None else min(len(term.prefix), maximum)
    follow: Expression = EMPTY
    if maximum is None or maximum > length:
        done = max(length, 1)  # without a prefix, the first item stands before the repetition
        most = None if maximum is None else maximum - done
        follow = repeat(sequence([layout.comma, item(length)]), max(term.minimum - done, 0), most)
    for position in range(length - 1, 0, -1):
        follow = sequence([layout.comma, item(position), follow])
        if position >= term.minimum:
            follow = lowering.rule(pointer + "-items", repeat(follow, 0, 1))
    return repeat(sequence([item(0), follow]), int(term.minimum > 0), 1)


def _counted(lowering: Lowering, term: ArrayTerm, count: Count, maximum: int | None, pointer: str) -> Expression:
    """A rule for each place: see `counting`."""
    steps = count.steps(term.minimum, maximum)
    if steps is None:
        raise UnsupportedSchema("the counts of contains are too large", count.pointer)
    if count.start not in steps:
        return NOTHING
    layout = lowering.layout
    names = {place: lowering.reserve(pointer + "-items") for place in steps}
    for place, following in steps.items():
        comma = [layout.comma] if place[0] else []
        choices: list[Expression] = [EMPTY] if count.is_end(place, term.minimum) else []
        choices += [
            sequence([*comma, lowering.value(node), layout.gap, RuleRef(names[target])]) for node, target in following
        ]
        lowering.rules[names[place]] = Rule(names[place], alternatives(choices))
    return RuleRef(names[count.start])


def _distinct(lowering: Lowering, term: ArrayTerm, maximum: int | None, pointer: str) -> Expression:
    """A rule for each set of constants used so far."""
    terms = term.rest.terms or []
    assert len(terms) == 1
    assert isinstance(terms[0], Values)  # all else was refused when the term was made
    constants = terms[0].constants
    longest = len(constants) if maximum is None else min(maximum, len(constants))
    if term.minimum > longest:
        return NOTHING
    subsets = [0]
    for subset in subsets:  # grows while it is walked
        if subset.bit_count() < longest:
            subsets += [subset | 1 << bit for bit in range(subset.bit_length(), len(constants))]
        if len(subsets) > MAX_RULES:
            raise UnsupportedSchema("too many distinct values for uniqueItems", term.unique or pointer)
    layout = lowering.layout
    texts = [sequence([lowering.constant(value), layout.gap]) for value in constants]
    names = {subset: lowering.reserve(pointer + "-distinct") for subset in subsets}
    for subset, name in names.items():
        choices: list[Expression] = [EMPTY] if subset.bit_count() >= term.minimum else []
        if subset.bit_count() < longest:
            comma = [layout.comma] if subset else []
            choices += [
                sequence([*comma, text, RuleRef(names[subset | 1 << bit])])
                for bit, text in enumerate(texts)
                if not subset >> bit & 1
            ]
        lowering.rules[name] = Rule(name, alternatives(choices))
    return RuleRef(names[0])
