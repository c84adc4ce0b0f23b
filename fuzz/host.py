"""Engines that take orders: in a process of their own (`Host`), where they may crash, hang or grow
while we go on; or in this process (`Local`), for tests and for what is trusted.

An order is a case to trace, or a case to lead through, deciding its walks. What the process
does is in `hosted.py`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from .case import Case, Step
from .engines import ENGINES, Capabilities, Engine, make_engine
from .hosted import Answer, Compiling, Died, NotStarted, Ready, Told, resident_megabytes, serve
from .trace import Trace, trace_case
from .walks import lead

__all__ = ["EngineFailed", "Executor", "Host", "Limits", "Local"]

START_SECONDS = 600.0
"""To import, to compile kernels where no earlier process has, and to load large vocabularies."""
SLOW_SECONDS = 3.0
"""What a slow engine may take: the others can work through a hundred cases in that time."""
WALL_FACTOR = 30.0
"""How much longer than its share of processor time a case may take on a busy machine."""
POLL_SECONDS = 0.2
SHUTDOWN_SECONDS = 2.0
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "131072", "NUMPY_MADVISE_HUGEPAGE": "0"}
"""Each vocabulary has large arrays of zeros, of which a small case touches little. Fresh pages cost nothing
until they are touched; the allocator's default, to reuse and clear memory, takes thirty times as long."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one case may cost an engine."""

    seconds: float = 5.0
    """Processor time."""
    megabytes: int = 1024
    """Growth of the process."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used so far, and when that was."""

    processor: float
    clock: float
    megabytes: int

    @staticmethod
    def of(pid: int) -> Usage:
        """Of a process now."""
        return Usage(processor_seconds(pid), time.monotonic(), resident_megabytes(pid))


class EngineFailed(Exception):
    """The engine's process crashed, hung or grew. `check` is one of "crash", "hang", "growth"; `case` has the walk up
    to where it failed, if one was being decided."""

    def __init__(self, engine: str, check: str, detail: str) -> None:
        super().__init__(engine, check, detail)
        self.engine, self.check, self.detail = engine, check, detail
        self.case: Case | None = None

    def __str__(self) -> str:
        return f"{self.engine}: {self.check}: {self.detail}"


class Executor(Protocol):
    """Takes orders for one engine."""

    name: str
    capabilities: Capabilities

    def trace(self, case: Case) -> list[Trace]:
        """What the engine shows on the case. Raises EngineFailed."""

    def lead(self, case: Case, seed: str) -> tuple[Case, list[Trace]]:
        """The same with walks decided on the way. Raises EngineFailed with the case so far."""

    def renew(self) -> None:
        """Forget everything that earlier cases left behind."""

    def close(self) -> None:
        """Let it go."""


class Local:
    """An engine in this process, without protection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name = engine.name
        self.capabilities = engine.capabilities

    def trace(self, case: Case) -> list[Trace]:
        """See `Executor`."""
        return trace_case(self.engine, case)

    def lead(self, case: Case, seed: str) -> tuple[Case, list[Trace]]:
        """See `Executor`."""
        return lead(self.engine, case, seed)

    def renew(self) -> None:
        """See `Executor`. Nothing can be forgotten here."""

    def close(self) -> None:
        """See `Executor`."""


class Host:
    """An engine in a process of its own. Making one begins to start it; the first order waits until it is ready."""

    def __init__(
        self,
        name: str,
        limits: Limits = DEFAULT_LIMITS,
        make: Callable[[str], Engine] = make_engine,
        vocabularies: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.limits = limits
        engine = _class_of(name, make)
        self.capabilities: Capabilities = engine.capabilities
        self.seconds = 0.0
        """Processor time that cases have taken."""
        self.child: int | None = None
        """The process that takes orders, while it is ready."""
        self.compiling = False
        """Whether it has said that it compiles a source."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(name, make, tuple(vocabularies), theirs), daemon=True)
        with environment({**MEMORY, **engine.environment}):
            self.process.start()
        theirs.close()

    # --- orders

    def trace(self, case: Case) -> list[Trace]:
        """See `Executor`."""
        result: list[Trace] = self._ask(("trace", case))
        return result

    def lead(self, case: Case, seed: str) -> tuple[Case, list[Trace]]:
        """See `Executor`."""
        walks: list[list[Step]] = [[] for _ in case.problems]
        try:
            result: tuple[Case, list[Trace]] = self._ask(("lead", case, seed), walks)
        except EngineFailed as failure:
            problems = (replace(p, walk=p.walk or tuple(walk)) for p, walk in zip(case.problems, walks))
            failure.case = replace(case, problems=tuple(problems))
            raise
        return result

    def _ask(self, order: tuple[Any, ...], walks: Sequence[list[Step]] = ()) -> Any:
        """What comes of an order. Steps are told before they are taken, and noted in `walks`."""
        self._send(order)
        assert self.child is not None
        before = Usage.of(self.child)
        self.compiling = False
        while isinstance(answer := self._receive(before), Told | Compiling):
            if isinstance(answer, Compiling):
                self.compiling = answer.now
            else:
                walks[answer.problem].append(answer.step)
        assert isinstance(answer, Answer)
        self.seconds += answer.seconds
        if isinstance(answer.value, BaseException):
            raise answer.value
        return answer.value

    def _send(self, order: tuple[Any, ...]) -> None:
        self.start()
        try:
            self.pipe.send(order)
        except OSError:
            raise EngineFailed(self.name, "crash", "its process is gone") from None

    def _receive(self, before: Usage) -> Any:
        """The next message about the order. The limits are for the whole of it: processor time, or a multiple of it on
        the clock, and memory, which is looked at now and then: a compiler that goes wild must not take the machine
        along."""
        assert self.child is not None
        limit = SLOW_SECONDS if self.capabilities.slow else self.limits.seconds
        while True:
            message = self._poll(POLL_SECONDS)
            if isinstance(message, Told | Compiling):
                return message
            now = Usage.of(self.child)
            if now.megabytes > before.megabytes + self.limits.megabytes:
                self._fail("growth", f"more than {self.limits.megabytes} MB in one case")
            if isinstance(message, Died):
                self.child = None
                raise EngineFailed(self.name, "crash", str(message))
            if message is not None:
                return message
            used = now.processor - before.processor
            patience = self.limits.seconds * WALL_FACTOR
            if used > limit or now.clock - before.clock > patience:
                self.seconds += used
                spent = f"{limit:.0f} s of processor time" if used > limit else f"{patience:.0f} s on the clock"
                self._fail("hang", f"no answer after {spent}" + ", still compiling" * self.compiling)

    def _fail(self, check: str, detail: str) -> None:
        self._end_child()
        raise EngineFailed(self.name, check, detail)

    def _poll(self, seconds: float) -> Any:
        try:
            return self.pipe.recv() if self.pipe.poll(seconds) else None
        except (EOFError, OSError):
            self.child = None
            raise EngineFailed(self.name, "crash", "its process is gone") from None

    # --- the processes

    def start(self) -> None:
        """Wait until a child is ready. Raises EngineFailed if the engine does not come up."""
        until = time.monotonic() + START_SECONDS
        while self.child is None:
            message = self._poll(POLL_SECONDS)
            if isinstance(message, Ready):
                self.child = message.pid
            elif isinstance(message, NotStarted):
                raise EngineFailed(self.name, "crash", message.why)
            elif time.monotonic() > until:
                raise EngineFailed(self.name, "hang", f"not ready after {START_SECONDS:.0f} s")

    def renew(self) -> None:
        """See `Executor`."""
        self.start()
        self._end_child()

    def _end_child(self) -> None:
        """End the child; the parent says so, and makes another."""
        if self.child is not None:
            with suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
            while not isinstance(self._poll(SHUTDOWN_SECONDS), Died | None):
                continue
            self.child = None

    def close(self) -> None:
        """See `Executor`."""
        if self.child is not None:
            with suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _class_of(name: str, make: Callable[[str], Engine]) -> Any:
    """Where the constants of an engine can be read without importing the package it adapts."""
    if make is not make_engine:
        return make(name)
    from . import peers

    made = ENGINES.get(name)
    if made is None:
        make_engine(name)
    return {"xgrammar": peers.XGrammar, "llguidance": peers.LLGuidance}.get(name, made)


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for a child process."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far; 0 where it cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
