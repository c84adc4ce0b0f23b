"""The textbook matcher: Earley's recogniser over the grammar IR, written to be read.

Earley (1970) parses left to right and keeps, for every position, the set of all partial
derivations that fit the text so far. A partial derivation is an *item*:

    (rule, todo, origin)   an attempt to read `rule`, begun at position `origin`;
                           `todo` is what must still follow before the rule is complete

A set is closed under three moves, and two more lead to the next position:

    expand    todo begins with a sequence, choice or repetition: write out what it may be
    predict   todo begins with a rule: begin an attempt to read that rule here
    complete  todo is empty: every item that waited for the rule at `origin` moves on
    scan      todo begins with a character: read one byte of it
    token     todo begins with a token terminal: read one token whole

A text is a legal prefix if its last set is not empty, and a sentence if that set holds
the root rule, begun at 0, with nothing to do. The first claim needs care: an item counts
only if what is left can be finished at all, so alternatives that can never produce a
finite text are left out (`Language.productive`), and a character's first bytes are
legal exactly if some member of its class begins with them (`first_member`).

There is no memo, no compilation and no cleverness here. This matcher is the oracle for
the fast one, with which it shares nothing but the grammar IR.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import CharClass, Grammar, RuleRef, TokenSet

from .reference_language import Language, PartialChar, Spelling, Symbol, first_member
from .vocabulary import TokenKind, Vocabulary

__all__ = ["ReferenceMatcher"]


class Item(NamedTuple):
    """An attempt to read `rule` since `origin`, with `todo` still to come."""

    rule: str
    todo: tuple[Symbol, ...]
    origin: int


@dataclass(eq=False)
class EarleySet:
    """All items of one position; `waiting` and `scanning` index those that wait for a rule or a terminal."""

    items: set[Item] = field(default_factory=set)
    waiting: defaultdict[str, list[Item]] = field(default_factory=lambda: defaultdict(list))
    scanning: list[Item] = field(default_factory=list)


class ReferenceMatcher:
    """One text in the making: the Earley sets of its positions.

    A position is a byte, or a token that was matched by a token terminal. Rejections raise
    TokenRejected and change nothing.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self.language = Language(grammar, vocabulary)
        self.vocabulary = vocabulary
        self.reset()

    # --- the public interface of every matcher

    def reset(self) -> None:
        """Back to the empty text."""
        self.terminated = False
        self.chart: list[EarleySet] = []
        root = self.language.symbol(RuleRef(self.language.root))
        self.chart.append(self._closed([Item("", (root,), 0)]))

    def can_end(self) -> bool:
        """Whether the text so far is a sentence."""
        return Item("", (), 0) in self.chart[-1].items

    def is_terminated(self) -> bool:
        """Whether an EOS token has been accepted."""
        return self.terminated

    def is_dead_end(self) -> bool:
        """Whether no token may come next although EOS has not been accepted."""
        return not self.terminated and not self.allowed_token_ids()

    def mark(self) -> tuple[int, bool]:
        """A value to give to `rollback` later."""
        return len(self.chart), self.terminated

    def rollback(self, mark: tuple[int, bool]) -> None:
        """Back to an earlier mark of this text."""
        length, self.terminated = mark
        del self.chart[length:]

    def fork(self) -> ReferenceMatcher:
        """An independent matcher with the same text."""
        other = ReferenceMatcher.__new__(ReferenceMatcher)
        other.language, other.vocabulary = self.language, self.vocabulary
        other.chart, other.terminated = self.chart.copy(), self.terminated
        return other

    def accept_bytes(self, text: bytes) -> None:
        """Read bytes that belong to no token: all of them, or none and TokenRejected."""
        before = len(self.chart)
        for offset, byte in enumerate(text):
            moved = [] if self.terminated else self._scan(byte)
            if not moved:
                del self.chart[before:]
                raise TokenRejected(f"byte {offset} cannot follow", offset=offset)
            self.chart.append(self._closed(moved))

    def accept_token(self, token_id: int) -> None:
        """Read a token by its bytes and by its id at once, or raise TokenRejected."""
        kind = self.vocabulary.kind(token_id)
        moved = [] if self.terminated else self._named(token_id)
        if kind == TokenKind.EOS and self.can_end() and not self.terminated:
            self.terminated = True
            return
        if kind == TokenKind.ORDINARY and not self.terminated:
            moved += self._spelled(self.vocabulary.token_bytes(token_id))
        if not moved:
            raise TokenRejected(f"token {token_id} cannot follow", token=token_id)
        self.chart.append(self._closed(moved))

    def allowed_token_ids(self) -> list[int]:
        """The ids of all tokens that `accept_token` would accept, ascending."""
        if self.terminated:
            return []
        allowed = set(self.vocabulary.eos_ids) if self.can_end() else set()
        for item in self.chart[-1].scanning:
            terminal = item.todo[0].meaning
            if isinstance(terminal, TokenSet):
                allowed |= self.language.token_ids(terminal)
        self._collect(self.language.spellings, allowed)
        return sorted(allowed)

    def fill_mask(self, row: Any) -> None:
        """Write the allowed ids as bits into `row`, uint32[ceil(size / 32)]."""
        row[:] = 0
        for token_id in self.allowed_token_ids():
            row[token_id // 32] |= 1 << (token_id % 32)

    # --- Earley's moves

    def _closed(self, moved: Iterable[Item]) -> EarleySet:
        """The set of the next position: `moved` and all that follows by expanding, predicting, completing."""
        here = len(self.chart)
        result = EarleySet()
        agenda = list(moved)
        while agenda:
            item = agenda.pop()
            if item in result.items:
                continue
            result.items.add(item)
            if item.todo:
                agenda.extend(self._expanded(item, here, result))
            elif item.origin < here:
                waiting = self.chart[item.origin].waiting[item.rule]
                agenda.extend(Item(caller.rule, caller.todo[1:], caller.origin) for caller in waiting)
            # A rule read between here and here was stepped over when it was predicted.
        return result

    def _expanded(self, item: Item, here: int, result: EarleySet) -> Iterator[Item]:
        first, rest = item.todo[0], item.todo[1:]
        match first.meaning:
            case RuleRef(name):
                result.waiting[name].append(item)
                yield Item(name, (self.language.symbol(self.language.bodies[name]),), here)
                if name in self.language.nullable_rules:
                    yield Item(item.rule, rest, item.origin)
            case CharClass() | PartialChar() | TokenSet():
                result.scanning.append(item)
            case _:
                for sequence in self.language.expansions(first):
                    yield Item(item.rule, sequence + rest, item.origin)

    def _scan(self, byte: int) -> list[Item]:
        """The items of the last set that wait for a character, moved over one byte of it."""
        moved = []
        for item in self.chart[-1].scanning:
            match item.todo[0].meaning:
                case CharClass(ranges):
                    seen = bytes([byte])
                case PartialChar(ranges, earlier):
                    seen = earlier + bytes([byte])
                case _:
                    continue
            member = first_member(ranges, seen)
            if member is not None:
                left = () if member == seen else (self.language.symbol(PartialChar(ranges, seen)),)
                moved.append(Item(item.rule, left + item.todo[1:], item.origin))
        return moved

    def _named(self, token_id: int) -> list[Item]:
        """The items of the last set whose token terminal allows this id, moved over it."""
        return [
            Item(item.rule, item.todo[1:], item.origin)
            for item in self.chart[-1].scanning
            if isinstance(terminal := item.todo[0].meaning, TokenSet) and token_id in self.language.token_ids(terminal)
        ]

    def _spelled(self, text: bytes) -> list[Item]:
        """The items after `text`. Unless it is rejected, its positions but the last join the chart."""
        before = len(self.chart)
        moved: list[Item] = []
        for place, byte in enumerate(text):
            if place > 0:
                self.chart.append(self._closed(moved))
            moved = self._scan(byte)
            if not moved:
                del self.chart[before:]
                break
        return moved

    def _collect(self, node: Spelling, allowed: set[int]) -> None:
        """Add the tokens below `node` that can follow."""
        allowed.update(node.ids)
        for byte, child in node.children.items():
            if moved := self._scan(byte):
                self.chart.append(self._closed(moved))
                self._collect(child, allowed)
                self.chart.pop()
