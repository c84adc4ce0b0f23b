"""Locks and `os.fork`: a child has one thread, and must not inherit the locks of the others.

A lock that another thread holds when a process forks is never given back in the child, and what it guards may be
half written. So the thread that forks first takes the locks that are `held_at_fork`, waiting for whoever works
under them, and both processes go on from a whole state. Locks that are taken while another one is held have a
higher rank.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar
from weakref import WeakSet

__all__ = ["ONE_STORE", "STORES", "VOCABULARY", "held_at_fork"]

STORES, ONE_STORE, VOCABULARY = range(3)

Lock = TypeVar("Lock")

_locks: tuple[WeakSet[Any], ...] = (WeakSet(), WeakSet(), WeakSet())
"""By rank."""
_taken: list[Any] = []


def held_at_fork(lock: Lock, rank: int) -> Lock:
    """The same lock, which the thread that forks will hold meanwhile."""
    _locks[rank].add(lock)
    return lock


def _take() -> None:
    for rank in _locks:
        for lock in list(rank):  # with the lower ranks held, no lock of this one can be added
            lock.acquire()
            _taken.append(lock)


def _give_back() -> None:
    taken = _taken[::-1]
    _taken.clear()  # once the first lock is given back, another thread may fork
    for lock in taken:
        lock.release()


os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)
