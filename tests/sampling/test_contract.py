"""The oracle against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from infernix.sampling import contract
from infernix.sampling.contract import Column
from infernix.sampling.layout import Flag, Purpose
from infernix.sampling.params import SamplingParams

from .cases import pack


def masks(*rows):
    return [pack(np.array(row, bool)) for row in rows]


def target(logits, params, legal=None, counts=None):
    words = None if legal is None else pack(np.array(legal, bool))
    return contract.target(logits, None if counts is None else np.array(counts), words, params, len(logits))


LN2 = math.log(2)


def test_softmax_with_temperature():
    p = target([0.0, LN2, -math.inf], SamplingParams(temperature=0.5))
    assert p.ids == [1, 0]
    assert p.probabilities == pytest.approx([0.8, 0.2], abs=1e-7)  # weights 1 and 1/4


def test_top_p_keeps_the_token_that_reaches_it():
    """Weights 8, 4, 2, 1, 1 of 16: 0.75 is reached by two, and anything more needs three."""
    logits = [3 * LN2, 2 * LN2, LN2, 0, 0]
    assert len(target(logits, SamplingParams(top_p=0.7)).ids) == 2
    assert len(target(logits, SamplingParams(top_p=0.8)).ids) == 3
    assert len(target(logits, SamplingParams(top_p=0.0)).ids) == 1
    assert len(target(logits, SamplingParams(top_p=1.0)).ids) == 5


def test_twenty_equal_weights_at_top_p_0_8_keep_sixteen():
    assert len(target([1.25] * 20, SamplingParams(top_p=0.8)).ids) == 16


def test_min_p_is_relative_to_the_best_and_keeps_equality():
    logits = [0.0, 0.0, -LN2, -2.0]
    assert target(logits, SamplingParams(min_p=1.0)).ids == [0, 1]
    assert target(logits, SamplingParams(min_p=0.49)).ids == [0, 1, 2]


def test_top_p_counts_all_candidates_before_truncation():
    """Four equal weights and min-p cutting none: top-p 0.5 of the total 4 is reached by 2."""
    assert len(target([0.0] * 4, SamplingParams(top_p=0.5)).ids) == 2
    # min-p cuts the walk at 2, but the total still is 2 + 2/e^5.
    logits = [0.0, 0.0, -5.0, -5.0]
    assert target(logits, SamplingParams(min_p=0.5, top_p=0.999)).ids == [0, 1]


def test_ties_go_to_the_smaller_id_and_minus_zero_ties_with_zero():
    assert target([-0.0, 0.0, -0.0], SamplingParams(top_k=2)).ids == [0, 1]
    assert target([-1.0, -0.0, 0.0], SamplingParams(temperature=0)).ids == [1]


def test_penalties_are_float32_steps():
    counts, params = np.array([0, 1, 3]), SamplingParams(presence_penalty=0.1, frequency_penalty=0.7)
    found = contract.penalised([1.0, 1.0, 1.0], counts, params)
    f = np.float32
    want = [f(1), f(f(1) - f(0.1)) - f(0.7), f(f(1) - f(0.1)) - f(f(0.7) * f(3))]
    assert found.tolist() == [float(f(value)) for value in want]


def test_illegal_tokens_are_never_candidates():
    assert target([9.0, 1.0, 2.0], SamplingParams(), legal=[0, 1, 1]).ids == [2, 1]
    assert target([9.0, 1.0], SamplingParams(), legal=[0, 0]).flags == Flag.EMPTY_MASK
    assert target([9.0, math.nan], SamplingParams(), legal=[0, 1]).flags == Flag.NON_FINITE


@pytest.mark.parametrize("bad", [math.nan, -math.inf, math.inf])
def test_a_row_of_bad_numbers_has_no_distribution(bad):
    for params in (SamplingParams(), SamplingParams(temperature=0)):
        assert target([bad, bad], params) == contract.Target([], [], Flag.NON_FINITE)


def test_nan_and_minus_infinity_are_left_out_when_others_are_finite():
    assert target([math.nan, 1.0, -math.inf], SamplingParams()).ids == [1]


def uniforms(**numbers):
    return lambda purpose, position: numbers[purpose.name.lower()]


def two(p):
    """Logits whose distribution at temperature 1 over two tokens is (p, 1 - p)."""
    return [math.log(p), math.log(1 - p)]


def test_a_one_hot_draft_is_accepted_below_its_probability():
    columns = [Column(two(0.25)), Column(two(0.5))]
    params = SamplingParams()
    taken = contract.accept_row(columns, [0], params, 2, 0, uniforms(accept=0.2499, bonus=0.7))
    refused = contract.accept_row(columns, [0], params, 2, 0, uniforms(accept=0.2501, correction=0.0))
    assert taken == ([0, 1], Flag(0))
    assert refused == ([1], Flag(0))


def test_positions_of_the_random_numbers():
    """Column i uses length + i + 1; the bonus after two accepted drafts uses length + 3."""
    seen = []

    def record(purpose, position):
        seen.append((purpose, position))
        return 0.0

    columns = [Column([0.0, 0.0])] * 3
    contract.accept_row(columns, [0, 1], SamplingParams(), 2, 100, record)
    assert seen == [(Purpose.ACCEPT, 101), (Purpose.ACCEPT, 102), (Purpose.BONUS, 103)]


def test_the_residual_is_the_positive_part_of_p_minus_q():
    p = contract.Target([4, 7, 9], [0.5, 0.3, 0.2], Flag(0))
    assert contract.residual(p, 7, {4: 0.1, 7: 0.9}) == pytest.approx([0.4, 0.0, 0.2])
    assert contract.residual(p, 7, None) == [0.5, 0.0, 0.2]


def test_counter_example_of_the_contract_a_b_x():
    """p = (1/2, 1/2, 0), q = (1/2, 0, 1/2): the outcome is (0.5, 0.5), not (0.75, 0.25).

    Summed exactly: over both drafts, weighted with q, and over a fine grid of u.
    """
    words = masks([1, 1, 0], [1, 1, 1])
    columns = [Column([0.0, 0.0, 5.0], words[0], {0: 0.5, 1: 0.0, 2: 0.5}), Column([0.0] * 3, words[1])]
    grid = 64
    totals = np.zeros(3)
    for draft, weight in ((0, 0.5), (2, 0.5)):
        for first in range(grid):
            for second in range(grid):
                u = uniforms(accept=first / grid, correction=second / grid, bonus=0.0)
                token = contract.accept_row(columns, [draft], SamplingParams(), 3, 0, u).tokens[0]
                totals[token] += weight / grid**2
    assert totals.tolist() == [0.5, 0.5, 0.0]


def test_greedy_takes_the_longest_matching_prefix():
    best = [Column([0.0, 3.0]), Column([3.0, 0.0]), Column([0.0, 3.0])]
    params = SamplingParams(temperature=0)

    def never(purpose, position):
        raise AssertionError("greedy draws nothing")

    assert contract.accept_row(best, [1, 0], params, 2, 0, never).tokens == [1, 0, 1]
    assert contract.accept_row(best, [1, 1], params, 2, 0, never).tokens == [1, 0]
    assert contract.accept_row(best, [0, 0], params, 2, 0, never).tokens == [1]


def test_drafts_before_a_column_count_for_its_penalties():
    params = SamplingParams(temperature=0, frequency_penalty=1.0)
    columns = [Column([2.0, 1.5]), Column([2.0, 1.5]), Column([2.0, 1.5])]
    found = contract.accept_row(columns, [0, 0], params, 2, 0, uniforms(), counts=np.zeros(2, np.int64))
    assert found.tokens == [0, 1]  # after one 0 its value is 1.0


def test_a_dead_end_counts_only_where_it_is_reached():
    columns = [Column([0.0, 9.0])] * 3
    params = SamplingParams(temperature=0)
    reached = contract.accept_row(columns, [1, 1], params, 2, 0, uniforms(), dead_ends=0b100)
    passed_by = contract.accept_row(columns, [1, 0], params, 2, 0, uniforms(), dead_ends=0b100)
    assert reached == ([1, 1, 0], Flag.DEAD_END)
    assert passed_by == ([1, 1], Flag(0))
