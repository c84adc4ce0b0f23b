"""The official JSON Schema test suite, both drafts, against a ratchet.

No invalid instance is ever accepted. How each group is judged is written down in
`ratchet.json`; a group that gets worse fails. `python -m tests.schema.suite` records them anew.
"""

from __future__ import annotations

import json

import pytest
from tests.data import data_path
from tests.schema.suite import DRAFTS, RATCHET, groups, outcome, rank

FOLDER = "json-schema-test-suite"


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    """The recorded outcomes by group."""
    loaded: dict[str, str] = json.loads(RATCHET.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("pattern", ["[a-d]*.json", "[e-q]*.json", "[r-z]*.json", "optional/format/*.json"])
def test_every_group_is_judged_at_least_as_well_as_before(draft: str, pattern: str, recorded: dict[str, str]) -> None:
    worse, better = [], []
    for name, schema, tests in groups(data_path(FOLDER), draft, pattern):
        found = outcome(schema, tests)
        before = recorded.get(name, "WRONG: not recorded")
        if rank(found) < rank(before) or found.startswith("WRONG"):
            worse.append(f"{name}: {found} (was: {before})")
        elif rank(found) > rank(before):
            better.append(f"{name}: {found} (was: {before})")
    assert not worse
    if better:
        print("better; run python -m tests.schema.suite to record:", *better, sep="\n")


def test_the_ratchet_says_what_is_claimed(recorded: dict[str, str]) -> None:
    """Most groups of the required part are exact, and nothing is recorded as wrong."""
    required = [text for name, text in recorded.items() if "optional" not in name]
    assert not [text for text in recorded.values() if text.startswith("WRONG")]
    assert sum(text == "exact" for text in required) > 0.75 * len(required)
