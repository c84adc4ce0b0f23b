"""`SamplingMask`: rows, lookahead, states."""

from __future__ import annotations

import numpy as np
import pytest

from infernix import sampling
from infernix.sampling import Flag, SamplingMask, SamplingParams
from infernix.sampling.params import ParameterError

from .matchers import ChoiceMatcher

STOP, SIZE = 0, 70
GREEDY = SamplingParams(temperature=0.0)


def matcher(*choices):
    return ChoiceMatcher(choices, STOP, SIZE)


def tokens(words):
    return [t for t in range(SIZE) if int(words[t // 32]) >> (t % 32) & 1]


def test_rows_start_unconstrained_and_can_return_to_it():
    mask = SamplingMask(2, SIZE)
    assert mask.index.tolist() == [[-1], [-1]]
    mask.fill(1, matcher([5], [69]))
    assert mask.index.tolist() == [[-1], [1]]
    assert tokens(mask.words[1]) == [5, 69]
    mask.clear(1)
    assert mask.index.tolist() == [[-1], [-1]]


def test_lookahead_along_legal_drafts_gives_every_position():
    mask = SamplingMask(1, SIZE, 4)
    one = matcher([5, 6, 7], [5, 8])
    mask.fill_drafts(0, one, [5, 6, 7])
    assert [tokens(words) for words in mask.row_words(0)] == [[5], [6, 8], [7], [STOP]]
    assert (mask.index[0].tolist(), mask.dead_ends[0]) == ([0, 1, 2, 3], 0)
    assert one.text == ()


def test_the_position_of_an_illegal_draft_keeps_its_mask_and_later_ones_get_a_filler():
    for draft in (9, -1, SIZE, 2**40):
        mask = SamplingMask(1, SIZE, 3)
        mask.fill_drafts(0, matcher([5, 6], [7]), [draft, 6])
        assert [tokens(words) for words in mask.row_words(0)] == [[5, 7], [0], [0]]
        assert mask.dead_ends[0] == 0


def test_positions_after_an_accepted_stop_token_are_unreachable():
    mask = SamplingMask(1, SIZE, 4)
    mask.fill_drafts(0, matcher([5]), [5, STOP, 5])
    assert [tokens(words) for words in mask.row_words(0)] == [[5], [STOP], [0], [0]]
    assert mask.dead_ends[0] == 0


class DeadEnd(ChoiceMatcher):
    """After token 5 the language goes on, but no token spells it."""

    def legal(self):
        return set() if self.text[:1] == (5,) else super().legal()


def test_a_dead_end_is_a_bit_and_fails_only_where_it_is_reached():
    mask = SamplingMask(2, SIZE, 2)
    for row in range(2):
        mask.fill_drafts(row, DeadEnd([[5, 6], [7]], STOP, SIZE), [5])
    assert mask.dead_ends.tolist() == [2, 2]
    logits = np.zeros((2, 2, SIZE), np.float32)
    logits[0, 0, 5], logits[1, 0, 7] = 1.0, 1.0
    found = sampling.accept(logits, np.array([[5], [5]]), mask, GREEDY)
    assert found.flags.tolist() == [Flag.DEAD_END, 0]
    assert found.tokens[1].tolist() == [7, 0]
    single = SamplingMask(1, SIZE)
    single.fill_drafts(0, DeadEnd([[5, 6]], STOP, SIZE), [])
    single.dead_ends[0] = 1
    assert sampling.sample(np.zeros((1, SIZE), np.float32), single, GREEDY).flags[0] == Flag.DEAD_END


def test_the_matcher_returns_also_after_an_error():
    class Breaks(ChoiceMatcher):
        def accept_token(self, token):
            super().accept_token(token)
            raise RuntimeError("broken")

    one = Breaks([[5, 6]], STOP, SIZE)
    mask = SamplingMask(1, SIZE, 2)
    with pytest.raises(RuntimeError, match="broken"):
        mask.fill_drafts(0, one, [5])
    assert one.text == ()
    assert mask.index.tolist() == [[-1, -1]]


def test_states_of_a_whole_batch():
    mask = SamplingMask(3, SIZE, 3)
    assert mask.table.shape == (3, 3, 3)
    assert np.shares_memory(mask.table, mask.words)
    mask.set_states(np.array([[0, 0, 0], [1, 1, 2], [2, 3, 3]], np.uint8))
    assert mask.index.tolist() == [[-1, -1, -1], [3, 4, 5], [6, 7, 8]]
    assert mask.dead_ends.tolist() == [0, 4, 1]
    with pytest.raises(ParameterError, match="states"):
        mask.set_states(np.zeros((3, 2), np.uint8))


def test_states_reach_to_the_sixty_fourth_position():
    mask = SamplingMask(1, SIZE, 64)
    states = np.ones((1, 64), np.uint8)
    states[0, 63] = 2
    mask.set_states(states)
    assert mask.dead_ends.tolist() == [2**63]


def test_given_words_are_used_in_place():
    words = np.zeros((2, 3), np.uint32)
    mask = SamplingMask(2, SIZE, words=words)
    mask.fill(0, matcher([33]))
    assert words[0].tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, SIZE), "empty"),
        ((1, 0), "empty"),
        ((1, SIZE, 0), "positions must lie in"),
        ((1, SIZE, 65), "positions must lie in"),
    ],
)
def test_impossible_sizes(arguments, message):
    with pytest.raises(ParameterError, match=message):
        SamplingMask(*arguments)


def test_wrong_words_and_too_many_drafts():
    with pytest.raises(ParameterError, match=r"must be uint32\[1, 3\], got int32"):
        SamplingMask(1, SIZE, words=np.zeros((1, 3), np.int32))
    with pytest.raises(ParameterError, match="2 drafts need 3 positions, there are 2"):
        SamplingMask(1, SIZE, 2).fill_drafts(0, matcher([5]), [5, 6])
