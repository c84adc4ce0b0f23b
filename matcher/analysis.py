"""What is known of rules before they are laid out: which call which, and two least fixed points.

A rule is *nullable* if the empty string is one of its strings, and *productive* if it has a string at all.
"""

from __future__ import annotations

from collections.abc import Callable

from .rule_automaton import END, MAY_SKIP, START, RuleAutomaton
from .tables import CALL, EPSILON

__all__ = ["fixed_point", "is_nullable", "is_productive", "skip_nullable", "strongly_connected"]


def strongly_connected(rules: list[RuleAutomaton]) -> list[list[int]]:
    """The strongly connected components of the call graph, callees first (Tarjan 1972, iterative)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_rules: list[int] = []
    is_open: set[int] = set()
    components: list[list[int]] = []
    work = [(0, iter(rules[0].callees()))]
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
                work.append((callee, iter(rules[callee].callees())))
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


def fixed_point(
    rules: list[RuleAutomaton], components: list[list[int]], holds: Callable[[RuleAutomaton, set[int]], bool]
) -> set[int]:
    """The least set of rules closed under `holds(automaton, set)`, where only callees in the set matter.

    Component by component, callees first: a rule by itself is settled at the first look, since what it calls
    is; only rules that call each other are looked at again, each time that a callee of theirs joins the set.
    """
    joined: set[int] = set()
    for component in components:
        if len(component) == 1:
            if holds(rules[component[0]], joined):
                joined.add(component[0])
            continue
        callers: dict[int, list[int]] = {rule: [] for rule in component}
        for rule in component:
            for callee in callers.keys() & rules[rule].callees().keys():
                callers[callee].append(rule)
        todo = component[::-1]
        while todo:
            rule = todo.pop()
            if rule not in joined and holds(rules[rule], joined):
                joined.add(rule)
                todo += callers[rule]
    return joined


def is_nullable(automaton: RuleAutomaton, nullable: set[int]) -> bool:
    """Whether the rule's empty string is a string of it, given what is known of its callees."""
    if automaton.linked is not None:
        return automaton.linked[1]
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    if not may_begin_empty(automaton, nullable):
        return False
    ways: dict[int, list[int]] = {}
    for source, target in automaton.epsilons:
        ways.setdefault(source, []).append(target)
    for source, rule, target, _, _ in automaton.calls:
        if rule in nullable:
            ways.setdefault(source, []).append(target)
    return leads(ways, START, END)


def may_begin_empty(automaton: RuleAutomaton, nullable: set[int]) -> bool:
    """Whether an epsilon or a call of a nullable rule leaves the start; most rules begin with a literal."""
    for source, _ in automaton.epsilons:
        if source == START:
            return True
    for call in automaton.calls:  # not taken apart: the source decides nearly always
        if call[0] == START and call[1] in nullable:
            return True
    return False


def is_productive(automaton: RuleAutomaton, productive: set[int]) -> bool:
    """Whether the rule has a string at all, given what is known of its callees."""
    if automaton.bounds is not None and automaton.bounds[0] == 0:
        return True
    if not automaton.flawed and automaton.callees().keys() <= productive:
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
    flat = automaton.flat
    for source, rule, target, skip, _ in automaton.calls:
        if rule in nullable and skip == MAY_SKIP:
            flat += (source, EPSILON, 0, 0, target)
