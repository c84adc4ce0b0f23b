"""Engines with a fault on purpose, at the top of a module so that other processes can make them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

from infernix.fuzz.campaign import Clock
from infernix.fuzz.case import Case
from infernix.fuzz.engines import Capabilities, Engine, Infernix, Position, Reference, Refused, make_engine
from infernix.fuzz.job import Outcome, Worker
from infernix.matcher.bitmask import Words

__all__ = ["FAULTS", "OneWorker", "make"]

KEPT: list[bytearray] = []


class Wrapped:
    """A position that behaves, so that subclasses need only say what they get wrong."""

    def __init__(self, inner: Any, tokens: tuple[int, ...] = ()) -> None:
        self.inner = inner
        self.tokens = list(tokens)

    def mask(self, row: Words) -> None:
        self.inner.mask(row)

    def accept(self, token: int) -> bool:
        accepted = bool(self.inner.accept(token))
        if accepted:
            self.tokens.append(token)
        return accepted

    def rollback(self, count: int) -> None:
        self.inner.rollback(count)
        del self.tokens[len(self.tokens) - count :]

    def fork(self) -> Wrapped:
        return type(self)(self.inner.fork(), tuple(self.tokens))

    def may_end(self) -> bool:
        return bool(self.inner.may_end())

    def ended(self) -> bool:
        return bool(self.inner.ended())


class FlippedBit(Wrapped):
    """After two tokens, the lowest legal one is masked out."""

    def mask(self, row: Words) -> None:
        self.inner.mask(row)
        if len(self.tokens) == 2 and row[0]:
            row[0] &= row[0] - 1


class RollbackOneShort(Wrapped):
    """Three tokens are taken back as two."""

    def rollback(self, count: int) -> None:
        super().rollback(2 if count == 3 else count)


class SharedFork(Wrapped):
    """A copy is the original."""

    def fork(self) -> Wrapped:
        return self


class ForgetfulEnd(Wrapped):
    """The text may never end after three tokens."""

    def may_end(self) -> bool:
        return super().may_end() and len(self.tokens) < 3


class Crashing(Wrapped):
    """Dies at the second token."""

    def accept(self, token: int) -> bool:
        if self.tokens:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().accept(token)


class Hanging(Wrapped):
    """Never comes back from the second token."""

    def accept(self, token: int) -> bool:
        while self.tokens:
            pass
        return super().accept(token)


class Growing(Wrapped):
    """Keeps 40 MB for each token."""

    def accept(self, token: int) -> bool:
        KEPT.append(bytearray(os.urandom(1 << 10) * (40 << 10)))
        return super().accept(token)


class Slow(Wrapped):
    """Takes 15 ms for each mask."""

    def mask(self, row: Words) -> None:
        until = time.thread_time() + 0.015
        while time.thread_time() < until:
            pass
        self.inner.mask(row)


class Raising(Wrapped):
    """An exception that no contract names."""

    def accept(self, token: int) -> bool:
        if len(self.tokens) == 1:
            raise ZeroDivisionError("planted")
        return super().accept(token)


FAULTS: dict[str, type[Wrapped]] = {
    fault.__name__: fault
    for fault in (
        FlippedBit,
        RollbackOneShort,
        SharedFork,
        ForgetfulEnd,
        Crashing,
        Hanging,
        Growing,
        Slow,
        Raising,
    )
}


class Planted(Reference):
    """The reference matcher with a fault, and without the patience that the reference is given."""

    capabilities = Capabilities()

    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, compiled: Any) -> Position:
        return FAULTS[self.name](super().start(compiled))


class Unsound(Infernix):
    """Accepts any string for a regular expression."""

    name = "Unsound"

    def compile(self, kind: str, source: str, vocabulary: Any) -> Any:
        return super().compile(kind, "[^]*" if kind == "regex" else source, vocabulary)


class Stern(Reference):
    """Refuses every grammar with a count."""

    name = "Stern"

    def compile(self, kind: str, source: str, vocabulary: Any) -> Any:
        if kind == "gbnf" and "{" in source:
            raise Refused("no counts at line 1")
        return super().compile(kind, source, vocabulary)


class SlowCompile(Reference):
    """Takes 0.3 s of processor time to compile: always, or only the first time."""

    capabilities = Capabilities()

    def __init__(self, name: str) -> None:
        self.name = name
        self.compiled = 0

    def compile(self, kind: str, source: str, vocabulary: Any) -> Any:
        self.compiled += 1
        until = time.process_time() + (0.3 if self.name == "SlowCompile" or self.compiled == 1 else 0.0)
        while time.process_time() < until:
            pass
        return super().compile(kind, source, vocabulary)


class HangingCompile(Reference):
    """Never ends compiling a grammar that has a dog in it."""

    name = "HangingCompile"
    capabilities = Capabilities()

    def compile(self, kind: str, source: str, vocabulary: Any) -> Any:
        while "dog" in source:
            pass
        return super().compile(kind, source, vocabulary)


class OneWorker:
    """A pool of one worker in this process, which stops after some cases."""

    def __init__(self, worker: Worker, most: int) -> None:
        self.worker, self.most = worker, most

    def outcomes(self, orders: Iterator[tuple[int, Case | None]], clock: Clock) -> Iterator[Outcome | None]:
        for _, (number, case) in zip(range(self.most), orders):
            yield self.worker.run(number, case)

    def close(self) -> None:
        self.worker.close()


OTHERS: dict[str, Callable[[], Engine]] = {
    "Unsound": Unsound,
    "Stern": Stern,
    "SlowCompile": lambda: SlowCompile("SlowCompile"),
    "SlowFirstCompile": lambda: SlowCompile("SlowFirstCompile"),
    "HangingCompile": HangingCompile,
}


def make(name: str) -> Engine:
    """An engine with a fault, or an ordinary one."""
    if name in OTHERS:
        return OTHERS[name]()
    return Planted(name) if name in FAULTS else make_engine(name)
