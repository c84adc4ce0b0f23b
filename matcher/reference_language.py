"""What the textbook matcher needs to know of a grammar and a vocabulary.

Three facts are worked out beforehand, each by its definition:

- a rule is *nullable* if it matches the empty text;
- an expression is *productive* if some finite text completes it: whatever is not can
  never be part of a sentence and must not make a prefix look alive;
- the first bytes of a character are legal if a member of its class begins with them.

The rest writes composite expressions out one step at a time, just as they are needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Ranges,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
    joined_choices,
    without_fallback,
)

from .vocabulary import TokenKind, Vocabulary

__all__ = ["AutomatonState", "Language", "PartialChar", "Spelling", "Symbol", "first_member"]


@dataclass(frozen=True, slots=True)
class PartialChar:
    """A character of `ranges` whose first UTF-8 bytes, `seen`, have been read."""

    ranges: Ranges
    seen: bytes


@dataclass(frozen=True, slots=True)
class AutomatonState:
    """The rest of an automaton's string, from one of its states."""

    automaton: Automaton
    state: int


Todo = Expression | PartialChar | AutomatonState


@dataclass(frozen=True, eq=False)
class Symbol:
    """Something to do. Equal expressions share one symbol, so that items compare by identity, fast."""

    meaning: Todo


@dataclass(eq=False)
class Spelling:
    """A node of the tree of all ordinary tokens, so that common beginnings are read once."""

    children: dict[int, Spelling] = field(default_factory=dict)
    ids: list[int] = field(default_factory=list)


class Language:
    """What the items need to know of a grammar and a vocabulary; shared by forks."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.root = grammar.root
        self.bodies = {rule.name: rule.body for rule in grammar.rules}
        kinds = {token_id: vocabulary.kind(token_id) for token_id in range(vocabulary.size)}
        self.ordinary = {token_id for token_id, kind in kinds.items() if kind == TokenKind.ORDINARY}
        self.nameable = self.ordinary | {i for i, kind in kinds.items() if kind == TokenKind.CONTROL}
        self.spellings = Spelling()
        for token_id in sorted(self.ordinary):
            node = self.spellings
            for byte in vocabulary.token_bytes(token_id):
                node = node.children.setdefault(byte, Spelling())
            node.ids.append(token_id)
        self.nullable_rules = self._rules_with(_is_empty)
        self.productive_rules = self._rules_with(self._can_finish)
        self._symbols: dict[Todo, Symbol] = {}
        self._expansions: dict[Symbol, tuple[tuple[Symbol, ...], ...]] = {}
        if self.root not in self.productive_rules:
            raise GrammarError(f"the rule {self.root!r} produces no finite text")

    def symbol(self, meaning: Todo) -> Symbol:
        """The one symbol that means this."""
        return self._symbols.setdefault(meaning, Symbol(meaning))

    def token_ids(self, tokens: TokenSet) -> set[int]:
        """The ids that a token terminal allows: an exclusion is about ordinary tokens only."""
        return self.ordinary.difference(tokens.ids) if tokens.exclude else self.nameable.intersection(tokens.ids)

    def expansions(self, symbol: Symbol) -> tuple[tuple[Symbol, ...], ...]:
        """The sequences that a composite symbol may be, without those that can never be finished."""
        if symbol not in self._expansions:
            self._expansions[symbol] = tuple(
                tuple(self.symbol(part) for part in sequence)
                for sequence in _written_out(symbol.meaning)
                if all(self.productive(part) for part in sequence)
            )
        return self._expansions[symbol]

    def productive(self, meaning: Todo) -> bool:
        """Whether some finite text completes it."""
        return _holds(meaning, self._can_finish, self.productive_rules)

    def _can_finish(self, leaf: Todo) -> bool:
        match leaf:
            case CharClass(ranges):
                return bool(ranges)
            case TokenSet():
                return bool(self.token_ids(leaf))
            case Automaton():
                return self._can_finish(AutomatonState(without_fallback(leaf), 0))
            case AutomatonState(automaton, state):
                return bool(automaton.accepting & _reachable(automaton, state))
        return True

    def _rules_with(self, leaf_holds: Callable[[Todo], bool]) -> set[str]:
        """The rules for which a property holds: the least fixed point over their bodies."""
        known: set[str] = set()
        while fresh := {n for n, body in self.bodies.items() if n not in known and _holds(body, leaf_holds, known)}:
            known |= fresh
        return known


def _holds(meaning: Todo, leaf_holds: Callable[[Todo], bool], rules: set[str]) -> bool:
    """A property that a sequence has if all its items have it, and a choice if any has it."""
    match meaning:
        case Sequence(items):
            return all(_holds(item, leaf_holds, rules) for item in items)
        case Alternatives(choices):
            return any(_holds(choice, leaf_holds, rules) for choice in choices)
        case Repeat(item, minimum, _):
            return minimum == 0 or _holds(item, leaf_holds, rules)
        case Joined():
            return any(all(_holds(part, leaf_holds, rules) for part in way) for way in joined_choices(meaning))
        case RuleRef(name):
            return name in rules
    return leaf_holds(meaning)


def _is_empty(leaf: Todo) -> bool:
    """Whether a leaf matches the empty text."""
    match leaf:
        case Literal(text):
            return text == ""
        case Automaton(accepting=accepting):
            return 0 in accepting
    return False


def _written_out(meaning: Todo) -> Iterator[tuple[Todo, ...]]:
    """What a composite expression may be, one step more explicit."""
    match meaning:
        case Literal(text):
            yield tuple(CharClass(((ord(character), ord(character)),)) for character in text)
        case Sequence(items):
            yield items
        case Alternatives(choices):
            yield from ((choice,) for choice in choices)
        case Repeat(item, minimum, maximum):
            if minimum == 0:
                yield ()
            if maximum is None:
                yield item, Repeat(item, max(minimum - 1, 0), None)
            elif maximum > 0:
                yield item, Repeat(item, max(minimum - 1, 0), maximum - 1)
        case Joined():
            yield from joined_choices(meaning)
        case Automaton():
            yield (AutomatonState(without_fallback(meaning), 0),)
        case AutomatonState(automaton, state):
            if state in automaton.accepting:
                yield ()
            for low, high, target in automaton.edges[state]:
                yield CharClass(((low, high),)), AutomatonState(automaton, target)


def _reachable(automaton: Automaton, start: int) -> set[int]:
    found, agenda = {start}, [start]
    while agenda:
        targets = {target for _, _, target in automaton.edges[agenda.pop()]} - found
        found |= targets
        agenda.extend(targets)
    return found


def _utf8(code_point: int) -> bytes:
    return chr(code_point).encode()


def first_member(ranges: Ranges, seen: bytes) -> bytes | None:
    """The encoding of the least member whose UTF-8 encoding begins with `seen`, or None.

    UTF-8 keeps the order of code points (RFC 3629), so it is found by bisection.
    """
    for low, high in ranges:
        members = range(low, high + 1)
        place = bisect_left(members, seen, key=_utf8)
        if place < len(members) and _utf8(members[place]).startswith(seen):
            return _utf8(members[place])
    return None
