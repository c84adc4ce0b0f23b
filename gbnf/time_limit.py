"""How long reading or compiling one source may take.

The limit is of the thread's processor time: a busy machine makes nothing too large. It holds for all that is called
inside, in this thread; where work can grow out of all proportion to its source, `check_time` is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time

from .errors import LimitError

__all__ = ["check_time", "time_limit"]

_end: ContextVar[float] = ContextVar("end of the time limit", default=float("inf"))


class OutOfTime(Exception):
    """The time is up. Not a LimitError on its way out, since where one is caught, another way is tried."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises LimitError from inside after so many seconds of processor time, or when a limit around it is over."""
    token = _end.set(min(_end.get(), thread_time() + seconds))
    try:
        yield
    except OutOfTime:
        raise LimitError("compiling takes longer than the time limit") from None
    finally:
        _end.reset(token)


def check_time() -> None:
    """End what is inside a `time_limit` if the time is up."""
    if thread_time() > _end.get():
        raise OutOfTime
