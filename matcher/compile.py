"""Grammar -> tables: the last step before matching.

`compile_grammar` checks a grammar against a vocabulary, builds its automata
(`matcher.automaton`) and links them into the vocabulary's tables. Rules that are equal to
rules linked before, by this or another grammar, are not stored again: a group of mutually
recursive rules is looked up by its content, callees first, so that "equal" is a comparison
of small integers. That is how the JSON string of one schema is the JSON string of all.
"""

from __future__ import annotations

import threading
from array import array
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from infernix.gbnf.checks import check_tokens
from infernix.gbnf.errors import GrammarError, LimitError
from infernix.gbnf.grammar import MAX_COUNT, Grammar, Rule, RuleRef, TokenSet, walk
from infernix.gbnf.time_limit import time_limit

from . import tables
from .assembly import lay_out, list_fallbacks
from .automaton import Automata, build_automata
from .bitmask import pack
from .earley import first_set
from .first_use import announce_compilation
from .forking import ONE_STORE, STORES, held_at_fork
from .rule_automaton import COLUMNS, START, RuleAutomaton
from .store import MAX_TOKEN_SETS, Heap, StandardRule, Store
from .tables import FULL
from .vocabulary import TokenKind, Vocabulary

__all__ = ["COMPILE_SECONDS", "CompiledGrammar", "compile_grammar"]

Edges: TypeAlias = "array[int]"
"""A rule's edges, COLUMNS numbers of 32 bits each (`rule_automaton`); of a list, an array is sooner made by `array`
than by numpy, and most rules need no more than its bytes."""
Recipe = tuple[RuleAutomaton, "Edges", list[tuple[int, int]]]
"""A rule, its edges, and the calls of rules that get their numbers with it: (callee, place in the edges)."""
NO_LITERALS, NO_EDGES = bytearray(1), array("i", [0] * COLUMNS)
"""Where there are none: a kernel is compiled for arrays that may be written to, and these may not be empty."""
COMPILE_SECONDS = 5.0
"""Compiling a grammar may take so long, of processor time; with reading its text, that stays below ten seconds."""
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

    def __copy__(self) -> CompiledGrammar:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> CompiledGrammar:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a CompiledGrammar cannot be pickled, for its tables live in this process: send its source")

    def __repr__(self) -> str:
        count = len(self.grammar.rules)
        return f"<CompiledGrammar of {count} {'rule' if count == 1 else 'rules'} over {self.vocabulary!r}>"


_stores_lock = held_at_fork(threading.Lock(), STORES)


def store_of(vocabulary: Vocabulary, features: int) -> Store:
    """The current store of a vocabulary, made on first use."""
    with _stores_lock:
        stores: dict[int, Store] = vars(vocabulary).setdefault("_stores", {})
        if features not in stores:
            announce_compilation(first_set)
            store = stores[features] = Store(vocabulary, features)
            held_at_fork(store.lock, ONE_STORE)
        return stores[features]


def replace_store(vocabulary: Vocabulary, full: Store, states: int, edges: int) -> Store:
    """A new store in place of one whose tables are full; grammars in use keep the old one."""
    with _stores_lock:
        stores: dict[int, Store] = vars(vocabulary)["_stores"]
        if stores[full.features] is full:
            full.replaced = True
            store = stores[full.features] = Store(
                vocabulary,
                full.features,
                max(2 * states, len(full.tables.arrays["states"])),
                max(2 * edges, len(full.tables.arrays["edges"])),
            )
            held_at_fork(store.lock, ONE_STORE)
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
            with time_limit(seconds):
                automata = build_automata(grammar, linker.token_set, linker.linked)
        except TablesFull:
            store = replace_store(vocabulary, store, 0, 0)
            continue
        if not automata.productive:
            root = grammar.by_name[grammar.root]
            reason = "the grammar's language is empty: the root rule can never be completed"
            raise GrammarError(reason, root.line, root.column)
        with store.lock:
            if linker.link(automata):
                number = linker.numbers[0]
                return CompiledGrammar(
                    grammar, vocabulary, store, number, 0 in automata.nullable, linker.nbytes(automata)
                )
        store = replace_store(vocabulary, store, *automata.size())


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
        self.new: list[tuple[RuleAutomaton, Edges]] = []
        """The rules that are not in the tables yet, in order of their numbers."""
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

        The caller holds the store's lock. Rows are written behind those in use, which then move on.
        """
        first_rule = self.tables.used["rules"]
        for component in automata.components:
            linked = automata.rules[component[0]].linked
            if linked is not None:
                self.numbers[component[0]] = linked[0]
                continue
            recipes = [self.recipe(automata.rules[rule], component) for rule in component]
            key = tuple([(a.bounds, a.states, bytes(a.literals), edges.tobytes()) for a, edges, _ in recipes])
            numbers = self.tables.rule_numbers.get(key) or self.keys.get(key)
            if numbers is None or not self.sharing:
                numbers = [first_rule + len(self.new) + i for i in range(len(component))]
                self.numbers.update(zip(component, numbers))
                self.keys[key] = numbers
                for automaton, edges, inner in recipes:
                    for callee, place in inner:
                        edges[place] = self.numbers[callee]
                    self.new.append((automaton, edges))
            else:
                self.numbers.update(zip(component, numbers))
        if self.new and not self.lay_out():
            return False
        self.tables.rule_numbers.update(self.keys)
        self.remember_standard(automata)
        return True

    def recipe(self, automaton: RuleAutomaton, component: list[int]) -> Recipe:
        """A rule's edges, with callees as numbers in the tables, or as -2, -3, ... for those of its component.

        A rule that is not productive has no number: -1.
        """
        flat, inner, numbers = automaton.flat, [], self.numbers
        for _, callee, _, _, place in automaton.calls:
            number = numbers.get(callee, -1)
            if number < 0 and callee in component:
                number = -2 - component.index(callee)
                inner.append((callee, place))
            flat[place] = number
        return automaton, array("i", flat), inner

    def lay_out(self) -> bool:
        """Write the states and edges of the new rules, and make them part of the tables. False if there is no room."""
        used = self.tables.used
        sizes, flat, literals = array("q"), array("i"), bytearray()
        bounds: list[tuple[int, int, int]] = []
        for rule, (automaton, edges) in enumerate(self.new):
            counter = -1
            if automaton.bounds is not None:
                counter = used["counters"] + len(bounds)
                minimum, maximum = automaton.bounds
                if max(minimum, maximum or 0) > MAX_COUNT:
                    raise LimitError(f"repetition counts end at {MAX_COUNT}")
                bounds.append((minimum, -1 if maximum is None else maximum, rule))
            sizes.extend((len(edges) // COLUMNS, automaton.states, len(automaton.literals), counter))
            flat += edges
            literals += automaton.literals
        ends = np.zeros((len(self.new) + 1, 2), dtype=np.int64)
        ends[0] = used["states"], used["edges"]
        arrays = self.tables.arrays
        literals += NO_LITERALS
        status = lay_out(
            np.frombuffer(flat or NO_EDGES, dtype=np.int32).reshape(-1, COLUMNS),
            np.frombuffer(sizes, dtype=np.int64).reshape(-1, 4),
            np.frombuffer(literals, dtype=np.uint8),
            arrays["states"],
            arrays["edges"],
            ends,
        )
        if status == FULL or not self.tables.has_room(rules=len(self.new), counters=len(bounds)):
            return False
        used["states"], used["edges"] = ends[-1].tolist()
        starts = (ends[:-1, 0] + START).astype(np.int32)
        self.tables.append("rules", starts)
        if bounds:
            counters = np.array(bounds, dtype=np.int32)
            counters[:, 2] = starts[counters[:, 2]]
            self.tables.append("counters", counters.view(tables.COUNTER).reshape(-1))
        if self.sharing_twins:
            for (automaton, edges), before, after in zip(self.new, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                self.find_twins(automaton, edges, before, after)
        return True

    def find_twins(self, automaton: RuleAutomaton, edges: Edges, before: list[int], after: list[int]) -> None:
        """Let states stand for equal ones in shapes: counted bodies that differ in bounds, and fallbacks.

        Equal automata are laid out alike, so the states correspond one to one.
        """
        (base, first_edge), (end, last_edge) = before, after
        if automaton.bounds is not None and all(callee in self.numbers for callee in automaton.callees()):
            content = (automaton.states, bytes(automaton.literals), edges.tobytes())
            self.set_twins(content, np.arange(base, end, dtype=np.int32))
        if automaton.has_fallback and not automaton.calls:
            listed = np.zeros(1 + end - base, dtype=np.int32)
            words = np.zeros(1 + 2 * (end - base) + 4 * (last_edge - first_edge), dtype=np.int32)
            arrays = self.tables.arrays
            if list_fallbacks(arrays["states"], arrays["edges"], base, end, listed, words):
                self.set_twins(words[: words[0]].tobytes(), listed[1 : 1 + listed[0]])
                if automaton.bounds is None:
                    # These are equal in all respects: past its exceptions, the rule goes on in the first one's states.
                    targets = arrays["edges"]["target"][first_edge:last_edge]
                    targets[:] = arrays["states"]["twin"][targets]

    def set_twins(self, content: Any, own: NDArray[np.int32]) -> None:
        """Set the twins of new states: the first states with the same content."""
        self.tables.arrays["states"]["twin"][own] = self.tables.twins.setdefault(content, own)

    def nbytes(self, automata: Automata) -> int:
        """An estimate of the memory that the grammar's expressions and new table rows take."""
        states, edges = automata.size()
        return BYTES_PER_EDGE * edges + 16 * (states + edges) + BYTES_PER_GRAMMAR
