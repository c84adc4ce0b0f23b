"""Lookahead masks: every position of every row is what the reference matcher says of that prefix.

The expectation restates the contract over the reference matcher, without its rollback: a fresh
matcher accepts the committed text and the drafts before each position.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.matcher.matchers import SWITCHES, state
from tests.matcher.strategies import cases, choosers
from tests.matcher.test_properties import Case, walk
from tests.vocabularies import awkward, byte_level

from infernix import Matcher, compile_gbnf
from infernix.fuzz.choices import Choose
from infernix.gbnf import parse_gbnf
from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import Grammar, Literal, Rule
from infernix.matcher import tables
from infernix.matcher.bitmask import pack, unpack
from infernix.matcher.compile import compile_grammar
from infernix.matcher.lookahead import MAX_DRAFTS, Position, dead_end_bits, lookahead_masks
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import TokenKind, Vocabulary

UNCONSTRAINED, READY = Position.UNCONSTRAINED, Position.READY
DEAD_END, UNREACHABLE = Position.DEAD_END, Position.UNREACHABLE
EOS = 256
RUBBISH = 0xA5A5A5A5
FILLER = [0]


def buffer(rows: int, width: int, vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """Caller's rows, dirty, so that a word left alone shows."""
    return np.full((rows, width, vocabulary.words), RUBBISH, dtype=np.uint32)


def expected_row(case: Case, committed: list[int], drafts: list[int], width: int) -> list[tuple[Position, list[int]]]:
    """(position, allowed ids) of `width` positions, as the contract defines them."""
    grammar, vocabulary = case
    matcher = ReferenceMatcher(grammar, vocabulary)
    for token in committed:
        matcher.accept_token(token)
    result: list[tuple[Position, list[int]]] = []
    for draft in [*drafts, None]:
        if matcher.is_terminated():
            break
        legal = matcher.allowed_token_ids()
        if not legal:
            result.append((DEAD_END, FILLER))
            break
        result.append((READY, legal))
        if draft is None or draft not in legal:
            break
        matcher.accept_token(draft)
    return result + [(UNREACHABLE, FILLER)] * (width - len(result))


def seen_row(positions: NDArray[np.uint8], rows: NDArray[np.uint32], size: int) -> list[tuple[Position, list[int]]]:
    """The same as the function under test left it."""
    return [(Position(position), unpack(row, size).tolist()) for position, row in zip(positions, rows, strict=True)]


def draw_drafts(choose: Choose, case: Case, committed: list[int]) -> list[int]:
    """A legal continuation, at times cut off by an EOS, an illegal token or a number that is no token."""
    grammar, vocabulary = case
    matcher = ReferenceMatcher(grammar, vocabulary)
    for token in committed:
        matcher.accept_token(token)
    drafts = walk(choose, matcher, vocabulary)
    size = vocabulary.size
    wild = (-1, size, size + 31, -size, 2**31 - 1, choose(size), choose(size))
    return drafts + [wild[choose(len(wild))] for _ in range(choose(3))]


@given(case=cases(), choose=choosers())
def test_every_position_equals_the_reference(case: Case, choose: Choose) -> None:
    """Several rows in one call, each from its own committed text; one of them without a grammar."""
    grammar, vocabulary = case
    compiled = compile_grammar(grammar, vocabulary, allow_control=True)
    matchers: list[Matcher | None] = [None]
    all_drafts: list[list[int]] = [[]]
    all_committed: list[list[int]] = [[]]
    for _ in range(1 + choose(3)):
        matcher = Matcher(compiled)
        committed = walk(choose, matcher, vocabulary)
        matchers.append(matcher)
        all_committed.append(committed)
        all_drafts.append(draw_drafts(choose, case, committed))
    width = 1 + max(map(len, all_drafts)) + choose(3)
    out = buffer(len(matchers), width, vocabulary)
    before = [m and state(m, vocabulary.size) for m in matchers]
    positions = lookahead_masks(matchers, all_drafts, out)
    assert (positions.dtype, positions.shape) == (np.uint8, (len(matchers), width))
    assert (positions[0] == UNCONSTRAINED).all()
    assert (out[0] == RUBBISH).all()
    for b in range(1, len(matchers)):
        expected = expected_row(case, all_committed[b], all_drafts[b], width)
        assert seen_row(positions[b], out[b], vocabulary.size) == expected
    assert [m and state(m, vocabulary.size) for m in matchers] == before


# --- one case each, written out by hand


def look(matcher: Matcher, drafts: list[int], width: int) -> list[tuple[Position, list[int]]]:
    """One row of lookahead."""
    vocabulary = matcher.compiled.vocabulary
    out = buffer(1, width, vocabulary)
    return seen_row(lookahead_masks([matcher], [drafts], out)[0], out[0], vocabulary.size)


def test_all_drafts_legal_gives_a_bonus_mask() -> None:
    matcher = Matcher(compile_gbnf('root ::= "ab" [cd]', byte_level()))
    assert look(matcher, list(b"ab"), 3) == [(READY, [97]), (READY, [98]), (READY, [99, 100])]


def test_fewer_drafts_than_positions_leave_the_rest_unreachable() -> None:
    matcher = Matcher(compile_gbnf('root ::= "ab" [cd]', byte_level()))
    assert look(matcher, [97], 4) == [(READY, [97]), (READY, [98]), (UNREACHABLE, FILLER), (UNREACHABLE, FILLER)]
    assert look(matcher, [], 2) == [(READY, [97]), (UNREACHABLE, FILLER)]
    assert look(matcher, [], 1) == [(READY, [97])]


@pytest.mark.parametrize("illegal", [99, -1, -(2**40), 257, 258, 287, 2**40])
def test_an_illegal_draft_does_not_spoil_its_own_position(illegal: int) -> None:
    """The proposal is illegal, not the distribution that will reject it. 257 to 287 fall into the last word."""
    matcher = Matcher(compile_gbnf('root ::= "ab" [cd]', byte_level()))
    assert look(matcher, [97, illegal, 98], 4) == [
        (READY, [97]),
        (READY, [98]),
        (UNREACHABLE, FILLER),
        (UNREACHABLE, FILLER),
    ]


def test_nothing_follows_an_eos_draft() -> None:
    matcher = Matcher(compile_gbnf('root ::= "a"*', byte_level()))
    ready = (READY, [97, EOS])
    assert look(matcher, [97, EOS, 97], 4) == [ready, ready, (UNREACHABLE, FILLER), (UNREACHABLE, FILLER)]
    assert look(matcher, [EOS], 2) == [ready, (UNREACHABLE, FILLER)]
    assert not matcher.is_terminated()


def test_a_terminated_matcher_has_no_position() -> None:
    matcher = Matcher(compile_gbnf('root ::= "a"', byte_level()))
    matcher.accept_token(97)
    matcher.accept_token(EOS)
    assert look(matcher, [97, EOS], 3) == [(UNREACHABLE, FILLER)] * 3
    assert matcher.is_terminated()


def test_a_vocabulary_that_cannot_go_on_is_a_dead_end() -> None:
    """The grammar wants "abc" next; no token begins with "c", and none ends the text."""
    vocabulary = Vocabulary([b"x", b"a", b"ab", b""], eos_ids=[3])
    matcher = Matcher(compile_gbnf('root ::= "abc" | "x"', vocabulary))
    assert look(matcher, [2, 1, 1], 4) == [(READY, [0, 1, 2]), (DEAD_END, FILLER)] + [(UNREACHABLE, FILLER)] * 2
    assert look(matcher, [0, 3], 3) == [(READY, [0, 1, 2]), (READY, [3]), (UNREACHABLE, FILLER)]
    matcher.accept_token(2)
    assert matcher.is_dead_end()
    assert look(matcher, [], 1) == [(DEAD_END, FILLER)]
    assert look(matcher, [0], 2) == [(DEAD_END, FILLER), (UNREACHABLE, FILLER)]


def test_dead_end_without_any_eos() -> None:
    """A complete text without a token to say so: the next position is dead, not terminated."""
    matcher = Matcher(compile_gbnf('root ::= "a"', Vocabulary([b"a"], eos_ids=[])))
    assert look(matcher, [0, 0], 3) == [(READY, [0]), (DEAD_END, FILLER), (UNREACHABLE, FILLER)]


@pytest.mark.parametrize("features", [0, *SWITCHES.values(), tables.WHOLE_MASKS])
@pytest.mark.parametrize(
    ("source", "tokens", "path"),
    [
        ('root ::= "ab"', [b"a"], [0]),
        ("root ::= root root [d] | [a-c] [d]", [b"ad", b"a", b"aa"], [0, 0, 1]),
        ("root ::= [a-c]{2} [x]", [b"a", b"b", b"aab"], [0, 1]),
        ('root ::= "x" [a-c]{0,2} "y"', [b"x", b"a", b"b", b"ca", b"abc"], [0, 3]),
        ('root ::= ("x" | "y") [^abc] "z"', [b"x", b"a", b"ax", b"bx", b"c", b"abz"], [0, 0]),
        ('root ::= "x" (a | b)\na ::= [a-b]* [z]\nb ::= [^a-f] [c]', [b"x", b"a", b"az", b"f"], [0, 0]),
    ],
)
def test_a_dead_end_is_one_however_its_mask_is_kept(
    source: str, tokens: list[bytes], path: list[int], features: int
) -> None:
    """By shapes it usually is no mask at all; of a walk that goes without them it is an empty row."""
    vocabulary = Vocabulary([*tokens, b""], eos_ids=[len(tokens)])
    matcher = Matcher(compile_grammar(parse_gbnf(source), vocabulary, features=features))
    reference = ReferenceMatcher(parse_gbnf(source), vocabulary)
    for token in path:
        assert state(matcher, vocabulary.size) == state(reference, vocabulary.size)
        matcher.accept_token(token)
        reference.accept_token(token)
    assert state(matcher, vocabulary.size) == state(reference, vocabulary.size) == ([], False, False, True)
    assert look(matcher, [0], 2) == [(DEAD_END, FILLER), (UNREACHABLE, FILLER)]


def test_dead_end_bits() -> None:
    positions = np.full(MAX_DRAFTS + 1, READY, dtype=np.uint8)
    assert dead_end_bits(positions) == 0
    positions[[0, 5, MAX_DRAFTS]] = DEAD_END
    positions[6] = UNREACHABLE
    assert dead_end_bits(positions) == 1 << 0 | 1 << 5 | 1 << 63


def test_the_most_drafts() -> None:
    matcher = Matcher(compile_gbnf("root ::= [ab]{60,70}", byte_level()))
    mark = matcher.mark()
    seen = look(matcher, [97, 98] * 31 + [97], MAX_DRAFTS + 1)
    assert seen == [(READY, [97, 98])] * 60 + [(READY, [97, 98, EOS])] * 4
    assert matcher.mark() == mark


def test_rows_of_one_request_and_its_fork_are_independent() -> None:
    matcher = Matcher(compile_gbnf('root ::= "ab" | "cd"', byte_level()))
    fork = matcher.fork()
    fork.accept_token(ord("c"))
    out = buffer(3, 2, byte_level())
    positions = lookahead_masks([matcher, fork, matcher], [[97], [100], [99]], out)
    assert positions.tolist() == [[READY, READY]] * 3
    assert [[unpack(row, 257).tolist() for row in rows] for rows in out] == [
        [[97, 99], [98]],
        [[100], [EOS]],
        [[97, 99], [100]],
    ]


def test_rows_may_have_different_grammars() -> None:
    vocabulary = awkward()
    one = Matcher(compile_gbnf('root ::= "a"', vocabulary))
    other = Matcher(compile_gbnf('root ::= "b"', vocabulary))
    out = buffer(2, 1, vocabulary)
    lookahead_masks([one, other], [[], []], out)
    for row, text in zip(out[:, 0], (b"a", b"b")):
        ids = [i for i in range(42) if vocabulary.kind(i) == TokenKind.ORDINARY and vocabulary.token_bytes(i) == text]
        assert row.tolist() == pack(ids, 42).tolist()


def test_no_rows() -> None:
    assert lookahead_masks([], [], buffer(0, 5, byte_level())).shape == (0, 5)


@given(seed=st.integers(0, 2**32))
def test_a_long_walk_with_rounds(seed: int) -> None:
    """Rounds of lookahead between real commits, as an engine does it, never disturb each other."""
    random = Random(seed)
    grammar = Grammar((Rule("root", Literal("abcabcabcabc")),))
    case = grammar, byte_level()
    text = [*b"abcabcabcabc", EOS]
    matcher = Matcher(compile_grammar(*case))
    done = 0
    while done < len(text):
        drafts = [t if random.random() < 0.8 else random.randrange(-1, 258) for t in text[done : done + 4]]
        assert look(matcher, drafts, 6) == expected_row(case, text[:done], drafts, 6)
        for token in text[done : done + random.randrange(1, 5)]:
            matcher.accept_token(token)
            done += 1


# --- exits


@pytest.mark.parametrize("method", ["fill_mask", "is_dead_end", "accept_token"])
@pytest.mark.parametrize("calls", [1, 3])
def test_a_failure_rolls_back(monkeypatch: pytest.MonkeyPatch, method: str, calls: int) -> None:
    """Whatever fails, wherever, the matcher is where it was."""
    matcher = Matcher(compile_gbnf('root ::= "abcdef"', byte_level()))
    matcher.accept_token(97)
    mark = matcher.mark()
    real = getattr(Matcher, method)
    count = 0

    def fails(self: Matcher, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            raise LimitError("no room")
        return real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Matcher, method, fails)
        with pytest.raises(LimitError, match="no room"):
            lookahead_masks([matcher], [list(b"bcdef")], buffer(1, 6, byte_level()))
    assert count == calls
    assert matcher.mark() == mark
    assert look(matcher, list(b"bc"), 3) == [(READY, [98]), (READY, [99]), (READY, [100])]


@pytest.mark.parametrize(
    ("rows", "drafts", "shape"),
    [
        (1, [[97], [97]], (1, 2, 9)),  # more drafts than matchers
        (2, [[97]], (2, 2, 9)),  # fewer
        (1, [[97]], (2, 2, 9)),  # another batch
        (1, [[97]], (1, 1, 9)),  # no room for the bonus position
        (1, [[97]], (1, 0, 9)),
        (1, [[97]], (1, 2, 8)),  # too few words
        (1, [[97]], (1, 2, 10)),  # too many
        (1, [[97]], (2, 9)),  # not three dimensions
        (1, [[97]], (1, 2, 9, 1)),
        (1, [[97]], (1, MAX_DRAFTS + 2, 9)),  # dead ends would not fit into 64 bits
    ],
)
def test_shapes_that_do_not_fit(rows: int, drafts: list[list[int]], shape: tuple[int, ...]) -> None:
    compiled = compile_gbnf('root ::= "ab"', byte_level())
    matchers = [Matcher(compiled) for _ in range(rows)]
    with pytest.raises(ValueError, match=r"rows|positions|words|shape"):
        lookahead_masks(matchers, drafts, np.zeros(shape, dtype=np.uint32))
    assert [state(m, 257) for m in matchers] == [([97], False, False, False)] * rows


def test_other_dtypes_and_layouts_are_refused() -> None:
    matcher = Matcher(compile_gbnf('root ::= "ab"', byte_level()))
    with pytest.raises(TypeError):
        lookahead_masks([matcher], [[]], np.zeros((1, 1, 9), dtype=np.int64))
    with pytest.raises(TypeError, match="out is a numpy array or a torch tensor, not list"):
        lookahead_masks([matcher], [[]], [[[0] * 9]])
    with pytest.raises(ValueError, match="contiguous"):
        lookahead_masks([matcher], [[]], np.zeros((1, 2, 18), dtype=np.uint32)[:, :, ::2])


def test_a_torch_tensor_is_written_in_place() -> None:
    torch = pytest.importorskip("torch")
    matcher = Matcher(compile_gbnf('root ::= "ab" [cd]', byte_level()))
    out = torch.full((2, 4, 9), -1, dtype=torch.int32)
    positions = lookahead_masks([None, matcher], [[], list(b"ab")], out)
    assert positions.tolist() == [[UNCONSTRAINED] * 4, [READY] * 3 + [UNREACHABLE]]
    assert (out[0] == -1).all()
    rows = out[1].numpy().view(np.uint32)
    assert [unpack(row, 257).tolist() for row in rows] == [[97], [98], [99, 100], FILLER]
