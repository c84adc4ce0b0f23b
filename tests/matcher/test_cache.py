"""The compile cache: what is built, by whom, how often, at the same time as what, and what is kept.

Builds are stand-ins that wait for events, so that each interleaving is made on purpose and
not hoped for. No test sleeps to let something happen; `PATIENCE` only bounds a failure.
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from random import Random
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from infernix.gbnf.errors import ChoiceError, GrammarError, LimitError, RegexError, RequestError, SchemaError
from infernix.matcher import cache as cache_module
from infernix.matcher.cache import CacheOutcome, CompileCache

HIT, BUILT, WAITED = CacheOutcome.HIT, CacheOutcome.BUILT, CacheOutcome.WAITED
PATIENCE = 30.0
MIB = 1 << 20


def fake(nbytes: int = 100, replaced: bool = False) -> Any:
    """What the cache looks at of a compiled grammar."""
    return SimpleNamespace(nbytes=nbytes, store=SimpleNamespace(replaced=replaced))


class SlowBuild:
    """A build that announces itself and then waits to be let go; counts its runs."""

    def __init__(self, result: Any = None) -> None:
        self.result = fake() if result is None else result
        self.started = threading.Event()
        self.go = threading.Event()
        self.runs = 0

    def __call__(self) -> Any:
        self.runs += 1
        self.started.set()
        assert self.go.wait(PATIENCE)
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Enough threads for every test here; whatever was submitted has ended when the test has."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def until_waiting(cache: CompileCache, key: Any, build: Callable[[], Any], pool: ThreadPoolExecutor) -> Future[Any]:
    """Ask for a key that another thread is building, and return once the question has joined that build."""
    joined = threading.Event()
    entry = cache._entries[key]
    turn = entry.turn

    class Announced:
        def __enter__(self) -> None:
            joined.set()
            turn.acquire()

        def __exit__(self, *_: object) -> None:
            turn.release()

    entry.turn = Announced()  # type: ignore[assignment]
    future = pool.submit(cache.get, key, build)
    assert joined.wait(PATIENCE)
    entry.turn = turn
    return future


def never() -> Any:
    pytest.fail("must not be built")


# --- one key


def test_built_then_hit() -> None:
    cache, grammar = CompileCache(), fake()
    assert cache.get("key", lambda: grammar) == (grammar, BUILT)
    assert cache.get("key", never) == (grammar, HIT)
    assert (len(cache), cache.nbytes) == (1, 100 + len("key"))


def test_many_threads_share_one_build(threads: ThreadPoolExecutor) -> None:
    cache, build = CompileCache(), SlowBuild()
    first = threads.submit(cache.get, "key", build)
    assert build.started.wait(PATIENCE)
    others = [until_waiting(cache, "key", never, threads) for _ in range(8)]
    build.go.set()
    assert first.result(PATIENCE) == (build.result, BUILT)
    assert [other.result(PATIENCE) for other in others] == [(build.result, WAITED)] * 8
    assert build.runs == 1
    assert cache.get("key", never) == (build.result, HIT)


def test_a_failure_is_shared_and_remembered(threads: ThreadPoolExecutor) -> None:
    cache, build = CompileCache(), SlowBuild(GrammarError("no rule", 3, 7))
    first = threads.submit(cache.get, "key", build)
    assert build.started.wait(PATIENCE)
    other = until_waiting(cache, "key", never, threads)
    build.go.set()
    for future in (first, other, threads.submit(cache.get, "key", never)):
        error = future.exception(PATIENCE)
        assert isinstance(error, GrammarError)
        assert (str(error), error.line, error.column) == ("3:7: no rule", 3, 7)
    assert build.runs == 1


@pytest.mark.parametrize(
    "failure",
    [
        GrammarError("bad", 1, 2, "line"),
        RegexError("bad", 4, "a(b"),
        ChoiceError("bad", 3),
        SchemaError("bad", "/a/b"),
        LimitError("bad"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_remembered_failure_does_not_grow(failure: RequestError) -> None:
    """Raised a hundred times, it has the traceback of one raise, and says the same."""
    cache = CompileCache()
    facts = type(failure), str(failure), vars(failure).copy()

    def fails() -> Any:
        raise failure

    lengths = set()
    for _ in range(100):
        with pytest.raises(RequestError) as raised:
            cache.get("key", fails)
        fails = never
        error = raised.value
        assert (type(error), str(error), vars(error)) == facts
        length, frame = 0, error.__traceback__
        while frame is not None:
            length, frame = length + 1, frame.tb_next
        lengths.add(length)
    assert len(lengths) == 1
    assert 0 < cache.nbytes < 10_000


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt])
def test_other_exceptions_are_not_remembered(kind: type[BaseException]) -> None:
    cache = CompileCache()

    def breaks() -> Any:
        raise kind("broken")

    for _ in range(2):
        with pytest.raises(kind, match="broken"):
            cache.get("key", breaks)
        assert (len(cache), cache.nbytes) == (0, 0)
    grammar = fake()
    assert cache.get("key", lambda: grammar) == (grammar, BUILT)


def test_those_who_waited_for_a_broken_build_are_not_left_waiting(threads: ThreadPoolExecutor) -> None:
    cache, build = CompileCache(), SlowBuild(ValueError("broken"))
    first = threads.submit(cache.get, "key", build)
    assert build.started.wait(PATIENCE)
    other = until_waiting(cache, "key", never, threads)
    build.go.set()
    for future in (first, other):
        assert isinstance(future.exception(PATIENCE), ValueError)
    assert cache.get("key", fake)[1] == BUILT


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interruption_stays_in_its_thread(threads: ThreadPoolExecutor, kind: type[BaseException]) -> None:
    """The thread that was interrupted says so; of those that waited for it, one builds."""
    cache, interrupted, build = CompileCache(), SlowBuild(kind()), SlowBuild()
    first = threads.submit(cache.get, "key", interrupted)
    assert interrupted.started.wait(PATIENCE)
    others = [until_waiting(cache, "key", build, threads) for _ in range(4)]
    build.go.set()
    interrupted.go.set()
    assert isinstance(first.exception(PATIENCE), kind)
    results = [other.result(PATIENCE) for other in others]
    assert [grammar for grammar, _ in results] == [build.result] * 4
    assert [outcome for _, outcome in results].count(BUILT) == 1
    assert build.runs == 1


# --- several keys


def test_two_keys_build_at_once_and_a_third_waits(threads: ThreadPoolExecutor) -> None:
    cache = CompileCache()
    builds = [SlowBuild() for _ in range(4)]
    futures = [threads.submit(cache.get, i, builds[i]) for i in (0, 1)]
    for build in builds[:2]:
        # Both are inside at the same time: neither has been let go.
        assert build.started.wait(PATIENCE)
    futures += [threads.submit(cache.get, i, builds[i]) for i in (2, 3)]
    assert not builds[2].started.wait(0.05)
    assert not builds[3].started.is_set()
    builds[0].go.set()
    assert futures[0].result(PATIENCE) == (builds[0].result, BUILT)
    while not (builds[2].started.is_set() or builds[3].started.is_set()):
        builds[2].started.wait(0.01)
    assert not (builds[2].started.is_set() and builds[3].started.is_set())
    for build in builds:
        build.go.set()
    assert [future.result(PATIENCE)[1] for future in futures] == [BUILT] * 4


@pytest.mark.parametrize("result", [GrammarError("bad"), ValueError("broken")])
def test_a_failed_build_frees_its_place(result: Exception) -> None:
    cache = CompileCache()
    for i in range(5):
        build = SlowBuild(result)
        build.go.set()
        with pytest.raises(type(result)):
            cache.get(i, build)
    assert cache.get("key", fake)[1] == BUILT


def test_hits_need_no_place(threads: ThreadPoolExecutor) -> None:
    """While two builds run, what is known is answered at once, failures too."""
    cache = CompileCache()
    known, _ = cache.get("known", fake)
    with pytest.raises(GrammarError):
        cache.get("failed", bad_build)
    builds = [SlowBuild(), SlowBuild()]
    futures = [threads.submit(cache.get, i, build) for i, build in enumerate(builds)]
    assert all(build.started.wait(PATIENCE) for build in builds)
    assert threads.submit(cache.get, "known", never).result(PATIENCE) == (known, HIT)
    assert isinstance(threads.submit(cache.get, "failed", never).exception(PATIENCE), GrammarError)
    for build in builds:
        build.go.set()
    assert [future.result(PATIENCE)[1] for future in futures] == [BUILT, BUILT]


def bad_build() -> Any:
    raise GrammarError("bad")


# --- the budget


def keys_kept(cache: CompileCache, keys: str) -> str:
    """Which of some keys are known, without touching them."""
    return "".join(key for key in keys if key in cache._entries)


def test_least_recently_used_first_out() -> None:
    cache = CompileCache(budget=303)
    for key in "abc":
        cache.get(key, fake)
    cache.get("a", never)
    cache.get("d", fake)
    assert keys_kept(cache, "abcd") == "acd"
    assert cache.get("b", fake)[1] == BUILT
    assert keys_kept(cache, "abcd") == "abd"
    assert cache.nbytes == 303
    cache.get("e", lambda: fake(250))
    assert keys_kept(cache, "abcde") == "e"
    assert cache.nbytes == 251


def test_larger_than_the_budget_is_returned_but_not_kept() -> None:
    cache = CompileCache(budget=300)
    huge = fake(301)
    assert cache.get("huge", lambda: huge) == (huge, BUILT)
    assert (len(cache), cache.nbytes) == (0, 0)
    nothing = CompileCache(budget=0)
    assert [nothing.get("key", fake)[1] for _ in range(2)] == [BUILT, BUILT]


def test_failures_count_and_are_dropped_too() -> None:
    cache = CompileCache(budget=5000)
    for i in range(100):
        with pytest.raises(GrammarError):
            cache.get(i, bad_build)
    assert 0 < len(cache) < 100
    assert cache.nbytes <= 5000
    assert cache.get(0, fake)[1] == BUILT


def test_a_build_in_progress_is_not_dropped(threads: ThreadPoolExecutor) -> None:
    cache, build = CompileCache(budget=100 + len("slow")), SlowBuild()
    first = threads.submit(cache.get, "slow", build)
    assert build.started.wait(PATIENCE)
    for key in "abc":
        cache.get(key, fake)
    cache.clear()
    other = until_waiting(cache, "slow", never, threads)
    build.go.set()
    assert [first.result(PATIENCE)[1], other.result(PATIENCE)[1]] == [BUILT, WAITED]
    assert cache.get("slow", never) == (build.result, HIT)


def test_clear() -> None:
    cache = CompileCache()
    cache.get("key", fake)
    with pytest.raises(GrammarError):
        cache.get("failed", bad_build)
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)
    assert cache.get("key", fake)[1] == BUILT
    assert cache.get("failed", fake)[1] == BUILT


def test_grammars_of_a_replaced_store_go_first() -> None:
    """They keep a whole store alive, so they are not worth their few bytes."""
    cache, old = CompileCache(), fake()
    cache.get("old", lambda: old)
    cache.get("new", fake)
    old.store.replaced = True
    cache.get("newer", fake)
    assert keys_kept(cache, "") == ""
    assert "old" not in cache._entries
    assert cache.get("new", never)[1] == HIT
    assert cache.nbytes == 200 + len("newnewer")


def test_threads_hammering() -> None:
    """Any interleaving of hits, builds, failures, evictions and clears gives each thread its own key's result."""
    cache = CompileCache(budget=1500)
    at_once, most, running = threading.Lock(), 0, 0

    def build(key: int) -> Any:
        nonlocal most, running
        with at_once:
            running += 1
            most = max(most, running)
        try:
            if key % 5 == 0:
                raise GrammarError(f"bad {key}")
            return fake(100 + key)
        finally:
            with at_once:
                running -= 1

    def work(seed: int) -> None:
        random = Random(seed)
        for _ in range(300):
            key = random.randrange(20)
            try:
                weight = cache.get(key, lambda key=key: build(key))[0].nbytes
            except GrammarError as error:
                weight = error.message
            assert weight == (100 + key if key % 5 else f"bad {key}")
            if random.random() < 0.02:
                cache.clear()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert 1 <= most <= 2
    assert cache.nbytes == sum(entry.nbytes for entry in cache._entries.values()) <= 1500
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)


@pytest.mark.parametrize(
    "key",
    [
        ("gbnf", "xgrammar", "root", "x" * MIB, None),
        ("gbnf", "xgrammar", "root", b"x" * MIB, None),
        ("choice", frozenset({"x" * (MIB // 2), "y" * (MIB // 2)}), None),
        ("regex", "x", ("framing", "y" * MIB)),
    ],
    ids=["text", "bytes", "choices", "framing"],
)
def test_the_texts_of_keys_count(key: Any) -> None:
    cache = CompileCache()
    cache.get(key, fake)
    assert MIB + 100 <= cache.nbytes < MIB + 1000
    cache.clear()
    assert cache.nbytes == 0


# --- interruptions


def interrupted_at(place: int, work: Callable[[], object]) -> bool:
    """Run `work` with a KeyboardInterrupt before a line of the cache or of `threading`; False if it has fewer lines.

    Where a `with` block ends, its line comes once more, but no signal is looked at before the lock is given back.
    """
    seen: set[tuple[int, int]] = set()
    lines = 0
    files = {cache_module.__file__, threading.__file__}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        here = id(frame), frame.f_lineno
        is_with = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")
        if event == "line" and not (is_with and here in seen):
            seen.add(here)
            lines += 1
            if lines == place:
                raise KeyboardInterrupt
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(previous)
    return lines >= place


def test_an_interruption_anywhere_leaves_nobody_waiting(threads: ThreadPoolExecutor) -> None:
    for place in count(1):
        cache = CompileCache()
        if not interrupted_at(place, lambda cache=cache: cache.get("key", fake)):  # type: ignore[misc]
            break
        futures = [threads.submit(cache.get, key, fake) for key in ("key", "other", "third")]
        assert all(future.result(PATIENCE) for future in futures), f"line {place}"
        assert cache.get("key", never)[1] == HIT
        assert (len(cache), cache.nbytes) == (3, 300 + len("keyotherthird"))
    assert place > 30
