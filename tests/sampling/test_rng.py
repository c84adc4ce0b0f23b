"""The counter-based generator: known answers, and its forms bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.sampling import cpu, rng
from infernix.sampling.layout import Purpose

GOLDEN = 0x9E3779B97F4A7C15


def test_splitmix64_known_answers():
    """The first outputs of the published generator for seeds 0 and 1234567."""
    assert [rng.splitmix64(i * GOLDEN) for i in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]
    assert [rng.splitmix64(1234567 + i * GOLDEN) for i in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def by_the_formula(seed, position, purpose, sub):
    """The definition, written out again without the module's helpers."""
    modulus = 2**64

    def mix(x):
        x = (x + 0x9E3779B97F4A7C15) % modulus
        x = (x ^ (x // 2**30)) * 0xBF58476D1CE4E5B9 % modulus
        x = (x ^ (x // 2**27)) * 0x94D049BB133111EB % modulus
        return x ^ (x // 2**31)

    key = mix(seed ^ (position % 2**32) * 0xD1B54A32D192ED03 % modulus)
    key = mix(key ^ (purpose % 2**32) * 2**21 ^ (sub % 2**32) * 0x2545F4914F6CDD1D % modulus)
    return (key // 2**40) / 2**24


seeds = st.integers(0, 2**64 - 1)
words = st.integers(-(2**31), 2**32 - 1)


@given(seeds, words, st.integers(0, 5), words)
def test_python_numpy_and_machine_code_agree(seed, position, purpose, sub):
    want = by_the_formula(seed, position, purpose, sub)
    assert rng.uniform(seed, position, purpose, sub) == want
    assert rng.uniforms(seed, position, purpose, sub)[0] == want
    with np.errstate(over="ignore"):
        bits = cpu.uniform_bits(np.uint64(seed), np.int64(position), np.int32(purpose), np.int64(sub))
    assert int(bits) * rng.UNIFORM_SCALE == want


def test_uniforms_broadcasts():
    table = rng.uniforms(7, np.arange(4)[:, None], np.arange(3)[None, :])
    assert table.shape == (4, 3)
    assert table[2, 1] == rng.uniform(7, 2, 1)


def test_purposes_positions_and_seeds_give_different_streams():
    numbers = {
        rng.uniform(seed, position, purpose) for seed in (0, 1, 2**63) for position in range(50) for purpose in Purpose
    }
    assert len(numbers) == 3 * 50 * len(Purpose)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_numbers_are_uniform(purpose):
    """Sixteen bins of 65,536 draws, each within five standard deviations."""
    n, bins = 65_536, 16
    found = np.histogram(rng.uniforms(3, np.arange(n), purpose), bins, (0, 1))[0]
    assert np.abs(found - n / bins).max() < 5 * np.sqrt(n / bins)


def test_numbers_lie_below_one_also_in_float32():
    largest = np.float32((2**24 - 1) * rng.UNIFORM_SCALE)
    assert largest < 1
    assert float(largest) == (2**24 - 1) / 2**24
