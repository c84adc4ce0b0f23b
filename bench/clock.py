"""How time is taken.

A call's time is the smaller of wall time and the thread's CPU time: on a machine with other
work, wall time counts waiting for a core, and CPU time counts the two system calls that read
it. The wall clock is read inside, so its reading is the tight one when nothing interferes.

Compiling is timed in CPU time of the whole process, because an engine may compile in
threads of its own, which the calling thread's clock does not see.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns, process_time_ns, thread_time_ns
from typing import Any, TypeVar

__all__ = ["NS_PER_MS", "NS_PER_S", "NS_PER_US", "call_ns", "process_call_ns"]

NS_PER_US = 1e3
NS_PER_MS = 1e6
NS_PER_S = 1e9

Result = TypeVar("Result")


def call_ns(call: Callable[..., Result], *arguments: Any) -> tuple[Result, int]:
    """The result of a call and its time: min(wall, CPU of this thread), nanoseconds.

    The time includes passing `arguments`, which costs some 30 ns more than a plain call.
    """
    cpu = thread_time_ns()
    wall = perf_counter_ns()
    result = call(*arguments)
    wall = perf_counter_ns() - wall
    cpu = thread_time_ns() - cpu
    return result, min(wall, cpu)


def process_call_ns(call: Callable[[], Result]) -> tuple[Result, int, int]:
    """The result of a call, the CPU time of all threads of the process, and the wall time, nanoseconds."""
    cpu = process_time_ns()
    wall = perf_counter_ns()
    result = call()
    wall = perf_counter_ns() - wall
    return result, process_time_ns() - cpu, wall
