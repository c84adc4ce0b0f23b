"""A campaign: numbers handed to workers, outcomes added up, everything kept on disk.

    OUT/
      campaign.json      the settings, which numbers are done, and the sums: enough to go on
      findings/          unknown-*.toml and .md, and known/NAME.toml: the smallest of each
      corpus/            cases that showed a feature for the first time; tried first by later campaigns

The state is written after every few outcomes and at the end, also when interrupted. A campaign
with the same settings and folder goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from infernix.gbnf.errors import RequestError

from .case import Case
from .features import of_difference, of_source
from .files import case_text, finding_text, markdown, read_finding
from .job import Outcome, Report, Settings, serve_job
from .known import known_differences
from .names import OWN_ENGINES

__all__ = ["Campaign", "Clock", "Pool", "State", "concerns_us", "name_of_unknown"]

IN_FLIGHT = 2
"""Numbers that a worker has at a time: one to work on, one to begin with at once."""
SAVE_SECONDS = 5.0
GRACE_SECONDS = 3.0
STATE = "campaign.json"


@dataclass(slots=True)
class State:
    """The sums of a campaign so far."""

    settings: dict[str, Any]
    done: int = 0
    """All numbers below are done."""
    done_above: set[int] = field(default_factory=set)
    problems: int = 0
    seconds: float = 0.0
    engine_seconds: Counter[str] = field(default_factory=Counter)
    worker_seconds: float = 0.0
    taken: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    """Known differences by name."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Unknown differences by the name of their file."""

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        if outcome.number >= 0:
            self.done_above.add(outcome.number)
            while self.done in self.done_above:
                self.done_above.remove(self.done)
                self.done += 1
        self.problems += outcome.problems
        self.worker_seconds += outcome.seconds
        self.engine_seconds.update(outcome.engine_seconds)
        self.taken.update(outcome.taken)
        self.refusals.update(outcome.refusals)
        self.features.update(outcome.features)

    def save(self, folder: Path) -> None:
        """Write the state, all of it or nothing."""
        data = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        data["done_above"] = sorted(self.done_above)
        temporary = folder / f"{STATE}.{os.getpid()}"
        temporary.write_text(json.dumps(data, indent=1), encoding="utf-8")
        temporary.replace(folder / STATE)

    @staticmethod
    def load(folder: Path) -> State | None:
        """The state that was saved there, if there is one."""
        path = folder / STATE
        if not path.exists():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            data["done_above"] = set(data["done_above"])
            for name in ("engine_seconds", "taken", "refusals", "features", "known"):
                data[name] = Counter(data[name])
            return State(**data)
        except (ValueError, KeyError, TypeError) as error:
            raise RequestError(f"{path}: not the state of a campaign: {error}") from None


class Clock:
    """How long a campaign goes on. It starts with the first outcome, when all engines are there: until then kernels
    may have to be compiled and vocabularies to be read, and a short campaign would end before its first case."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began: float | None = None

    def start(self) -> None:
        """Begin to count, unless it has begun."""
        if self.began is None:
            self.began = time.monotonic()

    def elapsed(self) -> float:
        """Seconds since it started; 0 before that."""
        return 0.0 if self.began is None else time.monotonic() - self.began

    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.began is not None and self.elapsed() >= self.seconds


class Pool:
    """Worker processes on this machine. Iterating yields outcomes as they come."""

    def __init__(self, settings: Settings, jobs: int) -> None:
        self.settings = settings
        self.workers: dict[Connection, Any] = {}
        self.load: Counter[Connection] = Counter()
        context = multiprocessing.get_context("spawn")
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve_job, args=(settings, theirs))
            process.start()
            theirs.close()
            self.workers[ours] = process

    def outcomes(self, orders: Iterator[tuple[int, Case | None]], clock: Clock) -> Iterator[Outcome | None]:
        """Outcomes of the orders until the time is up; None now and then, so that the caller can show something.
        Raises RuntimeError if a worker itself fails."""
        open_orders = True
        while True:
            for pipe in self.workers:
                while open_orders and self.load[pipe] < IN_FLIGHT and not clock.is_over():
                    order = next(orders, None)
                    if order is None:
                        open_orders = False
                        break
                    pipe.send(order)
                    self.load[pipe] += 1
            if clock.is_over() or not any(self.load.values()):
                return
            ready = set(wait(list(self.workers), timeout=0.25))
            for pipe in self.workers:
                if pipe in ready:
                    yield self._receive(pipe)
            if not ready:
                yield None

    def _receive(self, pipe: Connection) -> Outcome:
        try:
            outcome = pipe.recv()
        except (EOFError, OSError):
            raise RuntimeError("a worker process died") from None
        if isinstance(outcome, BaseException):
            raise outcome
        self.load[pipe] -= 1
        result: Outcome = outcome
        return result

    def close(self) -> None:
        """End the workers, and the engines with them."""
        for pipe, process in self.workers.items():
            pipe.close()
            process.terminate()
        for process in self.workers.values():
            process.join(GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()


class Campaign:
    """A campaign in a folder."""

    def __init__(self, settings: Settings, folder: Path, fresh: bool = False) -> None:
        self.settings = settings
        self.folder = folder
        described = json.loads(json.dumps(asdict(settings)))
        saved = None if fresh else State.load(folder)
        if saved is not None and saved.settings != described:
            raise RequestError(f"{folder} holds a campaign with other settings; choose another --out, or --fresh")
        self.resumed = saved is not None
        self.state = saved if saved is not None else State(described)
        self.smallest: dict[str, tuple[int, int]] = {}
        for name in ("findings/known", "corpus"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def orders(self) -> Iterator[tuple[int, Case | None]]:
        """The corpus first, under negative numbers, unless the campaign goes on; then all numbers not done yet."""
        if not self.resumed:
            for place, path in enumerate(sorted((self.folder / "corpus").glob("*.toml"))):
                case = read_finding(path).case
                if {problem.kind for problem in case.problems} <= set(self.settings.kinds):
                    yield -1 - place, case
        number = self.state.done
        while True:
            if number not in self.state.done_above:
                yield number, None
            number += 1

    def run(self, pool: Any, seconds: float, show: Callable[[State], None] = lambda _: None) -> State:
        """Run for some time, at least one case. Whatever ends it, the state is saved."""
        clock, saved = Clock(seconds), time.monotonic()
        before = self.state.seconds
        try:
            for outcome in pool.outcomes(self.orders(), clock):
                if outcome is not None:
                    clock.start()
                    self.take(outcome)
                self.state.seconds = before + clock.elapsed()
                show(self.state)
                if time.monotonic() - saved > SAVE_SECONDS:
                    self.state.save(self.folder)
                    saved = time.monotonic()
        finally:
            self.state.seconds = before + clock.elapsed()
            self.state.save(self.folder)
            pool.close()
        return self.state

    def take(self, outcome: Outcome) -> None:
        """Count an outcome, and keep what it brought."""
        fresh = [name for name in outcome.features if name not in self.state.features]
        if fresh and outcome.new_features and not outcome.case.vocabulary.name:
            text = case_text(outcome.case)
            self._write(self.folder / "corpus" / f"{digest(text)}.toml", text)
        self.state.add(outcome)
        for report in outcome.reports:
            self._keep(report)

    def _keep(self, report: Report) -> None:
        if report.known is not None:
            self.state.known[report.known] += 1
            path = self.folder / "findings" / "known" / f"{report.known}.toml"
            if report.shrunk:
                self._keep_smallest(path, report)
            return
        name = name_of_unknown(report)
        self.state.unknown[name] = self.state.unknown.get(name, 0) + 1
        self._keep_smallest(self.folder / "findings" / f"{name}.toml", report)

    def _keep_smallest(self, path: Path, report: Report) -> None:
        weight = report.finding.case.weight()
        if path.name in self.smallest and self.smallest[path.name] <= weight:
            return
        if path.exists() and path.name not in self.smallest and read_finding(path).case.weight() <= weight:
            self.smallest[path.name] = read_finding(path).case.weight()
            return
        self.smallest[path.name] = weight
        self._write(path, finding_text(report.finding, report.known))
        explanation = "" if report.reproducible else "It did not show again in the case alone: state is left over."
        for entry in known_differences():
            if entry.name == report.known:
                explanation = entry.explanation
        self._write(path.with_suffix(".md"), markdown(report.finding, report.known, explanation))

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def name_of_unknown(report: Report) -> str:
    """What an unknown finding is filed under: its engine, and a fingerprint of what makes two findings the same,
    which is the signature, and what is left in the shrunk case."""
    difference = report.finding.difference
    case = report.finding.case
    present = sorted(name for problem in case.problems for name in of_source(problem.kind, problem.source))
    present += sorted(of_difference(difference, case))
    kind = difference.kind if difference.check not in ("crash", "hang", "growth") else difference.detail
    print_of_it = digest(repr((difference.signature, kind, present if report.shrunk else "", report.reproducible)))
    return f"unknown-{difference.engine}-{print_of_it}"


def concerns_us(name: str) -> bool:
    """Whether an unknown finding of this name is about an engine of this project."""
    return name.startswith(tuple(f"unknown-{engine}-" for engine in OWN_ENGINES))


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
