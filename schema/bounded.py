"""Length bounds worked into an expression, where that needs no automaton.

Real patterns mostly imply their bounds or have one part of variable length:

    ^[0-9a-f]{8}$       36 characters at most     nothing to do
    ^[a-z]+$            at most 63                [a-z]{1,63}
    ^https://.+$        at most 2000              https://.{1,1992}
    ^$|^[a-z][a-z0-9]*$ at least 1                [a-z][a-z0-9]*
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Literal,
    Repeat,
    Sequence,
    alternatives,
    fold,
    repeat,
    sequence,
    without_fallback,
)

__all__ = ["bounded", "text_lengths"]

Lengths = tuple[int, int | None]
"""The length of the shortest and of the longest text; None: no longest."""

MAX_CASES = 16
"""Case distinctions made for one sequence before it is left to an automaton."""
MAX_LEVELS = 8
"""Alternatives and repetitions entered before an expression is left to an automaton."""


def text_lengths(expression: Expression) -> Lengths | None:
    """Bounds of the text lengths, or None if the language is empty.

    They are exact except that an `Automaton` node counts as unbounded.
    """
    return fold(expression, _lengths)


def _lengths(node: Expression, parts: list[Lengths | None]) -> Lengths | None:
    match node:
        case Literal(text):
            return len(text), len(text)
        case CharClass(ranges):
            return (1, 1) if ranges else None
        case Sequence():
            known = [part for part in parts if part is not None]
            return _sum(known) if len(known) == len(parts) else None
        case Alternatives():
            known = [part for part in parts if part is not None]
            if not known:
                return None
            longest = [part[1] for part in known if part[1] is not None]
            return min(part[0] for part in known), max(longest) if len(longest) == len(known) else None
        case Repeat(_, minimum, maximum):
            if parts[0] is None:
                return (0, 0) if minimum == 0 else None
            shortest, longest_item = parts[0]
            if longest_item == 0:
                return 0, 0
            unbounded = maximum is None or longest_item is None
            return shortest * minimum, None if unbounded else longest_item * maximum  # type: ignore[operator]
        case Automaton():
            least = _shortest(without_fallback(node))
            return None if least is None else (least, None)
        case _:
            raise TypeError(f"no expression over characters: {node}")


def _shortest(automaton: Automaton) -> int | None:
    """The length of a shortest text, None if there is none: states in the order of the shortest way to them."""
    lengths = {0: 0}
    order = [0]
    for state in order:  # grows while it is walked
        if state in automaton.accepting:
            return lengths[state]
        for _, _, target in automaton.edges[state]:
            if target not in lengths:
                lengths[target] = lengths[state] + 1
                order.append(target)
    return None


def _sum(parts: list[Lengths]) -> Lengths:
    longest = [part[1] for part in parts if part[1] is not None]
    return sum(part[0] for part in parts), sum(longest) if len(longest) == len(parts) else None


def bounded(expression: Expression, minimum: int, maximum: int | None, levels: int = MAX_LEVELS) -> Expression | None:
    """The texts of `minimum` to `maximum` characters, or None if that takes an automaton."""
    if minimum == 0 and maximum is None:
        return expression
    lengths = text_lengths(expression)
    if lengths is None:
        return NOTHING
    shortest, longest = lengths
    if (maximum is not None and shortest > maximum) or (longest is not None and longest < minimum):
        return NOTHING
    fits_above = maximum is None or (longest is not None and longest <= maximum)
    if shortest >= minimum and fits_above:
        return expression
    if levels == 0:
        return None
    match expression:
        case Alternatives(choices):
            parts = [bounded(choice, minimum, maximum, levels - 1) for choice in choices]
            return _union(parts)
        case Repeat():
            return _bounded_repeat(expression, minimum, maximum, levels)
        case Sequence(items):
            return _bounded_sequence(list(items), minimum, maximum, levels)
        case _:
            return None


def _union(parts: list[Expression | None]) -> Expression | None:
    known = [part for part in parts if part is not None and part != NOTHING]
    return alternatives(known) if all(part is not None for part in parts) else None


def _bounded_repeat(part: Repeat, minimum: int, maximum: int | None, levels: int) -> Expression | None:
    """Every round has the same length: the bounds become bounds of the counter."""
    lengths = text_lengths(part.item)
    if lengths is None or lengths[0] != lengths[1]:
        return _optional(part, minimum, maximum, levels)
    size = lengths[0]
    fewest = max(part.minimum, -(-minimum // size))
    most = part.maximum
    if maximum is not None:
        most = maximum // size if most is None else min(most, maximum // size)
    return repeat(part.item, fewest, most) if most is None or fewest <= most else NOTHING


def _optional(part: Repeat, minimum: int, maximum: int | None, levels: int) -> Expression | None:
    """`X?` is X or nothing."""
    if (part.minimum, part.maximum) != (0, 1):
        return None
    return _union([EMPTY if minimum == 0 else NOTHING, bounded(part.item, minimum, maximum, levels - 1)])


def _bounded_sequence(items: list[Expression], minimum: int, maximum: int | None, levels: int) -> Expression | None:
    """All parts but one have a fixed length, perhaps after choosing among a few alternatives."""
    ahead = list(takewhile(lambda item: _fixed_length(item) is not None, items))
    if ahead:  # they stay in front of the choices: `a(b|cd)e*`
        used = sum(_fixed_length(item) or 0 for item in ahead)
        rest = None if maximum is None else maximum - used
        inner = bounded(sequence(items[len(ahead) :]), max(0, minimum - used), rest, levels - 1)
        return inner if inner is None or inner == NOTHING else sequence([*ahead, inner])
    results: list[Expression | None] = []
    for cases, case in enumerate(_cases(items)):
        if cases == MAX_CASES:
            return None
        variable = [at for at, item in enumerate(case) if _fixed_length(item) is None]
        if len(variable) > 1:
            return None
        fixed = sum(_fixed_length(item) or 0 for item in case)
        if not variable:
            fits = fixed >= minimum and (maximum is None or fixed <= maximum)
            results.append(sequence(case) if fits else NOTHING)
            continue
        if maximum is not None and fixed > maximum:
            results.append(NOTHING)
            continue
        (at,) = variable
        rest = None if maximum is None else maximum - fixed
        inner = bounded(case[at], max(0, minimum - fixed), rest, levels - 1)
        if inner is None:
            return None
        results.append(inner if inner == NOTHING else sequence([*case[:at], inner, *case[at + 1 :]]))
    return _union(results)


def _fixed_length(item: Expression) -> int | None:
    lengths = text_lengths(item)
    return lengths[0] if lengths is not None and lengths[0] == lengths[1] else None


def _cases(items: list[Expression]) -> Iterator[list[Expression]]:
    """The sequence with every small choice of fixed lengths made: `a(b|cd)e*` is `abe*` or `acde*`."""
    options = [_options(item) for item in items]
    total = 1
    for found in options:
        total *= len(found)
    if total > MAX_CASES:
        options = [[item] for item in items]
        total = 1
    for number in range(total):
        case = []
        for found in options:
            number, choice = divmod(number, len(found))
            case.append(found[choice])
        yield case


def _options(item: Expression) -> list[Expression]:
    """The choices of an item if they are of fixed lengths, else the item alone."""
    if isinstance(item, Alternatives) and _fixed_length(item) is None:
        by_length: dict[int | None, list[Expression]] = {}
        for choice in item.choices:
            by_length.setdefault(_fixed_length(choice), []).append(choice)
        if None not in by_length:
            return [alternatives(choices) for choices in by_length.values()]
    if isinstance(item, Repeat) and (item.minimum, item.maximum) == (0, 1) and _fixed_length(item.item) is not None:
        return [EMPTY, item.item]
    return [item]
