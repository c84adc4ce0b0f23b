"""Reading a GGUF file: the header in one pass, the tensors from a memory map.

GGUF is llama.cpp's one-file checkpoint: a header of typed key-value pairs (the
hyper-parameters, the whole tokenizer, the chat template), the table of tensors, and
then the tensor data, aligned. All integers are little-endian.

    "GGUF"  version  tensor count  pair count
    pairs:    key, type, value
    tensors:  name, dimensions (fastest first), type, offset into the data
    padding to `general.alignment`, data

Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3. The `gguf`
package reads the same files, but builds an object for each of 150,000 fields, which
takes seconds; its dequantisation is used in `quants.py`.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelError

__all__ = ["GgufFile", "TensorInfo", "read_gguf"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_DIMENSIONS = 4  # ggml's limit

SCALAR_FORMATS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
STRING = 8
ARRAY = 9


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where one tensor lies: `shape` is slowest dimension first (torch's order), `offset` in bytes."""

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int


@dataclass(frozen=True)
class GgufFile:
    """The metadata by key, the tensors by name, and the mapped bytes of the whole file."""

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    data: memoryview

    def require(self, key: str) -> Any:
        """The metadata value of `key`; a ModelError if the file lacks it."""
        if key not in self.metadata:
            raise ModelError(f"{self.path.name}: the metadata lacks {key!r}")
        return self.metadata[key]


class Cursor:
    """A position in the header, moved by every read."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.position = 0

    def scalar(self, layout: str) -> Any:
        """The next value of a `struct` layout of one field."""
        (value,) = struct.unpack_from(layout, self.data, self.position)
        self.position += struct.calcsize(layout)
        return value

    def string(self) -> str:
        """A length-prefixed UTF-8 string."""
        length = self.scalar("<Q")
        end = self.position + length
        if end > len(self.data):
            raise ValueError("a string runs past the end of the file")
        text = str(self.data[self.position : end], "utf-8")
        self.position = end
        return text

    def value(self, type_id: int) -> Any:
        """A metadata value: a scalar, a string, or a list of either."""
        if type_id == STRING:
            return self.string()
        if type_id == ARRAY:
            return self.array()
        if type_id not in SCALAR_FORMATS:
            raise ValueError(f"unknown value type {type_id}")
        return self.scalar(SCALAR_FORMATS[type_id])

    def array(self) -> list[Any]:
        """A homogeneous array; numbers are unpacked in one step."""
        type_id, count = self.scalar("<I"), self.scalar("<Q")
        if count > len(self.data) - self.position:
            raise ValueError("an array runs past the end of the file")
        if type_id not in SCALAR_FORMATS:
            return [self.value(type_id) for _ in range(count)]
        layout = f"<{count}{SCALAR_FORMATS[type_id][1:]}"
        values = struct.unpack_from(layout, self.data, self.position)
        self.position += struct.calcsize(layout)
        return list(values)

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        """One row of the tensor table: name, shape, type, offset within the data section."""
        name, dimensions = self.string(), self.scalar("<I")
        if dimensions > MAX_DIMENSIONS:
            raise ValueError(f"tensor {name!r} has {dimensions} dimensions")
        shape = tuple(reversed([self.scalar("<Q") for _ in range(dimensions)]))
        return name, shape, self.scalar("<I"), self.scalar("<Q")


def read_gguf(path: Path) -> GgufFile:
    """Read the header of a GGUF file and map its data.

    Raises ModelError if the file cannot be opened, is no GGUF file, or ends early.
    """
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise ModelError(f"cannot read {path}: {error}") from None
    if data[:4] != MAGIC:
        raise ModelError(f"{path.name} is not a GGUF file")
    try:
        return _parse(path, data)
    except (struct.error, ValueError, MemoryError, RecursionError) as error:
        raise ModelError(f"{path.name} is damaged: {error}") from None


def _parse(path: Path, data: memoryview) -> GgufFile:
    cursor = Cursor(data)
    cursor.position = len(MAGIC)
    version = cursor.scalar("<I")
    if version not in VERSIONS:
        raise ValueError(f"version {version} is not one of {VERSIONS}")
    tensor_count, pair_count = cursor.scalar("<Q"), cursor.scalar("<Q")
    metadata: dict[str, Any] = {}
    for _ in range(pair_count):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.scalar("<I"))
    rows = [cursor.tensor() for _ in range(tensor_count)]
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0:
        raise ValueError(f"alignment {alignment!r}")
    start = -(-cursor.position // alignment) * alignment
    tensors = {name: TensorInfo(name, shape, kind, start + offset) for name, shape, kind, offset in rows}
    return GgufFile(path, metadata, tensors, data)
