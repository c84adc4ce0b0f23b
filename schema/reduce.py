"""From a schema document to the reduced graph.

Every source schema gets a *member* number; a *node* is a conjunction of members, and equal
conjunctions are one node. A node is reduced on its own: `$ref` and `allOf` are flattened, choices are
split and distributed over what stands beside them, and each remaining conjunction falls apart
by type into terms. The terms' parts (items, properties) are nodes again, reduced later
from a work list: recursion in the schema is a cycle in the graph, never in this code.

    {A, B}  with A = {anyOf: [P, Q]}   ->   terms of {A, B, P} + terms of {A, B, Q}
    {A, B}  with A = {enum: [...]}     ->   the constants that satisfy A and B
    {A, B}  otherwise                  ->   for each type: the meet of A and B

There are finitely many subsets of source schemas, so this ends; the limit on merges ends it early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import combinations
from typing import Any

from infernix.gbnf.errors import UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.time_limit import check_time

from .array_terms import array_terms, needed_nodes
from .conjunction import Conjunction, Place
from .contradictions import barred_property, contradiction
from .document import MAX_VALUE_DEPTH, identity, mentions
from .emptiness import is_empty
from .exclusive import Prover
from .facts import (
    ALL_TYPES,
    ALWAYS,
    ARRAY,
    BOOLEAN,
    NEVER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Choice,
    Facts,
)
from .holes import make_holes
from .keywords import Draft, dialect_of
from .negate import negated_facts
from .nodes import Anything, Node, Term, Values, find_productive
from .numbers import ALL_NUMBERS
from .object_terms import object_terms
from .readers import read_facts
from .references import resolve
from .strings import FREE
from .values import Duty, chosen, fits_alone, satisfies

__all__ = ["Reduction", "reduce_schema"]

MAX_TRACKED_BRANCHES = 6
"""At most this many `anyOf` branches beside `unevaluatedProperties` or `unevaluatedItems`."""
MAX_POINTER_CHARACTERS = 1 << 27
"""The pointers of all schemas of a document together: they grow with the square of its depth."""
MAX_TESTED_CONSTANTS = 64
"""So many constants of a property are tested while choices are being made."""
MAX_ALTERNATIVES = 512
"""At most this many terms from the choices of one node; complements of large objects are what exceeds it."""


class _Site:
    """One source schema (or synthetic facts) and where it stands."""

    __slots__ = ("facts", "negated", "pointer", "schema")

    def __init__(self, schema: Any, pointer: str, facts: Facts | None = None) -> None:
        self.schema = schema
        self.pointer = pointer
        self.facts = facts
        self.negated: Facts | None = None


class Reduction:
    """The tables of one reduction: members, nodes, and the work that is left."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.draft: Draft = dialect_of(root)
        self.unknown: list[str] = []
        self.merges = 0
        self._sites = [_Site(False, "", Facts(types=0))]
        self._by_identity: dict[int, int] = {}
        self._referred: dict[str, int] = {}
        self._plain: dict[int, int] = {}
        self._alike: dict[tuple[Any, ...], int] = {}
        self._lone: dict[int, Node] = {}
        self.nodes: dict[frozenset[int], Node] = {}
        self._work: list[Node] = []
        self._evaluation: bool | None = None
        self._pointer_room = MAX_POINTER_CHARACTERS
        self.prover = Prover(self)

    # Members

    def member(self, schema: Any, pointer: str) -> int:
        """The number of a source schema; the same object is the same member."""
        if schema is True:
            return ALWAYS
        if schema is False:
            return NEVER
        number = self._by_identity.get(id(schema))
        if number is None:
            self._pointer_room -= len(pointer)
            if self._pointer_room < 0:
                raise UnsupportedSchema("the schema nests too deeply")
            number = self._by_identity[id(schema)] = len(self._sites)
            self._sites.append(_Site(schema, pointer))
        return number

    def referred(self, reference: str, pointer: str) -> int:
        """The member that a `$ref` at `pointer` means."""
        member = self._referred.get(reference)
        if member is None:
            member = self._referred[reference] = self.member(*resolve(self.root, reference, pointer))
        return member

    def synthetic(self, facts: Facts, pointer: str) -> int:
        """A member made of facts, attributed to the schema at `pointer`."""
        self._sites.append(_Site(None, pointer, facts))
        return len(self._sites) - 1

    def evaluation_matters(self) -> bool:
        """Whether `unevaluatedProperties` or `unevaluatedItems` occurs anywhere."""
        if self._evaluation is None:
            self._evaluation = mentions(self.root, ("unevaluatedProperties", "unevaluatedItems"))
        return self._evaluation

    def pointer(self, member: int) -> str:
        """Where a member's schema stands."""
        return self._sites[member if member >= 0 else ~member].pointer

    def facts(self, member: int) -> Facts:
        """What a member says; read or complemented on first use."""
        site = self._sites[member if member >= 0 else ~member]
        if site.facts is None:
            site.facts = read_facts(site.schema, site.pointer, self)
        if member >= 0:
            return site.facts
        if site.negated is None:
            site.negated = negated_facts(site.facts, site.pointer, self)
        return site.negated

    def _simplify(self, member: int) -> int:
        """Follow plain references; a schema without assertions is ALWAYS, and one of many alike is the first."""
        known = self._plain.get(member)
        if known is not None:
            return known
        passed = {member}
        while member not in (ALWAYS, NEVER):
            facts = self.facts(member)
            if _says_more(facts) or len(facts.members) > 1:
                if (signature := _signature(facts)) is not None:
                    member = self._alike.setdefault(signature, member)
                break
            following = facts.members[0].member if facts.members else ALWAYS
            if following in passed:  # a cycle: the flattening reports it
                break
            member = following
            passed.add(member)
        for item in passed:
            self._plain[item] = member
        return member

    # Nodes

    def node(self, members: Iterable[int], pointer: str) -> Node:
        """The node of a conjunction of members; reduced later, by `run`."""
        members = tuple(members)
        if len(members) == 1:
            return self._lone_node(members[0], pointer)
        return self._node(members, pointer)

    def _lone_node(self, member: int, pointer: str) -> Node:
        """The node of one member; most are like another one that has a node."""
        node = self._lone.get(member)
        if node is None:
            plain = self._simplify(member)
            node = self._lone.get(plain)
            if node is None:
                node = self._lone[plain] = self._node((plain,), pointer)
            self._lone[member] = node
        return node

    def _node(self, members: tuple[int, ...], pointer: str) -> Node:
        plain = dict.fromkeys([self._simplify(member) for member in members])
        plain.pop(ALWAYS, None)
        if NEVER in plain or (len(plain) > 1 and any(~member in plain for member in plain)):
            plain = {NEVER: None}
        key = frozenset(plain)
        node = self.nodes.get(key)
        if node is None:
            node = self.nodes[key] = Node(tuple(plain), self.pointer(next(iter(plain))) if plain else pointer)
            self._work.append(node)
        return node

    def run(self) -> Node:
        """Reduce the root and everything it needs; raise if nothing satisfies it."""
        root = self.node([self.member(self.root, "")], "")
        while self._work:
            check_time()
            self.terms(self._work.pop())
        find_productive(self.nodes.values())
        if not root.productive:
            blamed = self._blame(root)
            schemas = [self._sites[member].schema for member in blamed.members if member > 0]
            why = contradiction(schemas) or barred_property(blamed.terms or (), schemas)
            reason = "no value satisfies the schema" + (f": {why}" if why else "")
            raise UnsatisfiableSchema(reason, blamed.pointer)
        return root

    def terms(self, node: Node) -> list[Term]:
        """The terms of a node, computed on first use."""
        if node.terms is None:
            start = Conjunction(self)
            for member in node.members:
                start.add_root(member)
            node.terms = _union(self._split(start))
        return node.terms

    def _blame(self, root: Node) -> Node:
        """An empty node that the root cannot do without."""
        seen = {id(root)}
        node = root
        while node.terms and len(node.terms) == 1:
            needed = [item for item in needed_nodes(node.terms[0]) if not item.productive]
            fresh = [item for item in needed if id(item) not in seen]
            if not fresh or fresh[0].members == (NEVER,):
                break
            node = fresh[0]
            seen.add(id(node))
        return node

    # Splitting

    def _split(self, state: Conjunction) -> list[Term]:
        """The union of terms that a flattened conjunction is."""
        if not state.types:
            return []
        if state.values is not None:
            return self._filtered(state)
        if not state.choices:
            return self._by_type(state)
        choice, owner, place = state.choices.pop(0)
        if len(state.chosen) >= MAX_VALUE_DEPTH:
            reason = f"more than {MAX_VALUE_DEPTH} choices in one conjunction"
            raise UnsupportedSchema(reason, choice.pointer)
        if choice.exclusive:
            return self._exactly_one(state, choice, owner, place)
        result: list[Term] = []
        for alternative in self._alternatives(state, choice):
            result += self._with(state, choice, alternative, owner, place)
            if len(result) > MAX_ALTERNATIVES:
                reason = f"the composition falls apart into more than {MAX_ALTERNATIVES} alternatives"
                raise UnsupportedSchema(reason, choice.pointer)
        return result

    def _with(
        self, state: Conjunction, choice: Choice, alternative: tuple[int, ...], owner: int, place: Place
    ) -> list[Term]:
        """The terms of the conjunction and one alternative."""
        branch = state.copy()
        branch.choose(choice, alternative, owner, place)
        if branch.choices and branch.types & OBJECT and self._is_contradicted(branch):
            branch.types &= ~OBJECT
        return self._split(branch)

    def _is_contradicted(self, state: Conjunction) -> bool:
        """Whether some required property can only have constants that are excluded elsewhere.

        The terms would say so too; but a chain of conditions on one property falls apart into
        exponentially many alternatives if contradictions are not seen on the way.
        """
        objects = state.objects
        if objects is None or len(objects.parts) < 2:
            return False
        for name in objects.required:
            members = [part.properties[name] for part in objects.parts if name in part.properties]
            if len(members) < 2:
                continue
            facts = [self.facts(self._simplify(member)) for member in members if member >= 0]
            constants = next((item.values for item in facts if item.values is not None), None)
            if constants is not None and len(constants) <= MAX_TESTED_CONSTANTS:
                try:
                    if not any(all(satisfies(self, member, value) for member in members) for value in constants):
                        return True
                except UnsupportedSchema:  # perhaps of a branch that is dropped later
                    continue
        return False

    def _alternatives(self, state: Conjunction, choice: Choice) -> Iterable[tuple[int, ...]]:
        """The alternatives; of an `anyOf` under an `unevaluated...` keyword every set of branches,
        because each branch that holds evaluates its parts."""
        branches = choice.alternatives
        if not (choice.additive and state.leftover):
            return branches
        if len(branches) > MAX_TRACKED_BRANCHES:
            reason = f"more than {MAX_TRACKED_BRANCHES} branches whose evaluated parts would be tracked"
            raise UnsupportedSchema(reason, choice.pointer)
        return [
            tuple(member for branch in chosen for member in branch)
            for size in range(1, len(branches) + 1)
            for chosen in combinations(branches, size)
        ]

    def _exactly_one(self, state: Conjunction, choice: Choice, owner: int, place: Place) -> list[Term]:
        """The branches of a `oneOf`; those not proved exclusive exclude the others explicitly."""
        branches = [self._with(state, choice, alternative, owner, place) for alternative in choice.alternatives]
        rivals_of: list[list[int]] = [[] for _ in branches]
        for index, other in combinations(range(len(branches)), 2):
            if not self.prover.disjoint_terms(branches[index], branches[other]):
                rivals_of[index].append(other)
                rivals_of[other].append(index)
        result: list[Term] = []
        for index, (terms, rivals) in enumerate(zip(branches, rivals_of, strict=True)):
            if rivals and terms:
                without = tuple(~member for other in rivals for member in choice.alternatives[other])
                try:
                    terms = self._with(state, choice, choice.alternatives[index] + without, owner, place)
                except UnsupportedSchema as error:
                    names = f"branches {index} and {rivals[0]}"
                    reason = f"{names} cannot be proved exclusive ({error.message})"
                    raise UnsupportedSchema(reason, choice.pointer) from None
            result += terms
        return result

    def _filtered(self, state: Conjunction) -> list[Term]:
        """The constants of a conjunction with `enum` or `const` that satisfy all of it.

        Choices that have been made are left out: their alternatives are members now. Complements are
        tested as such, not by the alternatives that they fall apart into.
        """
        below_complement: set[int] = set()
        tests: list[Callable[[Any], bool]] = []
        for member, parent in state.parents.items():
            if parent in below_complement:
                below_complement.add(member)
            elif member < 0:
                below_complement.add(member)
                tests.append(partial(satisfies, self, member))
            else:
                tests.append(partial(self._fits, self.facts(member)))
        for choice, owner, _ in state.choices:
            if owner not in below_complement:
                tests.append(partial(chosen, self, choice))
        kept = {identity(value): value for value in reversed(state.values or []) if all(test(value) for test in tests)}
        return [Values(tuple(reversed(kept.values())))] if kept else []

    def _fits(self, facts: Facts, value: Any) -> bool:
        """Whether a constant satisfies what one schema says itself of it and its parts."""
        duties: list[Duty] = []
        return fits_alone(self, facts, value, duties) and all(satisfies(self, *duty) for duty in duties)

    def _by_type(self, state: Conjunction) -> list[Term]:
        """The terms of a conjunction without choices, one for each type."""
        for refusal in state.refusals:
            if refusal.types & state.types:
                raise UnsupportedSchema(refusal.reason, refusal.pointer)
        terms: list[Term] = make_holes(self, state) if state.barred else []
        if not state.types:
            return terms
        state.meet_leftovers()
        if state.types == ALL_TYPES and not (state.numbers or state.strings or state.arrays or state.objects):
            return [Anything()]
        literals = [None] if state.types & NULL else []
        literals += [False, True] if state.types & BOOLEAN else []  # type: ignore[list-item]
        if literals:
            terms.append(Values(tuple(literals)))
        if state.types & STRING:
            language = state.strings or FREE
            if state.strings is None or not is_empty(language):
                terms.append(language)
        if state.types & NUMBER:
            terms.append(state.numbers or ALL_NUMBERS)
        where = self.pointer(state.roots[0]) if state.roots else ""
        if state.types & ARRAY:
            terms += array_terms(self, state.arrays, where)
        if state.types & OBJECT:
            terms += object_terms(self, state.ordered_objects(), where)
        return terms


def _says_more(facts: Facts) -> bool:
    """Whether a schema says anything besides `$ref` and `allOf`."""
    return bool(
        facts.types != ALL_TYPES
        or facts.values is not None
        or facts.numbers
        or facts.strings
        or facts.arrays
        or facts.objects
        or facts.choices
        or facts.barred
        or facts.refusals
        or facts.leftover
    )


def _signature(facts: Facts) -> tuple[Any, ...] | None:
    """What a schema says, if that is types, numbers and lengths of strings only, and some value satisfies it.

    (A schema that nothing satisfies stays by itself: a message will point to it.)
    """
    strings = facts.strings
    if not facts.types or (strings is not None and (strings.patterns or strings.formats)):
        return None
    other = facts.values is not None or facts.arrays or facts.objects or facts.members or facts.choices
    if other or facts.barred or facts.refusals or facts.leftover:
        return None
    return facts.types, facts.numbers, strings


def _union(terms: list[Term]) -> list[Term]:
    """The same union without repetitions; all constants in one term."""
    if len(terms) < 2:
        return terms
    if any(isinstance(term, Anything) for term in terms):
        return [Anything()]
    constants = {identity(value): value for term in terms if isinstance(term, Values) for value in term.constants}
    result: list[Term] = [Values(tuple(constants.values()))] if constants else []
    return result + list(dict.fromkeys(term for term in terms if not isinstance(term, Values)))


def reduce_schema(schema: Any) -> tuple[Node, Reduction]:
    """Reduce a schema document (see `document.read_source`): the root node and the tables.

    Raises InvalidSchema, UnsupportedSchema or UnsatisfiableSchema with the pointer of the
    place in the source.
    """
    reduction = Reduction(schema)
    root = reduction.run()
    reduction.prover.forget()
    return root, reduction
