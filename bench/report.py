"""Tables for people, JSON for programs, and a Markdown page for whoever makes an engine faster."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .cases import Case
from .clock import NS_PER_MS, NS_PER_US
from .engines import engine_class
from .summary import PERCENTILES, EngineSummary, Results, describe, geometric_mean
from .walk import CaseResult

__all__ = ["as_json", "details", "format_number", "format_table", "note", "tables", "versions"]

COLUMNS = ("mean", *PERCENTILES, "max")
FIGURES = {
    "compile_ms": "schema to first mask, ms of CPU time",
    "mask_first_us": "mask, first pass, us",
    "mask_second_us": "mask, second pass, us",
    "accept_us": "accept, first pass, us",
    "accept_second_us": "accept, second pass, us",
}
SLOWEST = 10
MESSAGE_WIDTH = 160
CONTEXT_BYTES = 60


def versions(engines: Iterable[str]) -> dict[str, str]:
    """Package -> version, with Python and numba."""
    import numba

    classes = [engine_class(name) for name in engines]
    found = {engine.package: engine.version() for engine in classes}
    return found | {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}


def as_json(
    summaries: Sequence[EngineSummary], common: Mapping[str, list[int]], about: Mapping[str, Any]
) -> dict[str, Any]:
    """The figures of a run in plain data; `about` (versions, vocabulary, ...) is taken over."""
    engines = {}
    for summary in summaries:
        figures: dict[str, Any] = {name: describe(getattr(summary, name)) for name in FIGURES}
        figures["total_ms"] = describe(summary.total_ms) | {"geometric_mean": geometric_mean(summary.total_ms)}
        for count in ("refused", "wrongly_refused", "wrongly_accepted", "exact", "cut", "valid", "invalid"):
            figures[count] = getattr(summary, count)
        figures["held_mib"] = round(summary.held_mib, 1)
        figures["peak_mib"] = round(summary.peak_mib, 1)
        engines[summary.name] = figures
    return {
        **about,
        "engines": engines,
        "common": len(common),
        "common_texts": sum(map(len, common.values())),
        "common_cases": sorted(common),
    }


def tables(data: Mapping[str, Any]) -> str:
    """What `as_json` holds, as Markdown tables."""
    engines: Mapping[str, Any] = data["engines"]
    parts = [
        ", ".join(f"{name} {version}" for name, version in data["versions"].items()),
        f"{data['cases']} cases, {data['common']} of them common to all engines"
        f" with {data['common_texts']} texts; masks {data['mask_width']} tokens wide{_repeats(data)}.",
    ]
    for name, title in FIGURES.items():
        rows = [[engine, *_row(figures[name], COLUMNS)] for engine, figures in engines.items()]
        parts.append(format_table([title, *COLUMNS], rows))
    parts += [_totals(engines), _verdicts(engines), _ratios(engines)]
    return "\n\n".join(part for part in parts if part)


def _repeats(data: Mapping[str, Any]) -> str:
    repeat = data.get("repeat", 1)
    return f"; of each call the smallest of its {repeat} times" if repeat > 1 else ""


def _row(figures: Mapping[str, float], columns: Iterable[str]) -> list[str]:
    return [format_number(figures[column]) if column in figures else "-" for column in columns]


def format_number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value != value:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    table = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = [
        " | ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in table
    ]
    rule = " | ".join(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    return "\n".join(f"| {line} |" for line in [lines[0], rule, *lines[1:]])


def _totals(engines: Mapping[str, Any]) -> str:
    rows = [
        [name, format_number(figures["total_ms"]["geometric_mean"]), *_row(figures["total_ms"], COLUMNS)]
        for name, figures in engines.items()
    ]
    return format_table(["compile + masks + accepts of one text, ms", "geometric mean", *COLUMNS], rows)


def _verdicts(engines: Mapping[str, Any]) -> str:
    head = [
        "verdicts",
        "not compiled",
        "fully right",
        "valid refused",
        "invalid accepted",
        "cut",
        "held MiB",
        "peak MiB",
    ]
    rows = [
        [
            name,
            str(figures["refused"]),
            str(figures["exact"]),
            f"{figures['wrongly_refused']} of {figures['valid']}",
            f"{figures['wrongly_accepted']} of {figures['invalid']}",
            str(figures["cut"]),
            format_number(figures["held_mib"]),
            format_number(figures["peak_mib"]),
        ]
        for name, figures in engines.items()
    ]
    return format_table(head, rows)


def _ratios(engines: Mapping[str, Any]) -> str:
    """How many times longer each other engine takes than the first one."""
    if not engines:
        return ""
    (first, ours), *others = engines.items()
    columns = [("compile_ms", "mean"), ("compile_ms", "p50"), ("compile_ms", "p99")]
    columns += [(name, column) for name in ("mask_first_us", "mask_second_us") for column in ("mean", "p50", "p99")]
    columns += [("accept_us", "mean"), ("total_ms", "geometric_mean")]
    rows = []
    for name, figures in others:
        values = [figures[figure].get(column, np.nan) / ours[figure].get(column, np.nan) for figure, column in columns]
        rows.append([name, *(f"{format_number(value)}x" for value in values)])
    if not rows:
        return ""
    head = [
        f"time over that of {first}",
        *(f"{figure.rsplit('_', 1)[0]} {column}" for figure, column in columns),
    ]
    return format_table(head, rows)


def details(results: Results, cases: Sequence[Case], tokens: Sequence[bytes]) -> str:
    """For each engine: its slowest cases and texts, and every verdict that is wrong, by schema id.

    `tokens` are the bytes of the ids, to show where a text was refused.
    """
    by_id = {case.id: case for case in cases}
    return "\n\n".join(
        "\n".join([f"## {name}", *_slowest(results.of(name)), *_wrong(results.of(name), by_id, tokens)])
        for name in results.engines
    )


def _slowest(results: Sequence[CaseResult]) -> list[str]:
    """The slowest compilations and masks, as list items."""
    lines = ["", "Slowest to the first mask (ms of CPU time):", ""]
    for result in sorted(results, key=lambda result: -result.compile_ns)[:SLOWEST]:
        lines.append(f"- {format_number(result.compile_ns / NS_PER_MS)}  {result.case}")
    masks = [
        (int(times[place]) / NS_PER_US, f"{result.case}, text {text}, after token {place}")
        for result in results
        for text, times in enumerate(walk.masks_first for walk in result.valid)
        for place in np.argsort(times)[::-1][:SLOWEST].tolist()
    ]
    lines += ["", "Slowest masks of the first pass (us):", ""]
    lines += [f"- {format_number(time)}  {place}" for time, place in sorted(masks, reverse=True)[:SLOWEST]]
    return lines


def _wrong(results: Sequence[CaseResult], cases: Mapping[str, Case], tokens: Sequence[bytes]) -> list[str]:
    """Sources that were not compiled and texts that were judged wrongly, as list items."""
    lines = ["", "Wrong or missing:", ""]
    for result in results:
        if result.status != "compiled":
            lines.append(f"- {result.status}  {result.case}: {result.message[:MESSAGE_WIDTH]}")
        for text, walk in enumerate(result.valid):
            if walk.stopped:
                ids = cases[result.case].valid[text]
                done = len(walk.masks_second) or len(walk.masks_first)
                before = b"".join(tokens[token] for token in ids[:done])[-CONTEXT_BYTES:]
                after = b"".join(tokens[token] for token in ids[done:])[:CONTEXT_BYTES]
                where = f"{walk.stopped} after {done} of {walk.tokens} tokens"
                lines.append(f"- valid text {text} of {result.case}: {where}: {_text(before)} <HERE> {_text(after)}")
        lines += [f"- accepted invalid text {place} of {result.case}" for place in result.wrongly_accepted]
    return lines


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\n", " ")


def note(message: str) -> None:
    """A line of progress on standard error."""
    print(message, file=sys.stderr, flush=True)
