"""Packed rows against sets of ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.matcher.bitmask import allocate, as_row, as_rows, is_allowed, pack, unpack, words_for


@pytest.mark.parametrize(("size", "words"), [(0, 0), (1, 1), (32, 1), (33, 2), (248_320, 7760), (248_077, 7753)])
def test_words(size: int, words: int) -> None:
    assert words_for(size) == words
    assert allocate(3, size).shape == (3, words)
    assert not allocate(3, size).any()


@given(st.integers(1, 100).flatmap(lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size - 1)))))
def test_pack_and_unpack(case: tuple[int, set[int]]) -> None:
    size, ids = case
    row = pack(ids, size)
    assert row.dtype == np.uint32
    # The format by its definition: bit id % 32 of word id // 32.
    assert [int(word) for word in row] == [
        sum(1 << (i % 32) for i in ids if i // 32 == w) for w in range(words_for(size))
    ]
    assert unpack(row, size).tolist() == sorted(ids)
    assert {i for i in range(size) if is_allowed(row, i)} == ids


def test_pack_takes_arrays_repetitions_and_any_order() -> None:
    assert pack(np.array([40, 1, 40]), 64).tolist() == [2, 256]


@pytest.mark.parametrize("outside", [-1, 64, 1 << 40])
def test_pack_refuses_ids_outside(outside: int) -> None:
    with pytest.raises(ValueError, match=f"id {outside} is outside the domain of 64"):
        pack([3, outside], 64)


def test_unpack_refuses_damaged_rows() -> None:
    with pytest.raises(ValueError, match="bit 33 is set in a row over 33 ids"):
        unpack(np.array([1, 2], dtype=np.uint32), 33)
    with pytest.raises(ValueError, match="has 2 words"):
        unpack(np.zeros(3, dtype=np.uint32), 33)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_views_share_memory(dtype: type) -> None:
    rows = np.zeros((2, 3), dtype=dtype)
    as_row(rows[1], 70)[2] = 0x80000001
    as_rows(rows, 2, 70)[0, 0] = 7
    assert rows.view(np.uint32).tolist() == [[7, 0, 0], [0, 0, 0x80000001]]


@pytest.mark.parametrize(
    ("buffer", "error", "message"),
    [
        (np.zeros(3, dtype=np.int64), TypeError, "not int64"),
        (np.zeros(3, dtype=np.float32), TypeError, "not float32"),
        (np.zeros(3, dtype=">u4"), TypeError, "little-endian"),
        ([0, 0, 0], TypeError, "not list"),
        (np.zeros(2, dtype=np.uint32), ValueError, r"shape \(2,\), but \(3,\)"),
        (np.zeros((1, 3), dtype=np.uint32), ValueError, r"shape \(1, 3\)"),
        (np.zeros(6, dtype=np.uint32)[::2], ValueError, "not contiguous"),
        (np.frombuffer(bytes(12), dtype=np.uint32), ValueError, "read-only"),
    ],
)
def test_bad_buffers(buffer: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_row(buffer, 70)


def test_torch_tensors_are_viewed_without_a_copy() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.int32, torch.uint32):
        tensor = torch.zeros((2, 3), dtype=dtype)
        as_row(tensor[1], 70)[0] = 5
        assert tensor[1, 0].item() == 5
    with pytest.raises(TypeError, match="not int64"):
        as_row(torch.zeros(3, dtype=torch.int64), 70)
    with pytest.raises(TypeError, match="cannot be viewed as CPU memory"):
        as_row(torch.zeros(3, dtype=torch.int32, device="meta"), 70)
