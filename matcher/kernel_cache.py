"""Machine code between processes: where numba keeps it, and what happens when a file is damaged.

numba reads its files as they are, and a cut one would end every use of the kernel until someone deletes it. Here
each carries a checksum, and one that does not agree counts as missing: the kernel is compiled again and written anew.

A folder that cannot be written to (a full disk, someone else's folder) is no error either: then nothing is kept. numba
would end the program, or keep the files beside the sources, where it takes no notice of changes in other modules.
"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from .user_cache import cache_folder

__all__ = ["cache_folder", "can_keep", "kept_in"]

DIGEST_BYTES = 32
NAME_BYTES = 6


class KernelFolder(caching.UserProvidedCacheLocator):  # type: ignore[misc]
    """The folder of `kept_in`, whether or not it can be written to."""

    def ensure_cache_path(self) -> None:
        """Make the folder if that is possible."""
        with suppress(OSError):
            super().ensure_cache_path()


class CheckedFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """numba's cache file of one function, with checksums."""

    def _load_index(self) -> dict[Any, Any]:
        try:
            return dict(super()._load_index())
        except Exception:  # whatever unpickling a damaged file comes to
            return {}

    def save(self, key: Any, data: Any) -> None:
        """Keep machine code, its file first, so that the index names none that is missing.

        The file is named by the key: two processes that write different versions of a function at once, each
        knowing an index without the other's, must not choose the same file.
        """
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:NAME_BYTES])
        name = self._data_name(number)
        with suppress(OSError):
            self._save_data(name, data)
            self._save_index({**self._load_index(), key: name})

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]:
            raise OSError(f"{name} is damaged")  # numba takes that for a missing file
        return pickle.loads(content[DIGEST_BYTES:])


def can_keep(folder: Path) -> bool:
    """Whether files can be written to a folder, which is made if there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Inside, functions that numba compiles with `cache=True` are kept in a folder, in files with checksums."""
    previous = numba.config.CACHE_DIR, caching.IndexDataCacheFile, caching.CacheImpl._locator_classes
    numba.config.CACHE_DIR, caching.IndexDataCacheFile = str(folder), CheckedFile
    caching.CacheImpl._locator_classes = [KernelFolder]
    try:
        yield
    finally:
        numba.config.CACHE_DIR, caching.IndexDataCacheFile, caching.CacheImpl._locator_classes = previous
