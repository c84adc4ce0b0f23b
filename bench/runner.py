"""Runs engines over cases, in turns, and survives an engine that hangs or crashes.

The engines take turns at each case, in an order that rotates from case to case, so that
what the machine does meanwhile hits all of them alike. Ours and the peers live in one
process. Only variants of ours are moved to processes of their own, since each would profit
from what another one left in caches of the package (`Plan.processes`).

If a turn uses far more CPU time than it may, or the process dies in it, that is recorded,
the process is replaced, and the run goes on with the next turn.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psutil  # type: ignore[import-untyped]

from .cases import Case
from .engines import engine_class
from .walk import CaseResult
from .worker import READY, Failure, work

__all__ = ["Plan", "run_plan"]

KILL_FACTOR = 3
"""A turn is ended from outside when it has used so many times its limit: compiling cannot be interrupted."""
STALL_FACTOR = 20
"""A turn is also ended after so many times its limit in wall time, whatever it waits for."""
WARM_UP_SECONDS = 300.0
"""CPU time for making and warming the engines: kernels may have to be compiled."""
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Plan:
    """What to run."""

    engines: tuple[str, ...]
    vocabulary: str
    cases: Sequence[Case]
    limit_s: float
    """CPU seconds for one engine on one case."""

    def turns(self) -> Iterator[tuple[Case, str]]:
        """Every (case, engine) in the order of measurement."""
        for i, case in enumerate(self.cases):
            first = i % len(self.engines)
            for engine in (*self.engines[first:], *self.engines[:first]):
                yield case, engine

    def processes(self) -> list[list[str]]:
        """Which engines share a process: all, but of those with package-wide caches only one."""
        shared: list[str] = []
        alone: list[list[str]] = []
        packages = set()
        for name in self.engines:
            engine = engine_class(name)
            if engine.package_caches and engine.package in packages:
                alone.append([name])
            else:
                shared.append(name)
            packages.add(engine.package)
        return [shared, *alone]


def run_plan(plan: Plan, progress: Callable[[str], None]) -> Iterator[CaseResult]:
    """Yield one result for each turn of the plan. Raises RuntimeError if the engines cannot be started."""
    workers: list[_Worker] = []
    try:
        for engines in plan.processes():
            workers.append(_Worker(engines, plan.vocabulary))
        by_engine = {name: worker for worker in workers for name in worker.engines}
        progress("the engines are warm")
        for case, engine in plan.turns():
            worker = by_engine[engine]
            try:
                result = worker.turn(case, engine, plan.limit_s)
            except _WorkerLost as lost:
                progress(f"{engine} on {case.id}: {lost}")
                result = CaseResult(engine, case.id, status="killed", message=str(lost))
                worker.start()
            yield result
    finally:
        for worker in workers:
            worker.close()


class _WorkerLost(Exception):
    pass


class _Worker:
    """A measuring process and the pipe to it."""

    def __init__(self, engines: list[str], vocabulary: str) -> None:
        self.engines = engines
        self.vocabulary = vocabulary
        self.process: Any = None
        self.start()

    def start(self) -> None:
        """Start the process, after ending an earlier one, and wait until its engines are warm."""
        self.close()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(self.engines, self.vocabulary, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.watched = psutil.Process(self.process.pid)
        try:
            message = self.receive(WARM_UP_SECONDS)
        except _WorkerLost as lost:
            message = lost
        if message != READY:
            raise RuntimeError(f"the measuring process could not start: {message}")

    def turn(self, case: Case, engine: str, limit_s: float) -> CaseResult:
        """Let one engine take its turn. Raises _WorkerLost."""
        try:
            self.pipe.send((case, engine, limit_s))
        except OSError:
            raise _WorkerLost("the process is gone") from None
        result: CaseResult = self.receive(limit_s)
        return result

    def receive(self, limit_s: float) -> Any:
        """The next message. Raises _WorkerLost if the worker ended or took too long over it."""
        started = monotonic()
        cpu = self.cpu_seconds()
        while not self.pipe.poll(POLL_SECONDS):
            used = self.cpu_seconds() - cpu
            if used > KILL_FACTOR * limit_s or monotonic() - started > STALL_FACTOR * limit_s:
                raise _WorkerLost(f"ended after {used:.0f} s of CPU time")
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            raise _WorkerLost(f"the process died with exit code {self.process.exitcode}") from None
        if isinstance(message, Failure):
            raise RuntimeError(f"the measuring process failed:\n{message.traceback}")
        return message

    def cpu_seconds(self) -> float:
        """CPU time of the worker so far."""
        try:
            times = self.watched.cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def close(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
