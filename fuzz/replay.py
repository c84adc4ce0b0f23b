"""Running a finding again, in fresh processes, with nothing but its file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from infernix.gbnf.errors import RequestError

from .case import Case
from .compare import Difference
from .engines import make_engine
from .files import read_finding
from .host import Executor, Host, Local
from .known import KnownDifference, classify, known_differences
from .session import Finding, Session

__all__ = ["Replayed", "replay", "replay_case", "vanished"]


@dataclass(slots=True)
class Replayed:
    """What a finding shows now: differences, each with the name it is known by, and refusals."""

    differences: list[tuple[Difference, str | None]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def replay(path: Path, engines: tuple[str, ...] = (), protected: bool = True) -> Replayed:
    """Run the finding of a file on its engines, or on others.

    `protected` gives each engine a process of its own. Raises RequestError for a file that is no
    finding or that names no engine.
    """
    finding = read_finding(path)
    chosen = engines or finding.engines
    if not chosen:
        raise RequestError(f"{path} names no engines: choose some with --engines")
    return replay_case(finding.case, chosen, protected)


def replay_case(case: Case, engines: tuple[str, ...], protected: bool = True) -> Replayed:
    """Run a case with fixed walks on some engines, the first of which the others are compared with."""
    session = Session([_executor(name, protected) for name in engines])
    try:
        result = Replayed()
        for difference in session.check(case, engines):
            known = classify(Finding(case, difference, engines))
            result.differences.append((difference, known.name if known else None))
        for name in engines:
            for trace in session.last.get(name, ()):
                if trace.refused is not None:
                    result.refused.append((name, trace.refused))
        return result
    finally:
        session.close()


def vanished(
    engines: Collection[str],
    kinds: Collection[str],
    vocabularies: Collection[str] = (),
    entries: Sequence[KnownDifference] = (),
) -> list[str]:
    """The names of the known differences (of these engines, in these kinds) whose examples do not show them any more.

    Examples that need a large vocabulary are left out unless it is one of `vocabularies`. One set of processes serves
    all examples; each example meets fresh children.
    """
    entries = [e for e in entries or known_differences() if e.engine in engines and set(e.kinds) & set(kinds)]
    findings = {entry.name: read_finding(entry.example_path) for entry in entries}
    findings = {name: f for name, f in findings.items() if f.case.vocabulary.name in ("", *vocabularies)}
    needed = dict.fromkeys(name for finding in findings.values() for name in finding.engines)
    session = Session([Host(name) for name in needed])
    try:
        gone = []
        for name, finding in findings.items():
            session.renew(finding.engines)
            shown = [classify(replace(finding, difference=d)) for d in session.check(finding.case, finding.engines)]
            if name not in [entry.name for entry in shown if entry is not None]:
                gone.append(name)
        return gone
    finally:
        session.close()


def _executor(name: str, protected: bool) -> Executor:
    return Host(name) if protected else Local(make_engine(name))
