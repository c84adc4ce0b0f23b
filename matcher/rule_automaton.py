"""The automaton of one rule, while a grammar is being compiled: its edges, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from infernix.gbnf.grammar import Ranges
from infernix.gbnf.utf8 import ByteSequence

from .tables import BYTE, CALL, EPSILON, TOKEN

__all__ = ["ALSO", "COLUMNS", "END", "LAST_ASCII", "LITERAL", "MAY_SKIP", "NO_SKIP", "START", "Call", "RuleAutomaton"]

LITERAL, ALSO = 5, 6
"""Edge kinds of automata only. LITERAL: a whole byte string, spelled out when tables are made. ALSO: all edges of
the target, which the tables write into the source (`matcher.spelling`)."""
START, END = 0, 1
COLUMNS = 5
"""An edge is (source, kind, low, high, target). BYTE: low, high. LITERAL: where its bytes begin in
`literals`, and how many. CALL: the rule, 0. TOKEN: the token set, 0. EPSILON, FALLBACK and ALSO: 0, 0."""

MAY_SKIP, NO_SKIP = 1, 0
LAST_ASCII = 0x7F

Call = tuple[int, int, int, int, int]
"""(source, rule, target, MAY_SKIP or NO_SKIP, place of the rule in `flat`): a call, and whether its rule's
empty string may be skipped."""


@dataclass(slots=True)
class RuleAutomaton:
    """One rule: `flat` has its edges one after another, in the order in which they were made.

    `linked` is (number, nullable) for a rule that is in the tables already; it has no edges.
    `bounds` is (minimum, maximum or None) for a counted rule. `flawed` says that some state
    may not reach the end. `encoded` and `tails` remember the inner states of code points of
    several bytes: by class and target, and by remaining bytes and target.
    """

    flat: list[int] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    states: int = 2
    bounds: tuple[int, int | None] | None = None
    linked: tuple[int, bool] | None = None
    flawed: bool = False
    has_fallback: bool = False
    calls: list[Call] = field(default_factory=list)
    called: dict[int, None] | None = None
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    places: dict[bytes, int] = field(default_factory=dict)
    encoded: dict[tuple[Ranges, int], list[tuple[int, int, int]]] = field(default_factory=dict)
    tails: dict[tuple[ByteSequence, int], int] = field(default_factory=dict)

    def new_state(self) -> int:
        """Add a state without edges."""
        self.states += 1
        return self.states - 1

    def byte(self, source: int, low: int, high: int, target: int) -> None:
        """One byte in [low, high]."""
        self.flat += (source, BYTE, low, high, target)

    def literal(self, source: int, data: bytes, target: int) -> None:
        """A whole byte string."""
        place = self.places.get(data)
        if place is None:
            place = self.places[data] = len(self.literals)
            self.literals += data
        self.flat += (source, LITERAL, place, len(data), target)

    def call(self, source: int, rule: int, target: int, skip: int) -> None:
        """A string of a rule."""
        self.calls.append((source, rule, target, skip, len(self.flat) + 2))
        self.flat += (source, CALL, rule, 0, target)

    def token(self, source: int, token_set: int, target: int) -> None:
        """One token of a token set."""
        self.flat += (source, TOKEN, token_set, 0, target)

    def epsilon(self, source: int, target: int) -> None:
        """Nothing."""
        self.epsilons.append((source, target))
        self.flat += (source, EPSILON, 0, 0, target)

    def also(self, source: int, target: int) -> None:
        """Nothing either, in other words: whatever may be read from the target may be read from the source.

        A counted rule shares nothing, so there it is an epsilon.
        """
        self.epsilons.append((source, target))
        self.flat += (source, EPSILON if self.bounds is not None else ALSO, 0, 0, target)

    def callees(self) -> dict[int, None]:
        """The rules that are called, each once; asked for when all edges are there."""
        if self.called is None:
            self.called = dict.fromkeys([call[1] for call in self.calls])
        return self.called

    def edges(self) -> list[tuple[int, int, int, int, int]]:
        """The edges, apart."""
        places = range(0, len(self.flat), COLUMNS)
        return [tuple(self.flat[place : place + COLUMNS]) for place in places]  # type: ignore[misc]
