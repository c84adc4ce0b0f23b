"""Plots of the distributions: which share of calls took at most so long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .summary import EngineSummary

__all__ = ["plot_distributions"]

PLOTS = {
    "compile_ms": ("schema to first mask", "ms of CPU time"),
    "mask_first_us": ("mask, first pass", "us"),
    "mask_second_us": ("mask, second pass", "us"),
    "accept_us": ("accept", "us"),
}
SIZE_INCHES = (7.0, 4.0)
DOTS_PER_INCH = 150
MOST_POINTS = 2000
SMALLEST_TAIL = 1e-4


def plot_distributions(summaries: Sequence[EngineSummary], folder: Path) -> None:
    """Write NAME.png (share of calls that took at most x) and NAME_tail.png (share that took longer)."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, unit) in PLOTS.items():
        for tail in (False, True):
            figure, axes = plt.subplots(figsize=SIZE_INCHES, layout="constrained")
            for summary in summaries:
                _draw(axes, getattr(summary, name), summary.name, tail)
            axes.set(xscale="log", xlabel=f"{title}, {unit}")
            axes.set(ylabel="share that takes longer" if tail else "share that takes at most so long")
            if tail:
                axes.set(yscale="log", ylim=(SMALLEST_TAIL, 1))
            axes.grid(which="major", alpha=0.3)
            axes.legend()
            figure.savefig(folder / f"{name}{'_tail' if tail else ''}.png", dpi=DOTS_PER_INCH)
            plt.close(figure)


def _draw(axes: Any, values: NDArray[np.float64], label: str, tail: bool) -> None:
    """One curve, through at most MOST_POINTS of its points; the largest values are all kept."""
    ordered = np.sort(values)
    share = np.arange(1, len(ordered) + 1) / max(1, len(ordered))
    if len(ordered) > MOST_POINTS:
        half = MOST_POINTS // 2
        kept = np.unique(
            np.concatenate(
                [np.linspace(0, len(ordered) - 1, half), np.arange(len(ordered) - half, len(ordered))]
            ).astype(int)
        )
        ordered, share = ordered[kept], share[kept]
    axes.step(ordered, 1 - share if tail else share, where="post", label=label)
