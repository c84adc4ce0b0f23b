"""Random grammars and vocabularies from a single source of choices.

Everything is decided by `Choose`, a function that returns an integer below its argument.
Hypothesis supplies one for property tests (`strategies.py`): it can then shrink every
decision towards 0, which is why each list of options begins with the simplest. A plain
`random.Random` supplies one for fuzzing, fifty times as fast.

The grammars are small and nasty on purpose: three rules that call one another in any
position (so that left, right, centre and mutual recursion, nullable and ambiguous rules
and rules without any finite text all come up), nested counts, classes whose members share
UTF-8 prefixes, automata, and token terminals. The alphabets are tiny, so that random
tokens fit random grammars often enough to lead somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from infernix.gbnf import grammar as ir
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import Automaton, Expression, Grammar, Rule, RuleRef, TokenSet
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import TokenKind, Vocabulary

__all__ = ["Choose", "random_case", "random_grammar", "random_vocabulary"]

Choose = Callable[[int], int]
"""n -> an integer in range(n)."""

Option = TypeVar("Option")

RULE_NAMES = ("root", "x", "y")
PLAIN = "abc"
WIDE = "aéè€\u0800\ud7ff\ue000😀\U0010ffff"
"""One to four bytes; é and è share a first byte, the others sit at the edges of UTF-8's ranges."""
ODD_BYTES = (b"\x80", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xed\xa0")
"""What no UTF-8 text contains: stray bytes, an overlong form, a surrogate, a code point too large."""
EMPTY_LEAVES: tuple[Expression, ...] = (ir.EMPTY, ir.EMPTY, ir.NOTHING)
MAX_DEPTH = 3


def one_of(choose: Choose, options: Sequence[Option]) -> Option:
    """One of the options; the first is the simplest."""
    return options[choose(len(options))]


def chance(choose: Choose, one_in: int) -> bool:
    """True once in so many times."""
    return choose(one_in) == one_in - 1


def text(choose: Choose, alphabet: str, longest: int) -> str:
    """A text of 1 to `longest` characters."""
    return "".join(one_of(choose, alphabet) for _ in range(1 + choose(longest)))


# --- vocabularies


def random_token(choose: Choose) -> bytes:
    """Text, a part cut out of its bytes, bytes that no text contains, or nothing."""
    match choose(10):
        case 9:
            return b""
        case 8:
            return one_of(choose, ODD_BYTES)
        case 5 | 6 | 7:
            encoded = text(choose, WIDE, 3).encode()
            start = choose(4)
            return encoded[start : start + 1 + choose(5)]
        case _:
            return text(choose, PLAIN, 4).encode()


def random_vocabulary(choose: Choose, most_tokens: int = 20) -> Vocabulary:
    """Not closed under prefixes; equal tokens, control, forbidden and padding ids, no to a few EOS ids."""
    tokens = [random_token(choose) for _ in range(choose(most_tokens))]
    if not chance(choose, 4):
        # Usually the single characters are there, so that walks do not end at once.
        tokens += [character.encode() for character in PLAIN]
    tokens.append(b"")
    size = len(tokens) + one_of(choose, (0, 1, 9))
    kinds = [one_of(choose, "oooooooooccf") for _ in range(size - 1)]
    eos = {len(tokens) - 1} if not chance(choose, 8) else set()
    eos |= {i for i in range(size) if chance(choose, 16)}
    return Vocabulary(
        tokens,
        eos_ids=eos,
        control_ids=[i for i, kind in enumerate(kinds) if kind == "c"],
        forbidden_ids=[i for i, kind in enumerate(kinds) if kind == "f" and i not in eos],
        size=size,
    )


# --- expressions


class GrammarMaker:
    """Draws the parts of one grammar."""

    def __init__(self, choose: Choose, vocabulary: Vocabulary | None, largest_bound: int) -> None:
        self.choose = choose
        self.largest_bound = largest_bound
        self.nameable = [] if vocabulary is None else nameable_ids(vocabulary)

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
        kind = self.choose(8) if depth > 0 else 0
        if kind < 4:
            return self.leaf()
        raw = chance(self.choose, 2)
        if kind < 6:
            items = tuple(self.expression(depth - 1) for _ in range(2 + self.choose(2)))
            if kind == 4:
                return ir.Sequence(items) if raw else ir.sequence(items)
            return ir.Alternatives(items) if raw else ir.alternatives(items)
        item, (minimum, maximum) = self.expression(depth - 1), self.bounds()
        return ir.Repeat(item, minimum, maximum) if raw else ir.repeat(item, minimum, maximum)

    def leaf(self) -> Expression:
        kinds: tuple[Callable[[], Expression], ...] = (
            lambda: ir.Literal(text(self.choose, PLAIN, 3)),
            lambda: ir.Literal(text(self.choose, PLAIN, 1)),
            lambda: ir.Literal(text(self.choose, WIDE, 2)),
            self.char_class,
            self.char_class,
            lambda: RuleRef(one_of(self.choose, RULE_NAMES)),
            lambda: RuleRef(one_of(self.choose, RULE_NAMES)),
            self.automaton,
            self.token_set,
            lambda: one_of(self.choose, EMPTY_LEAVES),
        )
        return one_of(self.choose, kinds)()

    def char_class(self) -> Expression:
        alphabet = one_of(self.choose, (PLAIN, WIDE))
        ranges = []
        for _ in range(1 + self.choose(2)):
            ends = ord(one_of(self.choose, alphabet)), ord(one_of(self.choose, alphabet))
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
    grammar = GrammarMaker(choose, vocabulary, largest_bound).grammar()
    try:
        ReferenceMatcher(grammar, vocabulary or Vocabulary.byte_level())
    except GrammarError:
        # Rather than throw the draw away, give it one sentence.
        root, *others = grammar.rules
        body = ir.Alternatives((root.body, ir.Literal("a")))
        return Grammar((Rule(root.name, body), *others))
    return grammar


def random_case(choose: Choose, largest_bound: int = 4) -> tuple[Grammar, Vocabulary]:
    """A vocabulary, and a grammar that may name its tokens."""
    vocabulary = random_vocabulary(choose)
    return random_grammar(choose, vocabulary, largest_bound), vocabulary
