"""The sampler of the generation loop against the FP64 contract of `sampling`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.engine.errors import NonFiniteLogits
from infernix.engine.sampler import sample_token
from infernix.matcher.bitmask import pack
from infernix.sampling.contract import sample_row
from infernix.sampling.layout import Purpose
from infernix.sampling.params import SamplingParams
from infernix.sampling.rng import uniform

SIZE = 70  # not a multiple of 32

params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.2, 1.0, 2.0]),
    top_k=st.integers(0, 20),
    top_p=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    min_p=st.sampled_from([0.0, 0.1, 0.9]),
    presence_penalty=st.sampled_from([0.0, 1.5, -0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.25]),
    seed=st.integers(0, 2**64 - 1),
)
# Few distinct values, so that ties are common.
logits = st.lists(st.sampled_from([0.0, -0.0, 1.0, 1.5, 3.0, -4.0, float("-inf"), 0.1]), min_size=SIZE, max_size=SIZE)


@given(
    logits,
    st.sets(st.integers(0, SIZE - 1), min_size=1),
    st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE),
    params,
    st.integers(0, 10_000),
)
def test_equals_the_contract(
    values: list[float], allowed: set[int], counts: list[int], chosen: SamplingParams, position: int
) -> None:
    row = np.array(values, dtype=np.float32)
    mask = pack(sorted(allowed), SIZE)
    seen = np.array(counts, dtype=np.int32)
    u = uniform(chosen.seed, position, Purpose.DECODE)
    expected = sample_row(row, mask, chosen, SIZE, u, counts=seen.astype(np.int64))
    if expected.flags:
        with pytest.raises(NonFiniteLogits):
            sample_token(row, mask, seen, chosen, position, Purpose.DECODE)
    else:
        assert sample_token(row, mask, seen, chosen, position, Purpose.DECODE) == expected.token


def test_a_legal_token_beyond_the_best_twenty_is_found() -> None:
    row = np.linspace(10, 0, SIZE, dtype=np.float32)
    assert sample_token(row, pack([65], SIZE), None, SamplingParams(), 0, Purpose.PREFILL) == 65
    assert sample_token(row, None, None, SamplingParams(temperature=0), 0, Purpose.PREFILL) == 0


def test_the_logits_are_not_changed() -> None:
    row = np.zeros(SIZE, dtype=np.float32)
    sample_token(row, None, np.ones(SIZE, dtype=np.int32), SamplingParams(presence_penalty=2.0), 0, Purpose.PREFILL)
    assert not row.any()


def test_a_model_without_any_finite_logit_is_an_integrity_error() -> None:
    with pytest.raises(NonFiniteLogits):
        sample_token(np.full(SIZE, np.nan, dtype=np.float32), None, None, SamplingParams(), 0, Purpose.PREFILL)
