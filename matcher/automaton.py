"""Rules as automata over bytes, calls and tokens: what the compiler builds before tables.

Each rule becomes one small nondeterministic automaton, built directly from its expression
(Thompson's construction): state 0 is where the rule starts, state 1 where it ends. Nothing
is determinised, so the cost is linear in the grammar; interning Earley sets does the subset
construction later, lazily.

    build       expressions -> automata; a counted repetition becomes a rule of its own
    analyse     which rules are nullable, which are productive (`matcher.analysis`)
    lay out     drop what is useless, remove epsilons, spell literals (`matcher.assembly`)

**Counted rules.** `body{m,n}` is a rule whose state 0 is its *loop* state and whose state 1
is the end of a unit: an item that arrives there continues at state 0 with one unit more. Its
tables are the same for every m and n. A body that may be empty makes m zero, and then only
non-empty units are counted, so the counter always moves forward with the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Edges,
    Expression,
    Grammar,
    Joined,
    Literal,
    Ranges,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenSet,
    walk,
    without_fallback,
)
from infernix.gbnf.time_limit import check_time
from infernix.gbnf.utf8 import ByteSequence, utf8_sequences

from .analysis import fixed_point, is_nullable, is_productive, skip_nullable, strongly_connected
from .rule_automaton import COLUMNS, END, LAST_ASCII, MAY_SKIP, NO_SKIP, START, RuleAutomaton
from .tables import BYTE, CALL, FALLBACK

__all__ = ["Automata", "build_automata"]

MAX_LITERAL_BYTES = 1_000_000
"""Each byte of a literal is a state of the tables."""
CACHED_ROWS = 256
"""States of automata over code points whose edges stay divided: those of the JSON string are in every grammar."""
SMALL_BODY = 64
"""Nodes of an expression that is written into a counted rule instead of being a rule of its own."""


class Builder:
    """Builds the automata of all rules that the root reaches. Rule 0 is the root."""

    def __init__(
        self,
        grammar: Grammar,
        token_set: Callable[[TokenSet], int | None],
        linked: Callable[[Rule], tuple[int, bool] | None],
    ) -> None:
        self.linked = linked
        self.grammar = grammar
        self.token_set = token_set
        self.rules: list[RuleAutomaton] = []
        self.todo: list[tuple[int, Expression]] = []
        self.numbers: dict[str, int] = {}
        self.literal_bytes = 0

    def build(self) -> list[RuleAutomaton]:
        """The automata, epsilons and unproductive parts included."""
        self.rule_number(self.grammar.root)
        while self.todo:
            number, body = self.todo.pop()
            automaton = self.rules[number]
            if isinstance(body, Repeat) and automaton.bounds is not None:
                self.build_unit(automaton, body.item)
            else:
                self.connect(automaton, body, START, END)
            check_time()
        return self.rules

    def rule_number(self, name: str) -> int:
        """The number of a named rule, whose body is built later."""
        number = self.numbers.get(name)
        if number is None:
            rule = self.grammar.by_name[name]
            linked = self.linked(rule) if rule.standard else None
            if linked is None:
                number = self.new_rule(rule.body)
            else:
                self.rules.append(RuleAutomaton(linked=linked))
                number = len(self.rules) - 1
            self.numbers[name] = number
        return number

    def new_rule(self, body: Expression) -> int:
        """Number a new rule; its body is built later, so that nesting costs no recursion."""
        self.rules.append(RuleAutomaton())
        self.todo.append((len(self.rules) - 1, body))
        return len(self.rules) - 1

    def build_unit(self, automaton: RuleAutomaton, body: Expression) -> None:
        """The body of a counted rule: in line if it surely takes a byte, as a call that may not be empty.

        A large body is a rule of its own as well: epsilons must not lead to the end of a unit,
        so they are always removed there, which is quadratic at worst.
        """
        if surely_consumes(body) and is_small(body):
            self.connect(automaton, body, START, END)
        else:
            rule = self.rule_number(body.name) if isinstance(body, RuleRef) else self.new_rule(body)
            automaton.call(START, rule, END, NO_SKIP)

    def spell(self, automaton: RuleAutomaton, text: str, start: int, end: int) -> None:
        """Add the one path of a literal."""
        if not text:
            automaton.epsilon(start, end)
            return
        data = text.encode()
        self.literal_bytes += len(data)
        if self.literal_bytes > MAX_LITERAL_BYTES:
            raise LimitError(f"the grammar's literals have more than {MAX_LITERAL_BYTES} bytes in all")
        automaton.literal(start, data, end)

    def connect(self, automaton: RuleAutomaton, body: Expression, start: int, end: int) -> None:
        """Add paths from `start` to `end` for exactly the strings of `body`."""
        stack = [(body, start, end)]
        flat, calls, numbers = automaton.flat, automaton.calls, self.numbers
        while stack:
            expression, start, end = stack.pop()
            # The frequent ones first: a large schema has 10,000 expressions.
            if isinstance(expression, Sequence):
                items = expression.items
                states = range(automaton.states, automaton.states + len(items) - 1)
                automaton.states = states.stop
                for item, target in zip(items, (*states, end), strict=True):
                    # Most items are calls and literals: they need not wait on the stack.
                    if isinstance(item, RuleRef):
                        number = numbers.get(item.name)
                        if number is None:
                            number = self.rule_number(item.name)
                        calls.append((start, number, target, MAY_SKIP, len(flat) + 2))
                        flat += (start, CALL, number, 0, target)
                    elif isinstance(item, Literal):
                        self.spell(automaton, item.text, start, target)
                    else:
                        stack.append((item, start, target))
                    start = target
            elif isinstance(expression, RuleRef):
                automaton.call(start, self.rule_number(expression.name), end, MAY_SKIP)
            elif isinstance(expression, Repeat):
                if expression.maximum == 1 and expression.minimum == 0:
                    automaton.epsilon(start, end)
                    stack.append((expression.item, start, end))
                else:
                    stack += self.connect_repeat(automaton, expression, start, end)
            elif isinstance(expression, Literal):
                self.spell(automaton, expression.text, start, end)
            elif isinstance(expression, Alternatives):
                stack += [(choice, start, end) for choice in expression.choices]
            elif isinstance(expression, Joined):
                stack += connect_joined(automaton, expression, start, end)
            elif isinstance(expression, CharClass):
                automaton.flawed |= not expression.ranges
                connect_class(automaton, expression.ranges, start, end)
            elif isinstance(expression, Automaton):
                if expression.fallback and (start, end) != (START, END):
                    # A rule of its own: then "any key but these" is the same text after its first
                    # difference in all grammars, whatever follows it there.
                    automaton.call(start, self.new_rule(expression), end, MAY_SKIP)
                else:
                    connect_automaton(automaton, expression, start, end)
            else:
                number = self.token_set(expression)
                if number is None:
                    automaton.flawed = True
                else:
                    automaton.token(start, number, end)

    def connect_repeat(
        self, automaton: RuleAutomaton, repeat: Repeat, start: int, end: int
    ) -> list[tuple[Expression, int, int]]:
        """`*` and `+` become loops; other bounds become a call of a counted rule."""
        if repeat.maximum is None and repeat.minimum <= 1:
            # One state before the unit and one after it, joined by an epsilon both ways
            # where no unit is needed.
            before = automaton.new_state()
            after = before if repeat.minimum == 0 else automaton.new_state()
            automaton.epsilon(start, before)
            automaton.epsilon(after, end)
            if after != before:
                automaton.epsilon(after, before)
            return [(repeat.item, before, after)]
        rule = self.new_rule(repeat)
        self.rules[rule].bounds = (repeat.minimum, repeat.maximum)
        automaton.call(start, rule, end, MAY_SKIP)
        return []


def connect_joined(automaton: RuleAutomaton, joined: Joined, start: int, end: int) -> list[tuple[Expression, int, int]]:
    """A state where each item may begin, and one after it, from which the separator leads to the next item.

    If an item may be left out, the next one may begin in its place. Returns what remains to be connected.
    """
    todo: list[tuple[Expression, int, int]] = []
    last = len(joined.items) - 1
    last_required = max((i for i, required in enumerate(joined.required) if required), default=-1)
    for i, item in enumerate(joined.items):
        if i == last:
            todo.append((item, start, end))
            break
        after, following = automaton.new_state(), automaton.new_state()
        todo.append((item, start, after))
        todo.append((joined.separator, after, following))
        if i >= last_required:
            automaton.epsilon(after, end)
        if not joined.required[i]:
            automaton.also(start, following)
        start = following
    return todo


def connect_automaton(automaton: RuleAutomaton, source: Automaton, start: int, end: int) -> None:
    """Copy a code-point automaton, each code point spelled in bytes.

    An accepting state without edges is `end`; the others are joined to it by epsilons, and `start` to the first.
    """
    automaton.flawed |= not accepts_something(source)
    if not keeps_fallback(source):
        source = without_fallback(source)
    flat = automaton.flat
    states = list(range(automaton.states, automaton.states + len(source.edges)))
    automaton.states += len(states)
    for state in source.accepting:
        if source.edges[state]:
            automaton.epsilon(states[state], end)
        else:
            states[state] = end
    automaton.epsilon(start, states[0])
    for state, row in zip(states, source.edges, strict=True):
        if row and row[-1][1] > LAST_ASCII:
            plain, longer = divided(row)
            for ranges, target in longer:
                connect_longer(automaton, ranges, state, states[target])
            row = plain
        for low, high, target in row:
            flat += (state, BYTE, low, high, states[target])
    for state, other in zip(states, source.fallback, strict=False):  # perhaps none at all
        if other >= 0 and source.edges[other]:
            automaton.has_fallback = True
            flat += (state, FALLBACK, 0, 0, states[other])


def keeps_fallback(source: Automaton) -> bool:
    """Whether the fallbacks of an automaton can stay: byte by byte, and never beside other edges.

    The first state and accepting states may be joined with other states of the rule, and a
    character of several bytes would have to fall back in its middle.
    """
    for state, other in enumerate(source.fallback):
        row = source.edges[state]
        if other >= 0 and (state == 0 or state in source.accepting or (row and row[-1][1] > LAST_ASCII)):
            return False
    return True


def accepts_something(source: Automaton) -> bool:
    """Whether a code-point automaton has an accepting state that its first state reaches."""
    if 0 in source.accepting:
        return True
    reached, stack = {0}, [0]
    while stack:
        state = stack.pop()
        rows = [source.edges[state]]
        if source.fallback and source.fallback[state] >= 0:
            rows.append(source.edges[source.fallback[state]])
        for row in rows:
            for _, _, target in row:
                if target in source.accepting:
                    return True
                if target not in reached:
                    reached.add(target)
                    stack.append(target)
    return False


def connect_class(automaton: RuleAutomaton, ranges: Ranges, start: int, end: int) -> None:
    """Add edges from `start` to `end` for the UTF-8 encodings of some code points, ascending ranges."""
    longer: list[tuple[int, int]] = []
    for low, high in ranges:
        if low <= LAST_ASCII:
            automaton.byte(start, low, min(high, LAST_ASCII), end)
        if high > LAST_ASCII:
            longer.append((max(low, LAST_ASCII + 1), high))
    if longer:
        connect_longer(automaton, tuple(longer), start, end)


@lru_cache(CACHED_ROWS)
def divided(row: Edges) -> tuple[Edges, tuple[tuple[Ranges, int], ...]]:
    """The edges of one state: those on code points of one byte, and the code points of several bytes by target."""
    plain: list[tuple[int, int, int]] = []
    longer: dict[int, list[tuple[int, int]]] = {}
    for low, high, target in row:
        if low <= LAST_ASCII:
            plain.append((low, min(high, LAST_ASCII), target))
        if high > LAST_ASCII:
            longer.setdefault(target, []).append((max(low, LAST_ASCII + 1), high))
    return tuple(plain), tuple((tuple(ranges), target) for target, ranges in longer.items())


def connect_longer(automaton: RuleAutomaton, ranges: Ranges, start: int, end: int) -> None:
    """Add edges from `start` to `end` for code points of several bytes.

    They go through inner states, which all classes of the rule with the same rest of bytes before the same
    state share.
    """
    key = (ranges, end)
    edges = automaton.encoded.get(key)
    if edges is None:
        edges = automaton.encoded[key] = encode(automaton, ranges, end)
    for edge in edges:
        automaton.byte(start, *edge)


def encode(automaton: RuleAutomaton, ranges: Ranges, end: int) -> list[tuple[int, int, int]]:
    """The first bytes (low, high, target) of code points of several bytes before `end`; makes their inner states."""
    firsts, tails = byte_paths(ranges)
    states = [end]
    for tail, low, high, after in tails:
        state = automaton.tails.get((tail, end))
        if state is None:
            state = automaton.tails[tail, end] = automaton.new_state()
            automaton.byte(state, low, high, states[after])
        states.append(state)
    return [(low, high, states[after]) for low, high, after in firsts]


@lru_cache(CACHED_ROWS)
def byte_paths(ranges: Ranges) -> tuple[list[tuple[int, int, int]], list[tuple[ByteSequence, int, int, int]]]:
    """The encodings of a class as edges to numbered inner states; 0 is the end.

    First bytes are (low, high, inner state). An inner state, numbered from 1, is the rest of bytes that leads to the
    end from it, and its one edge: (rest, low, high, inner state).
    """
    numbers: dict[ByteSequence, int] = {(): 0}
    tails: list[tuple[ByteSequence, int, int, int]] = []
    firsts: list[tuple[int, int, int]] = []
    for byte_ranges in utf8_sequences(ranges):
        for start in range(len(byte_ranges) - 1, 0, -1):
            tail = byte_ranges[start:]
            if tail not in numbers:
                tails.append((tail, *tail[0], numbers[tail[1:]]))
                numbers[tail] = len(tails)
        firsts.append((*byte_ranges[0], numbers[byte_ranges[1:]]))
    return firsts, tails


def surely_consumes(body: Expression) -> bool:
    """Whether every string of `body` has at least one byte or token, as far as two levels show."""
    match body:
        case Alternatives(choices):
            return all(map(takes_something, choices))
        case _:
            return takes_something(body)


def takes_something(expression: Expression) -> bool:
    """Whether an expression, or one item of it if it is a sequence, is a terminal that is not empty."""
    if isinstance(expression, Joined):
        return all(map(takes_something, expression.items))
    items = expression.items if isinstance(expression, Sequence) else (expression,)
    return any(isinstance(item, CharClass | TokenSet) or (isinstance(item, Literal) and item.text) for item in items)


def is_small(body: Expression) -> bool:
    """Whether an expression has at most SMALL_BODY nodes."""
    return sum(1 for _ in islice(walk(body), SMALL_BODY + 1)) <= SMALL_BODY


class Automata(NamedTuple):
    """The finished automata of a grammar. Rule 0 is the root."""

    rules: list[RuleAutomaton]
    components: list[list[int]]
    """The productive rules in strongly connected components of the call graph, callees first."""
    nullable: set[int]
    productive: bool
    """Whether the root is productive."""
    names: dict[str, int]
    """The numbers of the named rules."""

    def size(self) -> tuple[int, int]:
        """How many states and edges the rules have, with all bytes of literals counted."""
        kept = [self.rules[rule] for component in self.components for rule in component]
        spelled = sum(len(rule.literals) for rule in kept)
        return sum(rule.states for rule in kept) + spelled, sum(len(rule.flat) // COLUMNS for rule in kept) + spelled


def build_automata(
    grammar: Grammar,
    token_set: Callable[[TokenSet], int | None],
    linked: Callable[[Rule], tuple[int, bool] | None],
) -> Automata:
    """The automata of a grammar whose references all resolve.

    `token_set` numbers a token set (None: it is empty); `linked` knows the standard rules
    that are in the tables already.
    """
    builder = Builder(grammar, token_set, linked)
    rules = builder.build()
    components = strongly_connected(rules)
    order = [rule for component in components for rule in component]
    productive = fixed_point(rules, components, is_productive)
    nullable = fixed_point(rules, components, is_nullable) & productive
    for rule in order:
        if rule in productive and rules[rule].linked is None:
            automaton = rules[rule]
            if automaton.bounds is not None and unit_may_be_empty(automaton, nullable):
                automaton.bounds = (0, automaton.bounds[1])
            skip_nullable(automaton, nullable)
    check_time()
    kept = [component for component in ([r for r in c if r in productive] for c in components) if component]
    return Automata(rules, kept, nullable, 0 in productive, builder.numbers)


def unit_may_be_empty(automaton: RuleAutomaton, nullable: set[int]) -> bool:
    """Whether the body of a counted rule is a call of a nullable rule."""
    return any(rule in nullable for _, rule, _, skip, _ in automaton.calls if skip == NO_SKIP)
