"""Sampling with the real matcher: masks of one position, of a round, and inside `generate`."""

from __future__ import annotations

import numpy as np
import pytest

import infernix
from infernix import sampling
from infernix.sampling import Purpose, SamplingMask, SamplingParams

CHOICES = ["red", "green", "blue", "greenish"]


@pytest.fixture(scope="module")
def compiled():
    return infernix.compile_choice(CHOICES, infernix.Vocabulary.byte_level())


def test_token_by_token_every_text_is_a_choice(compiled):
    random = np.random.default_rng(0)
    size = compiled.vocabulary.size
    texts = set()
    for seed in range(40):
        matcher, text, mask = infernix.Matcher(compiled), b"", SamplingMask(1, size)
        while True:
            mask.fill(0, matcher)
            logits = random.normal(0, 5, (1, size)).astype(np.float32)
            found = sampling.sample(logits, mask, SamplingParams(seed=seed), positions=len(text))
            assert found.flags[0] == 0
            token = int(found.tokens[0])
            matcher.accept_token(token)
            if matcher.is_terminated():
                break
            text += bytes([token])
        texts.add(text.decode())
    assert texts == set(CHOICES)


def test_rounds_of_drafts_stay_inside_the_language(compiled):
    """Random drafts, some legal: whatever is licensed is accepted by the matcher."""
    random = np.random.default_rng(1)
    size, drafts = compiled.vocabulary.size, 4
    finished = 0
    for seed in range(40):
        matcher, committed = infernix.Matcher(compiled), 0
        mask = SamplingMask(1, size, drafts + 1)
        while not matcher.is_terminated():
            proposal = [int(t) for t in random.choice([*b"redgreenblueish", 256], drafts)]
            states = infernix.lookahead_masks([matcher], [proposal], mask.table)
            mask.set_states(states)
            logits = np.zeros((1, drafts + 1, size), np.float32)
            logits[0, np.arange(drafts), proposal] = 3.0
            found = sampling.accept(logits, [proposal], mask, SamplingParams(seed=seed), lengths=committed)
            assert found.flags[0] == 0
            for token in found.tokens[0, : found.counts[0]]:
                matcher.accept_token(int(token))
                committed += 1
                if matcher.is_terminated():
                    break
        finished += 1
    assert finished == 40


def test_our_own_lookahead_agrees_with_the_matchers(compiled):
    size = compiled.vocabulary.size
    for proposal in (b"gree", b"grex", b"blue", b"zzzz"):
        mine, theirs = SamplingMask(1, size, 5), SamplingMask(1, size, 5)
        mine.fill_drafts(0, infernix.Matcher(compiled), list(proposal))
        theirs.set_states(infernix.lookahead_masks([infernix.Matcher(compiled)], [list(proposal)], theirs.table))
        assert (mine.words == theirs.words).all()
        assert (mine.dead_ends == theirs.dead_ends).all()


def test_purposes_are_public():
    assert [purpose.value for purpose in Purpose] == [0, 1, 2, 3, 4, 5]
