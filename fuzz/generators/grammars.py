"""Random grammars.

They are small and nasty on purpose: three rules that call one another in any position (so that
left, right, centre and mutual recursion, nullable and ambiguous rules and rules without any
finite text all come up), nested counts, classes whose members share UTF-8 prefixes, automata, and
token terminals. The alphabets are tiny, so that random tokens fit random grammars often enough to
lead somewhere; `style` exchanges them for one that real vocabularies have long tokens for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infernix.gbnf import grammar as ir
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import Automaton, Expression, Grammar, Rule, RuleRef, TokenSet
from infernix.gbnf.printer import print_grammar
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from ..choices import Choose, chance, one_of, text
from .vocabularies import PLAIN, WIDE

__all__ = ["TINY", "WORDY", "Style", "random_grammar", "random_source"]

RULE_NAMES = ("root", "x", "y")


@dataclass(frozen=True)
class Style:
    """What the leaves of a grammar are made of."""

    plain: Sequence[str]
    wide: Sequence[str]
    classes: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Classes to choose among, beside those between two characters of an alphabet."""


TINY = Style(PLAIN, WIDE)
"""Three letters and a few wide characters."""
WORDY = Style(
    ["a", "e", " ", "the", '"', ", ", ": ", "{", "}", ")", "\n", "1", "0", "_", "()", "</"],
    [*WIDE, "ё", "中", "한", "’", "\u00a0", "ß"],
    (
        ((97, 122),),
        ((48, 57),),
        ((32, 126),),
        ((32, 33), (35, 91), (93, 0x10FFFF)),
        ((9, 10), (32, 32)),
        ((0x400, 0x4FF),),
        ((0x4E00, 0x9FFF),),
        ((0, 0x10FFFF),),
    ),
)
"""What real vocabularies have long tokens for."""
EMPTY_LEAVES: tuple[Expression, ...] = (ir.EMPTY, ir.EMPTY, ir.NOTHING)
MAX_DEPTH = 3


# --- expressions


class GrammarMaker:
    """Draws the parts of one grammar."""

    def __init__(self, choose: Choose, nameable: Sequence[int], largest_bound: int, style: Style) -> None:
        self.choose = choose
        self.largest_bound = largest_bound
        self.nameable = nameable
        self.style = style

    def grammar(self) -> Grammar:
        return Grammar(tuple(Rule(name, self.body(name)) for name in RULE_NAMES))

    def body(self, name: str) -> Expression:
        """A body, often wrapped into one of the recursions that matchers get wrong."""
        this, that = RuleRef(name), RuleRef(one_of(self.choose, RULE_NAMES))
        inner = self.expression(MAX_DEPTH)
        end = ir.EMPTY if chance(self.choose, 3) else self.expression(1)
        shapes: tuple[Callable[[], Expression], ...] = (
            lambda: inner,
            lambda: inner,
            lambda: ir.alternatives([ir.sequence([this, inner]), end]),
            lambda: ir.alternatives([ir.sequence([inner, this]), end]),
            lambda: ir.alternatives([ir.sequence([inner, this, inner]), end]),
            lambda: ir.alternatives([ir.sequence([that, inner]), end]),
            lambda: ir.alternatives([ir.sequence([inner, that]), end]),
            lambda: ir.alternatives([ir.sequence([ir.repeat(inner, 0, 1), this, inner]), end]),
            lambda: ir.alternatives([ir.sequence([this, this]), inner, end]),
            lambda: ir.alternatives([ir.repeat(that, 0, 2), inner]),
        )
        return one_of(self.choose, shapes)()

    def expression(self, depth: int) -> Expression:
        """Any expression; compound ones half the time in normal form, half the time exactly as drawn."""
        kind = self.choose(9) if depth > 0 else 0
        if kind < 4:
            return self.leaf()
        raw = chance(self.choose, 2)
        if kind < 6:
            items = tuple(self.expression(depth - 1) for _ in range(2 + self.choose(2)))
            if kind == 4:
                return ir.Sequence(items) if raw else ir.sequence(items)
            return ir.Alternatives(items) if raw else ir.alternatives(items)
        if kind == 8:
            slots = [(self.expression(depth - 1), chance(self.choose, 3)) for _ in range(2 + self.choose(3))]
            return ir.joined(slots, self.expression(depth - 1))
        if chance(self.choose, 4):
            return one_of(self.choose, (self.uneven_units, self.text_with_exceptions))()
        item, (minimum, maximum) = self.expression(depth - 1), self.bounds()
        return ir.Repeat(item, minimum, maximum) if raw else ir.repeat(item, minimum, maximum)

    def leaf(self) -> Expression:
        kinds: tuple[Callable[[], Expression], ...] = (
            lambda: ir.Literal(text(self.choose, self.style.plain, 3)),
            lambda: ir.Literal(text(self.choose, self.style.plain, 1)),
            lambda: ir.Literal(text(self.choose, self.style.wide, 2)),
            self.char_class,
            self.char_class,
            lambda: RuleRef(one_of(self.choose, RULE_NAMES)),
            lambda: RuleRef(one_of(self.choose, RULE_NAMES)),
            self.automaton,
            self.token_set,
            lambda: one_of(self.choose, EMPTY_LEAVES),
        )
        return one_of(self.choose, kinds)()

    def uneven_units(self) -> Expression:
        """Counted units of two lengths, two units at least: the same text may have been more units or fewer."""
        unit = text(self.choose, self.style.plain, 1)
        minimum, maximum = self.bounds()
        more = 2 if minimum < 2 else 0
        both = ir.alternatives([ir.Literal(unit), ir.Literal(unit * 2)])
        return ir.repeat(both, minimum + more, None if maximum is None else maximum + more)

    def text_with_exceptions(self) -> Expression:
        """Free text that may not begin with two certain characters, as a key that is none of the declared ones."""
        first, second = (ord(one_of(self.choose, self.style.plain)[0]) for _ in range(2))
        free = ir.repeat(self.char_class() if chance(self.choose, 2) else ir.char_class([], negated=True), 0, None)
        other, then_other = (ir.char_class([(c, c)], negated=True) for c in (first, second))
        exception = ir.sequence([ir.Literal(chr(first)), then_other, free])
        return ir.alternatives([ir.sequence([other, free]), exception])

    def char_class(self) -> Expression:
        if self.style.classes and self.choose(2):
            return ir.char_class(one_of(self.choose, self.style.classes))
        alphabet = one_of(self.choose, (self.style.plain, self.style.wide))
        ranges = []
        for _ in range(1 + self.choose(2)):
            ends = ord(one_of(self.choose, alphabet)[0]), ord(one_of(self.choose, alphabet)[0])
            ranges.append((min(ends), max(ends)))
        return ir.char_class(ranges, negated=chance(self.choose, 5))

    def automaton(self) -> Expression:
        """One to four states, some of which may lead nowhere or be out of reach."""
        states = 1 + self.choose(4)
        edges = []
        for _ in range(states):
            characters = sorted({one_of(self.choose, PLAIN + WIDE) for _ in range(self.choose(4))})
            ranges = [(ord(character), ord(character)) for character in characters]
            if len(ranges) > 1 and chance(self.choose, 3):
                # Join the first two into one range, cut at the surrogates as the IR demands.
                ranges[:2] = ir.normal_ranges([(ranges[0][0], ranges[1][0])])
            edges.append(tuple((low, high, self.choose(states)) for low, high in ranges))
        accepting = frozenset(state for state in range(states) if chance(self.choose, 2))
        fallback: tuple[int, ...] = ()
        if chance(self.choose, 3):
            # A fallback has no fallback itself: the last state serves the others.
            fallback = (*(one_of(self.choose, (-1, states - 1)) for _ in range(states - 1)), -1)
        return Automaton(tuple(edges), accepting, fallback)

    def token_set(self) -> Expression:
        if not self.nameable:
            return ir.Literal("a")
        ids = {one_of(self.choose, self.nameable) for _ in range(1 + self.choose(3))}
        return TokenSet(tuple(sorted(ids)), exclude=chance(self.choose, 3))

    def bounds(self) -> tuple[int, int | None]:
        minimum = self.choose(self.largest_bound)
        if chance(self.choose, 3):
            return minimum, None
        return minimum, minimum + self.choose(self.largest_bound)


def nameable_ids(vocabulary: Vocabulary) -> list[int]:
    """The ids that a token terminal may name."""
    kinds = (TokenKind.ORDINARY, TokenKind.CONTROL)
    return [token_id for token_id in range(vocabulary.size) if vocabulary.kind(token_id) in kinds]


# --- grammars


def random_grammar(choose: Choose, vocabulary: Vocabulary | None = None, largest_bound: int = 4) -> Grammar:
    """A grammar of three rules whose language is not empty."""
    nameable = [] if vocabulary is None else nameable_ids(vocabulary)
    grammar = GrammarMaker(choose, nameable, largest_bound, TINY).grammar()
    try:
        ReferenceMatcher(grammar, vocabulary or Vocabulary.byte_level())
    except GrammarError:
        return with_a_sentence(grammar)
    return grammar


def random_source(choose: Choose, nameable: Sequence[int], style: Style, largest_bound: int = 4) -> str:
    """The text of a random grammar; `nameable` are ids that it may name in token terminals."""
    grammar = GrammarMaker(choose, nameable, largest_bound, style).grammar()
    return print_grammar(grammar if choose(4) else with_a_sentence(grammar))


def with_a_sentence(grammar: Grammar) -> Grammar:
    """The grammar with one sentence more: rather than throw away a draw without any."""
    root, *others = grammar.rules
    return Grammar((Rule(root.name, ir.Alternatives((root.body, ir.Literal("a")))), *others))
