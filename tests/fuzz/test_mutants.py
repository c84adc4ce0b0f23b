"""Faults of one line in a copy of the matcher are caught; a mutation that no longer fits its file is an error."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

import infernix
from infernix.fuzz.mutants import MUTATIONS, hunt_in, mutated_line
from infernix.gbnf.errors import RequestError

PACKAGE = Path(infernix.__file__).parent
BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}
QUICK = ("forgotten-completion", "rollback-one-short")
SECONDS = 60.0


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


def hunt(names: Collection[str]) -> None:
    """Each of these is caught within a minute of processor time; in as many cases the original shows nothing."""
    most_cases = 0
    for name in names:
        quarry = hunt_in(BY_NAME[name], SECONDS)
        assert "infernix" in quarry.difference, name
        most_cases = max(most_cases, quarry.cases)
    control = hunt_in(None, 2 * SECONDS, most_cases)
    assert (control.difference, control.cases) == ("", most_cases)


def test_two_mutants_are_caught_and_the_original_is_not() -> None:
    hunt(QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_all_mutants_are_caught_and_the_original_is_not() -> None:
    assert len(BY_NAME) == 13
    hunt(BY_NAME)
