"""The CUDA kernels in numba's simulator; run by test_simulator.py, in a process of its own.

Small sizes: a simulated block takes a tenth of a second. A tile is 32 vectors there, so a
vocabulary of 800 tokens already takes several tiles, segments and phases.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import config

from infernix.sampling.params import SamplingParams

from .cases import SampleCase, adversarial, batch_of, check_accept, check_sample, greedily, mixture, round_of
from .device_backend import DeviceBackend, quantise

assert config.ENABLE_CUDASIM, "run through test_simulator.py"


@pytest.mark.parametrize(("kind", "step"), [("float32", 1), ("bfloat16", 3), ("float16", 4)])
def test_adversarial(kind, step):
    case = quantise(mixture(list(adversarial(75, 80))[::step]), kind)
    check_sample(DeviceBackend(kind).sample, case)
    check_sample(DeviceBackend(kind, greedy=True).sample, greedily(case))


@pytest.mark.parametrize(("kind", "segments"), [("float32", 3), ("bfloat16", 2), ("float16", 1)])
def test_tiles_and_segments(kind, segments):
    random = np.random.default_rng(5)
    logits = random.normal(0, 3, (2, 808)).astype(np.float32)
    legal = random.random((2, 801)) < np.array([0.9, 0.01])[:, None]
    case = quantise(batch_of("tiles", logits, legal, 801, seed=2), kind)
    check_sample(DeviceBackend(kind, segments).sample, case)
    check_sample(DeviceBackend(kind, segments, greedy=True).sample, greedily(case))


def test_ascending_logits_overflow_the_key_buffer():
    """Every token beats all before it: the phases overflow, and are repeated carefully."""
    logits = np.arange(1300, dtype=np.float32)[None] / 64
    params = [SamplingParams(temperature=2.0, seed=3)]
    check_sample(DeviceBackend("float32").sample, SampleCase("ascending", logits, params, [None], 1300))


@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_rounds(sparse):
    case = round_of("round", rows=5, drafts=3, vocab_size=60, width=64, seed=3, sparse=sparse)
    check_accept(DeviceBackend("float32").accept, case)


def test_greedy_rounds():
    case = greedily(round_of("round", rows=4, drafts=3, vocab_size=60, width=64, seed=5))
    check_accept(DeviceBackend("float32", greedy=True).accept, case)
