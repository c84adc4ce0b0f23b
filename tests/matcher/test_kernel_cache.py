"""Machine code on disk: read again if it is whole, compiled again if it is not."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import caching

from infernix.matcher.jit import JIT
from infernix.matcher.kernel_cache import CheckedFile, can_keep, kept_in

pytestmark = pytest.mark.skipif(not JIT, reason="without machine code there is none to keep")


def double(x: int) -> int:
    return 2 * x


def compiled(folder: Path) -> Any:
    """A fresh dispatcher of `double`, kept in a folder, that has been called."""
    with kept_in(folder):
        dispatcher = numba.njit(cache=True)(double)
    assert dispatcher(21) == 42
    return dispatcher


def hits(dispatcher: Any) -> int:
    """How many of its versions came from disk."""
    return sum(dispatcher.stats.cache_hits.values())


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_whole_files_are_read(tmp_path: Path) -> None:
    assert hits(compiled(tmp_path)) == 0
    assert hits(compiled(tmp_path)) == 1
    assert caching.IndexDataCacheFile is not CheckedFile, "numba's own is back"


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda _: b"", cut, lambda _: b"not what it was"], ids=["empty", "cut", "other"])
def test_damaged_files_are_made_again(suffix: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    compiled(tmp_path)
    files = list(tmp_path.rglob(f"*.{suffix}"))
    assert files
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    assert hits(compiled(tmp_path)) == 0
    assert hits(compiled(tmp_path)) == 1


def test_a_bit_of_machine_code_is_not_run(tmp_path: Path) -> None:
    compiled(tmp_path)
    (file,) = tmp_path.rglob("*.nbc")
    file.write_bytes(flip(file.read_bytes()))
    assert hits(compiled(tmp_path)) == 0


def test_a_folder_that_is_a_file_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"")
    for _ in range(2):
        assert hits(compiled(tmp_path / "folder")) == 0
    assert not list(Path(__file__).parent.rglob("*.nb?")), "nor is anything kept beside the source"


def test_whether_a_folder_can_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert can_keep(tmp_path / "new" / "folder")
    assert not list((tmp_path / "new" / "folder").iterdir())
    assert not can_keep(tmp_path / "file")
    assert not can_keep(tmp_path / "file" / "folder")


def test_a_full_disk_is_no_error(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        assert hits(compiled(tmp_path)) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not any(file.is_file() for file in tmp_path.rglob("*"))
    assert hits(compiled(tmp_path)) == 0
    assert hits(compiled(tmp_path)) == 1


def test_versions_written_at_once_do_not_share_a_file(tmp_path: Path) -> None:
    with kept_in(tmp_path):
        first, second = numba.njit(cache=True)(double), numba.njit(cache=True)(double)
    # Both have read an empty index; numba alone would call both files number 1.
    file = first._cache._cache_file
    file._load_index = second._cache._cache_file._load_index = lambda: {}
    assert first(21) == 42
    assert second(0.5) == 1.0
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
