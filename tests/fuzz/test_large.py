"""Large vocabularies: findings shrink to an excerpt that can be read, and slow masks are found."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import jsonschema
import pytest
from tests.fuzz.planted import make

from infernix.fuzz import real
from infernix.fuzz.case import Case, Problem, Step, VocabularySpec
from infernix.fuzz.choices import seeded
from infernix.fuzz.generators.instances import instance
from infernix.fuzz.generators.large_schemas import large_schema
from infernix.fuzz.host import Local
from infernix.fuzz.job import Settings, Worker
from infernix.fuzz.reduce_vocabulary import excerpts
from infernix.fuzz.schema_features import of_schema
from infernix.fuzz.session import Finding
from infernix.matcher.vocabulary import Vocabulary

LETTERS = "abcdefghijklmnopqrstuv"
WORDS = [LETTERS[a] + LETTERS[b] + LETTERS[c] for a, b, c in product(range(22), repeat=3)]
TOKENS = [word.encode() for word in [*LETTERS, *WORDS]]
ONE_CAT = (Step("token", (TOKENS.index(b"cat"),)),)
CATS = Case(VocabularySpec(name="words"), (Problem("gbnf", 'root ::= "cat"+', ONE_CAT),))


@cache
def vocabulary() -> Vocabulary:
    """One for all tests: what engines make of a large vocabulary takes them time."""
    return Vocabulary([*TOKENS, b""], eos_ids=[len(TOKENS)], size=len(TOKENS) + 1)


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(real.REAL, "words", vocabulary)


def worker_on(fault: str, seconds: float = 15) -> Worker:
    settings = Settings((fault,), ("gbnf",), ("words",), shrink_seconds=seconds)
    return Worker(settings, lambda name, _: Local(make(name)))


def test_excerpts_have_what_is_named_its_beginnings_and_neighbours() -> None:
    place = TOKENS.index(b"cat")
    case = Case(VocabularySpec(name="words"), (Problem("gbnf", 'root ::= "cat"', (Step("token", (place,)),)),))
    sets = [frozenset(token for token in e.vocabulary.tokens if token) for e in excerpts(case, [TOKENS.index(b"dog")])]
    assert sets[0] == {b"cat", b"dog", b"c", b"d"}
    assert sets[1] == sets[0] | {letter.encode() for letter in LETTERS}
    assert sets[2] == sets[0] | {b"car", b"cas", b"cau", b"cav", b"doe", b"dof", b"doh", b"doi"}
    assert all(len(tokens) < 1000 for tokens in sets)
    first = next(excerpts(case))
    (step,) = first.problems[0].walk
    assert first.vocabulary.tokens[step.ids[0]] == b"cat"


def test_a_finding_on_a_large_vocabulary_becomes_a_small_one() -> None:
    walk = tuple(Step("token", (TOKENS.index(word),)) for word in (b"cat", b"dog"))
    walk += (Step("probe", tuple(map(TOKENS.index, (b"c", b"d", b"e", b"v")))),)
    case = Case(VocabularySpec(name="words"), (Problem("gbnf", 'root ::= ("cat" | "dog" | "emu")*', walk),))
    worker = worker_on("FlippedBit")
    (finding,) = worker.session.examine(case, "1")
    report = worker.report(finding)
    assert report.shrunk
    assert not report.finding.case.vocabulary.name
    assert sum(1 for token in report.finding.case.vocabulary.tokens if token) <= 6
    assert len(report.finding.case.problems[0].walk) <= 3


def test_a_slow_mask_is_found_and_stays_with_the_large_vocabulary() -> None:
    worker = worker_on("Slow", 1)
    (finding,) = worker.session.examine(CATS, "1")
    assert finding.difference.check == "slow"
    assert "ms for a mask" in finding.difference.detail
    report = worker.report(finding)
    assert report.finding.case.vocabulary.name == "words"
    assert report.finding.case.problems[0].walk == ()


def slow_to_compile(worker: Worker) -> list[Finding]:
    """On a busy machine, masks of the reference may be found slow besides."""
    return [f for f in worker.session.examine(CATS, "1") if f.difference.check == "slow-compile"]


def test_slow_compiling_is_found_and_stays_with_the_large_vocabulary() -> None:
    worker = worker_on("SlowCompile", 1)
    (finding,) = slow_to_compile(worker)
    assert re.fullmatch(r"[3-9]\d\d ms to compile", finding.difference.detail)
    report = worker.report(finding)
    assert report.finding.case.vocabulary.name == "words"
    assert report.finding.case.problems[0].walk == ()
    assert report.known is None


def test_compiling_that_is_slow_only_the_first_time_is_no_fault() -> None:
    worker = worker_on("SlowFirstCompile")
    assert slow_to_compile(worker) == []


def test_timing_a_slow_mask_does_not_change_what_is_seen() -> None:
    cat, dog = TOKENS.index(b"cat"), TOKENS.index(b"dog")
    case = Case(VocabularySpec(name="words"), (Problem("gbnf", 'root ::= "cat" "dog"', (Step("fork", (cat, dog)),)),))
    (slow,), (quick,) = (Local(make(name)).trace(case) for name in ("Slow", "infernix"))
    assert slow.sights == quick.sights
    assert slow.views == quick.views


def test_large_schemas_have_many_parts_and_instances_that_fit() -> None:
    schemas = [large_schema(seeded(1, number)) for number in range(40)]
    sizes = [len(schema.get("anyOf", schema.get("properties", ()))) for schema in schemas]
    assert (min(sizes), max(sizes)) == (8, 240)
    assert {"open-names" in of_schema(schema) for schema in schemas} == {True, False}
    for schema in schemas[:5]:
        validator = jsonschema.Draft202012Validator(schema)
        fits = [validator.is_valid(instance(seeded(2, i), schema, schema, 0)) for i in range(20)]
        assert any(fits) or "properties" in schema
        assert not all(fits)
