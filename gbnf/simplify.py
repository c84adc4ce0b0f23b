r"""Rewritings of expressions that keep the language and take ways to read it away.

A matcher follows every way in which a text can be read, so an expression with one way is
the fastest. Three rewritings cover what people write in patterns:

    (a|)            ->  a?
    (a{i,j}){m,n}   ->  a{im,jn}      if the counts in between have no gaps, and are no larger than a count may be
    (a b){m,n} a    ->  a (b a){m,n}  the last a need not be told from the first

The second turns `(a?){3}` or `([a-z]+)*` into one counter, the third lists such as
`(?:\S+\s+){0,99}\S+`.
"""

from __future__ import annotations

from .grammar import EMPTY, MAX_COUNT, Alternatives, Expression, Repeat, Sequence, alternatives, fold, repeat, sequence

__all__ = ["simplify"]

MAX_DEPTH = 50
"""Deeper expressions are left alone: comparing their parts would recurse."""


def simplify(expression: Expression) -> Expression:
    """The same language with fewer ways to read it."""
    return expression if fold(expression, _depth) > MAX_DEPTH else fold(expression, _simplify)


def _depth(_: Expression, parts: list[int]) -> int:
    return 1 + max(parts, default=0)


def _simplify(node: Expression, parts: list[Expression]) -> Expression:
    match node:
        case Sequence():
            return _rotate(parts)
        case Alternatives():
            return _without_empty(parts)
        case Repeat(_, minimum, maximum):
            return _flat_repeat(parts[0], minimum, maximum)
        case _:
            return node


def _without_empty(choices: list[Expression]) -> Expression:
    """An empty choice makes the others optional."""
    flat = alternatives(choices)
    if not isinstance(flat, Alternatives) or EMPTY not in flat.choices:
        return flat
    others = alternatives(choice for choice in flat.choices if choice != EMPTY)
    return _flat_repeat(others, 0, 1)


def _flat_repeat(item: Expression, minimum: int, maximum: int | None) -> Expression:
    """One counter for two, if every count between the extremes is possible.

    k rounds of i to j give ik to jk; the next round begins at i(k + 1). There is no gap
    after k rounds if jk + 1 >= i(k + 1), and if there is none after the first k, there
    is none later.
    """
    if not isinstance(item, Repeat) or maximum == 0:
        return repeat(item, minimum, maximum)
    low, high = item.minimum, item.maximum
    # Without a maximum, no rounds at all (k = 0) still have only one count.
    reach = minimum * high if high is not None else (0 if minimum == 0 else None)
    if minimum != maximum and reach is not None and reach + 1 < low * (minimum + 1):
        return repeat(item, minimum, maximum)
    longest = None if high is None or maximum is None else high * maximum
    if max(low * minimum, longest or 0) > MAX_COUNT:
        return repeat(item, minimum, maximum)
    return repeat(item.item, low * minimum, longest)


def _rotate(parts: list[Expression]) -> Expression:
    """`(a b){m,n} a` is `a (b a){m,n}`."""
    flat = sequence(parts)
    if not isinstance(flat, Sequence):
        return flat
    items = list(flat.items)
    for at, part in enumerate(items[:-1]):
        if isinstance(part, Repeat) and isinstance(part.item, Sequence) and part.item.items[0] == items[at + 1]:
            first, *others = part.item.items
            items[at] = first
            items[at + 1] = repeat(sequence([*others, first]), part.minimum, part.maximum)
    return sequence(items)
