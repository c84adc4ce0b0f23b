"""Shrinking: the smallest case that still shows the same difference.

Greedy descent. Each pass proposes smaller variants of one part of the case, the coarse ones
first; the first that is lighter (`Case.weight`) and still shows the difference is taken, and the
pass goes on from there. The passes are repeated until none of them finds anything, or the budget
is spent. All reductions work on the case as plain data, so a file from elsewhere shrinks too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .case import Case, Problem, Step
from .reduce_source import smaller_sources, smaller_texts, without_parts
from .reduce_vocabulary import smaller_vocabularies

__all__ = ["shrink"]

Pass = Callable[[Case], Iterator[Case]]


def shrink(case: Case, shows: Callable[[Case], bool], seconds: float = 30.0, most: int = 3000) -> Case:
    """A smaller case for which `shows` still holds; `most` is how often it may be asked."""
    end = time.monotonic() + seconds
    asked = 0
    improved = True
    while improved:
        improved = False
        for smaller in PASSES:
            going = True
            while going:
                going = False
                for candidate in smaller(case):
                    if asked >= most or time.monotonic() > end:
                        return case
                    if candidate.weight() >= case.weight():
                        continue
                    asked += 1
                    if shows(candidate):
                        case, going, improved = candidate, True, True
                        break
    return case


def fewer_problems(case: Case) -> Iterator[Case]:
    """Each problem alone, and all but one."""
    if len(case.problems) > 1:
        for problem in case.problems:
            yield replace(case, problems=(problem,))
        for problems in without_parts(case.problems):
            if problems:
                yield replace(case, problems=problems)


def smaller_problems(smaller: Callable[[Problem], Iterator[Problem]]) -> Pass:
    """A pass that reduces one problem of the case."""

    def candidates(case: Case) -> Iterator[Case]:
        for index, problem in enumerate(case.problems):
            for candidate in smaller(problem):
                yield case.with_problem(index, candidate)

    return candidates


def shorter_walks(problem: Problem) -> Iterator[Problem]:
    """Without some steps, and without some of a step's tokens."""
    if problem.walk:
        yield replace(problem, walk=())
    for walk in without_parts(problem.walk):
        yield replace(problem, walk=walk)
    for place, step in enumerate(problem.walk):
        if step.verb in ("probe", "fork", "draft"):
            for ids in without_parts(step.ids):
                if ids:
                    walk = (*problem.walk[:place], Step(step.verb, ids), *problem.walk[place + 1 :])
                    yield replace(problem, walk=walk)


def fewer_texts(problem: Problem) -> Iterator[Problem]:
    """Without texts, with one of them, with smaller ones."""
    if problem.texts:
        yield replace(problem, texts=())
    if len(problem.texts) > 1:
        for text in problem.texts:
            yield replace(problem, texts=(text,))
    for place, text in enumerate(problem.texts):
        for smaller in smaller_texts(problem.kind, text):
            yield replace(problem, texts=(*problem.texts[:place], smaller, *problem.texts[place + 1 :]))


def simpler_source(problem: Problem) -> Iterator[Problem]:
    """With a smaller source text."""
    for source in smaller_sources(problem.kind, problem.source):
        yield replace(problem, source=source)


PASSES: tuple[Pass, ...] = (
    fewer_problems,
    smaller_problems(fewer_texts),
    smaller_problems(shorter_walks),
    smaller_vocabularies,
    smaller_problems(simpler_source),
)
