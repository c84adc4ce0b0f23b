"""Runs engines over cases in one worker process, and survives an engine that hangs or crashes.

All engines live in the one worker and take turns at each case, in an order that rotates
from case to case, so that what the machine does meanwhile hits all of them alike. The
worker reports before and after each turn. If a turn uses far more CPU time than it may, or
the worker dies in it, this process records that, starts a new worker, and goes on
with the next turn.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]

from .cases import Case, Source
from .engines import ENGINES, one_thread
from .vocabularies import load_vocabulary
from .walk import CaseResult, measure

__all__ = ["KILL_FACTOR", "Plan", "run_plan", "warm_up_case"]

KILL_FACTOR = 3
"""A turn is ended from outside when it has used so many times its limit: compiling cannot be interrupted."""
POLL_SECONDS = 2.0
WARM_UP_SECONDS = 300.0
"""CPU time for making and warming the engines: kernels may have to be compiled."""
READY = "ready"
STDERR = 2
STALL_FACTOR = 20
"""A turn is also ended after so many times its limit in wall time, whatever it waits for."""

WARM_UP_SCHEMA = (
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},'
    ' "required": ["name", "age"], "additionalProperties": false}'
)
WARM_UP_TEXT = '{"name": "Ada", "age": 36}'


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


def warm_up_case(encode: Callable[[str], list[int]]) -> Case:
    """The tiny schema that every engine sees before it is measured."""
    return Case("warm-up", Source("schema", WARM_UP_SCHEMA), [encode(WARM_UP_TEXT)])


def run_plan(plan: Plan, progress: Callable[[str], None]) -> Iterator[CaseResult]:
    """Yield one result for each turn of the plan. Raises RuntimeError if the engines cannot be started."""
    turns = list(plan.turns())
    done = 0
    while done < len(turns):
        worker = _Worker(plan, done)
        try:
            worker.await_ready()
            progress("the engines are warm")
            while done < len(turns):
                yield worker.receive(plan.limit_s)
                done += 1
        except _WorkerLost as lost:
            case, engine = turns[done]
            progress(f"{engine} on {case.id}: {lost}")
            yield CaseResult(engine, case.id, status="killed", message=str(lost))
            done += 1
        finally:
            worker.close()


class _WorkerLost(Exception):
    pass


class _Worker:
    """The measuring process and the pipe from it."""

    def __init__(self, plan: Plan, done: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(plan, done, sender), daemon=True)
        self.process.start()
        sender.close()
        self.watched = psutil.Process(self.process.pid)

    def await_ready(self) -> None:
        """Wait until the engines are warm."""
        try:
            message = self.receive(WARM_UP_SECONDS)
        except _WorkerLost as lost:
            message = str(lost)
        if message != READY:
            raise RuntimeError(f"the measuring process could not start: {message}")

    def receive(self, limit_s: float) -> Any:
        """The next message. Raises _WorkerLost if the worker ended or took too long over it."""
        started = monotonic()
        cpu = self.cpu_seconds()
        while not self.receiver.poll(POLL_SECONDS):
            used = self.cpu_seconds() - cpu
            if used > KILL_FACTOR * limit_s or monotonic() - started > STALL_FACTOR * limit_s:
                raise _WorkerLost(f"ended after {used:.0f} s of CPU time")
        try:
            message = self.receiver.recv()
        except EOFError:
            self.process.join()
            raise _WorkerLost(f"the process died with exit code {self.process.exitcode}") from None
        if isinstance(message, _Failure):
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
        """End the worker, whatever it does."""
        self.process.kill()
        self.process.join()
        self.receiver.close()


@dataclass(frozen=True)
class _Failure:
    """The worker's last message if the benchmark itself is at fault."""

    traceback: str


def _work(plan: Plan, done: int, sender: Connection) -> None:
    """The worker's main function; an exception becomes the last message."""
    one_thread()
    gc.disable()
    _silence()
    try:
        _take_turns(plan, done, sender)
    except Exception:
        sender.send(_Failure(traceback.format_exc()))
    sender.close()


def _silence() -> None:
    """Drop what engines print about grammars from their own code, but not where one crashes."""
    faulthandler.enable(os.fdopen(os.dup(STDERR), "w"))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDERR)


def _take_turns(plan: Plan, done: int, sender: Connection) -> None:
    """Make and warm the engines, then take the turns from `done` on."""
    vocabulary = load_vocabulary(plan.vocabulary)
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.uint32)
    engines = {name: ENGINES[name](vocabulary) for name in plan.engines}
    warm_up = warm_up_case(vocabulary.encode)
    for name, engine in engines.items():
        result = measure(name, engine, warm_up, row, float("inf"))
        if result.status != "compiled" or result.valid[0].stopped:
            raise RuntimeError(f"{name} fails at the warm-up: {result}")
    gc.freeze()
    sender.send(READY)
    for i, (case, name) in enumerate(plan.turns()):
        if i >= done:
            sender.send(measure(name, engines[name], case, row, plan.limit_s))
