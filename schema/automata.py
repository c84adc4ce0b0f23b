"""Operations on string automata: build, intersect, subtract, minimise.

A pattern with a length, two patterns, a format without some names: such languages have no
handy expression, so they are computed as deterministic automata over code points.

    both = intersect(build(first), build(second))
    bounded = with_length(both, 1, 64)                        # in `lengths`

All results are trim (every state is reachable and leads to an accepting one) and minimal.
Sizes are bounded: no result has more than `MAX_STATES` states, or `LimitError` is raised.

References: Antimirov (1996) for the states of `build`; Hopcroft (1971) for `minimize`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import Expression
from infernix.gbnf.time_limit import check_time

from .dfa import DEAD, MAX_STATES, Alphabet, Dfa, common_alphabet, renumbered, sources, trim
from .nfa import MAX_WORK, LazyNfa

__all__ = ["MAX_STATES", "build", "difference", "disjoint", "intersect", "minimize"]

Key = TypeVar("Key", bound=Hashable)

SLOTS_PER_STEP = 16
"""So many entries of a row of moves cost what a step of the construction does."""


def build(expression: Expression, limit: int = MAX_STATES, work: int = MAX_WORK) -> Dfa:
    """The minimal automaton of an expression, by the subset construction over its cells.

    Raises `LimitError` beyond `limit` states or `work` steps.
    """
    alphabet = Alphabet.of(expression)
    nfa = LazyNfa(expression, work)
    ids = {frozenset((nfa.start,)): 0}
    order = list(ids)
    moves: list[list[int]] = []
    accepting: list[bool] = []
    for cells in order:  # grows while it is walked
        check_time()
        reached: dict[int, set[int]] = {}
        final = False
        for cell in cells:
            edges, may_end = nfa.edges(cell)
            final = final or may_end
            for ranges, target in edges:
                symbols = alphabet.symbols(ranges)
                nfa.spend(len(symbols))
                for symbol in symbols:
                    reached.setdefault(symbol, set()).add(target)
        nfa.spend(alphabet.size // SLOTS_PER_STEP)
        row = [DEAD] * alphabet.size
        for symbol, targets in reached.items():
            # Beside a cell that accepts every text, the others add nothing.
            key = {nfa.universal} if nfa.universal in targets else targets
            row[symbol] = _number(frozenset(key), ids, order, limit)
        moves.append(row)
        accepting.append(final)
    dfa = Dfa(alphabet, moves, accepting)
    return minimize(dfa if nfa.is_productive else trim(dfa))


def _number(key: Key, ids: dict[Key, int], order: list[Key], limit: int) -> int:
    """The number of a state, a new one if it was not met before."""
    found = ids.get(key)
    if found is None:
        if len(order) >= limit:
            raise LimitError(f"a string automaton needs more than {limit} states")
        found = ids[key] = len(order)
        order.append(key)
    return found


def intersect(first: Dfa, second: Dfa, limit: int = MAX_STATES) -> Dfa:
    """The texts that both automata accept."""
    return _product(first, second, False, limit)


def difference(first: Dfa, second: Dfa, limit: int = MAX_STATES) -> Dfa:
    """The texts that `first` accepts and `second` does not."""
    return _product(first, second, True, limit)


def _product(first: Dfa, second: Dfa, negated: bool, limit: int) -> Dfa:
    """The pairs of states that one text reaches; with `negated` the second must not accept."""
    first, second = common_alphabet([first, second])
    if first.is_empty or (second.is_empty and not negated):
        return Dfa(first.alphabet, [], [])
    start = (0, DEAD if second.is_empty else 0)
    ids, order = {start: 0}, [start]
    moves: list[list[int]] = []
    accepting: list[bool] = []
    nowhere = [DEAD] * first.alphabet.size
    for left, right in order:  # grows while it is walked
        check_time()
        row = []
        for a, b in zip(first.moves[left], nowhere if right == DEAD else second.moves[right], strict=True):
            alive = a != DEAD and (negated or b != DEAD)
            row.append(_number((a, b), ids, order, limit) if alive else DEAD)
        moves.append(row)
        accepting.append(first.accepting[left] and negated != (right != DEAD and second.accepting[right]))
    return minimize(trim(Dfa(first.alphabet, moves, accepting)))


def disjoint(first: Dfa, second: Dfa, limit: int = MAX_STATES) -> bool:
    """Whether no text is accepted by both."""
    return intersect(first, second, limit).is_empty


def minimize(dfa: Dfa) -> Dfa:
    """The smallest automaton of the same language, for a trim one (Hopcroft 1971).

    The dead state is a block of its own that never has to split another: a block whose
    members agree about all other blocks agrees about the last one too.
    """
    incoming = sources(dfa)
    block_of = [int(final) for final in dfa.accepting]
    blocks = [{state for state, block in enumerate(block_of) if block == number} for number in (0, 1)]
    waiting = {0, 1}
    while waiting:
        by_symbol: dict[int, list[int]] = {}
        for target in blocks[waiting.pop()]:
            for symbol, state in incoming[target]:
                by_symbol.setdefault(symbol, []).append(state)
        for states in by_symbol.values():
            touched: dict[int, list[int]] = {}
            for state in states:
                touched.setdefault(block_of[state], []).append(state)
            for block, part in touched.items():
                if len(part) < len(blocks[block]):
                    _split(blocks, block_of, waiting, block, part)
    if not dfa.moves:
        return dfa
    moves = [
        [DEAD if target == DEAD else block_of[target] for target in dfa.moves[min(block)]] if block else []
        for block in blocks
    ]
    accepting = [bool(block) and dfa.accepting[min(block)] for block in blocks]
    return renumbered(Dfa(dfa.alphabet, moves, accepting), block_of[0])


def _split(blocks: list[set[int]], block_of: list[int], waiting: set[int], block: int, part: list[int]) -> None:
    """Move `part` out of a block into a new one; the smaller of both has to split others."""
    new = len(blocks)
    blocks.append(set(part))
    blocks[block].difference_update(part)
    for state in part:
        block_of[state] = new
    if block in waiting or len(blocks[new]) <= len(blocks[block]):
        waiting.add(new)
    else:
        waiting.add(block)
