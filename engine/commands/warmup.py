"""`infernix warmup`: compile the jitted code once, so that no later command has to.

Kernels are compiled when they are first called with arrays of some type, and kept on disk. Most of the time goes into
parts that need nothing of each other, which are compiled first, on several cores (`compile_ahead`). Then each
operation of a matcher is called once (`matcher.warm_up`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .console import note, reporting

if TYPE_CHECKING:
    from infernix.matcher.vocabulary import Vocabulary

__all__ = ["ensure_warm", "load_kernels", "warmup"]


@reporting
def warmup() -> None:
    """Compile the jitted code once and keep it in the user cache.

    The first command that needs the matcher does the same. Takes one to three minutes the first
    time (the more cores, the less), a few seconds after that.
    """
    _run_with_progress()


def ensure_warm() -> None:
    """Warm up, visibly, if that was never done for this version of the code."""
    if _is_cold():
        note("first run of this version: compiling machine code, one to three minutes, once")
        _run_with_progress()


def load_kernels(vocabulary: Vocabulary) -> None:
    """Load compiled kernels and the vocabulary's tables, by a few masks that nobody uses.

    Both are done on first use; then the first mask of a text would seem to take seconds.
    """
    import infernix
    from infernix.matcher.warm_up import ONE_OF_EVERYTHING, TEXT

    # Nothing is known of the vocabulary's token ids.
    grammar = ONE_OF_EVERYTHING.replace("| Token(65, 66) | ExcludeToken(67)", "")
    matcher = infernix.Matcher(infernix.compile_gbnf(grammar, vocabulary))
    for byte in TEXT:
        matcher.mask_row()
        matcher.accept_bytes(bytes([byte]))


def _is_cold() -> bool:
    from infernix.matcher.jit import JIT

    return JIT and not _marker().exists()


def _marker() -> Path:
    """A file beside the compiled kernels that says that all of them are there."""
    from infernix.matcher.jit import KERNEL_FOLDER

    return KERNEL_FOLDER / "complete"


def _run_with_progress() -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    from infernix.matcher.first_use import LOGGER
    from infernix.matcher.jit import KERNEL_FOLDER
    from infernix.matcher.kernel_cache import can_keep
    from infernix.matcher.warm_up import warm_up_steps

    from .compile_ahead import compile_parts, parts, spare_cores

    LOGGER.disabled = True  # it would say the same, once more
    columns = (SpinnerColumn(), TextColumn("{task.description:<28}"), BarColumn())
    columns += (MofNCompleteColumn(), TimeElapsedColumn())  # type: ignore[assignment]
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task("loading", total=None)
        work, steps = parts(), list(warm_up_steps())
        progress.update(task, total=len(work) + len(steps))
        compile_parts(
            work,
            helpers=spare_cores() if _is_cold() and can_keep(KERNEL_FOLDER) else 0,
            started=lambda name: progress.update(task, description=name),
            done=lambda: progress.advance(task),
        )
        for name, run in steps:
            progress.update(task, description=name)
            run()
            progress.advance(task)
        progress.update(task, description="ready")
    try:
        _marker().parent.mkdir(parents=True, exist_ok=True)
        _marker().touch()
    except OSError:  # a read-only cache keeps nothing, and the next process compiles again
        note("the compiled code could not be kept: the cache folder cannot be written")
