"""A deliberately simple interpreter of grammar expressions: the oracle of the front-end tests.

It knows only the meaning of each node, by sets of end positions, and shares no code with
the automata or the matcher.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Joined,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
)


def full_match(expression: Expression, text: str, rules: dict[str, Expression] | None = None) -> bool:
    """Whether `text` as a whole belongs to `expression`."""
    return len(text) in ends(expression, text, 0, rules or {})


def ends(expression: Expression, text: str, start: int, rules: dict[str, Expression]) -> set[int]:
    """The positions at which a part of `text` that begins at `start` and belongs to `expression` ends."""
    match expression:
        case Literal(word):
            return {start + len(word)} if text.startswith(word, start) else set()
        case CharClass(ranges):
            inside = start < len(text) and any(low <= ord(text[start]) <= high for low, high in ranges)
            return {start + 1} if inside else set()
        case Sequence(items):
            positions = {start}
            for item in items:
                positions = {end for at in positions for end in ends(item, text, at, rules)}
            return positions
        case Alternatives(choices):
            return {end for choice in choices for end in ends(choice, text, start, rules)}
        case Repeat(item, minimum, maximum):
            return _repeat_ends(item, minimum, maximum, text, start, rules)
        case Joined():
            return _joined_ends(expression, text, start, rules)
        case Automaton():
            return _automaton_ends(expression, text, start)
        case RuleRef(name):
            return ends(rules[name], text, start, rules)
        case _:
            raise TypeError(expression)


def sample(expression: Expression, random: Random, most: int = 4) -> str | None:
    """A random text of the expression with at most `most` rounds beyond a minimum; None at a dead end."""
    match expression:
        case Literal(word):
            return word
        case CharClass(ranges):
            if not ranges:
                return None
            low, high = random.choice(ranges)
            return chr(random.choice([low, high, random.randint(low, high)]))
        case Sequence(items):
            return _joined(sample(item, random, most) for item in items)
        case Alternatives(choices):
            return sample(random.choice(choices), random, most)
        case Repeat(item, minimum, maximum):
            highest = minimum + most if maximum is None else min(maximum, minimum + most)
            return _joined(sample(item, random, most) for _ in range(random.randint(minimum, highest)))
        case Automaton():
            return _walk(expression, random, most)
        case _:
            raise TypeError(expression)


def _joined(parts: Iterable[str | None]) -> str | None:
    known = list(parts)
    return None if None in known else "".join(part for part in known if part is not None)


def _walk(automaton: Automaton, random: Random, most: int) -> str | None:
    # Long enough to reach the end of any automaton of the tests: all their states are useful.
    state, text = 0, ""
    for step in range(10 * len(automaton.edges) + most):
        if state in automaton.accepting and (not automaton.edges[state] or random.random() < 0.3):
            return text
        low, high, state = random.choice(automaton.edges[state])
        text += chr(random.choice([low, high, random.randint(low, high)]))
        if step > most * 10 and state in automaton.accepting:
            return text
    return text if state in automaton.accepting else None


def _repeat_ends(
    item: Expression, minimum: int, maximum: int | None, text: str, start: int, rules: dict[str, Expression]
) -> set[int]:
    # layers[k] holds the ends of exactly k repetitions; an unbounded or large count stops
    # when a layer has been seen before, because the layers then go round in a circle.
    layer, count = {start}, 0
    found = set(layer) if minimum == 0 else set()
    seen: dict[frozenset[int], int] = {}
    while maximum is None or count < maximum:
        key = frozenset(layer)
        if key in seen and count >= minimum:
            break
        if key in seen and not layer:
            break
        seen[key] = count
        layer = {end for at in layer for end in ends(item, text, at, rules)}
        count += 1
        if count >= minimum:
            found |= layer
    return found


def _joined_ends(expression: Joined, text: str, start: int, rules: dict[str, Expression]) -> set[int]:
    # Item by item: where a text may be with no item yet, and where with some.
    none, some = {start}, set[int]()
    for item, required in zip(expression.items, expression.required, strict=True):
        begun = {end for at in some for end in ends(expression.separator, text, at, rules)} | none
        after = {end for at in begun for end in ends(item, text, at, rules)}
        none, some = (set(), after) if required else (none, some | after)
    return some


def _automaton_ends(automaton: Automaton, text: str, start: int) -> set[int]:
    state, found = 0, set()
    for at in range(start, len(text) + 1):
        if state in automaton.accepting:
            found.add(at)
        if at == len(text):
            break
        targets = [target for low, high, target in automaton.edges[state] if low <= ord(text[at]) <= high]
        if not targets and automaton.fallback and automaton.fallback[state] >= 0:
            others = automaton.edges[automaton.fallback[state]]
            targets = [target for low, high, target in others if low <= ord(text[at]) <= high]
        if not targets:
            break
        (state,) = targets
    return found
