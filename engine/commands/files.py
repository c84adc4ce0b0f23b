"""Reading what the user points at: text files and standard input, with bounds and clear refusals."""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import InputError

__all__ = ["read_stdin", "read_text"]

MAX_SOURCE_BYTES = 64 << 20
"""The largest grammar, schema or text that is read at all."""


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises InputError with the byte at fault."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SOURCE_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"{path} is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")  # a byte order mark is not part of the text
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        ) from None


def read_stdin() -> bytes:
    """All bytes of standard input. Raises InputError if there are too many."""
    data = sys.stdin.buffer.read(MAX_SOURCE_BYTES + 1)
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"standard input is larger than {MAX_SOURCE_BYTES >> 20} MiB")
    return data
