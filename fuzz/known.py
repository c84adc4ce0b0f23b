"""Known differences: named, explained, and recognised by what is in the case, not by who shows them.

`known_differences.toml` has a table for each:

    name         what reports and counts call it
    engine       who differs
    kinds        source languages
    checks       which checks show it
    direction    "missing", "extra", or "" for either
    features     all of these occur in the shrunk case (`features.py`)
    one_of       and at least one of these, if there are any
    without      and none of these
    detail       a regular expression that the difference's detail contains, if there is one
    decided_by   the standard that says who is right
    explanation  what happens, and why
    example      a file in `examples/` that replays

A difference is classified after it was shrunk, when hardly more than its cause is left in the
case; so an entry can afford to be narrow, and must be: a wide one would hide faults.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .compare import Difference
from .features import features, of_difference
from .session import Finding

__all__ = ["KnownDifference", "classify", "known_differences"]

HOME = Path(__file__).parent
FILE = HOME / "known_differences.toml"
LONGEST_SHOWN = 200
"""Characters of a source in the table."""


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """One entry; see the module text."""

    name: str
    engine: str
    kinds: tuple[str, ...]
    checks: tuple[str, ...]
    decided_by: str
    explanation: str
    example: str
    direction: str = ""
    features: frozenset[str] = frozenset()
    one_of: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    detail: str = ""

    def fits(self, difference: Difference, present: frozenset[str]) -> bool:
        """Whether the difference, in a case with these features, is this one."""
        return (
            difference.engine == self.engine
            and difference.kind in self.kinds
            and difference.check in self.checks
            and self.direction in ("", difference.direction)
            and self.features <= present
            and (not self.one_of or bool(self.one_of & present))
            and not self.without & present
            and (not self.detail or re.search(self.detail, difference.detail) is not None)
        )

    @property
    def example_path(self) -> Path:
        """The file of the example."""
        return HOME / "examples" / self.example


@cache
def known_differences(path: Path = FILE) -> tuple[KnownDifference, ...]:
    """All entries, in the order of the file. Raises TypeError or KeyError for a malformed one."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_entry(table) for table in data.get("difference", ()))


def _entry(table: dict[str, object]) -> KnownDifference:
    fields = dict(table)
    for name in ("kinds", "checks"):
        fields[name] = tuple(fields[name])  # type: ignore[arg-type]
    for name in ("features", "one_of", "without"):
        fields[name] = frozenset(fields.get(name, ()))  # type: ignore[call-overload]
    return KnownDifference(**fields)  # type: ignore[arg-type]


def classify(finding: Finding, entries: Sequence[KnownDifference] | None = None) -> KnownDifference | None:
    """The first entry that fits a finding; None if it is unknown."""
    present = features(finding.case) | of_difference(finding.difference, finding.case)
    for entry in known_differences() if entries is None else entries:
        if entry.fits(finding.difference, present):
            return entry
    return None


def table() -> str:
    """All known differences as a Markdown table with their examples, for docs/fuzzing.md."""
    from .files import read_finding

    lines = ["| name | what happens | smallest case | decided by |", "|---|---|---|---|"]
    for entry in known_differences():
        case = read_finding(entry.example_path).case
        problem = case.problems[-1]
        source = problem.source.strip().replace("\n", "; ")
        shown = f"`{_cell(source if len(source) <= LONGEST_SHOWN else source[:LONGEST_SHOWN] + ' ...')}`"
        if problem.texts:
            shown += f" on `{_cell(problem.texts[0])}`"
        lines.append(f"| `{entry.name}` | {_cell(entry.explanation)} | {shown} | {_cell(entry.decided_by)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text that keeps a table cell in one piece."""
    printable = "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" for char in text.strip().replace("\n", "; ")
    )
    return printable.replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    print(table())
