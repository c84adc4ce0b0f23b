"""The CPU kernels against the FP64 oracle."""

from __future__ import annotations

import numpy as np
import pytest

from infernix.sampling import api
from infernix.sampling.jit import PLAIN

from .cases import SampleCase, adversarial, batch_of, check_accept, check_sample, round_of

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("vocab_size", [1, 2, 31, 33, 64, 100, 257])
def test_every_adversarial_batch(vocab_size):
    for case in adversarial(vocab_size, width=vocab_size + (-vocab_size) % 64):
        check_sample(api.sample, case)


@pytest.mark.parametrize("case", list(adversarial()), ids=lambda case: case.name)
def test_adversarial(case: SampleCase):
    check_sample(api.sample, case)


@pytest.mark.skipif(PLAIN, reason="too large for uncompiled Python")
@pytest.mark.parametrize("vocab_size", [49_152, 248_077])
def test_large_vocabularies(vocab_size):
    random = np.random.default_rng(vocab_size)
    rows = 5
    logits = random.normal(0, 3, (rows, 248_320 if vocab_size > 200_000 else vocab_size)).astype(np.float32)
    legal = random.random((rows, vocab_size)) < np.array([1.0, 0.5, 0.01, 5 / vocab_size, 0.0])[:, None]
    legal[:4, vocab_size - 1] = True
    check_sample(api.sample, batch_of("large", logits, legal, vocab_size, seed=3))


@pytest.mark.parametrize("drafts", [1, 2, 3, 7, 15, 31, 32, 62, 63])
@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_rounds(drafts, sparse):
    for seed in range(3):
        case = round_of("round", rows=13, drafts=drafts, vocab_size=75, width=96, seed=seed, sparse=sparse)
        check_accept(api.accept, case)


@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_flat_rounds_reject_early_and_unconstrained_rounds_work(sparse):
    for seed, density in enumerate([None, 0.05, 0.9]):
        case = round_of(
            "flat",
            rows=39,
            drafts=4,
            vocab_size=50,
            width=64,
            seed=seed,
            sparse=sparse,
            density=density,
            flat=4.0,
        )
        check_accept(api.accept, case)
