"""Engines, each behind the same few verbs, with what each can do declared.

    engine.compile(kind, source, vocabulary)    a source text to something compiled
    engine.start(compiled)                      a position before the first token, with
        mask(row)                                   the tokens that may come next
        accept(token)                               whether the token was legal; advance over it
        rollback(count)                             take tokens back
        may_end(), ended()                          whether the text may end here; whether EOS was accepted
        fork()                                      an independent copy

To fuzz another engine, subclass `Engine` and add it to `ENGINES`. The peers' adapters are in
`fuzz.peers`; nothing of a peer is imported before it is asked for.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np

from infernix.gbnf.errors import GrammarError, LimitError, RequestError, TokenRejected
from infernix.matcher.bitmask import Words, allocate
from infernix.matcher.vocabulary import Vocabulary

from .names import KINDS

__all__ = [
    "ENGINES",
    "Capabilities",
    "Engine",
    "Infernix",
    "Position",
    "Reference",
    "Refused",
    "grammar_of",
    "make_engine",
    "refusing",
]

SCHEMA_LAYOUT: Literal["spaced"] = "spaced"
"""The one layout of JSON that every engine can be told to write: exactly ", " and ": "."""


class Refused(Exception):
    """The engine does not support this source. Not a fault in itself.

    `judged` says whether that is about the language, so that another engine that reads the source contradicts: a
    limit says nothing about others.
    """

    def __init__(self, message: str, judged: bool = True) -> None:
        super().__init__(message)
        self.judged = judged


class Position(Protocol):
    """One text in the making."""

    def mask(self, row: Words) -> None:
        """Write the tokens that may come next into `row`, uint32[ceil(V / 32)]."""

    def accept(self, token: int) -> bool:
        """Advance over a token; False, and nothing has changed, if it is illegal."""

    def rollback(self, count: int) -> None:
        """Take back the last `count` tokens, an EOS among them."""

    def fork(self) -> Position:
        """An independent position after the same text."""

    def may_end(self) -> bool:
        """Whether the text so far belongs to the language."""

    def ended(self) -> bool:
        """Whether EOS was accepted."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine claims. Only what two engines both claim is compared."""

    kinds: frozenset[str] = frozenset(KINDS)
    """Source languages."""
    same_masks: frozenset[str] = frozenset(KINDS)
    """Kinds for which the language is fixed by the source alone, so that masks must be equal bit for
    bit. Schemas leave room (spelling, order), where engines have languages of their own."""
    judges: frozenset[str] = frozenset(KINDS)
    """Kinds for which what is a source text at all is agreed upon, so that one that an engine refuses must be
    refused by others."""
    rollback: bool = True
    fork: bool = True
    token_terminals: bool = True
    """`Token(...)` and `ExcludeToken(...)` in GBNF."""
    needs_eos: bool = False
    """Whether a vocabulary without any EOS is beyond it."""
    large_vocabularies: bool = True
    """Whether a real vocabulary is bearable."""
    slow: bool = False
    """Whether it is made to be read, not to be fast: taking too long is then no fault, only a case that
    it does not take."""


class Engine(ABC):
    """An engine in one configuration."""

    name: str
    capabilities = Capabilities()
    environment: dict[str, str] = {}  # noqa: RUF012 (a constant of the class)
    """Variables that its process must be started with."""

    @abstractmethod
    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """Compile a source text. Raises Refused for one that the engine does not support."""

    @abstractmethod
    def start(self, compiled: Any) -> Position:
        """The beginning of a new text."""

    def forget(self, vocabulary: Vocabulary) -> None:  # noqa: B027 (most engines keep nothing)
        """Drop what is kept of sources compiled for a vocabulary, so that the next one takes all its time.

        What is made once for the vocabulary stays.
        """

    def objection(self, kind: str, source: str, vocabulary: Vocabulary, large: bool) -> str | None:
        """Why the case is outside the engine's capabilities; None if it is inside."""
        can = self.capabilities
        if kind not in can.kinds:
            return f"no {kind}"
        if large and not can.large_vocabularies:
            return "no large vocabularies"
        if can.needs_eos and not vocabulary.eos_ids:
            return "no vocabularies without EOS"
        if kind == "gbnf" and not can.token_terminals and "Token(" in source:
            return "no token terminals"
        return None

    def draft_masks(self, position: Position, drafts: Sequence[int], size: int) -> list[Words]:
        """Masks at the current position and after each legal draft, up to the first that is illegal
        or ends the text; the position is as before. By acceptance and rollback, unless the engine
        has something of its own."""
        row = allocate(1, size)[0]
        position.mask(row)
        rows = [row]
        taken = 0
        for token in drafts:
            if not _bit(row, token) or not position.accept(token):
                break
            taken += 1
            if position.ended():
                break
            row = allocate(1, size)[0]
            position.mask(row)
            rows.append(row)
        position.rollback(taken)
        return rows


def _bit(row: Words, token: int) -> bool:
    return bool(int(row[token >> 5]) >> (token & 31) & 1)


# --- Infernix


@lru_cache(maxsize=1)
def load_kernels() -> None:
    """Do everything once: machine code is read from disk when it is first called, which no case is to blame for."""
    from infernix.matcher.matcher import Matcher
    from infernix.matcher.sources import compile_gbnf

    vocabulary = Vocabulary([b"a", b""], eos_ids=[1])
    compiled, row = compile_gbnf('root ::= "aa"', vocabulary), allocate(1, vocabulary.size)[0]
    for _ in range(2):
        matcher = Matcher(compiled)
        matcher.fill_mask(row)
        matcher.accept_token(0)
        matcher.accept_bytes(b"a")


class Infernix(Engine):
    """The matcher as machine code."""

    name = "infernix"

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`."""
        from infernix.matcher import sources

        load_kernels()
        with refusing():
            match kind:
                case "gbnf":
                    return sources.compile_gbnf(source, vocabulary)
                case "regex":
                    return sources.compile_regex(source, vocabulary)
                case "choice":
                    return sources.compile_choice(json.loads(source), vocabulary)
                case _:
                    return sources.compile_json_schema(source, vocabulary, layout=SCHEMA_LAYOUT)

    def start(self, compiled: Any) -> Position:
        """See `Engine`."""
        from infernix.matcher.matcher import Matcher

        return OwnPosition(Matcher(compiled))

    def draft_masks(self, position: Position, drafts: Sequence[int], size: int) -> list[Words]:
        """Those of `lookahead_masks`."""
        from infernix.matcher.lookahead import Position as Kind
        from infernix.matcher.lookahead import lookahead_masks

        assert isinstance(position, OwnPosition)
        rows = np.empty((1, len(drafts) + 1, (size + 31) // 32), dtype=np.uint32)
        kinds = lookahead_masks([position.matcher], [drafts], rows)[0]
        result = []
        for row, kind in zip(rows[0], kinds):
            if kind == Kind.UNREACHABLE:
                break
            result.append(np.zeros_like(row) if kind == Kind.DEAD_END else row.copy())
        return result


class InfernixPlain(Infernix):
    """The same kernels as plain Python."""

    name = "infernix-nojit"
    environment = {"NUMBA_DISABLE_JIT": "1"}  # noqa: RUF012
    capabilities = Capabilities(large_vocabularies=False, slow=True)


class InfernixSmall(Infernix):
    """The matcher with low limits between what it does for little and for much, so that small vocabularies meet
    what otherwise only large ones would."""

    name = "infernix-small"

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`."""
        from infernix.matcher.compile import compile_grammar
        from infernix.matcher.tables import SMALL_LIMITS

        with refusing():
            return compile_grammar(grammar_of(kind, source, vocabulary), vocabulary, features=SMALL_LIMITS)


class Reference(Engine):
    """The textbook matcher: the definition of what a grammar means."""

    name = "reference"
    capabilities = Capabilities(large_vocabularies=False, slow=True)

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`."""
        from infernix.matcher.reference import ReferenceMatcher

        with refusing():
            return ReferenceMatcher(grammar_of(kind, source, vocabulary), vocabulary)

    def start(self, compiled: Any) -> Position:
        """See `Engine`."""
        compiled.reset()
        return OwnPosition(compiled.fork())


class OwnPosition:
    """A position of either of our matchers, which have the same interface."""

    def __init__(self, matcher: Any) -> None:
        self.matcher = matcher
        self.marks = [matcher.mark()]

    def mask(self, row: Words) -> None:
        """See `Position`."""
        self.matcher.fill_mask(row)

    def accept(self, token: int) -> bool:
        """See `Position`."""
        try:
            self.matcher.accept_token(token)
        except TokenRejected:
            return False
        self.marks.append(self.matcher.mark())
        return True

    def rollback(self, count: int) -> None:
        """See `Position`."""
        del self.marks[len(self.marks) - count :]
        self.matcher.rollback(self.marks[-1])

    def fork(self) -> OwnPosition:
        """See `Position`."""
        twin = OwnPosition(self.matcher.fork())
        twin.marks = self.marks.copy()
        return twin

    def may_end(self) -> bool:
        """See `Position`."""
        return bool(self.matcher.can_end())

    def ended(self) -> bool:
        """See `Position`."""
        return bool(self.matcher.is_terminated())


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors of the documented tree into Refused; anything else is a fault and passes through."""
    try:
        yield
    except RequestError as error:
        raise Refused(f"{type(error).__name__}: {error}", not isinstance(error, LimitError)) from error


def grammar_of(kind: str, source: str, vocabulary: Vocabulary) -> Any:
    """The grammar of a source text, as `matcher.sources` reads it; only an expression stays in the form that it is
    written in, so that engines which read it from here judge `schema.forms.best_form` too."""
    match kind:
        case "gbnf":
            from infernix.gbnf.checks import check, check_tokens
            from infernix.gbnf.parser import parse_gbnf
            from infernix.gbnf.source import Source

            grammar = parse_gbnf(source, token_id=vocabulary.id_of)
            check(grammar, source)
            try:
                check_tokens(grammar, vocabulary.why_not_ordinary)
            except GrammarError as error:
                raise Source(source).locate(error) from None
            return grammar
        case "regex":
            from infernix.gbnf.grammar import Grammar, Rule
            from infernix.gbnf.regex import parse_regex

            return Grammar((Rule("root", parse_regex(source)),))
        case "choice":
            from infernix.gbnf.choice import choice_grammar

            return choice_grammar(json.loads(source))
        case _:
            from infernix.schema import schema_grammar

            return schema_grammar(source, layout=SCHEMA_LAYOUT)


# --- the registry


def _peer(name: str) -> Callable[[], Engine]:
    def make() -> Engine:
        from . import peers

        engine: Engine = getattr(peers, name)()
        return engine

    return make


ENGINES: dict[str, Callable[[], Engine]] = {
    "infernix": Infernix,
    "infernix-nojit": InfernixPlain,
    "infernix-small": InfernixSmall,
    "reference": Reference,
    "xgrammar": _peer("XGrammar"),
    "llguidance": _peer("LLGuidance"),
}
"""By the name that commands and files use. Making a peer raises ImportError where it is not installed."""


def make_engine(name: str) -> Engine:
    """An engine by name. Raises RequestError for an unknown one, ImportError for a peer that is missing."""
    if name not in ENGINES:
        raise RequestError(f"no engine is called {name!r}; there is {', '.join(ENGINES)}")
    if name in ("xgrammar", "llguidance"):
        for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
    return ENGINES[name]()
