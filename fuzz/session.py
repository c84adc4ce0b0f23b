"""Examining cases on a set of engines: lead, follow, compare, and look closer at what differs.

Engines whose masks must be equal for a kind form one group: the first leads, the others follow
its walk. An engine with a language of its own (JSON Schema leaves room) walks alone, and is held
against itself and the standard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .case import Case, Step
from .compare import Difference, differences, worked
from .host import EngineFailed, Executor
from .trace import Trace

__all__ = ["Finding", "Session"]

Failed = tuple[Case, EngineFailed]
"""What an engine's process failed at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference, the case that shows it, and the engines that are needed for it."""

    case: Case
    difference: Difference
    engines: tuple[str, ...]


class Session:
    """A set of engines, the first of which is what the others are compared with."""

    def __init__(self, executors: Sequence[Executor]) -> None:
        self.executors = {executor.name: executor for executor in executors}
        self.refusals: Counter[str] = Counter()
        """By engine: problems that it did not take."""
        self.taken: Counter[str] = Counter()
        """By engine: problems that it worked through."""
        self.last: dict[str, list[Trace]] = {}
        """What the last `check` saw, by engine."""

    def close(self) -> None:
        """Let all engines go."""
        for executor in self.executors.values():
            executor.close()

    def renew(self, names: Sequence[str]) -> None:
        """Have some of the engines forget what earlier cases left behind."""
        for name in names:
            self.executors[name].renew()

    def examine(self, case: Case, seed: str) -> list[Finding]:
        """Work through a case, deciding its walks; what is found comes with the walks."""
        kind = case.problems[0].kind
        together = [n for n, e in self.executors.items() if kind in e.capabilities.same_masks]
        alone = [n for n in self.executors if n not in together and kind in self.executors[n].capabilities.kinds]
        found = self._group(case, seed, together) if together else []
        for name in alone:
            found += self._group(case, seed, [name])
        return found

    def _group(self, case: Case, seed: str, names: list[str]) -> list[Finding]:
        traces: dict[str, list[Trace]] = {}
        failures: list[Failed] = []
        for name in names:
            executor = self.executors[name]
            try:
                # Problems that the engines before refused have no walk yet, and get one here.
                case, traces[name] = executor.lead(case, seed)
            except EngineFailed as failure:
                if failure.check == "hang" and executor.capabilities.slow:
                    self.refusals[name] += len(case.problems)
                else:
                    failures.append((failure.case or case, failure))
                continue
            self._count(name, traces[name])
        found = [self._finding(case, d) for d in _first_differences(case, traces, _hung(failures))]
        failed = self._failed(failures, traces)
        reported = {finding.difference.engine for finding in failed}
        for engine in _hung(failures):
            if engine not in reported:
                self.refusals[engine] += len(case.problems)
        return failed + [self._closer(finding) for finding in found]

    def _count(self, name: str, traces: list[Trace]) -> None:
        refused = sum(trace.refused is not None for trace in traces)
        self.refusals[name] += refused
        self.taken[name] += len(traces) - refused

    def check(self, case: Case, names: Sequence[str]) -> list[Difference]:
        """The differences of a case whose walks are fixed, on some of the engines."""
        traces: dict[str, list[Trace]] = {}
        self.last = traces
        failures: list[Failed] = []
        for name in names:
            try:
                traces[name] = self.executors[name].trace(case)
            except EngineFailed as failure:
                if failure.check != "hang" or not self.executors[name].capabilities.slow:
                    failures.append((case, failure))
        return [f.difference for f in self._failed(failures, traces)] + _all_differences(case, traces, _hung(failures))

    def shows(self, finding: Finding, case: Case) -> Difference | None:
        """The finding's difference in another case, if it is there."""
        if finding.difference.check == "slow-compile":
            # An engine that has compiled the case before, or most of it, may have kept that.
            self.renew(finding.engines)
        for difference in self.check(case, finding.engines):
            if difference.signature == finding.difference.signature:
                return difference
        return None

    def _finding(self, case: Case, difference: Difference) -> Finding:
        pair = difference.against in self.executors
        engines = (difference.against, difference.engine) if pair else (difference.engine,)
        return Finding(case, difference, engines)

    def _failed(self, failures: Sequence[Failed], traces: dict[str, list[Trace]]) -> list[Finding]:
        """What failed, except a hang where others hang too and none came to an end."""
        hung = _hung(failures)
        through = next((name for name, its in traces.items() if all(map(worked, its))), "itself")
        found = []
        for case, failure in failures:
            against = through if failure.check == "hang" else "itself"
            if against == "itself" and failure.check == "hang" and len(hung) > 1:
                continue
            difference = Difference(
                failure.check, failure.engine, against, case.problems[0].kind, detail=failure.detail
            )
            found.append(self._finding(case, difference))
        return found

    def _closer(self, finding: Finding) -> Finding:
        """Where a mask differs, ask the engine whether it would accept the very tokens: an engine that
        contradicts itself needs no other to be wrong."""
        difference = finding.difference
        if difference.check not in ("mask", "sight"):
            return finding
        problem = finding.case.problems[difference.problem]
        probe = Step("probe", difference.tokens)
        for walk in _ways_to(problem.walk[: difference.step + 1], difference.check):
            case = finding.case.with_problem(difference.problem, replace(problem, walk=(*walk, probe)))
            for name in (difference.engine, difference.against):
                for own in self.check(case, [name]):
                    if own.check == "probe" and own.problem == difference.problem:
                        return self._finding(case, own)
        return finding


def _ways_to(walk: tuple[Step, ...], check: str) -> Iterator[tuple[Step, ...]]:
    """Where a mask differs is the end of the walk; what is seen in a copy or along a draft is after some of its
    tokens."""
    if check == "mask":
        yield walk
        return
    *before, ahead = walk
    for count in range(len(ahead.ids) + 1):
        yield (*before, *(Step("token", (token,)) for token in ahead.ids[:count]))


def _hung(failures: Sequence[Failed]) -> list[str]:
    """The engines that came to no end."""
    return [failure.engine for _, failure in failures if failure.check == "hang"]


def _all_differences(case: Case, traces: dict[str, list[Trace]], hung: Sequence[str]) -> list[Difference]:
    if not traces:
        return []
    return differences(case, traces, next(iter(traces)), hung)


def _first_differences(case: Case, traces: dict[str, list[Trace]], hung: Sequence[str]) -> list[Difference]:
    """One difference for each engine, problem, check and direction."""
    seen = set()
    found = []
    for difference in _all_differences(case, traces, hung):
        key = (difference.engine, difference.problem, difference.check, difference.direction)
        if key not in seen:
            seen.add(key)
            found.append(difference)
    return found
