"""The CUDA kernels against the FP64 oracle, on a real GPU (make test-gpu)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling.cases import (
    SampleCase,
    adversarial,
    batch_of,
    check_accept,
    check_sample,
    greedily,
    round_of,
)

from infernix.sampling.params import SamplingParams

cuda = pytest.importorskip("numba.cuda")
pytestmark = pytest.mark.gpu

KINDS = ["float32", "bfloat16", "float16"]
SIZES = [(64, 64), (257, 264), (49_152, 49_152), (151_936, 151_936), (248_077, 248_320), (262_144, 262_144)]


@pytest.fixture(autouse=True, scope="module")
def _needs_device():
    if not cuda.is_available():
        pytest.skip("needs a CUDA device")


def backend(kind, segments=1, *, greedy=False):
    from tests.sampling.device_backend import DeviceBackend

    return DeviceBackend(kind, segments, greedy=greedy)


def quantise(case, kind):
    from tests.sampling.device_backend import quantise

    return quantise(case, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vocab_size", [1, 31, 100, 257])
def test_adversarial(kind, vocab_size):
    for case in adversarial(vocab_size, vocab_size + (-vocab_size) % 64):
        case = quantise(case, kind)
        check_sample(backend(kind).sample, case)
        check_sample(backend(kind, greedy=True).sample, greedily(case))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("vocab_size", "width"), SIZES)
def test_vocabularies_densities_and_segments(kind, vocab_size, width):
    random = np.random.default_rng(vocab_size)
    density = np.array([1.0, 0.5, 0.01, 5 / vocab_size, 0.0, 1.0])
    logits = random.normal(0, 3, (6, width)).astype(np.float32)
    legal = random.random((6, vocab_size)) < density[:, None]
    case = quantise(batch_of("large", logits, legal, vocab_size, seed=vocab_size), kind)
    case.words[5] = None
    greedy = greedily(case)
    for segments in (1, 7, 128):
        check_sample(backend(kind, segments).sample, case)
        check_sample(backend(kind, segments, greedy=True).sample, greedy)


@pytest.mark.parametrize("segments", [1, 19, 128])
def test_orders_that_overflow_the_key_buffer(segments):
    """Sorted, constant and clustered logits: phases and even the first tile need the careful way."""
    size = 151_936
    ramp = np.arange(size, dtype=np.float32) / 8192
    legal = np.zeros((6, size), bool)
    legal[:, :] = True
    legal[4] = False
    legal[4, 3000:4400] = True  # too many legal tokens in too few groups of the first tile
    legal[5] = False
    legal[5, ::3] = True
    rows = [ramp, -ramp, np.zeros(size, np.float32), np.where(ramp < 9, -np.inf, ramp), ramp, np.floor(ramp)]
    params = [SamplingParams(temperature=2.0, seed=seed) for seed in range(6)]
    from tests.sampling.cases import pack

    case = SampleCase("orders", np.stack(rows).astype(np.float32), params, list(pack(legal)), size)
    check_sample(backend("float32", segments).sample, case)
    check_sample(backend("bfloat16", segments).sample, quantise(case, "bfloat16"))


@pytest.mark.parametrize("drafts", [1, 2, 5, 15, 31, 32, 62, 63])
@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_rounds(drafts, sparse):
    for seed in range(3):
        case = round_of("round", rows=16, drafts=drafts, vocab_size=75, width=96, seed=seed, sparse=sparse)
        check_accept(backend("float32").accept, case)
        check_accept(backend("float32", greedy=True).accept, greedily(case))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_rounds_over_a_large_vocabulary(kind):
    case = round_of("large", rows=4, drafts=3, vocab_size=49_100, width=49_152, seed=1, sparse=True)
    check_accept(backend(kind, 5).accept, quantise(case, kind))


def test_many_rows_at_once():
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, (64, 4096)).astype(np.float32)
    legal = random.random((64, 4093)) < random.random((64, 1))
    check_sample(backend("float32", 4).sample, batch_of("64 rows", logits, legal, 4093, seed=1))
