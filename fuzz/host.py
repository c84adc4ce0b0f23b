"""An engine in a process of its own: it may crash, hang or grow, and we go on.

`Host` starts the process, gives it orders and keeps the limits; `Local` takes the same orders in
this process, for tests and for what is trusted. An order is a case to trace, or a case for which
to lead (decide the walks).
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from .case import Case, Problem, Step, VocabularySpec
from .engines import ENGINES, Engine, make_engine
from .trace import Trace, trace_case
from .walks import lead

__all__ = ["EngineFailed", "Executor", "Host", "Limits", "Local"]

READY = "ready"
START_SECONDS = 600.0
"""To import, and to compile kernels where no earlier process has."""
SLOW_SECONDS = 3.0
"""What a slow engine may take: the others can work through a hundred cases in that time."""
WALL_FACTOR = 10.0
"""How much longer than its share of processor time a case may take on a busy machine."""
SHUTDOWN_SECONDS = 2.0
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "131072", "NUMPY_MADVISE_HUGEPAGE": "0"}
"""Each vocabulary has large arrays of zeros, of which a small case touches little. Fresh pages cost nothing
until they are touched; the allocator's default, to reuse and clear memory, takes thirty times as long."""
WARM_UP = Case(
    VocabularySpec(tokens=(b"a", b"b", b""), eos_ids=(2,), size=3),
    (Problem("gbnf", 'root ::= ("a" | "b" root){1,2}'), Problem("choice", '["a", "ab"]')),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one case may cost an engine."""

    seconds: float = 5.0
    """Processor time."""
    megabytes: int = 1024
    """Growth of the process."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Told:
    """A step that is about to be taken."""

    problem: int
    step: Step


class EngineFailed(Exception):
    """The engine's process crashed, hung or grew. `check` is one of "crash", "hang", "growth"."""

    def __init__(self, engine: str, check: str, detail: str) -> None:
        super().__init__(f"{engine}: {check}: {detail}")
        self.engine, self.check, self.detail = engine, check, detail


class Executor(Protocol):
    """Takes orders for one engine."""

    name: str
    capabilities: Any

    def trace(self, case: Case) -> list[Trace]:
        """What the engine shows on the case. Raises EngineFailed."""

    def lead(self, case: Case, seed: str) -> tuple[Case, list[Trace]]:
        """The same with walks decided on the way. Raises EngineFailed."""

    def announced(self, case: Case, seed: str) -> Case:
        """The case with the walks of `lead` up to where the engine fails."""

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

    def announced(self, case: Case, seed: str) -> Case:
        """See `Executor`."""
        return self.lead(case, seed)[0]

    def close(self) -> None:
        """See `Executor`."""


class Host:
    """An engine in a process of its own, started again after every failure."""

    def __init__(self, name: str, limits: Limits = DEFAULT_LIMITS, make: Callable[[str], Engine] = make_engine) -> None:
        self.name = name
        self.limits = limits
        self.make = make
        self.capabilities = _class_of(name, make).capabilities
        self.seconds = 0.0
        """Processor time that the process has used for cases."""
        self.process: Any = None
        self.pipe: Connection | None = None

        self.ready = False
        self.begin()

    def begin(self) -> None:
        """Start the process, unless it runs; several can come up at the same time."""
        if self.process is not None:
            return
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(self.name, self.make, theirs), daemon=True)
        with environment({**MEMORY, **_class_of(self.name, self.make).environment}):
            self.process.start()
        theirs.close()
        self.ready = False

    def start(self) -> None:
        """Wait until the engine is ready. Raises EngineFailed if it does not come up."""
        self.begin()
        if not self.ready:
            answer = self._receive(START_SECONDS, START_SECONDS)
            if answer != READY:
                self.kill()
                raise EngineFailed(self.name, "crash", str(answer))
            self.ready = True

    def trace(self, case: Case) -> list[Trace]:
        """See `Executor`."""
        result: list[Trace] = self._ask(("trace", case))
        return result

    def lead(self, case: Case, seed: str) -> tuple[Case, list[Trace]]:
        """See `Executor`."""
        result: tuple[Case, list[Trace]] = self._ask(("lead", case, seed))
        return result

    def announced(self, case: Case, seed: str) -> Case:
        """The case with the walks that `lead` decides up to where the engine fails: each step is told before
        it is taken."""
        walks: list[list[Step]] = [[] for _ in case.problems]
        with suppress(EngineFailed):
            self._send(("announce", case, seed))
            while isinstance(told := self._receive(*self._limits()), Told):
                walks[told.problem].append(told.step)
        problems = (replace(p, walk=p.walk or tuple(walk)) for p, walk in zip(case.problems, walks))
        return replace(case, problems=tuple(problems))

    def _limits(self) -> tuple[float, float]:
        seconds = SLOW_SECONDS if self.capabilities.slow else self.limits.seconds
        return seconds, self.limits.seconds * WALL_FACTOR

    def _send(self, order: tuple[Any, ...]) -> None:
        self.start()
        assert self.pipe is not None
        try:
            self.pipe.send(order)
        except OSError:
            self._fail("crash", self._death())

    def _ask(self, order: tuple[Any, ...]) -> Any:
        self._send(order)
        answer, seconds, grown = self._receive(*self._limits())
        self.seconds += seconds
        if isinstance(answer, BaseException):
            raise answer
        if grown > self.limits.megabytes:
            self._fail("growth", f"{grown} MB in one case")
        return answer

    def _receive(self, seconds: float, wall: float) -> Any:
        """The next answer; the limit is processor time, or a multiple of it on the clock."""
        assert self.pipe is not None
        began, spent = time.monotonic(), processor_seconds(self.process.pid)
        while True:
            try:
                if self.pipe.poll(0.5):
                    return self.pipe.recv()
            except (EOFError, OSError):
                self._fail("crash", self._death())
            used = processor_seconds(self.process.pid) - spent
            waited = time.monotonic() - began
            if used > seconds or waited > wall:
                self._fail("hang", f"no answer after {used:.0f} s of processor time and {waited:.0f} s on the clock")

    def _death(self) -> str:
        self.process.join(SHUTDOWN_SECONDS)
        code = self.process.exitcode
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def _fail(self, check: str, detail: str) -> None:
        self.kill()
        raise EngineFailed(self.name, check, detail)

    def kill(self) -> None:
        """End the process at once."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None

    def close(self) -> None:
        """See `Executor`."""
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
            self.process.join(SHUTDOWN_SECONDS)
        self.kill()


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


def resident_megabytes() -> int:
    """Memory of this process now; its peak where that cannot be read."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


# --- the process


def serve(name: str, make: Callable[[str], Engine], pipe: Connection) -> None:
    """The main function of the process: answers orders until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _silence()
    try:
        engine = make(name)
        trace_case(engine, WARM_UP)
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
        return
    gc.freeze()
    with suppress(EOFError, OSError):
        pipe.send(READY)
        while True:
            order = pipe.recv()
            before, began = resident_megabytes(), time.process_time()
            answer = _obey(engine, order, pipe)
            pipe.send((answer, time.process_time() - began, resident_megabytes() - before))


def _obey(engine: Engine, order: tuple[Any, ...], pipe: Connection) -> Any:
    try:
        match order:
            case ("trace", case):
                return trace_case(engine, case)
            case ("lead", case, seed):
                return lead(engine, case, seed)
            case (_, case, seed):
                return lead(engine, case, seed, lambda problem, step: pipe.send(Told(problem, step)))
    except Exception as error:  # ours: a case that cannot be built
        return error


def _silence() -> None:
    """Drop what engines print from their own code; crashes are reported by the exit code."""
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
