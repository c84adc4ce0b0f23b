"""Grammar -> tables: the last step before matching.

`compile_grammar` checks a grammar against a vocabulary, builds its automata
(`matcher.automaton`) and links them into the vocabulary's tables. Rules that are equal to
rules linked before, by this or another grammar, are not stored again: a group of mutually
recursive rules is looked up by its content, callees first, so that "equal" is a comparison
of small integers. That is how the JSON string of one schema is the JSON string of all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from itertools import chain, repeat
from time import monotonic
from typing import Any

import numpy as np

from infernix.gbnf.checks import check_tokens
from infernix.gbnf.errors import GrammarError, LimitError
from infernix.gbnf.grammar import Grammar, Rule, RuleRef, TokenSet, walk

from . import tables
from .automaton import Automata, build_automata
from .bitmask import pack
from .earley import first_set
from .rule_automaton import END, LITERAL, START, RuleAutomaton
from .store import MAX_TOKEN_SETS, Heap, StandardRule, Store
from .tables import BYTE, CALL, EPSILON, FALLBACK, FINAL, LOOP, UNIT_END
from .vocabulary import TokenKind, Vocabulary

__all__ = ["COMPILE_SECONDS", "CompiledGrammar", "compile_grammar"]

COMPILE_SECONDS = 6.0
"""Compiling a grammar may take so long; with reading its text, that stays below ten seconds."""
BYTES_PER_EDGE, BYTES_PER_GRAMMAR = 200, 2000
"""What an edge's share of the expressions, and a grammar's own objects, are taken to weigh."""


class CompiledGrammar:
    """An immutable grammar, ready to match; any number of matchers may share it, in any threads."""

    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, store: Store, root: int, nullable: bool, nbytes: int
    ) -> None:
        self.nbytes = nbytes
        """An estimate of what keeping the grammar costs: its expressions and the table rows it added."""
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.store = store
        self.root = root
        self.nullable = nullable

    def first_set(self, heap: Heap) -> int:
        """The set before the first byte, in a heap of the store."""
        return first_set(heap.address, self.root, int(self.nullable))

    def __repr__(self) -> str:
        return f"<CompiledGrammar of {len(self.grammar.rules)} rules over {self.vocabulary!r}>"


_stores_lock = threading.Lock()


def store_of(vocabulary: Vocabulary, features: int) -> Store:
    """The current store of a vocabulary, made on first use."""
    with _stores_lock:
        stores: dict[int, Store] = vars(vocabulary).setdefault("_stores", {})
        if features not in stores:
            stores[features] = Store(vocabulary, features)
        return stores[features]


def replace_store(vocabulary: Vocabulary, full: Store, states: int, edges: int) -> Store:
    """A new store in place of one whose tables are full; grammars in use keep the old one."""
    with _stores_lock:
        stores: dict[int, Store] = vars(vocabulary)["_stores"]
        if stores[full.features] is full:
            full.replaced = True
            stores[full.features] = Store(
                vocabulary,
                full.features,
                max(2 * states, len(full.tables.arrays["states"])),
                max(2 * edges, len(full.tables.arrays["edges"])),
            )
        return stores[full.features]


def compile_grammar(
    grammar: Grammar,
    vocabulary: Vocabulary,
    *,
    features: int = 0,
    allow_control: bool = False,
    seconds: float = COMPILE_SECONDS,
) -> CompiledGrammar:
    """Compile a grammar whose references resolve (`gbnf.checks.check`) for a vocabulary.

    `features` switches optimisations off (`tables.OFF_*`), for tests. `allow_control` lets token
    terminals name control tokens, which only a model's own framing may do. Raises GrammarError for
    an empty language or a token id that may not be named, LimitError past `seconds`.
    """
    store = store_of(vocabulary, features)
    while True:
        linker = Linker(store, vocabulary, grammar, allow_control)
        try:
            automata = build_automata(grammar, linker.token_set, linker.linked, monotonic() + seconds)
        except TablesFull:
            store = replace_store(vocabulary, store, 0, 0)
            continue
        if not automata.productive:
            raise GrammarError("the grammar's language is empty: the root rule can never be completed")
        with store.lock:
            if linker.link(automata):
                root = linker.numbers[0]
                return CompiledGrammar(
                    grammar, vocabulary, store, root, 0 in automata.nullable, linker.nbytes(automata)
                )
        store = replace_store(vocabulary, store, len(linker.states), len(linker.edges))


def check_token_sets(grammar: Grammar, vocabulary: Vocabulary, allow_control: bool) -> None:
    """Raise GrammarError, with its place, for a token terminal that names a token it may not name."""

    def reason(token: int) -> str | None:
        if allow_control and 0 <= token < vocabulary.size and vocabulary.kind(token) == TokenKind.CONTROL:
            return None
        return vocabulary.why_not_ordinary(token)

    check_tokens(grammar, reason)


def reached_from(name: str, by_name: dict[str, Rule]) -> list[str]:
    """The rules that a rule refers to, directly or not, itself included."""
    found = [name]
    for rule in found:  # grows while it is walked
        for node in walk(by_name[rule].body):
            if isinstance(node, RuleRef) and node.name not in found:
                found.append(node.name)
    return found


class TablesFull(Exception):
    """The tables of a store have no room for this grammar; a new store will."""


class Linker:
    """Lays the automata of one grammar out as table rows, sharing what is there already."""

    def __init__(self, store: Store, vocabulary: Vocabulary, grammar: Grammar, allow_control: bool) -> None:
        self.allow_control = allow_control
        self.grammar = grammar
        self.tables = store.tables
        self.sharing = not store.features & tables.OFF_SHARING
        self.sharing_twins = not store.features & tables.OFF_TWINS
        self.vocabulary = vocabulary
        self.numbers: dict[int, int] = {}
        """Rule of this grammar -> rule number in the tables."""
        self.lock = store.lock
        self.token_sets: set[TokenSet] = set()
        # Where the new rows will begin; `link` knows, when it holds the lock.
        self.first_state = self.first_rule = self.first_edge = 0
        self.states: list[tuple[int, int, int, int, int]] = []
        self.edges: list[tuple[int, int, int, int]] = []
        self.starts: list[int] = []
        self.counters: list[tuple[int, int, int]] = []
        self.keys: dict[Any, list[int]] = {}

    def token_set(self, terminal: TokenSet) -> int | None:
        """The number of a token set, None if it is empty. Raises GrammarError for a token that may not be named."""
        if any(map(self.vocabulary.why_not_ordinary, terminal.ids)):
            check_token_sets(self.grammar, self.vocabulary, self.allow_control)  # knows the place
        self.token_sets.add(terminal)
        if len(self.token_sets) > MAX_TOKEN_SETS // 2:
            raise LimitError(f"more than {MAX_TOKEN_SETS // 2} different token sets in one grammar")
        with self.lock:
            known = self.tables.token_rows.get(terminal)
            if known is None:
                row = pack(terminal.ids, self.vocabulary.size)
                if terminal.exclude:
                    row = self.vocabulary.ordinary_mask() & ~row
                if not row.any():
                    return None
                if not self.tables.has_room(token_sets=1):
                    raise TablesFull
                known = (self.tables.used["token_sets"], row)
                self.tables.append("token_sets", np.array([row.ctypes.data], dtype=np.int64))
                self.tables.token_rows[terminal] = known
        return known[0]

    def linked(self, rule: Rule) -> tuple[int, bool] | None:
        """The number of a standard rule that was linked before, and whether it is nullable.

        It was linked with the rules it reaches; they must be the same objects here.
        """
        known = self.tables.standard.get(id(rule))
        if known is None or not self.sharing:
            return None
        by_name = self.grammar.by_name
        if all(by_name.get(other.name) is other for other in known.reached):
            return known.number, known.nullable
        return None

    def remember_standard(self, automata: Automata) -> None:
        """Remember what the standard rules of the grammar were linked as."""
        by_name = self.grammar.by_name
        for name, number in automata.names.items():
            rule = by_name[name]
            if rule.standard and id(rule) not in self.tables.standard and number in self.numbers:
                reached = tuple(by_name[other] for other in reached_from(name, by_name))
                if all(other.standard for other in reached):
                    self.tables.standard[id(rule)] = StandardRule(
                        reached, self.numbers[number], number in automata.nullable
                    )

    def link(self, automata: Automata) -> bool:
        """Give every rule a number, adding tables for the new ones. False if there is no room.

        The caller holds the store's lock.
        """
        used = self.tables.used
        self.first_state, self.first_rule, self.first_edge = used["states"], used["rules"], used["edges"]
        rules = automata.rules
        for component in automata.components:
            linked = rules[component[0]].linked
            if linked is not None:
                self.numbers[component[0]] = linked[0]
                continue
            key = self.content(rules, component)
            numbers = self.tables.rule_numbers.get(key) or self.keys.get(key)
            if numbers is None or not self.sharing:
                numbers = [self.first_rule + len(self.starts) + i for i in range(len(component))]
                self.numbers.update(zip(component, numbers))
                self.keys[key] = numbers
                for rule in component:
                    self.lay_out(rules[rule])
            else:
                self.numbers.update(zip(component, numbers))
        if not self.flush():
            return False
        self.remember_standard(automata)
        return True

    def content(self, rules: list[RuleAutomaton], component: list[int]) -> tuple[Any, ...]:
        """What a group of mutually recursive rules consists of, with callees outside it as numbers."""
        local = {rule: -1 - i for i, rule in enumerate(component)}
        numbers = self.numbers
        content: list[Any] = []
        for rule in component:
            automaton = rules[rule]
            content.append(automaton.bounds)
            content.append(tuple(sorted(automaton.final)))
            for row in automaton.edges:
                content.append(
                    tuple(
                        (CALL, local[edge[1]] if edge[1] in local else numbers[edge[1]], edge[2], edge[3])  # type: ignore[index]
                        if edge[0] == CALL
                        else edge
                        for edge in row
                    )
                )
        return tuple(content)

    def lay_out(self, automaton: RuleAutomaton) -> None:
        """Append the states and edges of one rule."""
        base = self.first_state + len(self.states)
        self.starts.append(base + START)
        counter = -1
        if automaton.bounds is not None:
            counter = self.tables.used["counters"] + len(self.counters)
            minimum, maximum = automaton.bounds
            self.counters.append((minimum, -1 if maximum is None else maximum, base + START))
        spelling = Spelling(self, counter, base + len(automaton.edges))
        final = {base + state for state in automaton.final}
        edges, states, numbers = self.edges, self.states, self.numbers
        for state, row in enumerate(automaton.edges):
            first = len(edges)
            literals: list[tuple[bytes, int]] = []
            for kind, operand, high, target in row:
                if kind == LITERAL:
                    literals.append((operand, base + target))  # type: ignore[arg-type]
                elif kind == CALL:
                    edges.append((CALL, numbers[operand], 0, base + target))  # type: ignore[index]
                else:
                    edges.append((kind, operand, high, base + target))  # type: ignore[arg-type]
            if literals:
                spelling.branch(literals, final)
            flags = FINAL if base + state in final else 0
            if counter >= 0 and state in (START, END):
                flags = LOOP if state == START else UNIT_END
            states.append((self.first_edge + first, len(edges) - first, flags, counter, base + state))
        spelling.finish(final)
        self.find_twins(automaton, base)

    def find_twins(self, automaton: RuleAutomaton, base: int) -> None:
        """Let states stand for equal ones in shapes: counted bodies that differ in bounds, and fallbacks.

        Equal automata are laid out alike, so the states correspond one to one.
        """
        twins = self.tables.twins
        if not self.sharing_twins:
            return
        if automaton.bounds is not None and all(callee in self.numbers for callee in automaton.calls):
            own = range(base, self.first_state + len(self.states))
            content = tuple(
                tuple((CALL, self.numbers[edge[1]], *edge[2:]) if edge[0] == CALL else edge for edge in row)  # type: ignore[index]
                for row in automaton.edges
            )
            self.set_twins(own, twins.setdefault(content, own))
        falls = [edge[3] for row in automaton.edges for edge in row if edge[0] == FALLBACK]
        if falls and not automaton.calls:
            places = {state: place for place, state in enumerate(dict.fromkeys(falls))}
            rows = []
            for state in (order := list(places)):  # grows while it is walked
                row = []
                for kind, low, high, target in automaton.edges[state]:
                    if target not in places:
                        places[target] = len(places)
                        order.append(target)
                    row.append((kind, low, high, places[target]))
                rows.append((state in automaton.final, tuple(row)))
            own_states = [base + state for state in order]
            self.set_twins(own_states, twins.setdefault(tuple(rows), own_states))

    def set_twins(self, own: Iterable[int], twins: Iterable[int]) -> None:
        """Set the twins of new states."""
        for state, twin in zip(own, twins):
            self.states[state - self.first_state] = (*self.states[state - self.first_state][:4], twin)

    def nbytes(self, automata: Automata) -> int:
        """An estimate of the memory that the grammar's expressions and new table rows take."""
        edges = sum(len(row) for automaton in automata.rules for row in automaton.edges)
        return BYTES_PER_EDGE * edges + 16 * (len(self.states) + len(self.edges)) + BYTES_PER_GRAMMAR

    def flush(self) -> bool:
        """Write the new rows into the tables and remember the rules. False if there is no room."""
        store_tables = self.tables
        if not store_tables.has_room(
            states=len(self.states),
            edges=len(self.edges),
            rules=len(self.starts),
            counters=len(self.counters),
        ):
            return False
        for name, rows in (("states", self.states), ("edges", self.edges), ("counters", self.counters)):
            if rows:
                flat = np.array(rows, dtype=np.int32)
                store_tables.append(name, flat.view(tables.ARRAYS[name][0]).reshape(-1))
        store_tables.append("rules", np.array(self.starts, dtype=np.int32))
        store_tables.rule_numbers.update(self.keys)
        return True


class Spelling:
    """Spells literals out byte by byte. Literals that leave one state share their prefixes (a trie).

    The states inside literals follow the rule's own states in the tables. They are numbered
    when they are first pointed to, and written in that order.
    """

    def __init__(self, linker: Linker, counter: int, spare: int) -> None:
        self.linker = linker
        self.counter = counter
        self.spare = spare
        self.queue: deque[tuple[bytes, int] | list[tuple[bytes, int]]] = deque()
        """What remains to be written: a chain (bytes, target), or a state where literals part."""

    def branch(self, literals: list[tuple[bytes, int]], final: set[int]) -> bool:
        """Append edges for the literals that leave the current state. Returns whether it is final.

        An empty literal is an epsilon: its target is reached already. A unit's end must not
        be reached by an epsilon, so counted rules share nothing.
        """
        edges = self.linker.edges
        ends = False
        if self.counter >= 0 or len(literals) < 2:
            for data, target in literals:
                edges.append((BYTE, data[0], data[0], self.chain(data[1:], target)))
            return False
        literals.sort()
        start = 0
        while start < len(literals):
            first = literals[start][0]
            if not first:
                target = literals[start][1]
                edges.append((EPSILON, 0, 0, target))
                ends |= target in final
                start += 1
                continue
            end = start + 1
            while end < len(literals) and literals[end][0][0] == first[0]:
                end += 1
            edges.append((BYTE, first[0], first[0], self.part(literals[start:end])))
            start = end
        return ends

    def chain(self, data: bytes, target: int) -> int:
        """The state from which `data` leads to `target`."""
        if not data:
            return target
        self.queue.append((data, target))
        state = self.spare
        self.spare += len(data)
        return state

    def part(self, literals: list[tuple[bytes, int]]) -> int:
        """The state after the first byte, which these literals have in common."""
        if len(literals) == 1:
            data, target = literals[0]
            return self.chain(data[1:], target)
        # They are sorted: what the first and the last one share, all share.
        low, high = literals[0][0], literals[-1][0]
        shared = 1
        while shared < len(low) and shared < len(high) and low[shared] == high[shared]:
            shared += 1
        state = self.spare
        if shared > 1:
            self.queue.append((low[1:shared], self.spare + shared - 1))
            self.spare += shared - 1
        self.queue.append([(data[shared:], target) for data, target in literals])
        self.spare += 1
        return state

    def finish(self, final: set[int]) -> None:
        """Write the states inside literals, in the order of their numbers."""
        states, edges = self.linker.states, self.linker.edges
        state = self.linker.first_state + len(states)
        while self.queue:
            entry = self.queue.popleft()
            first = len(edges)
            if isinstance(entry, list):
                flags = FINAL if self.branch(entry, final) else 0
                states.append((self.linker.first_edge + first, len(edges) - first, flags, self.counter, state))
                state += 1
            else:
                data, target = entry
                n = len(data)
                edges.extend(zip(repeat(BYTE), data, data, chain(range(state + 1, state + n), (target,))))
                first += self.linker.first_edge
                states.extend(
                    zip(
                        range(first, first + n),
                        repeat(1),
                        repeat(0),
                        repeat(self.counter),
                        range(state, state + n),
                    )
                )
                state += n
