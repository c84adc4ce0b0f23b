"""The process of an engine: a parent that stays clean, and a child that takes the orders.

The parent imports the engine, compiles the kernels and loads the large vocabularies, once. Then it
forks a child for the work. A child that crashed, or was ended because it hung or grew, is followed
by another one within milliseconds, just as fresh as the first.

    messages of the child      Ready(pid)    Compiling(now)    Told(problem, step)    Answer(value, seconds)
    messages of the parent     Died(code)    NotStarted(why)
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .case import Case, Problem, Step, VocabularySpec
from .engines import Engine
from .trace import trace_case
from .walks import lead

__all__ = ["Answer", "Compiling", "Died", "NotStarted", "Ready", "Told", "resident_megabytes", "serve"]

PR_SET_PDEATHSIG = 1
SMALL = VocabularySpec(tokens=(b"a", b"b", b""), eos_ids=(2,), size=3)
WARM_UP = (
    Problem("gbnf", 'root ::= ("a" | "b" root){1,2}'),
    Problem("choice", '["a", "ab"]', (Step("token", (0,)),), ("a",)),
)
"""What is made once for a vocabulary, its trie and its speller, is made by the parent."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A child waits for orders."""

    pid: int


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The engine cannot be used at all."""

    why: str


@dataclass(frozen=True, slots=True)
class Died:
    """A child ended otherwise than by the end of orders; the code is negative for a signal."""

    code: int

    def __str__(self) -> str:
        with suppress(ValueError):
            return f"killed by {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"
        return f"killed by signal {-self.code}"


@dataclass(frozen=True, slots=True)
class Told:
    """A step that is about to be taken."""

    problem: int
    step: Step


@dataclass(frozen=True, slots=True)
class Compiling:
    """Whether a source is being compiled: what takes too long there is another matter than in a walk."""

    now: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an order (an exception if the case itself is broken), and the processor time it took."""

    value: Any
    seconds: float


def serve(name: str, make: Callable[[str], Engine], vocabularies: Sequence[str], pipe: Connection) -> None:
    """The parent: prepare, then have one child after another until the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence()
    try:
        engine = make(name)
        for spec in (SMALL, *(VocabularySpec(name=v) for v in vocabularies if engine.capabilities.large_vocabularies)):
            trace_case(engine, Case(spec, WARM_UP))
    except Exception as error:
        pipe.send(NotStarted(f"{type(error).__name__}: {error}"))
        return
    gc.freeze()
    with suppress(OSError):
        while True:
            child = os.fork()
            if child == 0:
                work(engine, pipe)
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            if code == 0:
                return
            pipe.send(Died(code))


def work(engine: Engine, pipe: Connection) -> None:
    """The child: obey orders until there are no more. Never returns."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    code = 1
    try:
        pipe.send(Ready(os.getpid()))
        while True:
            order = pipe.recv()
            began = time.process_time()
            value = obey(engine, order, pipe)
            pipe.send(Answer(value, time.process_time() - began))
    except (EOFError, OSError):
        code = 0
    finally:
        os._exit(code)


def obey(engine: Engine, order: tuple[Any, ...], pipe: Connection) -> Any:
    """Carry out an order: trace a case, or lead through it and tell each step before it is taken."""

    def watch(compiling: bool) -> None:
        pipe.send(Compiling(compiling))

    try:
        match order:
            case ("trace", case):
                return trace_case(engine, case, watch)
            case (_, case, seed):
                return lead(engine, case, seed, lambda problem, step: pipe.send(Told(problem, step)), watch)
    except Exception as error:  # the case cannot be built
        return error


def silence() -> None:
    """Drop what engines print from their own code; crashes are reported by the exit code."""
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def resident_megabytes(pid: int | str = "self") -> int:
    """Memory of a process now; 0 where that cannot be read."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
