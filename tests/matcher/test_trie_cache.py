"""Tries on disk: the same as built ones, whatever is or happens to be in the folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from infernix.matcher import trie_cache
from infernix.matcher.trie import Trie, trie_of_lengths
from infernix.matcher.trie_cache import KEPT_FILES, cached_trie, trie_file

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def arrays(tokens: list[bytes]) -> Arrays:
    """Tokens as `trie_of_lengths` takes them."""
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    return data, np.array([len(token) for token in tokens], dtype=np.int64), np.arange(len(tokens), dtype=np.int32)


TOKENS = arrays([b"a", b"ab", "aé".encode(), b"b\xff", b'"', b"ab"])


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERNIX_CACHE", str(tmp_path))
    monkeypatch.setattr(trie_cache, "LEAST_TOKENS", 1)


def same(one: Trie, other: Trie) -> bool:
    """Whether two tries are equal, array by array."""
    return all(a.dtype == b.dtype and a.tolist() == b.tolist() for a, b in zip(one, other, strict=True))


def never(*_: object) -> Trie:
    """Stands for the builder where it must not run."""
    raise AssertionError("built although it was kept")


def test_the_second_time_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    built = cached_trie(*TOKENS)
    assert same(built, trie_of_lengths(*TOKENS))
    monkeypatch.setattr(trie_cache, "trie_of_lengths", never)
    read = cached_trie(*TOKENS)
    assert same(read, built)
    with pytest.raises(ValueError, match="read-only"):
        read.byte[0] = 1


def test_other_tokens_are_other_files() -> None:
    files = {trie_file(*arrays(tokens)) for tokens in ([b"ab", b"c"], [b"a", b"bc"], [b"ab", b"d"], [b"ab", b"c", b""])}
    data, lengths, ids = TOKENS
    assert len(files | {trie_file(*TOKENS), trie_file(data, lengths, ids + 1)}) == 6


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "another trie", "a folder"])
def test_a_damaged_file_is_built_again(damage: str) -> None:
    cached_trie(*TOKENS)
    path = trie_file(*TOKENS)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[data.index(b"\x93NUMPY") + 140] ^= 0xFF  # in the data of the first array
        path.write_bytes(data)
    elif damage == "another trie":
        other = arrays([b"x", b"y"])
        cached_trie(*other)
        trie_file(*other).replace(path)
    elif damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(b"" if damage == "empty" else b"no trie")
    assert same(cached_trie(*TOKENS), trie_of_lengths(*TOKENS))


def test_any_bit_of_the_headers_may_flip() -> None:
    """One says that the file is encrypted, others that it is packed in another way or that a shape never ends."""
    cached_trie(*TOKENS)
    path = trie_file(*TOKENS)
    data = path.read_bytes()
    last = data.rindex(b"PK\x01\x02")
    for place in (*range(200), *range(last, len(data))):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            read = trie_cache.read_trie(path, len(TOKENS[2]))
            assert read is None or same(read, trie_of_lengths(*TOKENS)), (place, bit)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "tries").write_text("in the way")
    assert same(cached_trie(*TOKENS), trie_of_lengths(*TOKENS))


def test_many_writers_at_once(tmp_path: Path) -> None:
    expected = trie_of_lengths(*TOKENS)
    with ThreadPoolExecutor(8) as pool:
        tries = list(pool.map(lambda _: cached_trie(*TOKENS), range(64)))
    assert all(same(trie, expected) for trie in tries)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".npz"]


def test_old_files_go(tmp_path: Path) -> None:
    for number in range(KEPT_FILES + 3):
        cached_trie(*arrays([b"x", str(number).encode()]))
    assert len(list(tmp_path.rglob("*.npz"))) == KEPT_FILES


def test_small_vocabularies_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trie_cache, "LEAST_TOKENS", 100)
    cached_trie(*TOKENS)
    assert list(tmp_path.iterdir()) == []
