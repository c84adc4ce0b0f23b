"""Every case of `tests/corpus/*.toml` through every matcher. The format is described there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.matcher.matchers import Factory, allowed, every_matcher
from tests.vocabularies import byte_level

from infernix.gbnf import parse_gbnf
from infernix.gbnf.errors import TokenRejected
from infernix.matcher.vocabulary import Vocabulary

CORPUS = Path(__file__).parent.parent / "corpus"
FILES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(CORPUS.glob("*.toml"))}
CASES = {f"{topic}: {case['name']}": case for topic, content in FILES.items() for case in content["case"]}
KEYS = {
    "name", "grammar", "dialect", "control_allowed", "vocabulary", "accepts", "prefixes", "rejects", "mask"
}  # fmt: skip
EOS = 256

every_case = pytest.mark.parametrize("name", CASES)


def as_bytes(text: str) -> bytes:
    """UTF-8, or where a text begins with 0x, a list of such bytes."""
    if text.startswith("0x"):
        return bytes(int(part, 16) for part in text.split())
    return text.encode()


def byte_set(parts: list[str]) -> list[int]:
    """The bytes that a list of characters, ranges and 0xNN stands for."""
    result: set[int] = set()
    for part in parts:
        if part.startswith("0x"):
            first, _, last = part.partition("-")
            result.update(range(int(first, 16), int(last or first, 16) + 1))
        else:
            result.update(range(ord(part[0]), ord(part[-1]) + 1))  # "a-z", or one character
    return sorted(result)


def vocabulary_of(case: dict[str, Any]) -> Vocabulary:
    """The case's own vocabulary, or single bytes."""
    described = case.get("vocabulary")
    if described is None:
        return byte_level()
    tokens = [token.encode("latin-1") for token in described["tokens"]]
    return Vocabulary(tokens, eos_ids=described["eos"], control_ids=described.get("control", ()))


def matcher_of(make: Factory, case: dict[str, Any]) -> tuple[Any, Vocabulary]:
    vocabulary = vocabulary_of(case)
    return make(parse_gbnf(case["grammar"], dialect=case.get("dialect", "xgrammar")), vocabulary), vocabulary


def verdict(matcher: Any, text: str) -> str:
    """What a text is: "sentence", "prefix" or "rejected"."""
    matcher.reset()
    try:
        matcher.accept_bytes(text.encode())
    except TokenRejected:
        return "rejected"
    return "sentence" if matcher.can_end() else "prefix"


@every_case
def test_cases_are_well_formed(name: str) -> None:
    case = CASES[name]
    assert set(case) <= KEYS
    assert any(case.get(key) for key in ("accepts", "prefixes", "rejects", "mask")), "a case must claim something"


def test_names_are_distinct() -> None:
    assert len(CASES) == sum(len(content["case"]) for content in FILES.values())


@every_matcher
@every_case
def test_texts(make: Factory, name: str) -> None:
    case = CASES[name]
    matcher, _ = matcher_of(make, case)
    for key, expected in (("accepts", "sentence"), ("prefixes", "prefix"), ("rejects", "rejected")):
        for text in case.get(key, ()):
            assert verdict(matcher, text) == expected, text
            if expected == "sentence":
                # Every beginning of a sentence is at least a legal prefix.
                assert all(verdict(matcher, text[:n]) != "rejected" for n in range(len(text)))


@every_matcher
@every_case
def test_masks(make: Factory, name: str) -> None:
    case = CASES[name]
    matcher, vocabulary = matcher_of(make, case)
    for expected in case.get("mask", ()):
        matcher.reset()
        if "after" in expected:
            matcher.accept_bytes(as_bytes(expected["after"]))
            ids = byte_set(expected["next"]) + ([EOS] if expected["end"] else [])
            assert matcher.can_end() == expected["end"]
        else:
            for token_id in expected["after_tokens"]:
                matcher.accept_token(token_id)
            ids = expected["ids"]
        assert allowed(matcher, vocabulary.size) == ids, expected
