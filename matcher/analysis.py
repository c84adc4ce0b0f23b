"""What is known of rules before they are laid out: which call which, and two least fixed points.

A rule is *nullable* if the empty string is one of its strings, and *productive* if it has a string at all.
"""

from __future__ import annotations

from collections.abc import Callable

from .rule_automaton import END, MAY_SKIP, START, RuleAutomaton
from .tables import CALL

__all__ = ["fixed_point", "is_nullable", "is_productive", "skip_nullable", "strongly_connected"]


def strongly_connected(rules: list[RuleAutomaton]) -> list[list[int]]:
    """The strongly connected components of the call graph, callees first (Tarjan 1972, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_rules: list[int] = []
    is_open: set[int] = set()
    components: list[list[int]] = []
    work = [(0, iter(list(rules[0].callees())))]
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
                work.append((callee, iter(list(rules[callee].callees()))))
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
            for callee in rules[rule].callees():
                if callee not in joined:
                    callers.setdefault(callee, []).append(rule)
    return joined


def is_nullable(automaton: RuleAutomaton, nullable: set[int]) -> bool:
    """Whether the rule's empty string is a string of it, given what is known of its callees."""
    if automaton.linked is not None:
        return automaton.linked[1]
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    if not automaton.epsilons and nullable.isdisjoint(automaton.callees()):
        return False
    free: dict[int, list[int]] = {}
    for source, target in automaton.epsilons:
        free.setdefault(source, []).append(target)
    for source, rule, target, _, _ in automaton.calls:
        if rule in nullable:
            free.setdefault(source, []).append(target)
    return leads(free, START, END)


def is_productive(automaton: RuleAutomaton, productive: set[int]) -> bool:
    """Whether the rule has a string at all, given what is known of its callees."""
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    if not automaton.flawed and all(callee in productive for callee in automaton.callees()):
        return True
    ways: dict[int, list[int]] = {}
    for source, kind, operand, _, target in automaton.edges():
        if kind != CALL or operand in productive:
            ways.setdefault(source, []).append(target)
    return leads(ways, START, END)


def leads(ways: dict[int, list[int]], start: int, end: int) -> bool:
    """Whether there is a path of at least one edge."""
    stack, reached = [start], {start}
    while stack:
        for target in ways.get(stack.pop(), ()):
            if target == end:
                return True
            if target not in reached:
                reached.add(target)
                stack.append(target)
    return False


def skip_nullable(automaton: RuleAutomaton, nullable: set[int]) -> None:
    """Bypass the calls of nullable rules: no completion takes nothing."""
    for source, rule, target, skip, _ in automaton.calls:
        if skip == MAY_SKIP and rule in nullable:
            automaton.epsilon(source, target)
