"""The automaton of one rule, while a grammar is being compiled: its states, its edges, what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field

from infernix.gbnf.grammar import Ranges
from infernix.gbnf.utf8 import ByteSequence

__all__ = ["END", "LAST_ASCII", "LITERAL", "MAY_SKIP", "NO_SKIP", "START", "Edge", "RuleAutomaton"]

LITERAL = 5
"""An edge kind of automata only: a whole byte string, spelled out when tables are made."""

START, END = 0, 1

Edge = tuple[int, int | bytes, int, int]
"""(kind, operand, high, target). BYTE: low, high. LITERAL: the bytes. CALL: the rule, and whether
an empty string of it may be skipped. TOKEN: the token set. EPSILON: nothing."""

MAY_SKIP, NO_SKIP = 1, 0
LAST_ASCII = 0x7F


@dataclass(slots=True)
class RuleAutomaton:
    """One rule: `edges[s]` leave state s. `final` holds the states in which the rule may end.

    `linked` is (number, nullable) for a rule that is in the tables already; it has no edges.
    `bounds` is (minimum, maximum or None) for a counted rule. `flawed` says that some state
    may not reach the end. `encoded` and `tails` remember the inner states of code points of
    several bytes: by class and target, and by remaining bytes and target.
    """

    edges: list[list[Edge]] = field(default_factory=lambda: [[], []])
    final: set[int] = field(default_factory=lambda: {END})
    bounds: tuple[int, int | None] | None = None
    linked: tuple[int, bool] | None = None
    flawed: bool = False
    has_epsilon: bool = False
    calls: dict[int, None] = field(default_factory=dict)
    encoded: dict[tuple[Ranges, int], list[Edge]] = field(default_factory=dict)
    tails: dict[tuple[ByteSequence, int], int] = field(default_factory=dict)

    def new_state(self) -> int:
        """Add a state without edges."""
        self.edges.append([])
        return len(self.edges) - 1
