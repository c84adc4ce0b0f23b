"""What is drawn over many draws, against the oracle's distribution: within 7 sigma + 2/n."""

from __future__ import annotations

import numpy as np
import pytest

from infernix import sampling
from infernix.sampling import Proposals, SamplingParams, contract
from infernix.sampling.jit import PLAIN
from infernix.sampling.layout import Flag

from .cases import pack, proposal

N = 512 if PLAIN else 16_384  # draws; uncompiled Python is a thousand times slower
SIZE = 64


def assert_close(tokens, want):
    found = np.bincount(np.asarray(tokens), minlength=len(want)) / len(tokens)
    allowed = 7 * np.sqrt(want * (1 - want) / len(tokens)) + 2 / len(tokens)
    worst = np.argmax(np.abs(found - want) - allowed)
    assert (np.abs(found - want) <= allowed).all(), f"token {worst}: {found[worst]} instead of {want[worst]}"


def dense(p: contract.Target) -> np.ndarray:
    want = np.zeros(SIZE)
    want[p.ids] = p.probabilities
    return want


def a_row(seed):
    random = np.random.default_rng(seed)
    legal = random.random(SIZE) < 0.6
    return random.normal(0, 2, SIZE).astype(np.float32), pack(legal)


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(seed=1),
        SamplingParams(temperature=0.5, top_p=0.9, seed=2),
        SamplingParams(temperature=2.0, min_p=0.1, top_k=9, seed=3),
    ],
)
def test_frequencies_of_draws(params):
    row, words = a_row(params.seed)
    logits = np.broadcast_to(row, (N, SIZE))
    tokens = sampling.sample(logits, np.broadcast_to(words, (N, 2)), params, positions=np.arange(N)).tokens
    assert_close(tokens, dense(contract.target(row, None, words, params, SIZE)))


def verify_many(row, words, drafts, params, proposals=None):
    """The first token of a round of one draft, for N rows that differ in draft and position."""
    logits = np.broadcast_to(row, (N, 2, SIZE))
    masks = np.broadcast_to(words, (N, 2, 2))
    found = sampling.accept(logits, drafts[:, None], masks, params, lengths=np.arange(N) * 2, proposals=proposals)
    assert not found.flags.any()
    return found


@pytest.mark.parametrize("draft", [0, 3, 17])
def test_one_hot_speculation_keeps_the_target_distribution(draft):
    """Whatever is proposed, the first token of the round is distributed as p."""
    params = SamplingParams(temperature=1.5, seed=11)
    row, words = a_row(5)
    found = verify_many(row, words, np.full(N, draft), params)
    assert_close(found.tokens[:, 0], dense(contract.target(row, None, words, params, SIZE)))


def test_sparse_speculation_keeps_the_target_distribution():
    """Drafts are drawn from q, by random numbers that the verification does not use."""
    params = SamplingParams(temperature=1.5, top_p=0.95, seed=12)
    row, words = a_row(6)
    random = np.random.default_rng(7)
    ids, shares = proposal(random, np.tile(row, (1, 1, 1)), SIZE)
    drawn = random.choice(ids[0, 0], N, p=shares[0, 0].astype(np.float64) / shares[0, 0].sum(dtype=np.float64))
    proposals = Proposals(np.broadcast_to(ids, (N, 1, 16)), np.broadcast_to(shares, (N, 1, 16)))
    found = verify_many(row, words, drawn, params, proposals)
    p = contract.target(row, None, words, params, SIZE)
    assert_close(found.tokens[:, 0], dense(p))
    # The rate of acceptance is the sum of min(p, q).
    q = np.zeros(SIZE)
    q[ids[0, 0]] = shares[0, 0]
    rate = np.minimum(dense(p), q).sum()
    assert abs((found.counts == 2).mean() - rate) <= 7 * np.sqrt(rate * (1 - rate) / N) + 2 / N


def test_the_bonus_is_distributed_as_the_last_column():
    params = SamplingParams(temperature=1.2, seed=13)
    row, words = a_row(8)
    certain = np.full(SIZE, -np.inf, np.float32)
    certain[3] = 0.0
    logits = np.stack([np.broadcast_to(certain, (N, SIZE)), np.broadcast_to(row, (N, SIZE))], axis=1)
    masks = np.stack([np.full((N, 2), 0xFFFFFFFF, np.uint32), np.broadcast_to(words, (N, 2))], axis=1)
    found = sampling.accept(logits, np.full((N, 1), 3), masks, params, lengths=np.arange(N) * 2)
    assert (found.counts == 2).all()
    assert_close(found.tokens[:, 1], dense(contract.target(row, None, words, params, SIZE)))


def test_the_contracts_counter_example_gives_one_half_each():
    """p = (1/2, 1/2, 0), q = (1/2, 0, 1/2). Dropping the illegal draft x would give 3/4 and 1/4."""
    a, b, x = 0, 1, 2
    random = np.random.default_rng(1)
    drafts = random.choice([a, x], N)
    legal = np.ones((N, 2, 3), bool)
    legal[:, 0, x] = False
    ids = np.arange(16, dtype=np.int32)
    shares = np.zeros(16, np.float32)
    shares[[a, x]] = 0.5
    logits = np.zeros((N, 2, 3), np.float32)
    logits[:, 0, x] = 4.0  # the model likes x; the grammar does not
    found = sampling.accept(
        logits, drafts[:, None], pack(legal), SamplingParams(seed=5), lengths=np.arange(N) * 2,
        proposals=Proposals(np.broadcast_to(ids, (N, 1, 16)), np.broadcast_to(shares, (N, 1, 16))),
    )  # fmt: skip
    assert_close(found.tokens[:, 0], np.array([0.5, 0.5, 0.0]))
    assert (found.tokens[drafts == a, 0] == a).all()
    assert (found.tokens[drafts == x, 0] == b).all()


def test_a_rows_numbers_do_not_depend_on_its_place_in_the_batch():
    random = np.random.default_rng(3)
    logits = random.normal(0, 2, (12, 4, SIZE)).astype(np.float32)
    drafts = random.integers(0, SIZE, (12, 3))
    drafts[:, 0] = np.argmax(logits[:, 0], axis=1)
    params = [SamplingParams(temperature=1.0 + i / 20, seed=i % 3) for i in range(12)]
    lengths = random.integers(0, 10**6, 12)
    together = sampling.accept(logits, drafts, None, params, lengths=lengths)
    order = random.permutation(12)
    shuffled = sampling.accept(logits[order], drafts[order], None, [params[i] for i in order], lengths=lengths[order])
    assert (shuffled.tokens == together.tokens[order]).all()
    for row in range(12):
        alone = sampling.accept(logits[[row]], drafts[[row]], None, params[row], lengths=int(lengths[row]))
        assert (alone.tokens[0] == together.tokens[row]).all()
    assert not together.flags.any()
    assert Flag(0) == 0
