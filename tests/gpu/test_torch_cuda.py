"""CUDA tensors: the public calls, stable buffers, streams and captured graphs (make test-gpu)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling.cases import (
    adversarial,
    check_accept,
    check_sample,
    expected_round,
    greedily,
    mixture,
    round_of,
)

from infernix import sampling
from infernix.sampling import Flag, SamplingParams
from infernix.sampling.params import pack_rows

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
DTYPES = {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"}


@pytest.fixture(autouse=True, scope="module")
def _needs_device():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


def on_gpu(function, dtype):
    """The public call with CUDA logits in place of numpy ones, and numpy answers."""

    def call(logits, *args, counts=None, **kwargs):
        tensor = torch.from_numpy(logits).cuda().to(getattr(torch, dtype))
        counts = None if counts is None else torch.from_numpy(counts).cuda()
        result = function(tensor, *args, counts=counts, **kwargs)
        assert all(field.is_cuda for field in result)
        return type(result)(*(field.cpu().numpy() for field in result))

    return call


@pytest.mark.parametrize("dtype", list(DTYPES))
def test_sample(dtype):
    from tests.sampling.device_backend import quantise

    case = quantise(mixture(list(adversarial(100, 101)), 3), dtype)  # 101 columns: rows are padded by a copy
    check_sample(on_gpu(sampling.sample, dtype), case)
    check_sample(on_gpu(sampling.sample, dtype), greedily(case))


@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_accept(sparse):
    for seed in range(4):
        case = round_of("round", rows=9, drafts=6, vocab_size=300, width=304, seed=seed, sparse=sparse)
        check_accept(on_gpu(sampling.accept, "float32"), case)
        check_accept(on_gpu(sampling.accept, "float32"), greedily(case))


def test_the_cpu_and_the_gpu_agree_on_a_real_size():
    generator = torch.Generator().manual_seed(4)
    logits = torch.randn(8, 151_936, generator=generator).mul(4).to(torch.bfloat16)
    words = torch.randint(-(2**31), 2**31, (8, 4748), generator=generator, dtype=torch.int64).to(torch.int32)
    params = [SamplingParams(temperature=0.5 + 0.1 * i, top_p=0.9, seed=i) for i in range(8)]
    here = sampling.sample(logits, words, params, positions=np.arange(8))
    there = sampling.sample(logits.cuda(), words.cuda(), params, positions=np.arange(8))
    assert torch.equal(here.tokens, there.tokens.cpu())
    assert not here.flags.any()
    assert not there.flags.any()


def test_calls_follow_the_current_stream():
    logits = torch.full((2, 64), -5.0, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)  # without stream order the old values would be read
        logits[:, 33] = 5.0
        result = sampling.sample(logits, None, SamplingParams(temperature=0.0))
    side.synchronize()
    assert result.tokens.tolist() == [33, 33]


def frequencies(tokens, size):
    return np.bincount(np.asarray(tokens), minlength=size) / len(tokens)


def test_frequencies_of_16384_draws():
    """Within 7 sigma + 2/n of the oracle's distribution."""
    from infernix.sampling import contract

    n, size = 16_384, 64
    random = np.random.default_rng(1)
    row = random.normal(0, 2, size).astype(np.float32)
    params = SamplingParams(temperature=1.2, top_p=0.95, seed=77)
    logits = torch.from_numpy(row).cuda().expand(n, size).contiguous()
    tokens = sampling.sample(logits, None, params, positions=np.arange(n)).tokens.cpu().numpy()
    p = contract.target(row, None, None, params, size)
    want = np.zeros(size)
    want[p.ids] = p.probabilities
    assert (np.abs(frequencies(tokens, size) - want) <= 7 * np.sqrt(want * (1 - want) / n) + 2 / n).all()


@pytest.mark.parametrize("sparse", [False, True], ids=["one-hot", "sparse"])
def test_one_graph_serves_changing_masks_parameters_and_positions(sparse):
    """Capture mask upload, acceptance and egress once; replay with ten different rounds."""
    from infernix.sampling.kernels.device_sampler import DeviceSampler

    rows, drafts, size, width = 8, 5, 500, 504
    logits = torch.zeros((rows, drafts + 1, width), device="cuda")
    counts = torch.zeros((rows, size), dtype=torch.int32, device="cuda")
    sampler = DeviceSampler(logits, size, sparse=sparse, counts=counts)
    graph = sampler.capture(verify=True)
    for seed in range(10):
        case = round_of("replay", rows=rows, drafts=drafts, vocab_size=size, width=width, seed=seed, sparse=sparse)
        logits.copy_(torch.from_numpy(case.logits))
        counts.copy_(torch.from_numpy(case.counts))
        pack_rows(case.params, sampler.rows)
        sampler.rows["position"], sampler.rows["extent"] = case.lengths, case.extents
        sampler.drafts[:] = case.drafts
        if sparse:
            sampler.q_ids.copy_(torch.from_numpy(case.q_ids))
            sampler.q_shares.copy_(torch.from_numpy(case.q_shares))
        for row, words in enumerate(case.words):
            sampler.masks.clear(row)
            if words is not None:
                sampler.masks.row_words(row)[:] = words
                sampler.masks.enable(row)
        sampler.masks.dead_ends[:] = case.dead_ends
        sampler.stage()
        graph.replay()
        torch.cuda.synchronize()
        for row in range(rows):
            want = expected_round(case, row)
            count = int(sampler.host_accepted[row])
            assert (list(sampler.host_tokens[row, :count]), int(sampler.host_flags[row])) == (
                want.tokens,
                want.flags,
            )


def test_an_empty_mask_and_bad_numbers_are_flagged_apart():
    logits = torch.zeros((3, 64), device="cuda")
    logits[1] = float("nan")
    mask = sampling.SamplingMask(3, 64)
    mask.words[0] = 0
    mask.index[0, 0] = 0
    result = sampling.sample(logits, mask, SamplingParams())
    assert result.flags.tolist() == [Flag.EMPTY_MASK, Flag.NON_FINITE, 0]


def test_a_mask_pool_gives_the_same_tokens_as_uploaded_words():
    """Six masks in a pool of four rows: rows are replaced, and used again, but never while in use."""
    from infernix.sampling.kernels.device_sampler import DeviceSampler
    from infernix.sampling.kernels.mask_pool import MaskPool
    from infernix.sampling.params import ParameterError

    size, rows = 300, 3
    random = np.random.default_rng(0)
    masks = [random.integers(0, 2**32, 10, dtype=np.uint32) for _ in range(6)]
    logits = torch.randn((rows, 1, 304), device="cuda")
    pool = MaskPool(size, capacity=4)
    sampler = DeviceSampler(logits, size, pool=pool.words)
    pack_rows([SamplingParams(seed=row) for row in range(rows)], sampler.rows)
    for step in range(40):
        used = random.choice(6, rows - 1, replace=False)
        sampler.rows["position"] = step
        pool.begin_step()
        sampler.masks.clear()
        for row, number in enumerate(used):
            sampler.masks.index[row, 0] = pool.slot(int(number), masks[number])
        sampler.upload()
        sampler.sample()
        words = np.stack([masks[number] for number in used])
        want = sampling.sample(
            logits[: rows - 1, 0].cpu().numpy(), words, [SamplingParams(seed=row) for row in range(rows - 1)],
            positions=step, vocab_size=size,
        )  # fmt: skip
        assert sampler.tokens[: rows - 1, 0].tolist() == want.tokens.tolist()
    assert 6 <= pool.uploads < 80
    pool.begin_step()
    for number in range(4):
        pool.slot(("new", number), masks[number])
    with pytest.raises(ParameterError, match="more than 4 masks"):
        pool.slot(("new", 4), masks[4])
