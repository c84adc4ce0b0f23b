"""The grammar IR: the one form in which every source language reaches the matcher.

A `Grammar` is an immutable set of named rules. A rule's body is an expression over
*code points* (the compiler turns them into UTF-8 bytes, so output is always well
formed) and, where the language speaks of tokens, over *token terminals*.

    Literal("true")                 exactly these code points
    CharClass(((97, 122),))         one code point of these ranges
    Sequence((a, b))                a, then b
    Alternatives((a, b))            a or b
    Repeat(a, 2, 5)                 2 to 5 times a; maximum None is unbounded
    Joined((a, b), (True, False), c) a, perhaps followed by c b: items in order, c in between
    RuleRef("name")                 the rule of that name
    TokenSet((7, 9), exclude=False) one token with one of these ids
    Automaton(...)                  one string of a deterministic code-point automaton

Expressions are never changed, hashable and comparable (`record`). The helpers `literal`, `char_class`,
`sequence`, `alternatives`, `repeat` and `joined` build them in normal form; the front ends
use the helpers, so that equal grammars compare equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from .record import record

__all__ = [
    "ANY_CHAR",
    "EMPTY",
    "MAX_CLASS_RANGES",
    "MAX_CLASS_TEXT",
    "MAX_CODE_POINT",
    "MAX_COUNT",
    "NOTHING",
    "Alternatives",
    "Automaton",
    "CharClass",
    "Edges",
    "Expression",
    "Grammar",
    "Joined",
    "Literal",
    "Ranges",
    "Repeat",
    "Rule",
    "RuleRef",
    "Sequence",
    "TokenSet",
    "alternatives",
    "char_class",
    "children",
    "complement",
    "fold",
    "joined",
    "joined_choices",
    "literal",
    "normal_ranges",
    "repeat",
    "sequence",
    "walk",
    "without_fallback",
    "written_out",
]

MAX_CODE_POINT = 0x10FFFF
MAX_CLASS_TEXT = 1_000_000
"""A class is written with at most so many characters."""
MAX_CLASS_RANGES = 10_000
"""A class that is written down has at most so many ranges after merging; every table of a matcher grows with them."""
MAX_COUNT = 2**31 - 1
"""The largest bound of a repetition, and token id: tables hold 32 bits."""
SURROGATES = (0xD800, 0xDFFF)

Ranges = tuple[tuple[int, int], ...]
"""Inclusive code-point ranges, sorted, disjoint, not adjacent, without surrogates."""


Edges = tuple[tuple[int, int, int], ...]
"""Edges of one automaton state: (first code point, last code point, target), disjoint and ascending."""


@record
class Literal:
    """Exactly `text`; the empty text matches the empty string."""

    text: str


@record
class CharClass:
    """One code point of `ranges`; no ranges at all match nothing."""

    ranges: Ranges


@record
class Sequence:
    """The items one after another (at least two)."""

    items: tuple[Expression, ...]


@record
class Alternatives:
    """One of the choices (at least two)."""

    choices: tuple[Expression, ...]


@record
class Repeat:
    """`item`, from `minimum` to `maximum` times (None: without bound). Never unrolled."""

    item: Expression
    minimum: int
    maximum: int | None


@record
class Joined:
    """Some of the items (of at least two), in order, with the separator between any two: one item at least, and
    all that are `required`.

    So are the members of a JSON object. Written with the other expressions, the ways on after an item would
    be as many as items are left.
    """

    items: tuple[Expression, ...]
    required: tuple[bool, ...]
    separator: Expression


@record
class RuleRef:
    """A string of the rule called `name`."""

    name: str


@record
class TokenSet:
    """One whole token: one of `ids`, or with `exclude` any ordinary token but these.

    `ids` are sorted and distinct. They are matched as ids, never by spelling.
    """

    ids: tuple[int, ...]
    exclude: bool = False


@record
class Automaton:
    """One string accepted by a deterministic automaton over code points, started in state 0.

    `edges[s]` holds `(low, high, target)` with disjoint ranges in ascending order and no
    surrogates; `accepting` holds the accepting states. Front ends use it for languages
    whose expression would explode, such as intersections.

    `fallback`, if it is not empty, names for each state another state, or -1: code points that
    no edge of the state takes follow the edges of its fallback, which has none itself. That
    keeps "anything but these words" as small as the words.
    """

    edges: tuple[Edges, ...]
    accepting: frozenset[int]
    fallback: tuple[int, ...] = ()


Expression = Literal | CharClass | Sequence | Alternatives | Repeat | Joined | RuleRef | TokenSet | Automaton


@record
class Rule:
    """A named body. `lookahead` is the `(= ...)` annotation: a hint, no part of the language.

    `standard` marks an object that every grammar of a front end contains: what it compiles
    to is remembered.

    `line` and `column` (1-based) say where a text defines the rule, for error messages
    only: they take no part in comparison.
    """

    name: str
    body: Expression
    lookahead: Expression | None = None
    line: int | None = field(default=None, compare=False)
    column: int | None = field(default=None, compare=False)
    standard: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Grammar:
    """Rules in order, and the name of the entry rule. Names are distinct; references may dangle
    until `gbnf.checks` has looked at them."""

    rules: tuple[Rule, ...]
    root: str = "root"
    token_places: Mapping[int, tuple[int, int]] = field(default_factory=dict, compare=False, repr=False)
    """Line and column where a text first names a token id, for errors; empty if there is no text."""

    @cached_property
    def by_name(self) -> dict[str, Rule]:
        """The rules by name."""
        return {rule.name: rule for rule in self.rules}


EMPTY = Literal("")
"""The empty string."""
NOTHING = CharClass(())
"""The empty language."""
ANY_CHAR = CharClass(((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, MAX_CODE_POINT)))
"""Any one Unicode scalar value."""


_LEAVES = (Literal, CharClass, RuleRef, TokenSet)


def normal_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge inclusive ranges and take the surrogates out of them."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    scalar: list[tuple[int, int]] = []
    for low, high in merged:
        for part_low, part_high in ((low, min(high, SURROGATES[0] - 1)), (max(low, SURROGATES[1] + 1), high)):
            if part_low <= part_high:
                scalar.append((part_low, part_high))
    return tuple(scalar)


def complement(ranges: Ranges) -> Ranges:
    """All scalar values outside `ranges` (which are normal)."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= MAX_CODE_POINT:
        gaps.append((start, MAX_CODE_POINT))
    return normal_ranges(gaps)


def literal(text: str) -> Literal:
    """A literal; refuses surrogates, which no UTF-8 text can contain."""
    if any(SURROGATES[0] <= ord(char) <= SURROGATES[1] for char in text):
        raise ValueError("a literal cannot contain surrogate code points")
    return Literal(text)


def char_class(ranges: Iterable[tuple[int, int]], negated: bool = False) -> CharClass:
    """A class of the given inclusive ranges, or of everything else."""
    normal = normal_ranges(ranges)
    return CharClass(complement(normal) if negated else normal)


def sequence(items: Iterable[Expression]) -> Expression:
    """The concatenation in normal form: flat, adjacent literals joined, empty ones dropped."""
    flat: list[Expression] = []
    run: list[Literal] = []  # joined a run at a time: one by one would copy the text quadratically often
    for item in items:
        for part in item.items if isinstance(item, Sequence) else (item,):
            if not isinstance(part, Literal):
                if run:
                    flat.append(run[0] if len(run) == 1 else _together(run))
                    run = []
                flat.append(part)
            elif part.text:
                run.append(part)
    if run:
        flat.append(run[0] if len(run) == 1 else _together(run))
    if len(flat) > 1:
        return Sequence(tuple(flat))
    return flat[0] if flat else EMPTY


def _together(run: list[Literal]) -> Literal:
    return Literal("".join([part.text for part in run]))


def alternatives(choices: Iterable[Expression]) -> Expression:
    """The union in normal form: flat, in order of first appearance, leaves without repetitions.

    Only leaves are compared: hashing whole sub-trees would cost quadratic time, and equal
    compound choices do no harm.
    """
    flat: list[Expression] = []
    seen: set[Expression] = set()
    for choice in choices:
        for part in choice.choices if isinstance(choice, Alternatives) else (choice,):
            if isinstance(part, _LEAVES):
                if part in seen:
                    continue
                seen.add(part)
            flat.append(part)
    if len(flat) > 1:
        return Alternatives(tuple(flat))
    return flat[0] if flat else NOTHING


def repeat(item: Expression, minimum: int, maximum: int | None) -> Expression:
    """Between `minimum` and `maximum` times `item`, in normal form."""
    if minimum < 0 or (maximum is not None and maximum < minimum):
        raise ValueError(f"bad repetition bounds {minimum}, {maximum}")
    if maximum == 0 or item == EMPTY:
        return EMPTY
    if (minimum, maximum) == (1, 1):
        return item
    return Repeat(item, minimum, maximum)


def joined(items: Iterable[tuple[Expression, bool]], separator: Expression) -> Expression:
    """One at least of the items in order (item, whether it is required), in normal form."""
    slots = tuple(items)
    if not slots:
        return NOTHING
    if len(slots) == 1:
        return slots[0][0]
    if all(required for _, required in slots):
        return sequence([part for item, _ in slots for part in (separator, item)][1:])
    return Joined(tuple(item for item, _ in slots), tuple(required for _, required in slots), separator)


def joined_choices(expression: Joined) -> Iterator[tuple[Expression, ...]]:
    """The ways to begin: an item, and what may follow it."""
    slots = tuple(zip(expression.items, expression.required, strict=True))
    for index, (item, required) in enumerate(slots):
        rest = slots[index + 1 :]
        more = sequence([expression.separator, joined(rest, expression.separator)]) if rest else EMPTY
        yield item, more if any(needed for _, needed in rest) else repeat(more, 0, 1)
        if required:
            return


def without_fallback(automaton: Automaton) -> Automaton:
    """The same automaton with every edge written out."""
    if not automaton.fallback:
        return automaton
    rows = (
        written_out(edges, automaton.edges[other]) if other >= 0 else edges
        for edges, other in zip(automaton.edges, automaton.fallback, strict=True)
    )
    return Automaton(tuple(rows), automaton.accepting)


def written_out(edges: Edges, other: Edges) -> Edges:
    """The edges of a state together with what it falls back to."""
    free = complement(normal_ranges((low, high) for low, high, _ in edges))
    rest = [
        (max(low, free_low), min(high, free_high), target)
        for low, high, target in other
        for free_low, free_high in free
        if max(low, free_low) <= min(high, free_high)
    ]
    return tuple(sorted([*edges, *rest]))


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct sub-expressions."""
    match expression:
        case Sequence(items):
            return items
        case Alternatives(choices):
            return choices
        case Repeat(item=item):
            return (item,)
        case Joined(items, separator=separator):
            return (*items, separator)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, in no particular order, without recursion."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


Result = TypeVar("Result")


def fold(expression: Expression, combine: Callable[[Expression, list[Result]], Result]) -> Result:
    """The value of `combine(node, values of its children)`, from the leaves up, without recursion."""
    values: list[Result] = []
    pending: list[tuple[Expression, bool]] = [(expression, False)]
    while pending:
        node, entered = pending.pop()
        below = children(node)
        if entered or not below:
            first = len(values) - len(below)
            values[first:] = [combine(node, values[first:])]
        else:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(below))
    return values[0]
