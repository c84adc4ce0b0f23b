"""Random walks: the steps of a text in the making, decided while one engine takes them.

The engine that leads supplies the masks to choose from. What comes out names tokens, so the other
engines, and any replay, take exactly the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .case import Case, Problem, Step
from .choices import Choose, chance, one_of, seeded
from .engines import Engine, Refused
from .spelling import Speller
from .trace import Run, Trace, Watch, failed, nobody, refusing_trace, verdicts

__all__ = ["lead"]

LONGEST = 14
"""Tokens of a walk."""
SMALL = 300
"""Vocabularies up to this size are probed whole."""
PROBES = 24
MOST_TRIED = 4
CLOSING = b'"}])'

VERBS = ("token",) * 11 + ("rollback", "fork", "draft", "probe", "respell")


Announce = Callable[[int, Step], None]
"""Told of each step before it is taken, with the number of its problem."""


def lead(
    engine: Engine,
    case: Case,
    seed: str,
    announce: Announce = lambda _problem, _step: None,
    watch: Watch = nobody,
) -> tuple[Case, list[Trace]]:
    """The case with a walk for each problem, and what the engine showed on the way.

    Walks that a problem has already are taken as they are.
    """
    vocabulary = case.vocabulary.build()
    traces = []
    for index, problem in enumerate(case.problems):
        walker = Walker(seeded(seed, index), vocabulary, partial(announce, index))
        trace = walker.lead(engine, problem, bool(case.vocabulary.name), watch)
        if not problem.walk:
            case = case.with_problem(index, Problem(problem.kind, problem.source, tuple(walker.steps), problem.texts))
        traces.append(trace)
    return case, traces


class Walker:
    """Decides the steps of one walk."""

    def __init__(self, choose: Choose, vocabulary: Vocabulary, announce: Callable[[Step], None]) -> None:
        self.choose = choose
        self.vocabulary = vocabulary
        self.announce = announce
        self.steps: list[Step] = []

    def lead(self, engine: Engine, problem: Problem, large: bool, watch: Watch = nobody) -> Trace:
        """Walk on a fresh position of the engine."""
        objection = engine.objection(problem.kind, problem.source, self.vocabulary, large)
        if objection is not None:
            return Trace(refused=objection)
        run = None
        try:
            run = Run.begin(engine, problem, self.vocabulary, watch)
            self.walk(run, problem)
            run.trace.verdicts = verdicts(engine, run.compiled, problem, self.vocabulary)
        except Refused as refusal:
            return refusing_trace(engine, problem, refusal)
        except Exception as error:
            return failed(run, error)
        return run.trace

    def walk(self, run: Run, problem: Problem) -> None:
        """Take the problem's steps if it has some, and random ones if not."""
        if problem.walk:
            for step in problem.walk:
                if not run.apply(step):
                    return
            return
        patience = 1 + self.choose(LONGEST)
        # With token terminals, other tokens for the same bytes are not the same text.
        names_tokens = problem.kind == "gbnf" and "Token(" in problem.source
        for _ in range(2 * LONGEST):
            drawn = self.next_step(run, len(run.tokens) >= patience, names_tokens)
            if drawn is None:
                break
            if not self.take(run, drawn):
                return
        self.take(run, Step("probe", self.probes(run.legal())))

    def take(self, run: Run, step: Step) -> bool:
        """Announce, remember and take a step."""
        self.announce(step)
        self.steps.append(step)
        return run.apply(step)

    def next_step(self, run: Run, patient: bool, names_tokens: bool) -> Step | None:
        """Mostly a legal token; None at the end of the walk."""
        verb = one_of(self.choose, VERBS)
        if run.position.ended():
            return Step("rollback", (1 + self.choose(2),)) if chance(self.choose, 3) else None
        if verb == "rollback":
            return Step("rollback", (1 + self.choose(max(len(run.tokens), 1)),))
        if verb == "respell" and not names_tokens and (spelled := self.respelled(run.tokens)) is not None:
            return Step("respell", spelled)
        legal = run.legal()
        if verb == "probe":
            return Step("probe", self.probes(legal))
        if not legal:
            return None
        if verb in ("fork", "draft"):
            return Step(verb, self.ahead(run, legal))
        token = self.token(legal, patient)
        return None if token is None else Step("token", (token,))

    def token(self, legal: list[int], patient: bool) -> int | None:
        """A legal token; when the walk is long enough, one that closes something or ends the text."""
        kinds = self.vocabulary.kinds
        ends = [token for token in self.vocabulary.eos_ids if token in legal] if len(legal) < SMALL or patient else []
        if ends and (patient or chance(self.choose, 10)):
            return one_of(self.choose, ends)
        onward = [token for token in legal if kinds[token] != TokenKind.EOS] if ends else legal
        if patient and not chance(self.choose, 4):
            closing = [token for token in onward[:SMALL] if self.vocabulary.token_bytes(token)[:1] in _CLOSERS]
            onward = closing or onward
        return one_of(self.choose, onward) if onward else None

    def probes(self, legal: list[int]) -> tuple[int, ...]:
        """All tokens of a small vocabulary; of a large one, some of each side."""
        size = self.vocabulary.size
        if size <= SMALL:
            return tuple(range(size))
        some = {one_of(self.choose, legal) for _ in range(PROBES)} if legal else set()
        some |= {self.choose(size) for _ in range(PROBES)}
        # Illegal tokens that begin like legal ones are where masks go wrong.
        some |= {min(token + 1, size - 1) for token in list(some)[:PROBES]}
        return tuple(sorted(some))

    def ahead(self, run: Run, legal: list[int]) -> tuple[int, ...]:
        """A few tokens that may follow one another; the last may be illegal."""
        copy = run.position.fork() if run.engine.capabilities.fork else None
        tokens = []
        for _ in range(1 + self.choose(MOST_TRIED)):
            token = one_of(self.choose, legal) if legal and not chance(self.choose, 8) else self.choose(run.size)
            tokens.append(token)
            if copy is None or copy.ended() or not copy.accept(token) or copy.ended():
                break
            row = np.zeros((run.size + 31) // 32, dtype=np.uint32)
            copy.mask(row)
            legal = _ids(row, run.size)
        return tuple(tokens)

    def respelled(self, tokens: list[int]) -> tuple[int, ...] | None:
        """Other ordinary tokens for the text of these; None where that is not the same text."""
        kinds = self.vocabulary.kinds
        if not tokens or any(kinds[token] != TokenKind.ORDINARY for token in tokens):
            return None
        text = b"".join(map(self.vocabulary.token_bytes, tokens))
        other = Speller.of(self.vocabulary).other_tokens(self.choose, text)
        return None if other is None or other == tokens else tuple(other)


_CLOSERS = frozenset(bytes([byte]) for byte in CLOSING)


def _ids(row: Any, size: int) -> list[int]:
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:size]
    found: list[int] = np.flatnonzero(bits).tolist()
    return found
