"""Mistakes seen in other engines, each a named test, for the CPU path and for numpy and torch input.

The CUDA kernels meet the same cases in the simulator and, on a GPU, in tests/gpu.
"""

from __future__ import annotations

import numpy as np
import pytest

from infernix import sampling
from infernix.sampling import Flag, Proposals, SamplingMask, SamplingParams, cpu, rng, steps
from infernix.sampling.layout import PROPOSAL_WIDTH, Purpose, words_for
from infernix.sampling.params import ParameterError

from .cases import pack

GREEDY = SamplingParams(temperature=0.0)


def one(logits, params=GREEDY, masks=None, **kwargs):
    """(token, flags) of a batch of one row."""
    result = sampling.sample(np.asarray(logits, np.float32)[None], masks, params, **kwargs)
    return int(result.tokens[0]), Flag(int(result.flags[0]))


def seeds_with(purpose, position, wanted, count=1):
    """Seeds whose random number at a position satisfies a condition."""
    found = []
    seed = 0
    while len(found) < count:
        if wanted(rng.uniform(seed, position, purpose)):
            found.append(seed)
        seed += 1
    return found


def test_minus_zero_ties_with_zero():
    assert one([-0.0, 0.0]) == (0, 0)
    assert one([0.0, -0.0]) == (0, 0)
    assert one([-1.0, -0.0, 0.0]) == (1, 0)


def test_penalties_are_subtracted_without_fma():
    """A fused multiply-add keeps the bits that float32 rounding drops; here they decide the argmax."""
    f = np.float32
    frequency, count = f(0.1), 3
    rounded = f(f(1.0) - f(frequency * f(count)))
    fused = 1.0 - float(frequency) * count
    assert float(rounded) != fused, "the case must tell the two apart"
    low, high = sorted((float(rounded), fused))
    between = f(rounded)  # token 1 equals the rounded value exactly: a tie, so token 0 wins
    params = SamplingParams(temperature=0.0, frequency_penalty=0.1)
    token, _ = one([1.0, between], params, counts=np.array([[count, 0]], np.int32))
    assert token == 0
    above = np.nextafter(rounded, f(2))
    assert low <= high < above
    assert one([1.0, above], params, counts=np.array([[count, 0]], np.int32))[0] == 1


@pytest.mark.parametrize("place", [0, 1, 2, 40])
def test_nan_never_wins_a_comparison(place):
    logits = np.full(64, -3.0, np.float32)
    logits[7], logits[place] = 1.0, np.nan
    assert one(logits) == (7, 0)
    assert one(logits, SamplingParams(top_k=1)) == (7, 0)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("params", [GREEDY, SamplingParams()])
def test_a_row_without_a_finite_number_never_emits_a_token(bad, params):
    """vLLM returned id == vocab_size, and crashed steps later."""
    for size in (1, 31, 32, 100):
        assert one(np.full(size, bad), params) == (0, Flag.NON_FINITE)


def test_an_empty_mask_is_not_a_bad_number():
    empty = np.zeros((1, words_for(70)), np.uint32)
    assert one(np.zeros(70), masks=empty) == (0, Flag.EMPTY_MASK)
    assert one(np.full(70, np.nan), masks=empty) == (0, Flag.EMPTY_MASK)


def round_of_one(p, draft, params, q=None, words=None):
    """Verify one draft with target probabilities p at both positions."""
    logits = np.log(np.array([[p, p]], np.float64)).astype(np.float32)
    proposals = None
    if q is not None:
        ids = np.arange(PROPOSAL_WIDTH, dtype=np.int32)[None, None]
        shares = np.zeros((1, 1, PROPOSAL_WIDTH), np.float32)
        shares[0, 0, : len(q)] = q
        proposals = Proposals(ids, shares)
    found = sampling.accept(logits, np.array([[draft]]), words, params, proposals=proposals)
    return [int(t) for t in found.tokens[0, : found.counts[0]]], Flag(int(found.flags[0]))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_draft_of_probability_zero_is_rejected_at_u_zero(sparse):
    """SGLang compared u <= cdf, which accepts it when u is 0."""
    [seed] = seeds_with(Purpose.ACCEPT, 1, lambda u: u < 2e-6)
    legal = np.ones((1, 2, 4), bool)
    legal[0, 0, 2] = False
    q = [0.0, 0.0, 1.0, 0.0] if sparse else None
    tokens, flags = round_of_one([0.25] * 4, 2, SamplingParams(seed=seed), q, pack(legal))
    assert flags == 0
    assert len(tokens) == 1
    assert tokens[0] != 2
    assert not steps.accepts(0.0, 0.0, 0.0)
    assert not steps.accepts(0.0, 1.0, 0.0)
    assert steps.accepts(0.5, 1.0, 0.0)
    assert not steps.accepts(0.5, 1.0, 0.5)  # u < p, not u <= p


def test_a_nan_draft_distribution_is_flagged_not_sampled():
    for place in (0, 1):
        q = [0.5, 0.5]
        q[place] = np.nan
        assert round_of_one([0.5, 0.5], 0, SamplingParams(), q) == ([0], Flag.NON_FINITE)
    assert round_of_one([0.5, 0.5], 0, SamplingParams(), [1.5, -0.5]) == ([0], Flag.NON_FINITE)


def test_a_rejected_token_is_not_emitted_as_its_own_correction():
    for seed in seeds_with(Purpose.ACCEPT, 1, lambda u: u > 0.9, count=50):
        assert round_of_one([0.5, 0.3, 0.2], 0, SamplingParams(seed=seed))[0][0] != 0
        # q(0) = 0.9 > p(0) = 0.5, so nothing is left of token 0 in (p - q)+
        assert round_of_one([0.5, 0.3, 0.2], 0, SamplingParams(seed=seed), [0.9, 0.1, 0.0])[0][0] != 0


@pytest.mark.parametrize("draft", [-1, -(2**31), -(2**40), 4, 5, 2**31 - 1, 2**31, 2**40])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_draft_outside_the_vocabulary_is_a_rejection_never_an_index(draft, sparse):
    q = [0.25] * 4 if sparse else None
    for params in (GREEDY, SamplingParams(seed=3), SamplingParams(presence_penalty=1.0)):
        logits = np.zeros((1, 2, 8), np.float32)  # 4 tokens and 4 columns of padding
        proposals = None
        if q:
            shares = np.zeros((1, 1, PROPOSAL_WIDTH), np.float32)
            shares[0, 0, :4] = q
            proposals = Proposals(np.arange(PROPOSAL_WIDTH, dtype=np.int32)[None, None], shares)
        found = sampling.accept(
            logits, np.array([[draft]]), None, params, counts=np.zeros((1, 4), np.int32),
            proposals=proposals, vocab_size=4,
        )  # fmt: skip
        assert (found.counts[0], found.flags[0], found.tokens[0, 1]) == (1, 0, 0)
        assert 0 <= found.tokens[0, 0] < 4


def test_u_close_to_one_stays_inside_the_support():
    """FlashInfer #384: the walk ran past the last candidate."""
    largest = 1 - 2.0**-24
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 20):
        for _ in range(200):
            weights = np.exp(random.normal(0, 5, 20))
            assert 0 <= steps.draw(weights, count, largest) < count
    weights = np.zeros(20)
    weights[:3] = 1.0, 1e-300, 0.0
    assert steps.draw(weights, 3, largest) == 0  # the tail has no weight that u could reach


def test_a_weight_of_zero_is_never_drawn():
    weights = np.array([0.0, 0.0, 1.0, 0.0] + [0.0] * 16)
    assert {steps.draw(weights, 4, u) for u in (0.0, 0.5, 1 - 2.0**-24)} == {2}


def test_the_token_domain_bounds_the_loop_not_the_width_of_the_logits():
    """XGrammar #611: a mask narrower than the padded logits left the tail legal."""
    logits = np.zeros((1, 96), np.float32)
    logits[0, 70:] = 50.0
    mask = SamplingMask(1, 70)
    mask.row_words(0)[:] = 0xFFFFFFFF  # bits past the vocabulary are set, and mean nothing
    mask.enable(0)
    for params in (GREEDY, SamplingParams(seed=1)):
        assert sampling.sample(logits, mask, params).tokens[0] < 70
        assert sampling.sample(logits, None, params, vocab_size=70).tokens[0] < 70
    with pytest.raises(ParameterError, match=r"masks: 2 words are too few for 96 tokens"):
        sampling.sample(logits, np.zeros((1, 2), np.uint32), GREEDY)


def test_bits_past_the_vocabulary_do_not_make_a_mask_non_empty():
    words = np.zeros((1, 3), np.uint32)
    words[0, 2] = 0xFFFFFFC0  # tokens 70 to 95
    assert one(np.zeros(96), masks=words, vocab_size=70) == (0, Flag.EMPTY_MASK)


def test_minus_infinity_is_not_a_padding_candidate():
    """FlashInfer #4621: keys of -inf equal to padding were drawn. Two finite tokens, 20 places."""
    logits = np.full(64, -np.inf, np.float32)
    logits[[5, 60]] = 0.0, -40.0
    drawn = {one(logits, SamplingParams(seed=seed, temperature=2.0))[0] for seed in range(200)}
    assert drawn <= {5, 60}
    assert one(logits, SamplingParams(top_p=1.0)) in {(5, Flag(0)), (60, Flag(0))}


def test_legality_may_change_inside_one_round():
    """vLLM #36138: a phase switch inside a round is in each position's mask, not in a flag of the row."""
    legal = np.zeros((1, 3, 8), bool)
    legal[0, 0, :4] = True  # before the switch
    legal[0, 1, 4:] = True  # after it
    legal[0, 2, 6] = True
    logits = np.tile(np.arange(8, 0, -1, dtype=np.float32), (1, 3, 1))
    found = sampling.accept(logits, np.array([[0, 4]]), pack(legal), GREEDY)
    assert found.tokens[0].tolist() == [0, 4, 6]


def test_q_is_compared_in_full_precision():
    """q in bfloat16 would be 0.5 here and accept; in float32 it is larger than p and u decides."""
    share = np.float32(0.5009765)
    [seed] = seeds_with(Purpose.ACCEPT, 1, lambda u: u > 0.9995)
    tokens, _ = round_of_one([0.5, 0.5], 0, SamplingParams(seed=seed), [share, 1 - share])
    assert tokens == [1]


def test_unsorted_candidates_of_q_are_found():
    ids = np.arange(PROPOSAL_WIDTH, dtype=np.int32)[::-1].copy()[None, None]
    shares = np.zeros((1, 1, PROPOSAL_WIDTH), np.float32)
    shares[0, 0, -1] = 1.0  # token 0
    logits = np.zeros((1, 2, 2), np.float32)
    rejected = 0
    for seed in range(400):
        found = sampling.accept(
            logits, np.array([[0]]), None, SamplingParams(seed=seed), proposals=Proposals(ids, shares)
        )
        rejected += int(found.counts[0] == 1)
        if found.counts[0] == 1:
            assert found.tokens[0, 0] == 1
    assert 130 < rejected < 270  # p/q is one half


def test_kernels_have_one_specialisation():
    """A second one would mean that the border lets different types through, and doubles the compile time."""
    if not hasattr(cpu._sample, "nopython_signatures"):
        pytest.skip("runs uncompiled")
    one(np.zeros(40, np.float32))
    one(np.zeros(40, np.float32), SamplingParams(presence_penalty=1.0), counts=np.zeros((1, 40), np.int64))
    sampling.sample(np.zeros((2, 40), np.float16), np.zeros((2, 2), np.int32))
    sampling.sample(np.zeros((2, 80), np.float64)[:, ::2], SamplingMask(2, 40))
    assert len(cpu._sample.nopython_signatures) == 1
