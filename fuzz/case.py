"""A case: everything that a run of an engine depends on, as plain data.

    Case
      vocabulary        the tokens, or the name of a real vocabulary
      problems          worked through one after another over the same vocabulary, so that what
                        an engine remembers from one grammar can do harm in the next
        kind, source    a grammar, a regular expression, a JSON Schema, a list of choices
        walk            steps of one text in the making
        texts           whole texts, to be accepted or not

A walk names tokens, not decisions: it replays on any engine, and any part can be taken out of it.

    token T             accept a token
    rollback N          take the last N tokens back
    fork T...           accept tokens in a copy, and drop the copy
    draft T...          masks along a draft of speculative decoding
    probe T...          would each of these tokens be accepted here?
    respell T...        other tokens for the same bytes, from the beginning: the same state?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from infernix.matcher.vocabulary import TokenKind, Vocabulary

__all__ = ["Case", "Problem", "Step", "VocabularySpec"]

VERBS = ("token", "rollback", "fork", "draft", "probe", "respell")


@dataclass(frozen=True, slots=True)
class VocabularySpec:
    """A vocabulary as plain data: a real one by name, or tokens and the classes of ids.

    The fields mean what they mean in `Vocabulary`.
    """

    name: str = ""
    tokens: tuple[bytes, ...] = ()
    eos_ids: tuple[int, ...] = ()
    control_ids: tuple[int, ...] = ()
    forbidden_ids: tuple[int, ...] = ()
    size: int = 0

    def build(self) -> Vocabulary:
        """The vocabulary; the last few are kept. Raises VocabularyError."""
        return _built(self)

    def without_class(self, token_id: int) -> VocabularySpec:
        """The same with an id that is no longer EOS, control or forbidden."""
        eos, control, forbidden = (
            tuple(i for i in group if i != token_id) for group in (self.eos_ids, self.control_ids, self.forbidden_ids)
        )
        return replace(self, eos_ids=eos, control_ids=control, forbidden_ids=forbidden)

    @staticmethod
    def of(vocabulary: Vocabulary) -> VocabularySpec:
        """The plain data of a vocabulary."""
        by_kind = {kind: tuple(np.flatnonzero(vocabulary.kinds == int(kind)).tolist()) for kind in TokenKind}
        tokens = tuple(map(vocabulary.token_bytes, range(vocabulary.size)))
        forbidden = tuple(i for i in by_kind[TokenKind.FORBIDDEN] if tokens[i])
        return VocabularySpec(
            "", tokens, by_kind[TokenKind.EOS], by_kind[TokenKind.CONTROL], forbidden, vocabulary.size
        )


@lru_cache(maxsize=4)
def _built(spec: VocabularySpec) -> Vocabulary:
    if spec.name:
        from .real import load

        return load(spec.name)
    return Vocabulary(
        spec.tokens,
        eos_ids=spec.eos_ids,
        control_ids=spec.control_ids,
        forbidden_ids=spec.forbidden_ids,
        size=spec.size,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk; see the module text."""

    verb: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.verb, *map(str, self.ids)])

    @staticmethod
    def parse(line: str) -> Step:
        """The step that `str` has written. Raises ValueError."""
        verb, *ids = line.split()
        if verb not in VERBS:
            raise ValueError(f"a step of a walk begins with one of {', '.join(VERBS)}, not {verb!r}")
        return Step(verb, tuple(map(int, ids)))


@dataclass(frozen=True, slots=True)
class Problem:
    """One source text, a walk through its language, and whole texts."""

    kind: str
    source: str
    walk: tuple[Step, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """See the module text."""

    vocabulary: VocabularySpec
    problems: tuple[Problem, ...]

    def with_problem(self, index: int, problem: Problem) -> Case:
        """The same case with another problem at `index`."""
        return replace(self, problems=(*self.problems[:index], problem, *self.problems[index + 1 :]))

    def weight(self) -> tuple[int, int]:
        """How large the case is, for shrinking: the texts a reader sees first, then the vocabulary."""
        seen = sum(len(p.source) + sum(map(len, p.texts)) + 4 * len(p.walk) for p in self.problems)
        ids = sum(len(step.ids) for p in self.problems for step in p.walk)
        vocabulary = (
            1 << 30 if self.vocabulary.name else sum(1 + len(token) for token in self.vocabulary.tokens if token)
        )
        return 40 * len(self.problems) + seen + ids, vocabulary + self.vocabulary.size
