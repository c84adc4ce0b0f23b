"""Faults of one line in a copy of the matcher are caught; a mutation that no longer fits its file is an error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import infernix
from infernix.fuzz.mutants import MUTATIONS, hunt_in, mutated_line
from infernix.gbnf.errors import RequestError

PACKAGE = Path(infernix.__file__).parent
BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_mutation_changes_one_line_of_todays_source(name: str) -> None:
    mutation = BY_NAME[name]
    text = (PACKAGE / mutation.file).read_text(encoding="utf-8")
    changed = [pair for pair in zip(text.splitlines(), mutated_line(text, mutation).splitlines()) if pair[0] != pair[1]]
    assert [(old.strip(), new.strip()) for old, new in changed] == [(mutation.old, mutation.new)]


def test_a_line_that_is_gone_is_an_error() -> None:
    mutation = replace(MUTATIONS[0], old="return no_such_line")
    with pytest.raises(RequestError, match="0 times"):
        mutated_line("return something_else\n", mutation)
    with pytest.raises(RequestError, match="2 times"):
        mutated_line("return no_such_line\n" * 2, mutation)


@pytest.mark.parametrize("name", ["forgotten-completion", "rollback-one-short"])
def test_a_mutant_is_caught_and_the_original_is_not(name: str) -> None:
    quarry = hunt_in(BY_NAME[name], 60.0)
    assert quarry.difference
    assert "infernix" in quarry.difference
    assert hunt_in(None, 60.0, quarry.cases).difference == ""
