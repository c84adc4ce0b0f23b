"""Small values: classes of a few fields that are compared and hashed by content, and never changed.

A frozen dataclass sets each field through `object.__setattr__`, which makes it three times as slow to
construct as a plain one; and a grammar of a real schema is thousands of small values. So a record is frozen
for the type checker, which refuses assignments to its fields, and a plain dataclass with a hash when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

__all__ = ["record"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A class decorator: a dataclass with slots, equality and a hash, whose fields nobody assigns to."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
