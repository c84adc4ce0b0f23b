"""From the results of single cases to the figures of the tables.

Engines are compared on what all of them can do: a text is *common* if every engine compiled its
schema and walked the text to its end, a case is common if one of its texts is. Compile times
are those of the common cases, masks and accepts those of the common texts. Verdicts (refused,
wrongly refused, wrongly accepted, exact) count over all cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .clock import NS_PER_MS, NS_PER_US
from .repeat import fastest
from .walk import CUT, CaseResult, Walk

__all__ = ["PERCENTILES", "EngineSummary", "Results", "describe", "geometric_mean"]

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}


def describe(values: NDArray[Any]) -> dict[str, float]:
    """n, mean, percentiles (linear interpolation) and max; only n where there are no values."""
    if not len(values):
        return {"n": 0}
    figures = {"n": len(values), "mean": float(np.mean(values))}
    for name, value in zip(PERCENTILES, np.percentile(values, list(PERCENTILES.values())), strict=True):
        figures[name] = float(value)
    return figures | {"max": float(np.max(values))}


def geometric_mean(values: NDArray[Any]) -> float:
    """exp(mean(log)); NaN where there are no values."""
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


@dataclass
class EngineSummary:
    """All figures of one engine. Arrays hold the common cases and texts only."""

    name: str
    compile_ms: NDArray[np.float64]
    mask_first_us: NDArray[np.float64]
    mask_second_us: NDArray[np.float64]
    accept_us: NDArray[np.float64]
    accept_second_us: NDArray[np.float64]
    total_ms: NDArray[np.float64]
    """For each common case: compile, and the masks and accepts of the first common text."""
    refused: int = 0
    wrongly_refused: int = 0
    wrongly_accepted: int = 0
    exact: int = 0
    cut: int = 0
    """Valid texts given up because the engine's time for the case was used up."""
    valid: int = 0
    """Valid texts that were judged."""
    invalid: int = 0
    held_mib: float = 0.0
    peak_mib: float = 0.0


@dataclass
class Results:
    """The results of a run, by case and engine."""

    engines: Sequence[str]
    by_case: dict[str, dict[str, CaseResult]] = field(default_factory=dict)

    def add(self, result: CaseResult) -> None:
        """Record one result; with an earlier one of the same engine and case, the smallest times of both."""
        results = self.by_case.setdefault(result.case, {})
        earlier = results.get(result.engine)
        results[result.engine] = result if earlier is None else fastest(earlier, result)

    def of(self, engine: str) -> list[CaseResult]:
        """All results of one engine."""
        return [results[engine] for results in self.by_case.values() if engine in results]

    def common(self, among: Iterable[str] | None = None) -> dict[str, list[int]]:
        """Case -> places of its common texts, without the cases that have none.

        `among` keeps only these cases.
        """
        kept = self.by_case if among is None else {case: self.by_case[case] for case in among if case in self.by_case}
        found = {case: self._common_texts(results) for case, results in kept.items()}
        return {case: places for case, places in found.items() if places}

    def _common_texts(self, results: Mapping[str, CaseResult]) -> list[int]:
        if any(name not in results or results[name].status != "compiled" for name in self.engines):
            return []
        texts = zip(*(results[name].valid for name in self.engines), strict=True)
        return [place for place, walks in enumerate(texts) if not any(walk.stopped for walk in walks)]

    def summary(self, engine: str, common: Mapping[str, list[int]]) -> EngineSummary:
        """The figures of one engine over the common cases."""
        results = {case: self.by_case[case][engine] for case in common}
        walks = [results[case].valid[place] for case, places in common.items() for place in places]
        summary = EngineSummary(
            engine,
            np.array([result.compile_ns for result in results.values()]) / NS_PER_MS,
            _joined(walk.masks_first for walk in walks),
            _joined(walk.masks_second for walk in walks),
            _joined(walk.accepts_first for walk in walks),
            _joined(walk.accepts_second for walk in walks),
            np.array([_total_ns(results[case], places[0]) for case, places in common.items()]) / NS_PER_MS,
        )
        for result in self.of(engine):
            _count(summary, result)
        return summary


def _joined(times: Iterable[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Nanoseconds of many texts -> microseconds."""
    arrays = list(times)
    return np.concatenate(arrays) / NS_PER_US if arrays else np.empty(0)


def _total_ns(result: CaseResult, place: int) -> int:
    walk: Walk = result.valid[place]
    return int(result.compile_ns + walk.masks_first.sum() + walk.accepts_first.sum())


def _count(summary: EngineSummary, result: CaseResult) -> None:
    """Add the verdicts of one case."""
    summary.held_mib += result.held_bytes / (1 << 20)
    summary.peak_mib = max(summary.peak_mib, result.peak_bytes / (1 << 20))
    if result.status != "compiled":
        summary.refused += 1
        return
    cut = sum(walk.stopped == CUT for walk in result.valid)
    refused = sum(bool(walk.stopped) for walk in result.valid) - cut
    summary.cut += cut
    summary.valid += len(result.valid) - cut
    summary.invalid += result.invalid
    summary.wrongly_refused += refused
    summary.wrongly_accepted += len(result.wrongly_accepted)
    summary.exact += not (refused or cut or result.wrongly_accepted)
