"""Smaller vocabularies: a real one becomes an excerpt (`excerpts`), a synthetic one loses the tokens that do not
matter (`smaller_vocabularies`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from infernix.matcher.vocabulary import TokenKind

from .case import Case, Problem, Step, VocabularySpec

__all__ = ["excerpts", "smaller_vocabularies"]

REACHES = (0, 2, 12, 100)
"""How many neighbours of each named token an excerpt has, on either side in the order of bytes."""

_TOKEN_LIST = re.compile(r"(Token\()([\d,\s]*)(\))")
_NUMBER = re.compile(r"\d+")


def excerpts(case: Case, tokens: Iterable[int] = ()) -> Iterator[Case]:
    """The case over larger and larger excerpts of its real vocabulary: the tokens that it names and these, their
    beginnings and neighbours, with which an engine may have mixed them up, and the single bytes.

    Shrinking in an excerpt is a thousand times as fast, and what comes out can be read.
    """
    spec, in_order, place_of, id_of = _sorted(case.vocabulary.name)
    named = {i for i in (*named_ids(case), *tokens) if 0 <= i < spec.size}
    single = {i for token, i in id_of.items() if len(token) == 1}
    for reach in REACHES:
        keep = set(named)
        for token_id in named & place_of.keys():
            token = spec.tokens[token_id]
            keep.update(id_of[token[:n]] for n in range(1, len(token)) if token[:n] in id_of)
            keep.update(in_order[max(place_of[token_id] - reach, 0) : place_of[token_id] + reach + 1])
        yield compact(replace(case, vocabulary=spec), keep)
        yield compact(replace(case, vocabulary=spec), keep | single)


@lru_cache(maxsize=2)
def _sorted(name: str) -> tuple[VocabularySpec, list[int], dict[int, int], dict[bytes, int]]:
    """A real vocabulary as plain data; its ordinary ids in the order of their bytes; the place of each there; and the
    id of each token."""
    vocabulary = VocabularySpec(name=name).build()
    spec = VocabularySpec.of(vocabulary)
    ordinary = (vocabulary.kinds == int(TokenKind.ORDINARY)).tolist()
    in_order = sorted((i for i in range(spec.size) if ordinary[i]), key=spec.tokens.__getitem__)
    return spec, in_order, {i: place for place, i in enumerate(in_order)}, {spec.tokens[i]: i for i in in_order}


def smaller_vocabularies(case: Case) -> Iterator[Case]:
    """Variants of the case with fewer or simpler tokens; none of a real vocabulary."""
    spec = case.vocabulary
    if spec.name:
        return
    present = [i for i, token in enumerate(spec.tokens) if token and i not in spec.eos_ids]
    size = max(len(present) // 2, 1) if present else 0
    while size > 0:
        for start in range(0, len(present), size):
            gone = set(present[start : start + size])
            if not gone & named_ids(case):
                yield compact(case, set(range(spec.size)) - gone)
        size //= 2
    yield compact(case, named_ids(case) | set(present))
    for token_id in present:
        token = spec.tokens[token_id]
        if len(token) > 1:
            for shorter in (token[:-1], token[1:]):
                tokens = (*spec.tokens[:token_id], shorter, *spec.tokens[token_id + 1 :])
                yield replace(case, vocabulary=replace(spec, tokens=tokens))
    for token_id in (*spec.forbidden_ids, *spec.control_ids, *(spec.eos_ids if len(spec.eos_ids) > 1 else ())):
        yield replace(case, vocabulary=spec.without_class(token_id))


def named_ids(case: Case) -> set[int]:
    """The ids that walks or token terminals name."""
    ids = {i for problem in case.problems for step in problem.walk if step.verb != "rollback" for i in step.ids}
    for problem in case.problems:
        if problem.kind == "gbnf":
            for match in _TOKEN_LIST.finditer(problem.source):
                ids.update(map(int, _NUMBER.findall(match[2])))
    return ids


def compact(case: Case, keep: set[int]) -> Case:
    """The case with only the ids to keep and those of EOS, numbered anew."""
    spec = case.vocabulary
    order = sorted(i for i in keep | set(spec.eos_ids) if 0 <= i < spec.size)
    new = {old: number for number, old in enumerate(order)}
    tokens = tuple(spec.tokens[old] if old < len(spec.tokens) else b"" for old in order)
    eos, control, forbidden = (
        tuple(new[i] for i in group if i in new) for group in (spec.eos_ids, spec.control_ids, spec.forbidden_ids)
    )
    vocabulary = VocabularySpec("", tokens, eos, control, forbidden, len(order))
    return Case(vocabulary, tuple(renumbered(problem, new) for problem in case.problems))


def renumbered(problem: Problem, new: dict[int, int]) -> Problem:
    """The problem with other token ids; those that are gone are left out of steps."""
    walk = []
    for step in problem.walk:
        ids = step.ids if step.verb == "rollback" else tuple(new[i] for i in step.ids if i in new)
        if ids:
            walk.append(Step(step.verb, ids))
    source = problem.source
    if problem.kind == "gbnf":

        def other(match: re.Match[str]) -> str:
            return match[1] + _NUMBER.sub(lambda n: str(new.get(int(n[0]), n[0])), match[2]) + match[3]

        source = _TOKEN_LIST.sub(other, source)
    return replace(problem, source=source, walk=tuple(walk))
