"""Differences: what two engines show differently, and what one shows against itself or a standard.

mask, end       the views of two engines after the same steps: a bit, or whether the text may end
source          one engine reads a source text, the other does not
accept          one engine took a token that the other rejected
sight           masks along a fork or a draft
verdict         a whole text accepted or rejected against the standard
probe, rollback, fork, draft, spelling, padding, error, place     an engine against itself (`trace.py`)
slow, slow-compile                                a mask, or compiling, that takes long each time (`trace.py`)
crash, hang, growth                               its process (`host.py`)

Some sources are slow for everyone. So a slow mask and a hang count only where another engine was quicker, or where
there is no other that worked through the same problem.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from .case import Case, Problem
from .judge import STANDARDS, judge
from .spelling import canonical
from .trace import Trace, ids_of

__all__ = ["Difference", "differences", "own_differences", "pair_differences", "worked"]

MOST_TOKENS = 8
SHARE = 0.25
"""An engine is slow if another one needs so much of its time, or less, to compile and for the slowest mask."""
_PARTICULAR = re.compile(r"\d+|`[^`]*`|\"[^\"]*\"|'[^']*'|U\+\w+|\\\S+")
"""What is particular in a message: numbers, names, quoted pieces."""
LONG_NUMBER = re.compile(r"\d{16}|\d[eE]\+?(?:1[6-9]|[2-9]\d|\d{3})")
"""Integers of more than 64 bits, with an exponent too, and more digits than binary64 holds, need not be writable."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it should be.

    `missing` means that `engine` forbids what is allowed by `against`, another engine, itself or
    a standard; `extra` that it allows what is forbidden there.
    """

    check: str
    engine: str
    against: str
    kind: str
    direction: str = ""
    problem: int = 0
    step: int = -1
    tokens: tuple[int, ...] = ()
    detail: str = ""

    @property
    def signature(self) -> tuple[str, ...]:
        """What must stay the same while the case shrinks. Of refusals, also the reason: else the smallest text that is
        refused for any reason would stand for all of them."""
        return self.check, self.engine, self.against, self.direction, self.reason if self.check == "source" else ""

    @property
    def reason(self) -> str:
        """The detail without what is particular to the case."""
        return _PARTICULAR.sub("", self.detail)

    def __str__(self) -> str:
        where = f"problem {self.problem}" + (f", step {self.step}" if self.step >= 0 else "")
        what = f"{self.direction} {' '.join(map(str, self.tokens))}".strip()
        return (
            f"{self.engine} against {self.against}, {self.kind}, {self.check} ({where}): {what} {self.detail}".rstrip()
        )


def differences(case: Case, traces: dict[str, list[Trace]], first: str, hung: Collection[str] = ()) -> list[Difference]:
    """All differences of a case: each engine's own, and those between `first` and every other.

    `hung` are engines that came to no end, and so have no traces.
    """
    found: list[Difference] = []
    for engine, its in traces.items():
        for index, (problem, trace) in enumerate(zip(case.problems, its)):
            found += own_differences(engine, index, problem, trace)
            if engine != first:
                found += pair_differences(first, engine, index, problem, traces[first][index], trace, case)
    return [kept for difference in found for kept in _if_slower(difference, traces, hung)]


def _if_slower(difference: Difference, traces: dict[str, list[Trace]], hung: Collection[str]) -> Iterator[Difference]:
    """The difference, unless it is a slow mask where all others that got anywhere were about as slow."""
    if difference.check != "slow":
        yield difference
        return
    others = {name: its[difference.problem] for name, its in traces.items() if name != difference.engine}
    others = {name: trace for name, trace in others.items() if worked(trace)}
    if others:
        quickest = min(others, key=lambda name: _seconds(others[name]))
        if _seconds(others[quickest]) <= SHARE * _seconds(traces[difference.engine][difference.problem]):
            yield replace(difference, against=quickest)
    elif not hung:
        yield difference


def _seconds(trace: Trace) -> float:
    """The time to compile and for the slowest mask: who compiles for long has paid for the masks there."""
    return trace.compiling + trace.slowest


def worked(trace: Trace) -> bool:
    """Whether an engine took the problem and did not end in an error."""
    return trace.refused is None and all(complaint.check != "error" for complaint in trace.complaints)


def own_differences(engine: str, index: int, problem: Problem, trace: Trace) -> Iterator[Difference]:
    """What an engine shows against itself and against the standard; once for each check and direction."""
    seen = set()
    for complaint in trace.complaints:
        if (complaint.check, complaint.direction) not in seen:
            seen.add((complaint.check, complaint.direction))
            yield Difference(
                complaint.check,
                engine,
                "itself",
                problem.kind,
                complaint.direction,
                index,
                complaint.step,
                complaint.tokens,
                complaint.detail,
            )
    if trace.refused is None:
        yield from _verdicts(engine, index, problem, trace)


def _verdicts(engine: str, index: int, problem: Problem, trace: Trace) -> Iterator[Difference]:
    seen = set()
    answers = [*zip(problem.texts, trace.verdicts), *((text, True) for text in trace.finished)]
    for text, accepted in answers:
        if accepted is None:
            continue
        valid = judge(problem, text)
        if valid is None or accepted == valid or (valid and not owes(problem, text)):
            continue
        direction = "missing" if valid else "extra"
        if direction not in seen:
            seen.add(direction)
            standard = STANDARDS[problem.kind]
            yield Difference("verdict", engine, standard, problem.kind, direction, index, -1, (), repr(text))


def owes(problem: Problem, text: str) -> bool:
    """Whether an engine has no excuse to reject a valid text. A language for generation need not have
    every spelling of a value, nor every value of a format, but it must have the canonical text."""
    if problem.kind != "schema":
        return True
    return canonical(text) and '"format"' not in problem.source and not LONG_NUMBER.search(text)


def pair_differences(
    first: str, engine: str, index: int, problem: Problem, mine: Trace, its: Trace, case: Case
) -> Iterator[Difference]:
    """The first place at which two engines that took the same steps show something else."""
    where = {"problem": index, "engine": engine, "against": first, "kind": problem.kind}
    if mine.refused is not None or its.refused is not None:
        if mine.reads is not None and its.reads is not None and mine.reads != its.reads:
            direction = "missing" if mine.reads else "extra"
            detail = mine.refused or its.refused
            yield Difference(check="source", direction=direction, detail=detail, **where)  # type: ignore[arg-type]
        return
    size = case.vocabulary.size if not case.vocabulary.name else case.vocabulary.build().size
    for place, (a, b) in enumerate(zip(mine.views, its.views)):
        step = place - 1
        if a.may_end != b.may_end or a.ended != b.ended:
            direction = "missing" if (a.may_end, a.ended) > (b.may_end, b.ended) else "extra"
            yield Difference(check="end", direction=direction, step=step, **where)  # type: ignore[arg-type]
            return
        if a.mask != b.mask:
            yield from _mask_difference("mask", a.mask, b.mask, size, step, where)
            return
        for one, other in zip(mine.sights.get(place - 1, ()), its.sights.get(place - 1, ())):
            if one != other:
                yield from _mask_difference("sight", one, other, size, step, where)
                return
    if mine.rejected != its.rejected and not mine.complaints and not its.complaints:
        step = min(x for x in (mine.rejected, its.rejected) if x is not None)
        direction = "missing" if its.rejected == step else "extra"
        tokens = problem.walk[step].ids
        yield Difference(check="accept", direction=direction, step=step, tokens=tokens, **where)  # type: ignore[arg-type]


def _mask_difference(
    check: str, mine: bytes, its: bytes, size: int, step: int, where: dict[str, object]
) -> Iterator[Difference]:
    missing = ids_of(bytes(a & ~b & 255 for a, b in zip(mine, its)), size)
    extra = ids_of(bytes(b & ~a & 255 for a, b in zip(mine, its)), size)
    for direction, tokens in (("missing", missing), ("extra", extra)):
        if tokens:
            yield Difference(
                check=check,
                direction=direction,
                step=step,
                tokens=tuple(tokens[:MOST_TOKENS]),
                **where,  # type: ignore[arg-type]
            )
            return
