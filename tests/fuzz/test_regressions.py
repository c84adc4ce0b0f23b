"""Every fault of ours that fuzzing has found, in its smallest case: it must not come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from infernix.fuzz.files import read_finding
from infernix.fuzz.host import Host
from infernix.fuzz.session import Session

FILES = sorted((Path(__file__).parent / "regressions").glob("*.toml"))


@pytest.fixture(scope="module")
def session() -> Session:
    # Processes, because some of these once ended theirs.
    return Session([Host("reference"), Host("infernix")])


def test_there_are_regressions() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_nothing_differs(session: Session, path: Path) -> None:
    finding = read_finding(path)
    assert session.check(finding.case, ["reference", "infernix"]) == []
    # The case was really worked through, unless it is about what is refused.
    about_refusals = finding.difference.check == "source"
    assert {trace.refused is not None for traces in session.last.values() for trace in traces} == {about_refusals}
