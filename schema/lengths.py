"""Length bounds on the texts of an automaton."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from infernix.gbnf.errors import LimitError
from infernix.gbnf.time_limit import check_time

from .dfa import DEAD, MAX_STATES, Dfa, trim

__all__ = ["with_length"]


def with_length(dfa: Dfa, minimum: int, maximum: int | None, limit: int = MAX_STATES) -> Dfa:
    """The accepted texts of `minimum` to `maximum` code points; `dfa` is trim and minimal.

    A state of the result is a state of `dfa` with the number of code points read, unless all
    that follows fits the bounds anyway: then the plain state of `dfa` serves, and unless
    nothing that follows fits. The layers of equal count form no cycle, so the result is made
    minimal from the last layer to the first by merging states with equal edges.
    """
    if dfa.is_empty:
        return dfa
    place = _Bounds(dfa, minimum, maximum).place
    start = place(0, 0)
    if start == 0:
        return dfa
    moves = [list(row) for row in dfa.moves]
    accepting = list(dfa.accepting)
    known = {(final, tuple(row)): state for state, (row, final) in enumerate(zip(moves, accepting, strict=True))}
    merged: dict[int, int] = {}  # the result's state for a state of the layer after the current one
    layers = [] if start == DEAD else _layers(dfa, place, limit)
    for count, layer in reversed(list(enumerate(layers))):
        current: dict[int, int] = {}
        for state in layer:
            row = [
                DEAD if target == DEAD else _settled(place(target, count + 1), merged.get(target, DEAD))
                for target in dfa.moves[state]
            ]
            key = (dfa.accepting[state] and count >= minimum, tuple(row))
            if key not in known and (key[0] or any(target != DEAD for target in row)):
                known[key] = len(moves)
                moves.append(row)
                accepting.append(key[0])
            current[state] = known.get(key, DEAD)
        merged = current
    return trim(Dfa(dfa.alphabet, moves, accepting), merged.get(0, DEAD))


def _layers(dfa: Dfa, place: Callable[[int, int], int | None], limit: int) -> list[set[int]]:
    """For each count the states in which it still decides."""
    layers = [{0}]
    total = 1
    while layers[-1]:
        check_time()
        following = {target for state in layers[-1] for target in dfa.moves[state] if target != DEAD}
        layers.append({state for state in following if place(state, len(layers)) is None})
        total += len(layers[-1])
        if total > limit:
            raise LimitError(f"a string automaton with its length needs more than {limit} states")
    return layers


def _settled(placed: int | None, counted: int) -> int:
    return counted if placed is None else placed


@dataclass(frozen=True)
class _Bounds:
    """Where the length bounds need counting."""

    dfa: Dfa
    minimum: int
    maximum: int | None

    def place(self, state: int, count: int) -> int | None:
        """After `count` code points in `state`: the state itself if all the rest fits the bounds,
        `DEAD` if nothing does, None if the count decides."""
        shortest, longest = self.dfa.distances
        least, longest_here = count + shortest[state], longest[state]
        most = None if longest_here is None else count + longest_here
        if self.maximum is not None and least > self.maximum:
            return DEAD
        if most is not None and most < self.minimum:
            return DEAD
        below = self.maximum is None or (most is not None and most <= self.maximum)
        return state if least >= self.minimum and below else None
