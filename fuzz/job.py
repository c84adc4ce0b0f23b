"""One worker of a campaign: takes numbers, examines their cases, shrinks and classifies what it finds.

It owns one process for each engine. It knows nothing of files, time limits or other workers, so
the same worker can be driven through a pipe or from a cluster.
"""

from __future__ import annotations

import ast
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection

from .case import Case
from .features import features
from .generate import case_of
from .host import EngineFailed, Executor, Host, Limits
from .known import classify
from .names import SYNTHETIC
from .reduce_vocabulary import excerpts
from .session import Finding, Session
from .shrink import shrink

__all__ = ["ITSELF", "Outcome", "Report", "Settings", "Worker", "serve_job"]

ITSELF = "fuzzer"
"""Under this name the worker's own processor time is counted: generating, judging, comparing, shrinking."""
REAL_EVERY = 8
"""One case in so many is over a real vocabulary, where both kinds are asked for."""
COSTLY = ("hang", "growth", "error", "slow", "slow-compile")
"""Checks that can take seconds each time a case is tried: the first is shrunk, of others like it a sample."""
ALWAYS_SHRUNK = 3
"""How many differences that look like the same known one are shrunk before that becomes a sample ..."""
LARGE_ONLY = ("hang", "growth", "slow", "slow-compile")
"""Checks that an excerpt of a large vocabulary could not show."""
SAMPLE = 16
"""... of one in so many."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What determines the cases of a campaign and what is done with them."""

    engines: tuple[str, ...]
    kinds: tuple[str, ...]
    vocabularies: tuple[str, ...] = (SYNTHETIC,)
    seed: int = 1
    limits: Limits = field(default_factory=Limits)
    shrink_seconds: float = 20.0

    def case(self, number: int) -> Case:
        """The case with this number, without walks."""
        kind = self.kinds[number % len(self.kinds)]
        turn = number // len(self.kinds)
        real = [name for name in self.vocabularies if name != SYNTHETIC]
        if SYNTHETIC in self.vocabularies and (not real or turn % REAL_EVERY != REAL_EVERY - 1):
            return case_of(kind, SYNTHETIC, self.seed, number)
        which = turn // REAL_EVERY if SYNTHETIC in self.vocabularies else turn
        return case_of(kind, real[which % len(real)], self.seed, number)


@dataclass(frozen=True, slots=True)
class Report:
    """A finding, shrunk as far as the budget allowed, and the known difference that it is, if it is one."""

    finding: Finding
    known: str | None
    shrunk: bool
    reproducible: bool = True


@dataclass(slots=True)
class Outcome:
    """What came of one case."""

    number: int
    case: Case
    problems: int = 0
    seconds: float = 0.0
    engine_seconds: dict[str, float] = field(default_factory=dict)
    """Processor time by engine, and of the worker itself."""
    taken: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    features: frozenset[str] = frozenset()
    new_features: bool = False
    reports: list[Report] = field(default_factory=list)


class Worker:
    """Examines cases by number, or cases from the corpus."""

    def __init__(self, settings: Settings, make: Callable[[str, Settings], Executor] | None = None) -> None:
        self.settings = settings
        self.session = Session([(make or _host)(name, settings) for name in settings.engines])
        self.looks_like: Counter[str] = Counter()
        self.seen: set[str] = set()

    def close(self) -> None:
        """Let the engines go."""
        self.session.close()

    def run(self, number: int, case: Case | None = None) -> Outcome:
        """Examine the case with this number, or the one given."""
        began, spent = time.monotonic(), time.process_time()
        case = self.settings.case(number) if case is None else case
        before = {name: getattr(e, "seconds", 0.0) for name, e in self.session.executors.items()}
        self.session.taken, self.session.refusals = Counter(), Counter()
        found = self.session.examine(case, f"{self.settings.seed}/{number}")
        present = features(case)
        outcome = Outcome(number, case, len(case.problems), features=present, new_features=not present <= self.seen)
        self.seen |= present
        outcome.reports = [self.report(finding, number) for finding in found]
        outcome.taken, outcome.refusals = self.session.taken, self.session.refusals
        outcome.seconds = time.monotonic() - began
        for name, executor in self.session.executors.items():
            outcome.engine_seconds[name] = getattr(executor, "seconds", 0.0) - before[name]
        outcome.engine_seconds[ITSELF] = time.process_time() - spent
        return outcome

    def report(self, finding: Finding, number: int = 0) -> Report:
        """Shrink and classify. What looks known already is shrunk only at first, and then in samples."""
        looks = classify(alone(finding))
        known = looks.name if looks else None
        costly = finding.difference.check in COSTLY
        if known or costly:
            like = known or " ".join((*finding.difference.signature, finding.difference.reason))
            self.looks_like[like] += 1
            if self.looks_like[like] > (1 if costly else ALWAYS_SHRUNK) and number % SAMPLE:
                return Report(finding, known, shrunk=False)
        if not finding.case.vocabulary.name:
            self.session.renew(finding.engines)
        if self.session.shows(finding, finding.case) is None:
            # What takes about as long as the limit may be there or not; anything else is state that is left over.
            return Report(finding, known if costly else None, shrunk=False, reproducible=False)
        smaller = self.shrunk(finding)
        entry = classify(smaller)
        return Report(smaller, entry.name if entry else None, shrunk=True)

    def shrunk(self, finding: Finding) -> Finding:
        """The finding in the smallest case that shows it."""

        def shows(case: Case) -> bool:
            # A candidate may not even be a case: an empty vocabulary, an id that is gone.
            with suppress(Exception):
                return self.session.shows(finding, case) is not None
            return False

        case = as_text(finding)
        if not shows(case):
            case = finding.case
        if case.vocabulary.name and finding.difference.check not in LARGE_ONLY:
            case = next(filter(shows, excerpts(case, finding.difference.tokens)), case)
        case = shrink(case, shows, self.settings.shrink_seconds)
        difference = self.session.shows(finding, case) or finding.difference
        return Finding(case, difference, finding.engines)


def _host(name: str, settings: Settings) -> Host:
    real = [vocabulary for vocabulary in settings.vocabularies if vocabulary != SYNTHETIC]
    return Host(name, settings.limits, vocabularies=real)


def alone(finding: Finding) -> Finding:
    """The finding with only the problem that shows it, to see what it looks like."""
    difference = finding.difference
    case = replace(finding.case, problems=(finding.case.problems[difference.problem],))
    return Finding(case, replace(difference, problem=0), finding.engines)


def as_text(finding: Finding) -> Case:
    """The case of a verdict with the very text in place of the walk that led to it."""
    difference, case = finding.difference, finding.case
    if difference.check != "verdict":
        return case
    problem = case.problems[difference.problem]
    return replace(case, problems=(replace(problem, walk=(), texts=(ast.literal_eval(difference.detail),)),))


def serve_job(settings: Settings, pipe: Connection) -> None:
    """The main function of a worker process: outcomes for numbers (or numbers with a case), until the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    worker = None
    try:
        worker = Worker(settings)
        while True:
            number, case = pipe.recv()
            pipe.send(worker.run(number, case))
    except (EOFError, OSError):
        pass
    except (EngineFailed, Exception) as error:
        with suppress(OSError):
            pipe.send(error)
    finally:
        if worker is not None:
            worker.close()


def _leave(_signal: int, _frame: object) -> None:
    raise EOFError
