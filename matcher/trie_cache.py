"""Tries of large vocabularies, kept in the user's cache folder between processes.

Building the trie of 250,000 tokens takes half a second, reading it back a tenth of that. A file is named
by the content of the vocabulary, in a folder named by the version of the code. It is written under
another name and then renamed, so that a reader sees all of it or nothing, however many processes write
the same one. A file that is damaged fails its checksums and is built again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .jit import KERNEL_FOLDER
from .kernel_cache import cache_folder
from .memory import copied
from .trie import Trie, trie_of_lengths

__all__ = ["KEPT_FILES", "LEAST_TOKENS", "cached_trie", "trie_file"]

LEAST_TOKENS = 1 << 14
"""Tries of fewer tokens are built faster than a file is opened."""
KEPT_FILES = 8
"""Files of this and other versions that stay, the latest ones."""
ABANDONED_SECONDS = 3600
"""A part of a file that is older was left by a process that was killed."""


def cached_trie(data: NDArray[np.uint8], lengths: NDArray[np.int64], ids: NDArray[np.int32]) -> Trie:
    """The trie of the tokens that lie end to end in `data` (`trie_of_lengths`), from the cache if it is there."""
    if len(ids) < LEAST_TOKENS:
        return trie_of_lengths(data, lengths, ids)
    path = trie_file(data, lengths, ids)
    trie = read_trie(path, len(ids))
    if trie is None:
        trie = trie_of_lengths(data, lengths, ids)
        with suppress(OSError):  # a cache that cannot be written is none
            write_trie(path, trie)
    return trie


def trie_file(data: NDArray[np.uint8], lengths: NDArray[np.int64], ids: NDArray[np.int32]) -> Path:
    """Where the trie of these tokens is kept."""
    content = hashlib.blake2b(digest_size=20)
    for array in (data, lengths.astype("<i8"), ids.astype("<i4")):
        content.update(str(len(array)).encode())
        content.update(np.ascontiguousarray(array).tobytes())
    return cache_folder() / "tries" / KERNEL_FOLDER.name / f"{content.hexdigest()}.npz"


def read_trie(path: Path, tokens: int) -> Trie | None:
    """The trie in a file; None if there is no such file, or not a trie of so many tokens in it."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            trie = Trie(**{name: copied(arrays[name]) for name in Trie._fields})
    except Exception:  # whatever reading a damaged file comes to: a bit may say that it is encrypted
        return None
    if len(trie.token_ids) != tokens:
        return None
    for array in trie:
        array.flags.writeable = False
    return trie


def write_trie(path: Path, trie: Trie) -> None:
    """Write a file at once. Raises OSError if that is not possible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **trie._asdict())  # type: ignore[arg-type]
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    forget_old(path.parent.parent)


def forget_old(folder: Path) -> None:
    """Remove all but the latest files of all versions."""
    with suppress(OSError):
        files = sorted(folder.glob("*/*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[KEPT_FILES:]:
            path.unlink(missing_ok=True)
        for path in folder.glob("*/*.part"):
            if path.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                path.unlink(missing_ok=True)
