"""Ranges, presets and the rule for constrained requests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from infernix.gbnf.errors import RequestError
from infernix.sampling.layout import ROW, Purpose
from infernix.sampling.params import (
    PRESETS,
    ParameterError,
    SamplingOverrides,
    SamplingParams,
    pack_rows,
    resolve,
)

LIMITS = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "top_k": (0, 20),
    "seed": (0, 2**64 - 1),
}


@pytest.mark.parametrize(("field", "limits"), LIMITS.items())
@pytest.mark.parametrize("kind", [SamplingParams, SamplingOverrides])
def test_limits_are_inclusive(kind, field, limits):
    for value in limits:
        assert getattr(kind(**{field: value}), field) == value


@pytest.mark.parametrize(("field", "limits"), LIMITS.items())
@pytest.mark.parametrize("kind", [SamplingParams, SamplingOverrides])
def test_values_outside_are_refused_by_name(kind, field, limits):
    low, high = limits
    step = 1 if field in ("top_k", "seed") else 1e-9
    for value in (low - step, high + step, "1", True, [1], math.nan, math.inf, -math.inf):
        with pytest.raises(ParameterError, match=field) as caught:
            kind(**{field: value})
        assert caught.value.field == field
        assert isinstance(caught.value, RequestError)
        assert caught.value.code == "invalid_sampling_parameter"


@pytest.mark.parametrize("field", ["top_k", "seed"])
def test_integers_are_not_rounded(field):
    with pytest.raises(ParameterError, match="expected an integer"):
        SamplingParams(**{field: 1.0})


def test_numpy_numbers_are_taken_as_python_numbers():
    params = SamplingParams(temperature=np.float32(0.5), top_k=np.int64(3))
    assert (params.temperature, params.top_k) == (0.5, 3)
    assert (type(params.temperature), type(params.top_k)) == (float, int)


@pytest.mark.parametrize(("top_k", "want"), [(0, 20), (1, 1), (19, 19), (20, 20)])
def test_zero_and_twenty_both_mean_twenty_candidates(top_k, want):
    assert SamplingParams(top_k=top_k).candidates == want


def test_greedy_and_penalised():
    assert SamplingParams(temperature=0).greedy
    assert not SamplingParams(temperature=1e-300).greedy
    assert SamplingParams(frequency_penalty=-0.1).penalised
    assert not SamplingParams().penalised


def test_a_constrained_request_drops_the_presets_penalties():
    assert PRESETS["qwen3.5-instruct"].presence_penalty == 1.5
    free = resolve("qwen3.5-instruct")
    bound = resolve("qwen3.5-instruct", constrained=True)
    assert free.presence_penalty == 1.5
    assert bound.presence_penalty == 0
    assert (bound.temperature, bound.top_p) == (free.temperature, free.top_p)


def test_a_constrained_request_keeps_the_callers_penalties():
    asked = SamplingOverrides(presence_penalty=0.7)
    bound = resolve("qwen3.5-instruct", asked, constrained=True)
    assert (bound.presence_penalty, bound.frequency_penalty) == (0.7, 0)


def test_a_caller_may_ask_for_what_the_preset_has():
    """Asking for 1.5 is not the same as not asking."""
    asked = SamplingOverrides(presence_penalty=1.5)
    assert resolve("qwen3.5-instruct", asked, constrained=True).presence_penalty == 1.5


def test_overrides_win_and_silence_keeps_the_preset():
    params = resolve(SamplingParams(temperature=0.5, top_p=0.9), SamplingOverrides(temperature=0.0, seed=4))
    assert params == SamplingParams(temperature=0.0, top_p=0.9, seed=4)
    assert resolve("greedy").greedy


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"no preset 'nope'.*greedy"):
        resolve("nope")


def test_rows_carry_every_field():
    rows = pack_rows([SamplingParams(0.5, 3, 0.9, 0.1, 0.25, -0.5, 2**64 - 1), SamplingParams()])
    assert rows.dtype == ROW
    assert ROW.itemsize == 64
    assert rows[0].item() == (0.5, 0.9, 0.1, 2**64 - 1, 0, 0.25, -0.5, 3, 0, 0, Purpose.DECODE)
    assert rows[1]["top_k"] == 20


def test_rows_are_rewritten_in_place():
    rows = pack_rows([SamplingParams()] * 3)
    rows["extent"], rows["dead_ends"] = 5, 7
    pack_rows([SamplingParams(seed=9)], rows)
    assert (rows["extent"].tolist(), rows["dead_ends"].tolist()) == ([0, 5, 5], [0, 7, 7])
    assert rows["seed"].tolist() == [9, 0, 0]
