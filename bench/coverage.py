"""How much of JSON Schema the engines cover: verdicts on real schemas and their instances, and why schemas are refused.

python -m bench.coverage                                 300 schemas, ours and the peers that take little time
python -m bench.coverage --all --json all.json           all schemas there are
python -m bench.coverage --from all.json --update docs/json-schema.md     tables of earlier runs, into that page

A schema is *exact* if it compiled, every valid instance was accepted and every invalid one refused. Masks
are not computed beyond the first: `bench.masks` measures those.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from infernix.schema import analyse
from infernix.schema.keywords import KEYWORDS

from .cases import Case, data_folder, read_groups, sample, schema_case
from .clock import NS_PER_MS
from .engines import ENGINES
from .report import format_number, format_table, note
from .runner import Plan, run_plan
from .vocabularies import load_vocabulary
from .walk import CaseResult

SAMPLE = 300
LIMIT_S = 30.0
PROGRESS_SECONDS = 20.0
DEFAULT_ENGINES = ("infernix", "llguidance", "xgrammar-dynamic")
SLOWEST = 10
PERCENTILES = (50, 99, 100)
REASON_WIDTH = 110
MAX_PLACES = 3
BEGIN, END = "<!-- coverage: written by `python -m bench.coverage` -->", "<!-- end of coverage -->"


@dataclass
class Tally:
    """The verdicts of one engine."""

    schemas: int = 0
    exact: int = 0
    refused: int = 0
    failed: int = 0
    """Killed, or ended by something that is no refusal."""
    valid: int = 0
    valid_refused: int = 0
    invalid: int = 0
    invalid_accepted: int = 0
    faults: list[str] = field(default_factory=list)
    compile_ms: list[tuple[float, str]] = field(default_factory=list)

    def add(self, result: CaseResult, labels: Sequence[bool]) -> None:
        """Count one schema. `labels` say which of the texts are valid, in the order in which they were judged."""
        self.schemas += 1
        self.compile_ms.append((result.compile_ns / NS_PER_MS, result.case))
        if result.status != "compiled":
            self.refused += result.status == "refused"
            self.failed += result.status != "refused"
            return
        judged = labels[: result.invalid]
        accepted = set(result.wrongly_accepted)
        refused = sum(valid and place not in accepted for place, valid in enumerate(judged))
        wrong = sum(not valid and place in accepted for place, valid in enumerate(judged))
        self.valid += sum(judged)
        self.valid_refused += refused
        self.invalid += len(judged) - sum(judged)
        self.invalid_accepted += wrong
        self.exact += not (refused or wrong) and len(judged) == len(labels)
        if refused or wrong:
            self.faults.append(f"{result.case}: {refused} valid refused, {wrong} invalid accepted")


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.coverage",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"how many schemas (default {SAMPLE})")
    parser.add_argument("--all", action="store_true", help="all schemas")
    parser.add_argument("--match", default="", metavar="TEXT", help="only schemas with TEXT in their id")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(DEFAULT_ENGINES), metavar="ENGINE")
    parser.add_argument("--vocabulary", default="qwen35")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument(
        "--from", type=Path, nargs="+", metavar="FILE", dest="earlier", help="show earlier --json FILEs"
    )
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the tables into a Markdown page")
    options = parser.parse_args(arguments)

    groups = read_groups(data_folder() / "real-schemas")
    if options.earlier:
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in options.earlier]
        runs = [{name: Tally(**figures) for name, figures in run.items()} for run in runs]
    else:
        chosen = sample(groups, None if options.all else options.sample)
        records = [record for record in chosen if options.match in record["id"]]
        runs = [judge(records, options.engines, options.vocabulary)]
    every = [record["schema"] for group in groups.values() for record in group]
    page = "\n\n".join([*map(verdict_table, runs), slowest(runs[0]), refusal_table(every)])
    print(page)
    if options.json:
        options.json.write_text(json.dumps({name: vars(tally) for name, tally in runs[0].items()}, indent=1) + "\n")
    if options.update:
        options.update.write_text(updated(options.update.read_text(encoding="utf-8"), page), encoding="utf-8")


def judge(records: Sequence[dict[str, Any]], engines: Sequence[str], vocabulary: str) -> dict[str, Tally]:
    """The verdicts of the engines. All texts go in as ones to be judged without masks, valid ones first."""
    encode = load_vocabulary(vocabulary).encode
    cases, labels = [], {}
    for record in records:
        case = schema_case(record, encode)
        labels[case.id] = [True] * len(case.valid) + [False] * len(case.invalid)
        cases.append(Case(case.id, case.source, [], [*case.valid, *case.invalid]))
    tallies = {name: Tally() for name in engines}
    spoken = monotonic()
    for result in run_plan(Plan(tuple(engines), vocabulary, cases, LIMIT_S), note):
        tallies[result.engine].add(result, labels[result.case])
        if monotonic() - spoken > PROGRESS_SECONDS:
            spoken = monotonic()
            note(", ".join(f"{name}: {tally.exact} exact of {tally.schemas}" for name, tally in tallies.items()))
    return tallies


def verdict_table(tallies: dict[str, Tally]) -> str:
    """A row for each engine."""
    schemas = max(tally.schemas for tally in tallies.values())
    header = [
        f"of {schemas} schemas", "exact", "refused", "failed",
        "valid refused", "invalid accepted", "first mask, ms: p50, p99, max",
    ]  # fmt: skip
    rows = []
    for name, tally in tallies.items():
        times = np.percentile([ms for ms, _ in tally.compile_ms], PERCENTILES)
        rows.append(
            [
                name,
                f"{tally.exact} ({tally.exact / schemas:.1%})",
                str(tally.refused),
                str(tally.failed),
                f"{tally.valid_refused} of {tally.valid}",
                f"{tally.invalid_accepted} of {tally.invalid}",
                ", ".join(map(format_number, times)),
            ]
        )
    return format_table(header, rows)


def slowest(tallies: dict[str, Tally]) -> str:
    """Our slowest schemas."""
    name = next(iter(tallies))
    times = sorted(tallies[name].compile_ms, reverse=True)[:SLOWEST]
    return f"Slowest to the first mask ({name}): " + ", ".join(f"{case} {ms:.0f} ms" for ms, case in times) + "."


def refusal_table(schemas: Sequence[Any]) -> str:
    """Why schemas are refused by us, and at which keywords."""
    counts: Counter[str] = Counter()
    places: dict[str, Counter[str]] = {}
    for schema in schemas:
        verdict = analyse(json.dumps(schema))
        if verdict.status != "supported":
            reason = f"{verdict.status}: {_plain(verdict.reason)}"
            counts[reason] += 1
            places.setdefault(reason, Counter())[_keyword(verdict.pointer)] += 1
    rows = [
        [_short(reason), str(count), ", ".join(f"`{keyword}`" for keyword, _ in places[reason].most_common(MAX_PLACES))]
        for reason, count in counts.most_common()
    ]
    return format_table([f"reason ({sum(counts.values())} of {len(schemas)} schemas refused)", "schemas", "at"], rows)


def _plain(reason: str) -> str:
    """A reason without what is particular to one schema; of a `oneOf` why its branches were not told apart."""
    inner = re.fullmatch(r"branches \d+ and \d+ cannot be proved exclusive \((.*)\)", reason)
    reason = inner[1] if inner else reason
    reason = re.sub(r"'[^']*'", "...", reason)
    reason = re.sub(r", at position \d+", "", reason)
    return re.sub(r"a \$ref hides \w+", "a $ref hides a keyword", reason)


def _keyword(pointer: str) -> str:
    """The last keyword of a pointer; names of properties and definitions are none."""
    found = "(root)"
    tokens = iter(pointer.split("/")[1:])
    for token in tokens:
        if token in KEYWORDS:
            found = token
        if token in NAMING:
            next(tokens, None)
    return found


NAMING = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
"""Keywords whose value names schemas."""


def _short(reason: str) -> str:
    return reason if len(reason) <= REASON_WIDTH else reason[: REASON_WIDTH - 3] + "..."


def updated(page: str, tables: str) -> str:
    """The page with new tables between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


if __name__ == "__main__":
    main()
