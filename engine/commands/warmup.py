"""`infernix warmup`: compile the jitted code once, so that no later command has to.

Kernels are compiled when they are first called with arrays of some type, and kept on disk. Most of the time goes into
parts that need nothing of each other, which are compiled first, on several cores (`compile_ahead`). Then the
warm-up calls each operation of a matcher once, on grammars that have one of everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import note, reporting

if TYPE_CHECKING:
    from infernix.matcher.vocabulary import Vocabulary

__all__ = ["ensure_warm", "load_kernels", "warmup"]

ONE_OF_EVERYTHING = r"""
root    ::= item ("," item)* "!"
item    ::= [a-zé]{2,5} | "(" root ")" | "" | Token(65, 66) | ExcludeToken(67)
"""
THROW_AWAY = ONE_OF_EVERYTHING.replace("| Token(65, 66) | ExcludeToken(67)", "")
"""The same for a vocabulary of which nothing is known."""
TEXT = b"ab,(cd!),e"
ANY_KEY_BUT_THESE = '{"properties": {"id": {"const": 1}}}'
"""Keys that are not declared make automata with fallbacks, which GBNF cannot write."""
OBJECT = b'{"id": 1, "k": 2}'

Step = tuple[str, Callable[[], Any]]


@reporting
def warmup() -> None:
    """Compile the jitted code once and keep it in the user cache.

    The first command that needs the matcher does the same. Takes a minute or two the first
    time (the more cores, the less), a few seconds after that.
    """
    _run_with_progress()


def ensure_warm() -> None:
    """Warm up, visibly, if that was never done for this version of the code."""
    if _is_cold():
        note("first run of this version: compiling machine code, a minute or two, once")
        _run_with_progress()


def load_kernels(vocabulary: Vocabulary) -> None:
    """Load compiled kernels and the vocabulary's tables, by a few masks that nobody uses.

    Both are done on first use; then the first mask of a text would seem to take seconds.
    """
    import infernix

    matcher = infernix.Matcher(infernix.compile_gbnf(THROW_AWAY, vocabulary))
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

    from .compile_ahead import compile_parts, parts, spare_cores

    LOGGER.disabled = True  # it would say the same, once more
    columns = (SpinnerColumn(), TextColumn("{task.description:<28}"), BarColumn())
    columns += (MofNCompleteColumn(), TimeElapsedColumn())  # type: ignore[assignment]
    with Progress(*columns, console=Console(file=sys.stderr)) as progress:
        task = progress.add_task("loading", total=None)
        work, steps = parts(), list(_steps())
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


def _steps() -> Iterator[Step]:
    """Named pieces of work, in the order in which they must run."""
    state: dict[str, Any] = {}

    def prepare() -> None:
        import numpy as np

        import infernix

        state["vocabulary"] = vocabulary = infernix.Vocabulary.byte_level()
        state["row"] = np.zeros(vocabulary.words, dtype=np.uint32)
        state["compiled"] = infernix.compile_gbnf(ONE_OF_EVERYTHING, vocabulary)

    def start() -> None:
        import infernix

        state["matcher"] = infernix.Matcher(state["compiled"])

    def accept() -> None:
        for byte in TEXT:
            state["matcher"].accept_token(byte)
            state["matcher"].fill_mask(state["row"])

    def accept_object() -> None:
        import infernix

        matcher = infernix.Matcher(infernix.compile_json_schema(ANY_KEY_BUT_THESE, state["vocabulary"]))
        for _ in range(2):  # the second time masks are known, and only the words that differ are written
            for byte in OBJECT:
                matcher.mask_row()
                matcher.accept_token(byte)
            matcher.reset()

    def move() -> None:
        # As when the heap is full: the matcher carries its sets over to a new one.
        state["compiled"].store.retire(state["matcher"].live_sets(), fresh_masks=False)
        state["matcher"].find_forced_bytes()

    yield "compiling a grammar", prepare
    yield "first set", start
    yield "first mask", lambda: state["matcher"].fill_mask(state["row"])
    yield "tokens", accept
    yield "forced bytes", lambda: state["matcher"].find_forced_bytes()
    yield "bytes", lambda: state["matcher"].fork().accept_bytes(b"x!")
    yield "JSON Schema", accept_object
    yield "a new heap", move
