"""Reading what the user points at: files and standard input, with bounds and clear refusals."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import InputError

__all__ = ["read_argument", "read_source", "read_stdin"]

MAX_SOURCE_BYTES = 64 << 20
"""The largest grammar, schema or text that is read at all."""


def read_source(path: Path) -> bytes:
    """The bytes of a grammar or schema file; its parser locates what is not UTF-8. Raises InputError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"{path} is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    return data


def read_argument(path: Path) -> tuple[bytes, str]:
    """The same, or standard input for `-`; and what errors call it."""
    return (read_stdin(), "<stdin>") if str(path) == "-" else (read_source(path), str(path))


def read_stdin() -> bytes:
    """All bytes of standard input. Raises InputError if there are too many."""
    data = sys.stdin.buffer.read(MAX_SOURCE_BYTES + 1)
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"standard input is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    return data
