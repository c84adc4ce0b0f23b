"""Running a case on one engine: what it showed at each step, and where it contradicts itself.

A `Run` carries one position through a walk. After each step it looks (`View`): the mask, whether
the text may end, whether it has ended. Views of two engines are compared elsewhere (`compare.py`);
here an engine is only held against itself:

    probe       the mask has a bit exactly where the token is accepted
    rollback    the view after taking tokens back is the view from before them
    fork        what happens to a copy does not show in the original
    draft       masks along a draft are those of accepting it, and leave no trace
    spelling    other tokens for the same bytes lead to the same view
    padding     no bit is set that belongs to no token
    error       no exception but a refusal
    slow        a mask over a large vocabulary takes no more than SLOW_SECONDS, or not the second time
    slow-compile    a source is compiled for a large vocabulary in SLOW_COMPILE_SECONDS, or the second time
    place       an error of ours about a source is at a place that is in the source (`places.py`)
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import process_time, thread_time
from typing import Any

import numpy as np

from infernix.matcher.bitmask import WORD_BITS, Words, allocate
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .case import Case, Problem, Step
from .engines import Engine, Position, Refused
from .places import misplaced
from .spelling import LARGE, Speller, reorderings

__all__ = ["Complaint", "Run", "Trace", "View", "Watch", "nobody", "trace_case"]

LONGEST_MESSAGE = 300
MOST_FINISHED = 4
SLOW_SECONDS = 0.01
"""Processor time of a mask over a large vocabulary that decoding would notice."""
SLOW_COMPILE_SECONDS = 0.25
"""Processor time of compiling for a large vocabulary that whoever waits for the first token would notice."""

Watch = Callable[[bool], None]
"""Told True before a source is compiled, and False after, unless it was refused."""


def nobody(_compiling: bool) -> None:
    """Watches nothing."""


@dataclass(frozen=True, slots=True)
class View:
    """What one sees of a position: the words of its mask (none after EOS), and how it stands."""

    mask: bytes
    may_end: bool
    ended: bool


@dataclass(frozen=True, slots=True)
class Complaint:
    """An engine contradicts itself: the check that failed, after which step, in which direction.

    `missing`: something is forbidden that the engine allows another way; `extra`: the reverse.
    """

    check: str
    step: int
    direction: str = ""
    tokens: tuple[int, ...] = ()
    detail: str = ""


@dataclass(slots=True)
class Trace:
    """Everything an engine showed on one problem."""

    refused: str | None = None
    reads: bool | None = None
    """Whether the source is one of its kind, if the engine is a judge of that."""
    views: list[View] = field(default_factory=list)
    """At the beginning, and after each step; shorter where a token was rejected."""
    sights: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    """By step: masks seen on a fork or along a draft."""
    rejected: int | None = None
    """The step whose token was rejected."""
    complaints: list[Complaint] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    """Texts of the walk at which the engine said that they may end."""
    slowest: float = 0.0
    """Seconds of the slowest mask; of one that was slow, those of the second time."""
    compiling: float = 0.0
    """Processor seconds that the source took to compile; where that was long, those of the second time."""
    verdicts: list[bool | None] = field(default_factory=list)
    """For each text whether it was accepted as a whole; None if the vocabulary cannot spell it."""


class Run:
    """One position, walked through step by step."""

    def __init__(self, engine: Engine, compiled: Any, vocabulary: Vocabulary, kind: str) -> None:
        self.engine = engine
        self.compiled = compiled
        self.vocabulary = vocabulary
        self.size = vocabulary.size
        self.row = allocate(1, vocabulary.size)[0]
        self.spare = -vocabulary.size % WORD_BITS
        """Bits of the last word that belong to no token."""
        self.trace = Trace(reads=True if kind in engine.capabilities.judges else None)
        self.position = engine.start(compiled)
        self.tokens: list[int] = []
        self.past = [self.look(self.position)]
        """The views after each token of the text."""
        self.trace.views.append(self.past[0])

    @classmethod
    def begin(cls, engine: Engine, problem: Problem, vocabulary: Vocabulary, watch: Watch = nobody) -> Run:
        """The position before the first token of a problem, whose source is compiled. Raises Refused."""
        watch(True)
        compiled, seconds = _timed_compile(engine, problem, vocabulary)
        if slow := seconds > SLOW_COMPILE_SECONDS and vocabulary.size >= LARGE:
            # Once more, as with masks: what an engine does only once for a vocabulary is no fault of the source.
            engine.forget(vocabulary)
            compiled, seconds = _timed_compile(engine, problem, vocabulary)
        watch(False)
        run = cls(engine, compiled, vocabulary, problem.kind)
        run.trace.compiling = seconds
        if slow and seconds > SLOW_COMPILE_SECONDS:
            run._complain_once("slow-compile", "extra", f"{1000 * seconds:.0f} ms to compile")
        return run

    def look(self, position: Position) -> View:
        """The view of a position."""
        may_end, ended = position.may_end(), position.ended()
        if ended:
            return View(b"", may_end, True)
        # Bits that an engine leaves alone must show.
        self.row[:] = 0xFFFFFFFF
        began = thread_time()
        position.mask(self.row)
        seconds = thread_time() - began
        if seconds > SLOW_SECONDS and self.vocabulary.size >= LARGE:
            seconds = self._time_again()
        self.trace.slowest = max(self.trace.slowest, seconds)
        return View(self.words(self.row), may_end, False)

    def _time_again(self) -> float:
        """The seconds that the mask takes at a new position after the same text, with a complaint if that is long too:
        what an engine does only once for a grammar is no fault."""
        other = self.engine.start(self.compiled)
        if not all(map(other.accept, self.tokens)) or other.ended():
            return 0.0
        row, began = self.row.copy(), thread_time()
        other.mask(row)
        if (seconds := thread_time() - began) > SLOW_SECONDS:
            self._complain_once("slow", "extra", f"{1000 * seconds:.0f} ms for a mask")
        return seconds

    def words(self, row: Words) -> bytes:
        """The words of a mask, without bits that belong to no token: those are complained about."""
        if self.spare and int(row[-1]) >> (WORD_BITS - self.spare):
            self._complain_once("padding", "extra")
            row[-1] &= (1 << (WORD_BITS - self.spare)) - 1
        return row.tobytes()

    def allows(self, token: int) -> bool:
        """Whether the current mask has the token."""
        mask = self.past[-1].mask
        return bool(mask) and bool(mask[token >> 3] >> (token & 7) & 1)

    def legal(self) -> list[int]:
        """The tokens of the current mask, ascending."""
        return ids_of(self.past[-1].mask, self.size)

    def apply(self, step: Step) -> bool:
        """Take a step; False where a token was rejected and the walk cannot go on."""
        index = len(self.trace.views) - 1
        moved = {"token": self._token, "rollback": self._rollback}.get(step.verb)
        if moved is not None:
            if not moved(index, step.ids[0]):
                self.trace.rejected = index
                return False
        else:
            getattr(self, f"_{step.verb}")(index, step.ids)
            self._expect(index, step.verb if step.verb != "respell" else "spelling", self.past[-1], self.position)
        self.trace.views.append(self.past[-1])
        return True

    # --- the steps

    def _token(self, _index: int, token: int) -> bool:
        if not self.position.accept(token):
            return False
        self.tokens.append(token)
        view = self.look(self.position)
        self.past.append(view)
        if view.may_end and not view.ended and len(self.trace.finished) < MOST_FINISHED:
            self._finish()
        return True

    def _finish(self) -> None:
        """Remember the text so far, if its tokens spell one."""
        if all(self.vocabulary.kinds[token] == TokenKind.ORDINARY for token in self.tokens):
            text = b"".join(map(self.vocabulary.token_bytes, self.tokens))
            self.trace.finished.append(text.decode("utf-8", "surrogateescape"))

    def _rollback(self, index: int, count: int) -> bool:
        count = min(count, len(self.tokens))
        if count and self.engine.capabilities.rollback:
            self.position.rollback(count)
            del self.tokens[-count:], self.past[-count:]
            self._expect(index, "rollback", self.past[-1], self.position)
        return True

    def _fork(self, index: int, tokens: tuple[int, ...]) -> None:
        copy = self._copy()
        if copy is None:
            return
        seen = []
        for token in tokens:
            if copy.ended() or not copy.accept(token):
                break
            seen.append(self.look(copy).mask)
        self.trace.sights[index] = tuple(seen)

    def _draft(self, index: int, drafts: tuple[int, ...]) -> None:
        if not self.engine.capabilities.rollback or self.position.ended():
            return
        masks = tuple(map(self.words, self.engine.draft_masks(self.position, drafts, self.size)))
        self.trace.sights[index] = masks
        own = tuple(map(self.words, Engine.draft_masks(self.engine, self.position, drafts, self.size)))
        if masks != own:
            place = next((i for i, pair in enumerate(zip(masks, own)) if pair[0] != pair[1]), min(len(masks), len(own)))
            self._complain("draft", index, detail=f"position {place} of {len(own)}")

    def _probe(self, index: int, tokens: tuple[int, ...]) -> None:
        missing: list[int] = []
        extra: list[int] = []
        for token in tokens:
            if not 0 <= token < self.size:
                continue
            copy = self._copy()
            if copy is None:
                return
            accepted = not copy.ended() and copy.accept(token)
            if accepted != self.allows(token):
                (missing if accepted else extra).append(token)
        if missing:
            self._complain("probe", index, "missing", missing)
        if extra:
            self._complain("probe", index, "extra", extra)

    def _respell(self, index: int, tokens: tuple[int, ...]) -> None:
        other = self.engine.start(self.compiled)
        for place, token in enumerate(tokens):
            if not other.accept(token):
                self._complain("spelling", index, "missing", [token], f"token {place} of the other spelling")
                return
        self._expect(index, "spelling", self.past[-1], other)

    def _copy(self) -> Position | None:
        return self.position.fork() if self.engine.capabilities.fork else None

    # --- the checks

    def _expect(self, index: int, check: str, before: View, position: Position) -> None:
        now = self.look(position)
        if now != before:
            missing = ids_of(bytes(a & ~b & 255 for a, b in zip(before.mask, now.mask)), self.size)
            extra = ids_of(bytes(b & ~a & 255 for a, b in zip(before.mask, now.mask)), self.size)
            self._complain(check, index, "missing" if missing else "extra", missing or extra)

    def _complain_once(self, check: str, direction: str, detail: str = "") -> None:
        if all(complaint.check != check for complaint in self.trace.complaints):
            self._complain(check, len(self.trace.views) - 1, direction, detail=detail)

    def _complain(
        self, check: str, step: int, direction: str = "", tokens: Iterable[int] = (), detail: str = ""
    ) -> None:
        self.trace.complaints.append(Complaint(check, step, direction, tuple(tokens)[:8], detail))


def _timed_compile(engine: Engine, problem: Problem, vocabulary: Vocabulary) -> tuple[Any, float]:
    """What an engine makes of a source, and the processor time that took, in all of the process's threads.

    The collection of what earlier cases have left is not the engine's work.
    """
    gc.disable()
    try:
        began = process_time()
        compiled = engine.compile(problem.kind, problem.source, vocabulary)
        return compiled, process_time() - began
    finally:
        gc.enable()


def ids_of(mask: bytes, size: int) -> list[int]:
    """The token ids of the bits that are set."""
    bits = np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little")[:size]
    found: list[int] = np.flatnonzero(bits).tolist()
    return found


def trace_case(engine: Engine, case: Case, watch: Watch = nobody) -> list[Trace]:
    """What the engine shows on each problem of the case, worked through in order."""
    vocabulary = case.vocabulary.build()
    return [_trace(engine, problem, vocabulary, bool(case.vocabulary.name), watch) for problem in case.problems]


def _trace(engine: Engine, problem: Problem, vocabulary: Vocabulary, large: bool, watch: Watch) -> Trace:
    objection = engine.objection(problem.kind, problem.source, vocabulary, large)
    if objection is not None:
        return Trace(refused=objection)
    run = None
    try:
        run = Run.begin(engine, problem, vocabulary, watch)
        for step in problem.walk:
            if not run.apply(step):
                break
        run.trace.verdicts = verdicts(engine, run.compiled, problem, vocabulary)
    except Refused as refusal:
        return refusing_trace(engine, problem, refusal)
    except Exception as error:
        return failed(run, error)
    return run.trace


def refusing_trace(engine: Engine, problem: Problem, refusal: Refused) -> Trace:
    """The trace of a source that the engine does not take."""
    trace = Trace(refused=str(refusal)[:LONGEST_MESSAGE])
    if refusal.judged and problem.kind in engine.capabilities.judges:
        trace.reads = False
    if wrong := misplaced(problem.source, refusal.__cause__):
        trace.complaints.append(Complaint("place", -1, detail=f"{wrong} ({refusal})"[:LONGEST_MESSAGE]))
    return trace


def failed(run: Run | None, error: Exception) -> Trace:
    """The trace that ends in an exception, with where it came from."""
    trace = run.trace if run is not None else Trace()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    detail = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
    place = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.name}"
    trace.complaints.append(Complaint("error", len(trace.views), detail=f"{detail} ({place})"))
    return trace


def verdicts(engine: Engine, compiled: Any, problem: Problem, vocabulary: Vocabulary) -> list[bool | None]:
    """Whether each text of the problem is accepted as a whole. The keys of JSON objects may come in any
    order, since which order an engine writes is its own affair."""
    if not problem.texts:
        return []
    speller = Speller.of(vocabulary)
    result: list[bool | None] = []
    for text in problem.texts:
        spellings = reorderings(text) if problem.kind == "schema" else [text]
        tokens = [speller.tokens(spelling.encode("utf-8", "surrogatepass")) for spelling in spellings]
        result.append(None if None in tokens else any(_reads(engine, compiled, t) for t in tokens if t is not None))
    return result


def _reads(engine: Engine, compiled: Any, tokens: list[int]) -> bool:
    position = engine.start(compiled)
    return all(position.accept(token) for token in tokens) and position.may_end()
