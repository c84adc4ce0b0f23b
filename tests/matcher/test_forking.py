"""A process that forks while its other threads are at work: the child has none of them, and goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from infernix import Matcher, Vocabulary, compile_gbnf
from infernix.matcher import compile as compile_module
from infernix.matcher import forking
from infernix.matcher.cache import CacheOutcome, CompileCache
from infernix.schema import patterns

PATIENCE = 20
"""Seconds after which a child counts as hanging."""
MOMENT = 0.05

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]


def in_a_child(work: Callable[[], bool]) -> bool:
    """Whether `work` is true in a forked process; a child that hangs is ended by an alarm."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def taken_elsewhere(lock: Any) -> Iterator[None]:
    """Another thread has the lock, and gives it back a moment later."""
    taken = threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            threading.Event().wait(MOMENT)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(PATIENCE)
    yield
    thread.join()


def legal(grammar: Any, text: str) -> set[int]:
    """The tokens that may follow a text."""
    matcher = Matcher(grammar)
    for byte in text.encode():
        matcher.accept_token(byte)
    row = np.zeros(grammar.vocabulary.words, dtype=np.uint32)
    matcher.fill_mask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


@pytest.mark.parametrize("which", ["store", "vocabulary"])
def test_a_lock_of_another_thread_is_not_inherited(which: str) -> None:
    vocabulary = Vocabulary([bytes([i]) for i in range(128)], eos_ids=[])
    grammar = compile_gbnf('root ::= "a" [bc] | "d"', vocabulary)
    assert legal(grammar, "") == {ord("a"), ord("d")}
    with taken_elsewhere(grammar.store.lock if which == "store" else vocabulary._lock):
        assert in_a_child(
            lambda: (
                legal(grammar, "a") == {ord("b"), ord("c")}
                and legal(compile_gbnf('root ::= "x" [yz]', vocabulary), "x") == {ord("y"), ord("z")}
                and len(vocabulary.trie.token_ids) == 128
            )
        )
    assert legal(grammar, "a") == {ord("b"), ord("c")}


def test_automata_of_patterns_are_not_left_locked() -> None:
    with taken_elsewhere(patterns.UNFOLDING):
        assert in_a_child(lambda: patterns.matches("^a+$", "aaa") and not patterns.matches("^a+$", "b"))


def test_what_another_thread_builds_is_built_anew() -> None:
    """The thread that would have made it known does not exist in the child."""
    cache = CompileCache()
    started, go = threading.Event(), threading.Event()
    grammar: Any = SimpleNamespace(nbytes=1, store=SimpleNamespace(replaced=False))

    def build() -> Any:
        started.set()
        assert go.wait(PATIENCE)
        return grammar

    with ThreadPoolExecutor(2) as threads:
        # Both places are taken when the process forks.
        others = [threads.submit(cache.get, key, build) for key in ("first", "second")]
        assert started.wait(PATIENCE)
        try:
            assert in_a_child(lambda: cache.get("first", lambda: grammar) == (grammar, CacheOutcome.BUILT))
        finally:
            go.set()
        assert [other.result(PATIENCE)[1] for other in others] == [CacheOutcome.BUILT] * 2


def test_a_store_in_the_making_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock exists only when it is made, so locks are listed rank by rank."""
    vocabulary = Vocabulary([bytes([i]) for i in range(128)], eos_ids=[])
    begun, make = threading.Event(), compile_module.Store

    def slowly(*arguments: Any) -> Any:
        begun.set()
        threading.Event().wait(MOMENT)
        return make(*arguments)

    monkeypatch.setattr(compile_module, "Store", slowly)
    compiled: list[Any] = []

    def work() -> None:
        compiled.append(compile_gbnf('root ::= "a"', vocabulary))
        with compiled[0].store.lock:
            threading.Event().wait(2 * MOMENT)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(PATIENCE)
    assert in_a_child(lambda: legal(compile_gbnf('root ::= "b"', vocabulary), "") == {ord("b")})
    thread.join()


def test_locks_are_given_back_once_though_two_threads_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins to take locks while the first gives them back."""

    class Slow:
        def __init__(self) -> None:
            self.lock = threading.RLock()

        def acquire(self) -> None:
            self.lock.acquire()

        def release(self) -> None:
            self.lock.release()
            threading.Event().wait(MOMENT)

    locks = [Slow(), Slow()]
    monkeypatch.setattr(forking, "_locks", (set(locks[:1]), set(locks[1:])))
    monkeypatch.setattr(forking, "_taken", [])

    def fork(_: int) -> None:
        forking._take()
        forking._give_back()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fork, range(4)))
    assert all(lock.lock.acquire(blocking=False) for lock in locks)
