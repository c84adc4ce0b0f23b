"""Smaller vocabularies: a real one becomes a few tokens, a synthetic one loses the tokens that do not matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .case import Case, Problem, Step, VocabularySpec

__all__ = ["smaller_vocabularies"]

_TOKEN_LIST = re.compile(r"(Token\()([\d,\s]*)(\))")
_NUMBER = re.compile(r"\d+")


def smaller_vocabularies(case: Case) -> Iterator[Case]:
    """Variants of the case with fewer or simpler tokens."""
    spec = case.vocabulary
    if spec.name:
        explicit = VocabularySpec.of(spec.build())
        # The tokens that the case names, with and without the single bytes; then half of all.
        named = named_ids(case)
        single = {i for i, token in enumerate(explicit.tokens) if len(token) == 1}
        for keep in (named, named | single):
            yield compact(replace(case, vocabulary=explicit), keep)
        spec = explicit
        case = replace(case, vocabulary=spec)
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
    order = sorted((keep | set(spec.eos_ids)) & set(range(spec.size)))
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
