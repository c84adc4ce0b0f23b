"""Mistakes in the arguments are named, and reasonable types are accepted."""

from __future__ import annotations

import numpy as np
import pytest

from infernix.sampling import Proposals, SamplingMask, SamplingParams, accept, sample
from infernix.sampling.params import ParameterError

LOGITS = np.zeros((2, 40), np.float32)
ROUND = np.zeros((2, 3, 40), np.float32)
DRAFTS = np.zeros((2, 2), np.int64)
PENALISED = SamplingParams(presence_penalty=1.0)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("logits", lambda: sample(np.zeros(40))),
        ("logits", lambda: sample(np.zeros((0, 40)))),
        ("logits", lambda: sample(np.zeros((2, 40), np.int32))),
        ("params", lambda: sample(LOGITS, None, [SamplingParams()] * 3)),
        ("positions", lambda: sample(LOGITS, positions=[1, 2, 3])),
        ("positions", lambda: sample(LOGITS, positions=0.5)),
        ("vocab_size", lambda: sample(LOGITS, vocab_size=41)),
        ("vocab_size", lambda: sample(LOGITS, vocab_size=0)),
        ("masks", lambda: sample(LOGITS, SamplingMask(3, 40))),
        ("masks", lambda: sample(LOGITS, np.zeros((2, 2), np.int64))),
        ("masks", lambda: sample(LOGITS, np.zeros((3, 2), np.uint32))),
        ("masks", lambda: sample(LOGITS, np.zeros((2, 1), np.uint32))),
        ("counts", lambda: sample(LOGITS, None, PENALISED)),
        ("counts", lambda: sample(LOGITS, None, PENALISED, counts=np.zeros((2, 39), np.int32))),
        ("counts", lambda: sample(LOGITS, None, PENALISED, counts=np.zeros((1, 40), np.int32))),
        ("counts", lambda: sample(LOGITS, None, PENALISED, counts=np.zeros((2, 40)))),
        ("logits", lambda: accept(LOGITS, DRAFTS)),
        ("drafts", lambda: accept(ROUND, DRAFTS[:, :1])),
        ("drafts", lambda: accept(ROUND, DRAFTS.astype(float))),
        ("drafts", lambda: accept(np.zeros((1, 65, 4), np.float32), np.zeros((1, 64), int))),
        ("lengths", lambda: accept(ROUND, DRAFTS, lengths=[1, 2, 3])),
        ("extents", lambda: accept(ROUND, DRAFTS, extents=[1])),
        ("masks", lambda: accept(ROUND, DRAFTS, SamplingMask(2, 40, 2))),
        ("masks", lambda: accept(ROUND, DRAFTS, np.zeros((2, 2, 2), np.uint32))),
        ("proposals", lambda: accept(ROUND, DRAFTS, proposals=Proposals(*np.zeros((2, 2, 2, 15))))),
        ("proposals", lambda: accept(ROUND, DRAFTS, proposals=Proposals(*np.zeros((2, 2, 2, 16))))),
    ],
)  # fmt: skip
def test_mistakes_are_named(field, call):
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


def test_other_number_types_and_strides_are_accepted():
    logits = np.random.default_rng(0).normal(size=(2, 80)).astype(np.float64)[:, ::2]
    want = np.argmax(logits.astype(np.float32), axis=1)
    greedy = SamplingParams(temperature=0.0)
    for array in (logits, logits.astype(np.float16), np.asfortranarray(logits)):
        assert (sample(array, None, greedy).tokens == np.argmax(array.astype(np.float32), axis=1)).all()
    full = np.full((2, 2), -1, np.int32)  # int32 bits of packed words, as torch has them
    assert (sample(logits, full, greedy, positions=np.uint64(2**40)).tokens == want).all()


def test_a_mask_decides_the_vocabulary():
    logits = np.zeros((1, 40), np.float32)
    logits[0, 35:] = 9.0
    assert sample(logits, SamplingMask(1, 35), SamplingParams(temperature=0.0)).tokens[0] == 0


def test_words_may_be_flat_or_by_position():
    words = np.zeros((2, 3, 2), np.uint32)
    words[:, :, 1] = 1  # token 32 alone
    greedy = SamplingParams(temperature=0.0)
    by_position = accept(ROUND, np.full((2, 2), 32), words, greedy)
    flat = accept(ROUND, np.full((2, 2), 32), words.reshape(6, 2), greedy)
    assert by_position.tokens.tolist() == flat.tokens.tolist() == [[32] * 3] * 2


def test_extents_are_clamped():
    greedy = SamplingParams(temperature=0.0)
    found = accept(ROUND, DRAFTS, None, greedy, extents=[-4, 99])
    assert found.counts.tolist() == [1, 3]


def test_inputs_are_not_changed():
    counts = np.ones((2, 40), np.int32)
    before = counts.copy()
    accept(ROUND, DRAFTS, None, PENALISED, counts=counts)
    assert (counts == before).all()
    assert not ROUND.any()
