"""The CUDA kernels in numba's simulator; run by test_simulator.py, in a process of its own.

Small sizes: a simulated block takes a tenth of a second. A tile is 32 vectors there, so a
vocabulary of 600 tokens already takes several tiles, segments and phases.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from infernix.sampling.params import SamplingParams

from .cases import (
    SampleCase,
    adversarial,
    batch_of,
    check_accept,
    check_sample,
    greedily,
    mixture,
    round_of,
)
from .device_backend import DeviceBackend, quantise

assert config.ENABLE_CUDASIM, "run through test_simulator.py"

KINDS = ["float32", "bfloat16", "float16"]


@pytest.mark.parametrize("kind", KINDS)
def test_adversarial(kind):
    case = quantise(mixture(list(adversarial(75, 80))), kind)
    check_sample(DeviceBackend(kind).sample, case)


@pytest.mark.parametrize("kind", KINDS)
def test_adversarial_greedy(kind):
    case = greedily(quantise(mixture(list(adversarial(75, 80))), kind))
    check_sample(DeviceBackend(kind, greedy=True).sample, case)


@pytest.mark.parametrize(
    ("kind", "segments"), [("float32", 1), ("float32", 3), ("bfloat16", 2), ("float16", 1)]
)
def test_tiles_and_segments(kind, segments):
    random = np.random.default_rng(5)
    logits = random.normal(0, 3, (3, 808)).astype(np.float32)
    legal = random.random((3, 801)) < np.array([0.9, 0.3, 0.01])[:, None]
    case = quantise(batch_of("tiles", logits, legal, 801, seed=2), kind)
    check_sample(DeviceBackend(kind, segments).sample, case)
    check_sample(DeviceBackend(kind, segments, greedy=True).sample, greedily(case))


def test_ascending_logits_overflow_the_key_buffer():
    """Every token beats all before it: the phases overflow, and are repeated carefully."""
    logits = np.arange(1300, dtype=np.float32)[None] / 64
    params = [SamplingParams(temperature=2.0, seed=3)]
    check_sample(DeviceBackend("float32").sample, SampleCase("ascending", logits, params, [None], 1300))


@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
@pytest.mark.parametrize("drafts", [1, 3])
def test_rounds(drafts, sparse):
    case = round_of("round", rows=5, drafts=drafts, vocab_size=60, width=64, seed=drafts, sparse=sparse)
    check_accept(DeviceBackend("float32").accept, case)
    check_accept(DeviceBackend("float32", greedy=True).accept, greedily(case))
