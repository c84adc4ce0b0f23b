"""Cases, from a seed and a number: always the same ones.

Each case has one vocabulary and a few problems over it, so that what an engine keeps from one
grammar meets the next. Walks are added by the engine that leads (`walks.py`).
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from infernix.gbnf.grammar import Grammar
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .case import Case, Problem, VocabularySpec
from .choices import Choose, chance, one_of, seeded
from .generators.choice_lists import PIECES, random_choices
from .generators.grammars import TINY, WORDY, Style, random_grammar, random_source
from .generators.instances import instance_texts
from .generators.large_schemas import large_schema
from .generators.near_gbnf import near_gbnf
from .generators.regexes import mutated, random_regex
from .generators.schemas import random_schema
from .generators.vocabularies import random_spec, random_vocabulary, text_spec, words
from .names import SYNTHETIC

__all__ = ["PROBLEMS", "case_of", "random_case", "random_grammar", "random_problem", "random_vocabulary"]

NEARLY = 8
"""One grammar in so many is only nearly one."""
LARGE_SCHEMAS = 12
"""Over a real vocabulary, one schema in so many has many parts."""
PROBLEMS = 4
"""Problems of a case over a synthetic vocabulary; over a real one there is one."""


def case_of(kind: str, vocabulary: str, seed: int, number: int) -> Case:
    """Case `number` of a campaign, without walks.

    `vocabulary` is "synthetic" or the name of a real one.
    """
    choose = seeded(seed, kind, vocabulary, number)
    if vocabulary != SYNTHETIC:
        spec = VocabularySpec(name=vocabulary)
        built = spec.build()
        style = replace(WORDY, wide=[*WORDY.wide, *words(choose, built)])
        return Case(spec, (random_problem(choose, kind, built, style, large=True),))
    spec = text_spec(choose) if kind == "schema" or chance(choose, 4) else random_spec(choose)
    style = WORDY if len(spec.tokens) > 256 and chance(choose, 2) else TINY
    built = spec.build()
    return Case(spec, tuple(random_problem(choose, kind, built, style) for _ in range(PROBLEMS)))


def random_problem(
    choose: Choose, kind: str, vocabulary: Vocabulary, style: Style = TINY, large: bool = False
) -> Problem:
    """A source text of the kind, with texts to try where a standard can judge them. `large` is for engines that are
    made to be fast: now and then, a source that is as long as those of applications."""
    wordy = style is not TINY
    match kind:
        case "gbnf":
            source = random_source(choose, nameable(choose, vocabulary), style)
            return Problem(kind, near_gbnf(choose, source, odd_ids(vocabulary)) if chance(choose, NEARLY) else source)
        case "regex":
            pattern, sample = random_regex(choose, long=wordy)
            texts = dict.fromkeys([sample, *(mutated(choose, sample) for _ in range(3))])
            return Problem(kind, pattern, texts=tuple(texts))
        case "choice":
            choices, texts_tried = random_choices(choose, pieces=[*PIECES, *style.wide] if wordy else PIECES)
            return Problem(kind, json.dumps(choices, ensure_ascii=False), texts=tuple(dict.fromkeys(texts_tried)))
        case _:
            schema = large_schema(choose) if large and chance(choose, LARGE_SCHEMAS) else random_schema(choose)
            return Problem(kind, json.dumps(schema, ensure_ascii=False), texts=tuple(instance_texts(choose, schema)))


def nameable(choose: Choose, vocabulary: Vocabulary, most: int = 12) -> list[int]:
    """A few ordinary ids: a grammar's text may name no others."""
    ordinary = np.flatnonzero(vocabulary.kinds == TokenKind.ORDINARY).tolist()
    if not ordinary or chance(choose, 2):
        return []
    return [one_of(choose, ordinary) for _ in range(most)]


def odd_ids(vocabulary: Vocabulary) -> list[int]:
    """The first id of each kind, and those at the end of the vocabulary and past it."""
    found = [0]
    for kind in TokenKind:
        found += np.flatnonzero(vocabulary.kinds == int(kind))[:1].tolist()
    return [*found, vocabulary.size - 1, vocabulary.size, 1 << 31, 1 << 64]


def random_case(choose: Choose, largest_bound: int = 4) -> tuple[Grammar, Vocabulary]:
    """A vocabulary, and a grammar as a value that may name its tokens, control tokens too."""
    vocabulary = random_vocabulary(choose)
    return random_grammar(choose, vocabulary, largest_bound), vocabulary
