"""The contract suite: what any engine that makes masks should promise, asked of one engine.

Each requirement is a set of cases with an expected outcome from an independent source: a list of
all texts, `re`, `jsonschema`, or the engine itself on another way. It holds, fails with the
smallest case that was found, or does not apply (the engine declares that it cannot, or refuses).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .case import Case, Problem, VocabularySpec
from .compare import Difference
from .generate import case_of
from .job import Worker
from .session import Finding

__all__ = ["REQUIREMENTS", "Requirement", "Verdict", "contract"]

CASES = 12
"""Random cases for each requirement, beside the fixed ones."""
CHECKS_OF = {
    "a mask has a bit exactly where the token is accepted": ("probe",),
    "taking tokens back restores the mask": ("rollback",),
    "a copy is independent": ("fork",),
    "masks along a draft leave no trace": ("draft",),
    "the same bytes in other tokens lead to the same mask": ("spelling",),
    "no bit is set that belongs to no token": ("padding",),
    "no input ends in an exception, a crash or a hang": ("error", "crash", "hang"),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A sentence that should hold, and the cases that try it."""

    sentence: str
    cases: Callable[[], Iterator[Case]]
    fails: Callable[[Difference], bool]
    """Whether a difference is against this requirement."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a requirement: "holds", "fails" or "does not apply"."""

    sentence: str
    outcome: str
    taken: int
    counterexample: Finding | None = None


def _random(kinds: tuple[str, ...]) -> Callable[[], Iterator[Case]]:
    def cases() -> Iterator[Case]:
        for number in range(CASES):
            yield case_of(kinds[number % len(kinds)], "synthetic", 0, number)

    return cases


def _fixed(kind: str, *problems: tuple[str, tuple[str, ...]]) -> Callable[[], Iterator[Case]]:
    """Cases over the single bytes."""
    spec = VocabularySpec(name="bytes")

    def cases() -> Iterator[Case]:
        for source, texts in problems:
            yield Case(spec, (Problem(kind, source, texts=texts),))
        for number in range(CASES):
            yield case_of(kind, "synthetic", 0, number)

    return cases


def _verdict(direction: str) -> Callable[[Difference], bool]:
    return lambda d: d.check == "verdict" and d.direction == direction


def _of(checks: tuple[str, ...]) -> Callable[[Difference], bool]:
    return lambda d: d.check in checks


SCHEMAS = (
    ('{"type": "string", "maxLength": 3}', ('"a\\nb"', '"abcd"', '"a\nb"', '""')),
    ('{"type": "object", "required": ["a"]}', ("{}", '{"a": 1}')),
    ('{"anyOf": [{"minimum": 1}], "type": "integer"}', ("0", "1", '"a"')),
    ('{"type": "number", "minimum": 0.5}', ("0.5", "1.25", "0.1234567", "0.4", "1e5")),
    ('{"allOf": [{"type": "integer"}, {"minimum": 3}]}', ("3", "2", "null")),
    ('{"type": "string"}', ('"\\ud800"', '"\\u00e9"')),
)
PATTERNS = (("a.b", ("a\nb", "axb", "ab")), (r"\d{2}", ("12", "1", "\u0661\u0662")), ("(a|b)*c", ("ababc", "ab", "c")))
CHOICES = ((json.dumps(["yes", "no", "not sure", ""]), ("no", "not", "not sure", "", "yes!")),)

REQUIREMENTS: tuple[Requirement, ...] = (
    *(
        Requirement(sentence, _random(("gbnf", "regex", "choice", "schema")), _of(checks))
        for sentence, checks in CHECKS_OF.items()
    ),
    Requirement("every listed choice is accepted", _fixed("choice", *CHOICES), _verdict("missing")),
    Requirement("no text but the listed choices is accepted", _fixed("choice", *CHOICES), _verdict("extra")),
    Requirement("every text that matches the regex is accepted", _fixed("regex", *PATTERNS), _verdict("missing")),
    Requirement("no text but those that match the regex is accepted", _fixed("regex", *PATTERNS), _verdict("extra")),
    Requirement("valid JSON is accepted, in some order of keys", _fixed("schema", *SCHEMAS), _verdict("missing")),
    Requirement("invalid JSON is not accepted", _fixed("schema", *SCHEMAS), _verdict("extra")),
    Requirement(
        "masks of a grammar are those of its definition",
        _random(("gbnf",)),
        lambda d: d.against == "reference" and d.check in ("mask", "end", "accept", "sight"),
    ),
    Requirement("a text is taken as GBNF exactly if it is some", _random(("gbnf",)), _of(("source",))),
    Requirement("an error is at a place in the source", _random(("gbnf", "regex", "schema")), _of(("place",))),
)


def contract(engine: str, worker: Worker, shrinking: bool = True) -> Iterator[Verdict]:
    """Put an engine through all requirements. The worker has the reference matcher first, then the engine."""
    for requirement in REQUIREMENTS:
        worker.session.taken.clear()
        counterexample = None
        for number, case in enumerate(requirement.cases()):
            found = [
                finding
                for finding in worker.session.examine(case, f"contract/{number}")
                if finding.difference.engine == engine and requirement.fails(finding.difference)
            ]
            if found:
                counterexample = worker.shrunk(found[0]) if shrinking else found[0]
                break
        taken = worker.session.taken[engine]
        outcome = "fails" if counterexample else "holds" if taken else "does not apply"
        yield Verdict(requirement.sentence, outcome, taken, counterexample)
