"""What a campaign shows while it runs: on a terminal a live display, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .campaign import State
from .job import ITSELF

__all__ = ["progress", "summary"]

LINE_SECONDS = 10.0
LIVE_SECONDS = 0.25
MOST_LINES = 12


def summary(state: State) -> str:
    """One line about a campaign."""
    rate = state.problems / state.seconds if state.seconds else 0.0
    known = f"{state.known.total()} known ({len(state.known)} kinds)"
    unknown = f"{sum(state.unknown.values())} unknown ({len(state.unknown)} kinds)"
    return (
        f"{state.seconds:.0f} s  {state.problems} cases  {rate:.1f} cases/s  {len(state.features)} features"
        f"  differences: {known}, {unknown}"
    )


@contextmanager
def progress(total_seconds: float) -> Iterator[Callable[[State], None]]:
    """A function to call with the state as often as one likes."""
    if sys.stderr.isatty():
        yield from _live(total_seconds)
        return
    shown = time.monotonic()

    def line(state: State) -> None:
        nonlocal shown
        if time.monotonic() - shown > LINE_SECONDS:
            shown = time.monotonic()
            print(summary(state), file=sys.stderr, flush=True)

    yield line


def _live(total_seconds: float) -> Iterator[Callable[[State], None]]:
    from rich.console import Console
    from rich.live import Live

    shown = 0.0
    began: float | None = None
    with Live(console=Console(file=sys.stderr), auto_refresh=False) as live:

        def draw(state: State) -> None:
            nonlocal shown, began
            began = state.seconds if began is None else began
            if time.monotonic() - shown > LIVE_SECONDS:
                shown = time.monotonic()
                live.update(_table(state, total_seconds - (state.seconds - began)), refresh=True)

        yield draw


def _table(state: State, left: float) -> Any:
    from rich.table import Table

    table = Table(show_header=False, box=None)
    table.add_row("left", f"{max(left, 0):.0f} s")
    rate = state.problems / state.seconds if state.seconds else 0.0
    table.add_row("cases", f"{state.problems}  ({rate:.1f}/s)")
    table.add_row("features", str(len(state.features)))
    for name, taken in sorted(state.taken.items()):
        refused = state.refusals[name]
        table.add_row(name, f"{taken} taken, {refused} refused, {state.engine_seconds[name]:.0f} s of processor")
    table.add_row(ITSELF, f"{state.engine_seconds[ITSELF]:.0f} s of processor")
    for name, count in state.known.most_common(MOST_LINES):
        table.add_row("known", f"{name}  {count}")
    for name, count in list(state.unknown.items())[-MOST_LINES:]:
        table.add_row("[bold red]unknown[/]", f"{name}  {count}")
    return table
