"""One engine on one case: compile, walk the valid texts twice, judge the invalid ones.

    compile          from the source text to the first filled mask
    first pass       the first walk over a text: each accept, and each mask after it
    second pass      the same tokens with a fresh matcher of the same compiled grammar

The mask before the first token belongs to compiling. A token must be in the mask *and* be
accepted, and at the end the text must be complete: otherwise the text counts as refused.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cases import Case
from .clock import NS_PER_S, process_call_ns
from .engines import Engine, Session
from .footprint import Footprint

__all__ = ["CaseResult", "Walk", "measure"]

Times = NDArray[np.int64]

NOT_IN_MASK, NOT_ACCEPTED, NOT_AT_END = "not in the mask", "not accepted", "not complete at the end"
CUT = "cut"
"""The engine's time for the case was used up."""


@dataclass
class Walk:
    """What happened on one valid text. Times are nanoseconds, one for each token, or fewer if it stopped."""

    tokens: int
    stopped: str = ""
    """Why the walk ended early: empty if the text was accepted."""
    masks_first: Times = field(default_factory=lambda: np.empty(0, np.int64))
    masks_second: Times = field(default_factory=lambda: np.empty(0, np.int64))
    accepts_first: Times = field(default_factory=lambda: np.empty(0, np.int64))
    accepts_second: Times = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass
class CaseResult:
    """What one engine did on one case."""

    engine: str
    case: str
    status: str = "compiled"
    """compiled, refused (the source is not supported), failed (something unforeseen) or killed."""
    message: str = ""
    compile_ns: int = 0
    """CPU time of the process."""
    compile_wall_ns: int = 0
    valid: list[Walk] = field(default_factory=list)
    """In the order of the case's valid texts; texts that were not reached are "cut"."""
    wrongly_accepted: list[int] = field(default_factory=list)
    """Places of the invalid texts that were accepted."""
    invalid: int = 0
    """Invalid texts that were judged."""
    held_bytes: int = 0
    """Growth of the process's resident memory from before the case to after it."""
    peak_bytes: int = 0
    """The largest resident memory during the case, less that before it; 0 where the system cannot tell."""


def measure(name: str, engine: Engine, case: Case, row: NDArray[np.uint32], limit_s: float) -> CaseResult:
    """Run one engine through one case, within about `limit_s` seconds of measured time."""
    result = CaseResult(name, case.id)
    engine.forget()
    gc.collect()
    footprint = Footprint()
    try:
        _measure(engine, case, row, limit_s * NS_PER_S, result)
    except engine.refusals as error:
        result.status = "refused"
        result.message = f"{type(error).__name__}: {error}"
    except Exception as error:
        result.status = "failed"
        place = traceback.extract_tb(error.__traceback__)[-1]
        result.message = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
    result.held_bytes, result.peak_bytes = footprint.growth()
    return result


def _measure(engine: Engine, case: Case, row: NDArray[np.uint32], limit_ns: float, result: CaseResult) -> None:
    compiled: list[Any] = []

    def to_first_mask() -> None:
        compiled.append(engine.compile(case.source))
        engine.session(compiled[0], row).fill()

    _, result.compile_ns, result.compile_wall_ns = process_call_ns(to_first_mask)
    budget = Budget(limit_ns - result.compile_ns)

    for tokens in case.valid:
        walk = Walk(len(tokens))
        result.valid.append(walk)
        walk.masks_first, walk.accepts_first, walk.stopped = run(
            engine, engine.session(compiled[0], row), tokens, budget
        )
        if not walk.stopped:
            walk.masks_second, walk.accepts_second, walk.stopped = run(
                engine, engine.session(compiled[0], row), tokens, budget
            )
    for place, tokens in enumerate(case.invalid):
        if budget.left_ns <= 0:
            break
        result.invalid += 1
        if is_accepted(engine, engine.session(compiled[0], row), tokens, budget):
            result.wrongly_accepted.append(place)


@dataclass(slots=True)
class Budget:
    """Nanoseconds that remain for an engine on a case."""

    left_ns: float


def run(engine: Engine, session: Session, tokens: list[int], budget: Budget) -> tuple[Times, Times, str]:
    """Walk a text. Returns the times of its masks and accepts, and why it stopped early, if it did."""
    masks: list[int] = []
    accepts: list[int] = []
    try:
        stopped = _run(session.fill, session.accept, session, tokens, budget, masks, accepts)
    except engine.rejections:
        stopped = NOT_ACCEPTED
    if not stopped and not session.can_end():
        stopped = NOT_AT_END
    return np.array(masks, dtype=np.int64), np.array(accepts, dtype=np.int64), stopped


def _run(
    fill: Callable[[], Any],
    accept: Callable[[int], bool | None],
    session: Session,
    tokens: list[int],
    budget: Budget,
    masks: list[int],
    accepts: list[int],
) -> str:
    """The timed loop; `bench.clock` says why time is taken this way. Returns why it stopped early."""
    mask = fill()
    row = mask if isinstance(mask, np.ndarray) else session.row
    left = budget.left_ns
    for token in tokens:
        if not row[token >> 5] >> (token & 31) & 1:
            return NOT_IN_MASK
        if left <= 0:
            return CUT
        cpu = thread_time_ns()
        wall = perf_counter_ns()
        accepted = accept(token)
        wall = perf_counter_ns() - wall
        accept_ns = min(wall, thread_time_ns() - cpu)
        accepts.append(accept_ns)
        if accepted is False:
            return NOT_ACCEPTED
        cpu = thread_time_ns()
        wall = perf_counter_ns()
        mask = fill()
        wall = perf_counter_ns() - wall
        mask_ns = min(wall, thread_time_ns() - cpu)
        masks.append(mask_ns)
        if row is not session.row:
            row = mask
        left -= accept_ns + mask_ns
        budget.left_ns = left
    return ""


def is_accepted(engine: Engine, session: Session, tokens: list[int], budget: Budget) -> bool:
    """Whether a text is accepted; no masks are computed."""
    start = thread_time_ns()
    try:
        accepted = all(session.accept(token) is not False for token in tokens) and session.can_end()
    except engine.rejections:
        accepted = False
    budget.left_ns -= thread_time_ns() - start
    return accepted
