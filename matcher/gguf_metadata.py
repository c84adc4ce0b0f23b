"""The metadata of a GGUF file, without its tensors.

GGUF (github.com/ggml-org/ggml, docs/gguf.md) begins with a header and a list of key-value
pairs; the tensors follow and are never touched here: the file is mapped, not read.

    header   "GGUF", version u32, tensor count u64, pair count u64      little-endian
    pair     key string, value type u32, value
    string   length u64, that many bytes
    array    element type u32, length u64, elements

Only the wanted keys are turned into Python values; the others are stepped over.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from infernix.gbnf.errors import VocabularyError

__all__ = ["Cursor", "read_metadata"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Version 1 had 32-bit lengths and was never in wide use."""

STRING, ARRAY = 8, 9
SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
"""Value type -> struct format of the fixed-width types."""


def read_metadata(path: str | PathLike[str], wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The values of the wanted keys; strings stay bytes, arrays become lists.

    Raises VocabularyError for a file that cannot be opened, is no GGUF file or ends early.
    """
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return Cursor(data, str(path)).pairs(wanted)
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise VocabularyError(f"cannot read {path}: {error}") from error


class Cursor:
    """A place in the file that moves forward past what it reads."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self.data = data
        self.name = name
        self.at = 0
        self.key = "the header"
        self.tensor_count = 0

    def pairs(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        """Read the header and all pairs; the wanted ones."""
        if self.take(len(MAGIC)) != MAGIC:
            raise VocabularyError(f"{self.name} is not a GGUF file")
        version = self.scalar("<I")
        if version not in VERSIONS:
            raise VocabularyError(f"{self.name}: GGUF version {version} is not supported")
        self.tensor_count = self.scalar("<Q")
        values: dict[str, Any] = {}
        for _ in range(self.scalar("<Q")):
            self.key = self.string().decode("utf-8", "replace")
            value = self.value(self.scalar("<I"), keep=wanted(self.key))
            if wanted(self.key):
                values[self.key] = value
        return values

    def value(self, kind: int, keep: bool) -> Any:
        """A value of a type; of an array that is not kept, nothing."""
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self.array(keep)
        raise VocabularyError(f"{self.name}: {self.key} has the unknown value type {kind}")

    def array(self, keep: bool) -> list[Any]:
        """An array, empty if it is only stepped over."""
        kind, length = self.scalar("<I"), self.scalar("<Q")
        if kind == STRING:
            if keep:
                return [self.string() for _ in range(length)]
            for _ in range(length):
                self.skip(self.scalar("<Q"))
            return []
        if kind not in SCALARS:
            raise VocabularyError(f"{self.name}: {self.key} is an array of the unsupported type {kind}")
        element = struct.Struct(SCALARS[kind])
        if not keep:
            self.skip(length * element.size)
            return []
        return [value for (value,) in element.iter_unpack(self.take(length * element.size))]

    def string(self) -> bytes:
        """A length and so many bytes."""
        return self.take(self.scalar("<Q"))

    def scalar(self, layout: str) -> Any:
        """One number of a `struct` layout."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def take(self, count: int) -> bytes:
        """The next bytes."""
        start = self.at
        self.skip(count)
        return self.data[start : self.at]

    def skip(self, count: int) -> None:
        """Step over bytes. Raises VocabularyError past the end of the file."""
        if count > len(self.data) - self.at:
            raise VocabularyError(f"{self.name} ends early, inside {self.key}")
        self.at += count
