"""What is left to do once the automata of a grammar are built: analyse the rules, and finish each.

Two facts are least fixed points over the call graph: a rule is *nullable* if the empty string is one of its
strings, and *productive* if it has a string at all. With them each automaton is finished: edges that lead
nowhere are dropped, calls of nullable rules are bypassed, and epsilons are removed.
"""

from __future__ import annotations

from collections.abc import Callable

from .rule_automaton import END, MAY_SKIP, NO_SKIP, START, Edge, RuleAutomaton
from .tables import CALL, EPSILON

__all__ = [
    "EPSILON_GROWTH",
    "EPSILON_SLACK",
    "finish",
    "fixed_point",
    "is_nullable",
    "is_productive",
    "strongly_connected",
]

EPSILON_GROWTH, EPSILON_SLACK = 4, 64
"""Epsilons stay where removing them would grow a rule's edges by more than this factor and slack."""


# ── Analysis ────────────────────────────────────────────────────────────────────────────


def strongly_connected(rules: list[RuleAutomaton]) -> list[list[int]]:
    """The strongly connected components of the call graph, callees first (Tarjan 1972, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_rules: list[int] = []
    is_open: set[int] = set()
    components: list[list[int]] = []
    work = [(0, iter(rules[0].calls))]
    index[0] = low[0] = 0
    open_rules.append(0)
    is_open.add(0)
    while work:
        rule, callees = work[-1]
        for callee in callees:
            if callee not in index:
                index[callee] = low[callee] = len(index)
                open_rules.append(callee)
                is_open.add(callee)
                work.append((callee, iter(rules[callee].calls)))
                break
            if callee in is_open and index[callee] < low[rule]:
                low[rule] = index[callee]
        else:
            work.pop()
            if work and low[rule] < low[work[-1][0]]:
                low[work[-1][0]] = low[rule]
            if low[rule] == index[rule]:
                component: list[int] = []
                while not component or component[-1] != rule:
                    component.append(open_rules.pop())
                is_open.difference_update(component)
                components.append(component)
    return components


def fixed_point(rules: list[RuleAutomaton], order: list[int], holds: Callable[[int, set[int]], bool]) -> set[int]:
    """The least set of rules closed under `holds(rule, set)`, where callees matter only.

    Rules are tried in `order`; a rule that joins the set has its callers tried again.
    """
    callers: dict[int, list[int]] = {}
    joined: set[int] = set()
    todo = list(reversed(order))
    while todo:
        rule = todo.pop()
        if rule in joined:
            continue
        if holds(rule, joined):
            joined.add(rule)
            todo.extend(callers.pop(rule, ()))
        else:
            for callee in rules[rule].calls:
                if callee not in joined:
                    callers.setdefault(callee, []).append(rule)
    return joined


def is_nullable(automaton: RuleAutomaton, nullable: set[int]) -> bool:
    """Whether the rule's empty string is a string of it, given what is known of its callees."""
    if automaton.linked is not None:
        return automaton.linked[1]
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    stack, reached = [START], {START}
    while stack:
        for kind, operand, _, target in automaton.edges[stack.pop()]:
            if target not in reached and (kind == EPSILON or (kind == CALL and operand in nullable)):
                if target == END:
                    return True
                reached.add(target)
                stack.append(target)
    return False


def is_productive(automaton: RuleAutomaton, productive: set[int]) -> bool:
    """Whether the rule has a string at all, given what is known of its callees."""
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    if not automaton.flawed and automaton.calls.keys() <= productive:
        return True
    stack, reached = [START], {START}
    while stack:
        for kind, operand, _, target in automaton.edges[stack.pop()]:
            if target not in reached and (kind != CALL or operand in productive):
                if target == END:
                    return True
                reached.add(target)
                stack.append(target)
    return False


# ── Finishing ───────────────────────────────────────────────────────────────────────────


def finish(automaton: RuleAutomaton, nullable: set[int], productive: set[int]) -> None:
    """Prune, bypass, remove epsilons and renumber, in place."""
    if automaton.flawed or not automaton.calls.keys() <= productive:
        prune(automaton, productive)
    if automaton.bounds is not None:
        minimum, maximum = automaton.bounds
        body_is_nullable = any(
            kind == CALL and skip == NO_SKIP and operand in nullable
            for kind, operand, skip, _ in automaton.edges[START]
        )
        automaton.bounds = (0 if body_is_nullable else minimum, maximum)
        automaton.final = set()
    if not automaton.calls.keys().isdisjoint(nullable):
        for edges in automaton.edges:
            for kind, operand, skip, target in tuple(edges):
                if kind == CALL and skip == MAY_SKIP and operand in nullable:
                    edges.append((EPSILON, 0, 0, target))
                    automaton.has_epsilon = True
    if automaton.has_epsilon:
        remove_epsilons(automaton)


def prune(automaton: RuleAutomaton, productive: set[int]) -> None:
    """Drop the edges that cannot lead to the end of the rule."""
    into: dict[int, list[int]] = {}
    for state, edges in enumerate(automaton.edges):
        edges[:] = [edge for edge in edges if edge[0] != CALL or edge[1] in productive]
        for edge in edges:
            into.setdefault(edge[3], []).append(state)
    useful, stack = {END}, [END]
    while stack:
        for state in into.get(stack.pop(), ()):
            if state not in useful:
                useful.add(state)
                stack.append(state)
    for edges in automaton.edges:
        edges[:] = [edge for edge in edges if edge[3] in useful]
    automaton.calls = {int(edge[1]): None for edges in automaton.edges for edge in edges if edge[0] == CALL}


def epsilon_closure(automaton: RuleAutomaton, state: int) -> dict[int, None]:
    """The states reached from `state` by epsilons alone, itself first."""
    closure = {state: None}
    stack = [state]
    while stack:
        for edge in automaton.edges[stack.pop()]:
            if edge[0] == EPSILON and edge[3] not in closure:
                closure[edge[3]] = None
                stack.append(edge[3])
    return closure


def remove_epsilons(automaton: RuleAutomaton) -> None:
    """Give each state the edges of its epsilon closure, unless that makes too many edges.

    Long rows of optional parts would become quadratic; they keep their epsilons, and only
    the states in which the rule may end are worked out.
    """
    edges = automaton.edges
    budget = EPSILON_GROWTH * sum(map(len, edges)) + EPSILON_SLACK
    targets = {START}
    leaves: set[int] = set()  # the states that an epsilon leaves
    for state, row in enumerate(edges):
        for edge in row:
            if edge[0] == EPSILON:
                leaves.add(state)
            else:
                targets.add(edge[3])
    merged: dict[int, list[Edge]] = {}
    final: set[int] = set()
    for state in targets:
        row = edges[state]
        if state in leaves:
            closure = epsilon_closure(automaton, state)
            row = []
            for s in closure:
                row += [edge for edge in edges[s] if edge[0] != EPSILON] if s in leaves else edges[s]
            if len(closure) > 2:  # several paths may have led to equal edges
                row = list(dict.fromkeys(row))
            if END in closure:
                final.add(state)
            budget -= len(row) + len(closure) // EPSILON_GROWTH
            if budget < 0 and automaton.bounds is None:
                keep_epsilons(automaton)
                return
        elif state == END and automaton.bounds is None:
            final.add(state)
        merged[state] = row
    if automaton.bounds is not None:
        # Only an item that arrives at the end itself counts a unit.
        for state, row in merged.items():
            merged[state] = row + [(*edge[:3], END) for edge in row if edge[3] in final]
        final = set()
    renumber(automaton, merged, final)


def keep_epsilons(automaton: RuleAutomaton) -> None:
    """Leave the epsilons in place; a state is final if epsilons lead from it to the end."""
    into: dict[int, list[int]] = {}
    for state, edges in enumerate(automaton.edges):
        for edge in edges:
            if edge[0] == EPSILON:
                into.setdefault(edge[3], []).append(state)
    stack = [END]
    while stack:
        for state in into.get(stack.pop(), ()):
            if state not in automaton.final:
                automaton.final.add(state)
                stack.append(state)


def renumber(automaton: RuleAutomaton, merged: dict[int, list[Edge]], final: set[int]) -> None:
    """Keep the states that the start reaches; states with equal edges become one.

    States 0 and 1 keep their numbers, since counted rules give them a meaning.
    """
    number: dict[int, int] = {START: START, END: END}
    by_content: dict[tuple[bool, tuple[Edge, ...]], int] = {}
    if automaton.bounds is None:
        by_content[True, ()] = END
    order = [START]
    rows: list[list[Edge]] = [[], []]
    for state in order:
        row = rows[number[state]]
        for kind, operand, high, target in merged[state]:
            new = number.get(target)
            if new is None:
                content = (target in final, tuple(merged[target]))
                new = by_content.get(content)
                if new is None:
                    new = by_content[content] = len(rows)
                    rows.append([])
                    order.append(target)
                number[target] = new
            row.append((kind, operand, high, new))
    automaton.edges = rows
    automaton.final = {number[state] for state in final if state in number}
