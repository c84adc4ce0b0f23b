"""The language of a grammar by its definition: all sentences up to a length, by brute force.

A sentence is a tuple of *symbols*: bytes 0 to 255, and `token_symbol(id)` where a token
terminal takes a token whole. The language of every rule is the least fixed point of the
equations that its body states; all the code below is set arithmetic. It shares nothing
with any matcher.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress, product

from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
)
from infernix.matcher.vocabulary import TokenKind, Vocabulary

Sentence = tuple[int, ...]
Language = frozenset[Sentence]

BYTE_VALUES = 256
NULL: Language = frozenset([()])


def token_symbol(token_id: int) -> int:
    """The symbol that a token terminal contributes."""
    return BYTE_VALUES + token_id


class Enumerator:
    """All sentences of at most `longest` symbols whose characters come from `alphabet`."""

    def __init__(self, grammar: Grammar, longest: int, alphabet: str, vocabulary: Vocabulary | None = None) -> None:
        self.longest = longest
        self.alphabet = alphabet
        self.vocabulary = vocabulary
        self.rules: dict[str, Language] = {rule.name: frozenset() for rule in grammar.rules}
        while True:
            larger = {rule.name: self.language(rule.body) for rule in grammar.rules}
            if larger == self.rules:
                break
            self.rules = larger
        self.sentences = self.rules[grammar.root]

    def language(self, expression: Expression) -> Language:
        """The sentences of an expression, given what is known of the rules so far."""
        match expression:
            case Literal(text):
                return self.short([tuple(text.encode())])
            case CharClass(ranges):
                return self.characters(ranges)
            case Sequence(items):
                result = NULL
                for item in items:
                    result = self.product(result, self.language(item))
                return result
            case Alternatives(choices):
                return frozenset().union(*map(self.language, choices))
            case Repeat(item, minimum, maximum):
                return self.power(self.language(item), minimum, maximum)
            case Joined():
                return self.joined(expression)
            case RuleRef(name):
                return self.rules[name]
            case TokenSet(ids, exclude):
                return self.tokens(ids, exclude)
            case Automaton():
                return self.automaton(expression)

    def joined(self, expression: Joined) -> Language:
        """Every choice of some items, and all that are required, is a sequence with separators."""
        found: Language = frozenset()
        for kept in product(*((True,) if required else (False, True) for required in expression.required)):
            parts = [part for item in compress(expression.items, kept) for part in (expression.separator, item)]
            if parts:
                found |= self.language(Sequence(tuple(parts[1:])))
        return found

    def short(self, sentences: Iterable[Sentence]) -> Language:
        return frozenset(sentence for sentence in sentences if len(sentence) <= self.longest)

    def product(self, left: Language, right: Language) -> Language:
        fitting = [[second for second in right if len(second) <= room] for room in range(self.longest + 1)]
        return frozenset(first + second for first in left for second in fitting[self.longest - len(first)])

    def characters(self, ranges: Iterable[tuple[int, int]]) -> Language:
        inside = [c for c in self.alphabet if any(low <= ord(c) <= high for low, high in ranges)]
        return self.short(tuple(character.encode()) for character in inside)

    def power(self, item: Language, minimum: int, maximum: int | None) -> Language:
        exactly = NULL
        for _ in range(minimum):
            exactly = self.product(exactly, item)
        result, count = exactly, minimum
        while maximum is None or count < maximum:
            exactly = self.product(exactly, item)
            if exactly <= result:
                break  # one more adds nothing, so neither do two
            result |= exactly
            count += 1
        return result

    def tokens(self, ids: tuple[int, ...], exclude: bool) -> Language:
        assert self.vocabulary is not None
        kinds = {i: self.vocabulary.kind(i) for i in range(self.vocabulary.size)}
        if exclude:
            chosen = [i for i, kind in kinds.items() if kind == TokenKind.ORDINARY and i not in ids]
        else:
            chosen = [i for i in ids if kinds[i] in (TokenKind.ORDINARY, TokenKind.CONTROL)]
        return self.short((token_symbol(i),) for i in chosen)

    def automaton(self, automaton: Automaton) -> Language:
        found: set[Sentence] = set()
        agenda: list[tuple[int, Sentence]] = [(0, ())]
        seen = set(agenda)
        while agenda:
            state, sentence = agenda.pop()
            if state in automaton.accepting:
                found.add(sentence)
            for character in self.alphabet:
                target = next_state(automaton, state, ord(character))
                after = (target, sentence + tuple(character.encode()))
                if target >= 0 and len(after[1]) <= self.longest and after not in seen:
                    seen.add(after)
                    agenda.append(after)
        return frozenset(found)


def next_state(automaton: Automaton, state: int, code_point: int) -> int:
    """Where a code point leads: by an edge of the state, or else of its fallback, or else nowhere (-1)."""
    places = [state, automaton.fallback[state]] if automaton.fallback else [state]
    for place in places:
        if place >= 0:
            for low, high, target in automaton.edges[place]:
                if low <= code_point <= high:
                    return target
    return -1


def spellings(tokens: Iterable[int], vocabulary: Vocabulary) -> set[Sentence]:
    """All symbol sequences that a sequence of tokens may stand for: each by its bytes, or whole."""
    result: set[Sentence] = {()}
    for token_id in tokens:
        ways: list[Sentence] = [(token_symbol(token_id),)]
        if vocabulary.kind(token_id) == TokenKind.ORDINARY:
            ways.append(tuple(vocabulary.token_bytes(token_id)))
        result = {start + way for start in result for way in ways}
    return result
