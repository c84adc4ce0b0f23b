"""The compile cache of one vocabulary: compile once, share, stay within a budget.

The key is the kind of the constraint, its source and the framing around it; nothing is
parsed or converted for a hit. Concurrent requests for one key share one build; different
keys build at the same time, but at most two. Failures are remembered like results. What is
kept is bounded in bytes, the texts of the keys included, least recently used first out; a
grammar in use outlives eviction.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from infernix.gbnf.errors import RequestError

from . import sources
from .compile import CompiledGrammar
from .vocabulary import Vocabulary

__all__ = ["DEFAULT_CACHE_BYTES", "CacheOutcome", "CompileCache", "GrammarCompiler"]

DEFAULT_CACHE_BYTES = 256 << 20
"""The default of `grammar_cache_bytes`."""
COLD_COMPILES = 2
"""Builds that may run at the same time."""
FAILURE_BYTES = 1024
"""What a remembered failure counts as, besides its text."""
FAILURE_TEXTS = 3
"""A failure may keep the source and a decoded copy or the offending line of it: with its key, so many texts."""


class CacheOutcome(StrEnum):
    """How a grammar was obtained: kept from before, built now, or built by another request meanwhile."""

    HIT = "hit"
    BUILT = "built"
    WAITED = "waited"


@dataclass
class _Entry:
    """One key: `turn` is held by the thread that builds it; then either `grammar` or `failure` is there."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    grammar: CompiledGrammar | None = None
    failure: BaseException | None = None
    nbytes: int = 0

    @property
    def is_known(self) -> bool:
        """Whether the build has ended, well or not; an interrupted one has not."""
        return self.grammar is not None or self.failure is not None

    def result(self) -> CompiledGrammar:
        """The grammar, or the failure raised anew."""
        if self.failure is not None:
            raise _copy_of(self.failure)
        assert self.grammar is not None
        return self.grammar


def _copy_of(failure: BaseException) -> BaseException:
    """The same failure without a traceback: one object must not collect those of all who meet it."""
    copy = type(failure).__new__(type(failure))
    copy.args = failure.args
    vars(copy).update(vars(failure))
    return copy


def _text_bytes(key: Hashable) -> int:
    """Bytes of the texts in a key."""
    if isinstance(key, str | bytes):
        return sys.getsizeof(key) - sys.getsizeof(type(key)())
    return sum(map(_text_bytes, key)) if isinstance(key, tuple | frozenset) else 0


_caches: weakref.WeakSet[CompileCache] = weakref.WeakSet()


def _forget_threads() -> None:
    for cache in _caches:
        cache.forget_threads()


os.register_at_fork(after_in_child=_forget_threads)


class CompileCache:
    """A bounded, thread-safe map from keys to compiled grammars.

    An interruption can come between any two instructions (Ctrl-C in the thread that builds, or the end of all
    threads but one in a forked process), and may leave nobody waiting for what does not come. So whoever needs an
    entry takes its lock, which is given back however a block is left, and looks what is known then. At worst a key is
    built twice: a thread that has its entry, but not yet the lock, looks like one that was interrupted.
    """

    def __init__(self, budget: int = DEFAULT_CACHE_BYTES) -> None:
        self.budget = budget
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self.forget_threads()
        _caches.add(self)

    def forget_threads(self) -> None:
        """Go on without the threads that were at work here: their locks are never given back."""
        self._lock = threading.Lock()
        self._cold = threading.BoundedSemaphore(COLD_COMPILES)
        self._entries = OrderedDict((key, entry) for key, entry in self._entries.items() if entry.is_known)

    def get(self, key: Hashable, build: Callable[[], CompiledGrammar]) -> tuple[CompiledGrammar, CacheOutcome]:
        """The grammar of `key`, from `build` if it is not known. Raises what `build` raised.

        Only request errors are remembered; anything else is forgotten, so that the next
        request tries again. An interruption (KeyboardInterrupt, SystemExit) concerns the thread that
        builds, and no other: of those that waited, one builds instead.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
            else:
                self._entries.move_to_end(key)
        outcome = CacheOutcome.HIT
        if not entry.is_known:
            outcome = CacheOutcome.WAITED
            with entry.turn:
                if not entry.is_known:
                    outcome = CacheOutcome.BUILT
                    self._build(key, entry, build)
        return entry.result(), outcome

    def _build(self, key: Hashable, entry: _Entry, build: Callable[[], CompiledGrammar]) -> None:
        """Build and keep a grammar, or the failure that it ends in; the caller has the entry's turn."""
        try:
            with self._cold:
                grammar = build()
            self._keep(key, entry, grammar, None, grammar.nbytes + _text_bytes(key))
        except RequestError as failure:
            nbytes = FAILURE_BYTES + FAILURE_TEXTS * _text_bytes(key)
            self._keep(key, entry, None, _copy_of(failure), nbytes)
        except BaseException as failure:
            if isinstance(failure, Exception):
                entry.failure = failure  # for those who are waiting
            else:
                # It may have come when a place was taken and not yet entered: that place is lost.
                self._cold = threading.BoundedSemaphore(COLD_COMPILES)
            with self._lock:
                if self._entries.get(key) is entry:
                    del self._entries[key]
            raise

    def _keep(
        self,
        key: Hashable,
        entry: _Entry,
        grammar: CompiledGrammar | None,
        failure: BaseException | None,
        nbytes: int,
    ) -> None:
        """Make a result known. The entry may have been dropped since: after an interruption, others go on with it."""
        with self._lock:
            entry.nbytes, entry.grammar, entry.failure = nbytes, grammar, failure
            self._entries[key] = entry
            self._evict()

    def _evict(self) -> None:
        """Drop the least recently used results until the rest fits. The caller holds the lock.

        Grammars of a store that has been replaced go first: they would keep all of it alive. What was
        interrupted before it began goes too.
        """
        for key, entry in list(self._entries.items()):
            is_old = entry.grammar is not None and entry.grammar.store.replaced
            if is_old or not (entry.is_known or entry.turn.locked()):
                del self._entries[key]
        excess = self.nbytes - self.budget
        for key, entry in list(self._entries.items()):
            if excess <= 0:
                return
            if entry.nbytes:
                del self._entries[key]
                excess -= entry.nbytes

    def clear(self) -> None:
        """Forget every result; builds in progress go on."""
        with self._lock:
            for key, entry in list(self._entries.items()):
                if entry.nbytes:
                    del self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return sum(entry.nbytes for entry in list(self._entries.values()))


class GrammarCompiler:
    """The source languages over one vocabulary, through a compile cache.

    Every method returns the compiled grammar and how it was obtained, and raises what the
    function of the same name in `infernix` raises. `framing` names the model framing that a
    caller builds around the grammar; it is part of the key.

    Raises TypeError for anything but a vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary, grammar_cache_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        sources.check_vocabulary(vocabulary)
        self.vocabulary = vocabulary
        self.cache = CompileCache(grammar_cache_bytes)

    def gbnf(
        self, text: str | bytes, *, root: str = "root", dialect: Any = "xgrammar", framing: Hashable = None
    ) -> tuple[CompiledGrammar, CacheOutcome]:
        """GBNF text."""
        return self.cache.get(
            ("gbnf", dialect, root, text, framing),
            lambda: sources.compile_gbnf(text, self.vocabulary, root=root, dialect=dialect),
        )

    def regex(self, pattern: str, *, framing: Hashable = None) -> tuple[CompiledGrammar, CacheOutcome]:
        """A regular expression for the whole text."""
        return self.cache.get(("regex", pattern, framing), lambda: sources.compile_regex(pattern, self.vocabulary))

    def choice(self, choices: Iterable[str], *, framing: Hashable = None) -> tuple[CompiledGrammar, CacheOutcome]:
        """A finite list of texts; their order does not matter."""
        texts = sources.listed(choices)
        return self.cache.get(
            ("choice", frozenset(texts) if isinstance(texts, tuple) else texts, framing),
            lambda: sources.compile_choice(texts, self.vocabulary),  # type: ignore[arg-type]
        )

    def json_object(self, *, layout: Any = "free", framing: Hashable = None) -> tuple[CompiledGrammar, CacheOutcome]:
        """Any JSON object."""
        return self.cache.get(
            ("json_object", layout, framing),
            lambda: sources.compile_json_object(self.vocabulary, layout=layout),
        )

    def json_schema(
        self, schema: Any, *, layout: Any = "free", framing: Hashable = None
    ) -> tuple[CompiledGrammar, CacheOutcome]:
        """A JSON Schema: JSON text, data, or a class. The order of properties is part of the identity.

        Text is the quickest to look up: data are written out for that, as `repr` does, at every call.
        """
        try:
            identity = schema if isinstance(schema, str | bytes | type) else ("data", repr(schema))
        except RecursionError:
            return sources.compile_json_schema(schema, self.vocabulary, layout=layout), CacheOutcome.BUILT
        return self.cache.get(
            ("json_schema", layout, identity, framing),
            lambda: sources.compile_json_schema(schema, self.vocabulary, layout=layout),
        )
