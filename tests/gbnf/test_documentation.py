"""The examples of docs/gbnf.md are what the language does."""

from __future__ import annotations

import re

import pytest
from tests.data import CHECKOUT

from infernix.gbnf import MAX_NESTING, MAX_TOKENS, check, parse_gbnf
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.source import MAX_TEXT_BYTES

TEXT = (CHECKOUT / "docs" / "gbnf.md").read_text("utf-8")
EXAMPLES = CHECKOUT / "docs" / "examples"


def test_the_first_example_is_a_grammar() -> None:
    first = re.findall(r"```gbnf\n(.*?)```", TEXT, re.DOTALL)[0]
    assert check(parse_gbnf(first)) == []


def test_the_error_shown_is_the_error_raised() -> None:
    shown = re.findall(r"```\n(2:.*?)\n```", TEXT, re.DOTALL)[0]
    source_line = shown.split("\n")[1]
    with pytest.raises(GrammarError) as caught:
        parse_gbnf(f"root ::= word\n{source_line}")
    assert f"{caught.value}\n{caught.value.excerpt()}" == shown


def test_the_limits_are_the_ones_stated() -> None:
    assert f"{MAX_TEXT_BYTES // 2**20} MiB" in TEXT
    assert f"{MAX_TOKENS:,} names" in TEXT
    assert f"up to {MAX_NESTING:,} deep" in TEXT


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.gbnf")), ids=lambda path: path.stem)
def test_example_files_are_sound_grammars(path) -> None:  # type: ignore[no-untyped-def]
    text = path.read_bytes()
    assert check(parse_gbnf(text), text) == []
