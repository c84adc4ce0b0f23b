"""The memory behind the kernels' arrays: whose it is, and what happens where there is none."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest
from tests.vocabularies import byte_level

from infernix import Matcher, compile_gbnf
from infernix.gbnf.errors import LimitError
from infernix.matcher import memory
from infernix.matcher.memory import MAPPED_BYTES, copied, zeros


def test_large_and_small_arrays_are_zero() -> None:
    for rows in (1, MAPPED_BYTES):
        for large_pages in (False, True):
            array = zeros((rows, 2), np.int64, large_pages)
            assert array.shape == (rows, 2)
            assert not array.tobytes().strip(b"\0")
            array[-1, 1] = 7
            assert array.sum() == 7


def test_a_copy_is_equal_and_its_own() -> None:
    original = np.arange(MAPPED_BYTES, dtype=np.int32)
    copy = copied(original)
    copy[0] = 5
    assert copy[1:].tolist() == original[1:].tolist()
    assert (copy.dtype, original[0]) == (np.int32, 0)


def test_a_system_without_large_pages_has_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pages(mmap.mmap):
        def madvise(self, *_: object) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(memory.mmap, "mmap", Pages)
    assert not zeros((1 << 22,), np.uint8).any()


def test_no_memory_is_a_limit_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(memory.mmap, "mmap", refuse)
    with pytest.raises(LimitError, match="no memory left"):
        zeros((MAPPED_BYTES,), np.uint8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_its_own_memory() -> None:
    """What a child learns and overwrites is not seen by its parent."""
    matcher = Matcher(compile_gbnf('root ::= [a-z]* "."', byte_level()))
    matcher.allowed_token_ids()
    arrays = matcher.heap.arrays
    before = {name: array.copy() for name, array in arrays.items() if name in ("sets", "moves", "items", "arena")}
    child = os.fork()
    if child == 0:
        for name in before:
            arrays[name].view(np.uint8).reshape(-1)[: 1 << 16] = 0xAA
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for name, array in before.items():
        assert arrays[name].tobytes()[: 1 << 16] == array.tobytes()[: 1 << 16], name
