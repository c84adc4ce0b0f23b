"""A GGUF file: its metadata as Python values, its tensors by name, its data mapped.

The header and the metadata are read by `matcher.gguf_metadata`, which knows the format's
first half. The other half:

    tensors   name, dimensions u32, that many u64 (fastest first), type u32, offset u64
    padding   to a multiple of `general.alignment`
    data      the tensors, at their offsets from here

Source: the GGUF specification (ggml, docs/gguf.md), versions 2 and 3. The `gguf` package
reads the same files, but builds an object for each of 150,000 entries, which takes seconds;
its dequantisation is used in `quants.py`.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infernix.gbnf.errors import VocabularyError
from infernix.matcher.gguf_metadata import Cursor

from ..errors import ModelError

__all__ = ["GgufFile", "TensorInfo", "read_gguf"]

DEFAULT_ALIGNMENT = 32
MAX_DIMENSIONS = 4  # ggml's limit


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


def read_gguf(path: Path) -> GgufFile:
    """Read everything but the data, and map that.

    Raises ModelError if the file cannot be opened, is no GGUF file, or ends early.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise ModelError(f"cannot read {path}: {error}") from None
    cursor = Cursor(data, path.name)
    try:
        metadata = {key: _text(value) for key, value in cursor.pairs(lambda _: True).items()}
        cursor.key = "the table of tensors"
        rows = [_tensor(cursor) for _ in range(cursor.tensor_count)]
    except VocabularyError as error:
        raise ModelError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{path.name} is damaged: {error}") from None
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment <= 0:
        raise ModelError(f"{path.name} is damaged: its alignment is {alignment!r}")
    start = -(-cursor.at // alignment) * alignment
    tensors = {name: TensorInfo(name, shape, kind, start + offset) for name, shape, kind, offset in rows}
    return GgufFile(path, metadata, tensors, memoryview(data))


def _text(value: Any) -> Any:
    """Byte strings as text, in arrays too."""
    if isinstance(value, list):
        return [_text(entry) for entry in value]
    return value.decode() if isinstance(value, bytes) else value


def _tensor(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """One row of the table: name, shape, type, offset within the data."""
    name, dimensions = cursor.string().decode(), cursor.scalar("<I")
    if dimensions > MAX_DIMENSIONS:
        raise ModelError(f"{cursor.name} is damaged: tensor {name!r} has {dimensions} dimensions")
    shape = tuple(reversed([cursor.scalar("<Q") for _ in range(dimensions)]))
    return name, shape, cursor.scalar("<I"), cursor.scalar("<Q")
