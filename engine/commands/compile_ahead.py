"""Compiling on several cores: the parts of `infernix warmup` that need nothing of each other.

numba compiles one function at a time. But what one process keeps on disk is there for all; so *helpers*, further
processes that run this module, compile some parts into the cache folder while this process compiles others. A helper
reads the names of parts from its standard input, and answers with a line when one is done.

Helpers only save time. One that cannot be started or dies leaves its part to this process, and what one could not keep
is compiled again where it is needed. They end with this process, at the latest when their present part is done.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import SimpleNamespace
from typing import Any, cast

__all__ = ["compile_parts", "parts", "spare_cores"]

MOST_PROCESSES = 4
"""Each takes 200 MiB, and more would mostly wait for the longest part."""
DONE = b"done\n"

Part = Callable[[], Any]


def parts() -> dict[str, Part]:
    """Independent pieces of work, by name: two long ones first and a short one last, so that nobody waits long."""
    from infernix.matcher.jit import linked_kernels
    from infernix.matcher.store import text_kernels  # its module defines all linked kernels

    matching = {**linked_kernels(), "texts": text_kernels}
    return {"sampling": _sample, "rules": _lay_out_rules, **matching, "vocabulary": _build_trie}


def _sample() -> None:
    """Draw tokens and verify drafts."""
    import numpy as np

    from infernix.sampling import accept, sample

    logits = np.zeros((1, 2, 64), dtype=np.float32)
    masks = np.ones((1, 2), dtype=np.uint32)
    sample(logits[:, 0], masks)
    masks.flags.writeable = False  # as a matcher's rows are
    sample(logits[:, 0], masks)
    accept(logits, np.zeros((1, 1), dtype=np.int32))


def _lay_out_rules() -> None:
    """Compile a grammar, without the memory for a matcher's sets, since that needs all linked kernels."""
    from infernix.gbnf.parser import parse_gbnf
    from infernix.matcher.automaton import build_automata
    from infernix.matcher.compile import Linker
    from infernix.matcher.store import Store, Tables
    from infernix.matcher.vocabulary import Vocabulary

    grammar = parse_gbnf('root ::= "a" | "b" root')
    store = SimpleNamespace(tables=Tables(64, 64, large_pages=False), features=0, lock=threading.RLock())
    linker = Linker(cast(Store, store), Vocabulary.byte_level(), grammar, allow_control=False)
    linker.link(build_automata(grammar, linker.token_set, linker.linked))


def _build_trie() -> None:
    """Build the trie of a vocabulary."""
    from infernix.matcher.vocabulary import Vocabulary

    assert Vocabulary.byte_level().trie


def spare_cores() -> int:
    """How many helpers are of use: one for each core that this process may use, but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_PROCESSES) - 1


def compile_parts(
    work: dict[str, Part], helpers: int, started: Callable[[str], object], done: Callable[[], object]
) -> None:
    """Compile all parts. `started` hears of each that this process begins, `done` of each that is compiled."""

    def compile_here(name: str) -> None:
        started(name)
        work[name]()
        done()

    waiting, left = deque(work), deque[str]()
    with ExitStack() as stack:
        helping = []
        for _ in range(helpers):
            with suppress(OSError):  # there are no more processes to be had
                helping.append(stack.enter_context(Helper(waiting, left, done)))
        for name in taken_from(waiting):
            compile_here(name)
        started("the last parts")
        for helper in helping:
            helper.thread.join()
    for name in left:
        compile_here(name)


def taken_from(waiting: deque[str]) -> Iterator[str]:
    """Names until there are none; several threads may take from the same ones."""
    with suppress(IndexError):
        while True:
            yield waiting.popleft()


class Helper:
    """A process that compiles parts, and a thread that names them. The process ends with the context."""

    def __init__(self, waiting: deque[str], left: deque[str], done: Callable[[], object]) -> None:
        self.process = subprocess.Popen(
            helper_command(),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},  # it must find the same packages
        )
        self.thread = threading.Thread(target=self.give, args=(waiting, left, done), daemon=True)

    def __enter__(self) -> Helper:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.thread.join()
        with self.process:  # closes the pipes
            pass

    def give(self, waiting: deque[str], left: deque[str], done: Callable[[], object]) -> None:
        """Let the process compile one part after the other; one that it does not finish is `left`."""
        for name in taken_from(waiting):
            if not self.compiles(name):
                left.append(name)
                return
            done()

    def compiles(self, name: str) -> bool:
        """Whether the process has compiled a part; waits for it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):  # it is dead
            self.process.stdin.write(name.encode() + b"\n")
            return self.process.stdout.readline() == DONE
        return False


def helper_command() -> list[str]:
    """What starts a helper. The folder that this process was started in is no place to look for modules."""
    return [sys.executable or "", "-P", "-m", __name__]


def help_compiling() -> None:
    """What a helper does, until its standard input ends."""
    work = parts()
    for line in sys.stdin.buffer:
        work[line.decode().strip()]()
        sys.stdout.buffer.write(DONE)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    help_compiling()
