"""What decides whether an expression or its automaton is the better form for a matcher.

An expression that never has two ways to read the next character costs the matcher one item
per position, and one token set for all values of its counter, however large that is. Others
are better turned into an automaton, if that is small: each of its states has token sets of its own.
"""

from __future__ import annotations

from itertools import islice, pairwise

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import (
    NOTHING,
    Alternatives,
    Expression,
    Repeat,
    Sequence,
    alternatives,
    fold,
    repeat,
    sequence,
    walk,
)
from infernix.gbnf.time_limit import check_time

from .automata import build
from .bounded import text_lengths
from .nfa import LazyNfa

__all__ = ["best_form", "has_nested_counters", "is_deterministic"]

DIRECT_STATES = 512
"""A single pattern becomes an automaton of at most this many states; a larger one keeps its counters, since
the masks of an automaton are walked state by state."""
STATES_BEFORE_MERGING = 4
"""How many times as large an automaton may be before equal states are merged."""
DIRECT_WORK = 75_000
"""Steps that each of the two questions, is it deterministic and what is its automaton, may take: about a tenth of
a second. States alone are no bound: those of `a?` a thousand times over are few, but each is a large set of
positions. Real patterns take up to 60,000."""
MAX_NODES = 10_000
"""Larger expressions are taken as they are."""
MAX_CELLS = 2000
"""Cells looked at before an expression counts as not deterministic."""
SMALL_COUNT = 4
"""Counters up to here are kept when determinism is tested; larger ones are shortened."""


def best_form(expression: Expression) -> Expression:
    """The same language in the form that a matcher reads best; `NOTHING` for the empty language.

    An expression over code points, without references and token terminals.
    """
    if text_lengths(expression) is None:
        return NOTHING
    if next(islice(walk(expression), MAX_NODES, None), None) is not None:
        return expression
    if is_deterministic(expression) and not has_nested_counters(expression):
        return expression
    try:
        dfa = build(expression, STATES_BEFORE_MERGING * DIRECT_STATES, DIRECT_WORK)
    except LimitError:
        return expression
    return dfa.to_expression() if len(dfa.moves) <= DIRECT_STATES else expression


def is_deterministic(expression: Expression) -> bool:
    """Whether no character can ever be read in two ways.

    Large counters are shortened first: `{m,n}` behaves like `{2,4}`, with rounds that must
    go on, rounds that may end, and a last one. The test decides between two correct
    forms, so a shortened counter can cost speed but never exactness. No is also the answer when
    the test gets too long.
    """
    try:
        return _reads_one_way(LazyNfa(fold(expression, _shorten), DIRECT_WORK))
    except LimitError:
        return False


def _reads_one_way(nfa: LazyNfa) -> bool:
    """Whether no cell has two edges for one character. Raises `LimitError` when that takes too many steps."""
    seen = {nfa.start}
    pending = [nfa.start]
    while pending:
        check_time()
        edges, _ = nfa.edges(pending.pop())
        nfa.spend(sum(len(ranges) for ranges, _ in edges))
        intervals = sorted((low, high) for ranges, _ in edges for low, high in ranges)
        if any(before[1] >= after[0] for before, after in pairwise(intervals)):
            return False
        following = {target for _, target in edges} - seen
        seen |= following
        pending.extend(following)
        if len(seen) > MAX_CELLS:
            return False
    return True


def _shorten(node: Expression, parts: list[Expression]) -> Expression:
    if isinstance(node, Repeat):
        minimum, maximum = node.minimum, node.maximum
        if maximum is None:
            minimum = min(minimum, 2)
        elif maximum > SMALL_COUNT:
            minimum = min(minimum, 2)
            maximum = minimum + 2
        return repeat(parts[0], minimum, maximum)
    if isinstance(node, Sequence):
        return sequence(parts)
    return alternatives(parts) if isinstance(node, Alternatives) else node


def has_nested_counters(expression: Expression) -> bool:
    """Whether a counted repetition contains another one; `?`, `*` and `+` do not count."""
    return fold(expression, _counters) > 1


def _counters(node: Expression, parts: list[int]) -> int:
    """How many counters are open at once."""
    counted = isinstance(node, Repeat) and (node.minimum > 1 or (node.maximum or 0) > 1)
    return max(parts, default=0) + counted
