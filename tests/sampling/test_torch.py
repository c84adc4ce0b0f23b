"""CPU tensors: the same answers as numpy arrays, for every floating point type."""

from __future__ import annotations

import numpy as np
import pytest

from infernix import sampling
from infernix.sampling import Proposals, SamplingParams

from .cases import adversarial, check_accept, check_sample, mixture, round_of

torch = pytest.importorskip("torch")


def with_tensors(function, dtype):
    def call(logits, *args, counts=None, proposals=None, **kwargs):
        if proposals is not None:
            proposals = Proposals(torch.from_numpy(proposals.ids), torch.from_numpy(proposals.shares))
        counts = None if counts is None else torch.from_numpy(counts)
        args = [torch.from_numpy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        if function is sampling.accept:
            kwargs["proposals"] = proposals
        found = function(torch.from_numpy(logits).to(dtype), *args, counts=counts, **kwargs)
        assert all(isinstance(field, torch.Tensor) for field in found)
        return found

    return call


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_sample(dtype):
    case = mixture(list(adversarial(75, 80)), 2)
    case.logits = torch.from_numpy(case.logits).to(dtype).float().numpy()
    check_sample(with_tensors(sampling.sample, dtype), case)


@pytest.mark.parametrize("sparse", [False, True])
def test_accept(sparse):
    case = round_of("torch", rows=9, drafts=5, vocab_size=60, width=64, seed=1, sparse=sparse)
    check_accept(with_tensors(sampling.accept, torch.float32), case)


def test_masks_and_gradients_and_slices():
    logits = torch.zeros((3, 4, 64), requires_grad=True)
    words = torch.zeros((3, 2), dtype=torch.int32)
    words[:, 1] = -(2**31)  # token 63
    found = sampling.sample(logits[:, -1], words, SamplingParams(temperature=0.0))
    assert found.tokens.tolist() == [63] * 3
    assert found.tokens.dtype == torch.int32
