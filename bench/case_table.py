"""The benchmarks with few, named cases: a table for each figure, a row a case, a column an engine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case
from .clock import NS_PER_MS, NS_PER_US
from .engines import ENGINES
from .report import format_number, format_table, note, versions
from .runner import Plan, run_plan
from .summary import Results, describe
from .vocabularies import VOCABULARIES, load_vocabulary
from .walk import CaseResult

__all__ = ["run_case_table"]

LIMIT_S = 60.0
FIGURES: dict[str, tuple[str, ...]] = {
    "compile_ms": ("mean",),
    "mask_first_us": ("p50", "p99", "max"),
    "mask_second_us": ("p50", "p99"),
    "accept_us": ("p50", "p99"),
}
TITLES = {
    "compile_ms": "source to first mask, ms of CPU time",
    "mask_first_us": "mask, first pass, us",
    "mask_second_us": "mask, second pass, us",
    "accept_us": "accept, first pass, us",
}


def run_case_table(
    program: str, description: str | None, make: Callable[[Callable[[str], list[int]]], list[Case]],
    arguments: list[str] | None,
) -> None:  # fmt: skip
    """The whole program: options, measurement, tables, JSON."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench.{program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--engines", "--only", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--match", default="", metavar="TEXT", help="only cases with TEXT in their name")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="qwen35")
    parser.add_argument("--seconds-per-case", type=float, default=LIMIT_S, metavar="SECONDS")
    options = parser.parse_args(arguments)

    cases = [case for case in make(load_vocabulary(options.vocabulary).encode) if options.match in case.id]
    plan = Plan(tuple(options.engines), options.vocabulary, cases, options.seconds_per_case)
    results = Results(plan.engines)
    for result in run_plan(plan, note):
        note(f"{result.case}: {result.engine} {result.status}")
        results.add(result)
    data = {
        "versions": versions(plan.engines),
        "vocabulary": options.vocabulary,
        "cases": {case.id: {name: figures(results.by_case[case.id][name]) for name in plan.engines} for case in cases},
    }
    print(tables(data["cases"], plan.engines))
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n")


def figures(result: CaseResult) -> dict[str, Any]:
    """The figures of one engine on one case, over all texts as far as it came."""
    walked = {
        "mask_first_us": [walk.masks_first for walk in result.valid],
        "mask_second_us": [walk.masks_second for walk in result.valid],
        "accept_us": [walk.accepts_first for walk in result.valid],
    }
    compiled = [result.compile_ns / NS_PER_MS] if result.status == "compiled" else []
    found: dict[str, Any] = {"status": result.status, "message": result.message}
    found["stopped"] = [walk.stopped for walk in result.valid if walk.stopped]
    found["compile_ms"] = describe(np.array(compiled))
    for name, times in walked.items():
        found[name] = describe(np.concatenate([np.empty(0), *times]) / NS_PER_US)
    return found


def tables(cases: dict[str, dict[str, Any]], engines: Iterable[str]) -> str:
    """One table for each figure; a star marks a text that the engine refused or did not finish."""
    names = list(engines)
    parts = []
    for figure, columns in FIGURES.items():
        unit = "" if columns == ("mean",) else f": {' / '.join(columns)}"
        rows = [
            [case, *(_cell(by_engine[name], figure, columns) for name in names)] for case, by_engine in cases.items()
        ]
        parts.append(format_table([f"{TITLES[figure]}{unit}", *names], rows))
    return "\n\n".join(parts)


def _cell(found: dict[str, Any], figure: str, columns: tuple[str, ...]) -> str:
    if found["status"] != "compiled":
        return str(found["status"])
    if not found[figure]["n"]:
        return "-"
    return " / ".join(format_number(found[figure][column]) for column in columns) + "*" * bool(found["stopped"])
