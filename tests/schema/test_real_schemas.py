"""Real-world schemas: no invalid instance is accepted, and most schemas are right in everything.

A valid instance is refused only where its keys are not in the declared order, which the
generated language fixes; the share of such instances is small and bounded here.
"""

from __future__ import annotations

import pytest
from tests.data import data_path
from tests.schema.real import FOLDER, Tally, entries

SAMPLE_STEP, SAMPLE_OFFSET = 60, 7


def judge(step: int, offset: int) -> Tally:
    """The tally of some of the schemas."""
    tally = Tally()
    for entry in entries(data_path(FOLDER), step, offset):
        tally.add(entry)
    return tally


def check(tally: Tally) -> None:
    """What must hold of any sample."""
    assert tally.accepted_invalid == []
    assert tally.counts["right"] >= 0.9 * tally.counts["schemas"], tally.reasons
    assert len(tally.refused_valid) <= 0.06 * tally.counts["valid"], tally.refused_valid


def test_a_sample() -> None:
    check(judge(SAMPLE_STEP, SAMPLE_OFFSET))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_of_them() -> None:
    tally = judge(1, 0)
    check(tally)
    assert tally.counts["right"] >= 4150
