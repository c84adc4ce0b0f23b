"""What must hold for every matcher on every grammar, vocabulary and walk.

The reference matcher judges masks; everything else compares a matcher with itself, run
another way. Grammars and vocabularies are random (`infernix.fuzz.generate`), walks follow random
legal tokens and try illegal ones on the way.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.matcher.matchers import FAST, Factory, allowed, every_matcher, state
from tests.matcher.strategies import cases, choosers, grammars
from tests.vocabularies import byte_level

from infernix.fuzz.choices import Choose, chance
from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import Grammar
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import TokenKind, Vocabulary

LONGEST_WALK = 10

Case = tuple[Grammar, Vocabulary]


def next_token(choose: Choose, legal: list[int], vocabulary: Vocabulary) -> int | None:
    """A legal token that continues the walk, or now and then one that ends it; None if there is none."""
    onward = [token_id for token_id in legal if vocabulary.kind(token_id) != TokenKind.EOS]
    if not legal or (not onward and not chance(choose, 2)):
        return None
    if not onward or (len(onward) < len(legal) and chance(choose, 8)):
        onward = [token_id for token_id in legal if vocabulary.kind(token_id) == TokenKind.EOS]
    return onward[choose(len(onward))]


def walk(choose: Choose, matcher: Any, vocabulary: Vocabulary) -> list[int]:
    """Accept random legal tokens; returns them."""
    taken: list[int] = []
    for _ in range(choose(LONGEST_WALK)):
        token_id = next_token(choose, allowed(matcher, vocabulary.size), vocabulary)
        if token_id is None:
            break
        matcher.accept_token(token_id)
        taken.append(token_id)
    return taken


def replayed(make: Factory, case: Case, tokens: list[int]) -> Any:
    """A new matcher that has accepted the tokens."""
    matcher = make(*case)
    for token_id in tokens:
        matcher.accept_token(token_id)
    return matcher


def some_variants(choose: Choose) -> list[str]:
    """The fast matcher, the one without any optimisation, and one or two in between."""
    between = [name for name in FAST if name not in ("fast", "plain")]
    return sorted({"fast", "plain", between[choose(len(between))], between[choose(len(between))]})


@given(case=cases(), choose=choosers())
def test_masks_equal_the_reference_at_every_step(case: Case, choose: Choose) -> None:
    """One walk, taken by the reference and by variants of the fast matcher side by side."""
    grammar, vocabulary = case
    reference = ReferenceMatcher(grammar, vocabulary)
    matchers = {name: FAST[name](grammar, vocabulary) for name in some_variants(choose)}
    for _ in range(LONGEST_WALK):
        legal = reference.allowed_token_ids()
        terminated = reference.is_terminated()
        expected = legal, reference.can_end(), terminated, not legal and not terminated
        for name, matcher in matchers.items():
            assert state(matcher, vocabulary.size) == expected, name
        token_id = next_token(choose, legal, vocabulary)
        if token_id is None:
            break
        for matcher in (reference, *matchers.values()):
            matcher.accept_token(token_id)


@given(grammar=grammars(largest_bound=9), choose=choosers())
def test_bytes_equal_the_reference_at_every_step(grammar: Grammar, choose: Choose) -> None:
    """The same over single bytes, where walks lead deeper into counts and characters."""
    vocabulary = byte_level()
    reference = ReferenceMatcher(grammar, vocabulary)
    matchers = {name: FAST[name](grammar, vocabulary) for name in some_variants(choose)}
    for _ in range(2 * LONGEST_WALK):
        legal = reference.allowed_token_ids()
        terminated = reference.is_terminated()
        expected = legal, reference.can_end(), terminated, not legal and not terminated
        for name, matcher in matchers.items():
            assert state(matcher, vocabulary.size) == expected, name
        token_id = next_token(choose, legal, vocabulary)
        if token_id is None or vocabulary.kind(token_id) == TokenKind.EOS:
            break
        for matcher in (reference, *matchers.values()):
            matcher.accept_bytes(bytes([token_id]))


@every_matcher
@given(case=cases(), choose=choosers())
def test_the_mask_is_what_accept_token_accepts(make: Factory, case: Case, choose: Choose) -> None:
    _, vocabulary = case
    matcher = make(*case)
    walk(choose, matcher, vocabulary)
    accepted = []
    for token_id in range(vocabulary.size):
        fork = matcher.fork()
        try:
            fork.accept_token(token_id)
        except TokenRejected:
            continue
        accepted.append(token_id)
    assert allowed(matcher, vocabulary.size) == accepted


@every_matcher
@given(case=cases(), choose=choosers())
def test_rejected_tokens_change_nothing(make: Factory, case: Case, choose: Choose) -> None:
    _, vocabulary = case
    matcher = make(*case)
    walk(choose, matcher, vocabulary)
    before = state(matcher, vocabulary.size)
    legal = set(before[0])
    for token_id in range(vocabulary.size):
        if token_id not in legal:
            with pytest.raises(TokenRejected) as rejection:
                matcher.accept_token(token_id)
            assert rejection.value.token == token_id
    # Whatever a rejection might have changed, nothing has put it right since.
    assert state(matcher, vocabulary.size) == before


@every_matcher
@given(case=cases(), choose=choosers(), text=st.binary(min_size=1, max_size=6))
def test_rejected_bytes_change_nothing_and_say_where(make: Factory, case: Case, choose: Choose, text: bytes) -> None:
    _, vocabulary = case
    matcher = make(*case)
    walk(choose, matcher, vocabulary)
    before = state(matcher, vocabulary.size)
    legal = 0
    for legal in range(len(text) + 1):
        try:
            matcher.fork().accept_bytes(text[: legal + 1])
        except TokenRejected:
            break
    if legal < len(text):
        with pytest.raises(TokenRejected) as rejection:
            matcher.accept_bytes(text)
        assert (rejection.value.token, rejection.value.offset) == (None, legal)
        assert state(matcher, vocabulary.size) == before


@every_matcher
@given(case=cases(), choose=choosers())
def test_rollback_and_reset_equal_a_fresh_start(make: Factory, case: Case, choose: Choose) -> None:
    """Go forward and back at random; the state is always that of a new matcher with the same tokens."""
    _, vocabulary = case
    matcher = make(*case)
    history: list[int] = []
    marks = [(matcher.mark(), 0)]
    for _ in range(4):
        history += walk(choose, matcher, vocabulary)
        marks.append((matcher.mark(), len(history)))
        if chance(choose, 8):
            matcher.reset()
            history, marks = [], [(matcher.mark(), 0)]
        elif not chance(choose, 3):
            # A mark stays good after a rollback to it, and those after it are gone.
            kept = choose(len(marks))
            mark, length = marks[kept]
            matcher.rollback(mark)
            del history[length:], marks[kept + 1 :]
        expected = state(replayed(make, case, history), vocabulary.size)
        assert state(matcher, vocabulary.size) == expected


@every_matcher
@given(case=cases(), choose=choosers())
def test_forks_are_independent(make: Factory, case: Case, choose: Choose) -> None:
    _, vocabulary = case
    matcher = make(*case)
    first = walk(choose, matcher, vocabulary)
    fork = matcher.fork()
    left = first + walk(choose, matcher, vocabulary)
    right = first + walk(choose, fork, vocabulary)
    assert state(matcher, vocabulary.size) == state(replayed(make, case, left), vocabulary.size)
    assert state(fork, vocabulary.size) == state(replayed(make, case, right), vocabulary.size)


@every_matcher
@given(grammar=grammars(), choose=choosers())
def test_chunks_do_not_matter(make: Factory, grammar: Grammar, choose: Choose) -> None:
    """Without token terminals, bytes lead to the same state however they are cut up."""
    vocabulary = byte_level()
    matcher = make(grammar, vocabulary)
    text = bytes(token_id for token_id in walk(choose, matcher, vocabulary) if token_id < 256)
    cut, other_cut = sorted((choose(len(text) + 1), choose(len(text) + 1)))
    at_once, in_parts = make(grammar, vocabulary), make(grammar, vocabulary)
    at_once.accept_bytes(text)
    for part in (text[:cut], text[cut:other_cut], text[other_cut:]):
        in_parts.accept_bytes(part)
    one_by_one = replayed(make, (grammar, vocabulary), list(text))
    expected = state(one_by_one, vocabulary.size)
    assert state(at_once, vocabulary.size) == expected
    assert state(in_parts, vocabulary.size) == expected

    # The same text as tokens of other lengths, in a vocabulary made of its parts.
    parts = sorted({text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1)})
    words = Vocabulary([*(bytes([b]) for b in range(256)), b"", *parts], eos_ids=[256])
    longest = make(grammar, words)
    for part in (text[:cut], text[cut:other_cut], text[other_cut:]):
        if part:
            longest.accept_token(257 + parts.index(part))
    assert [t for t in allowed(longest, words.size) if t <= 256] == expected[0]
    assert longest.can_end() == expected[1]


@every_matcher
@given(case=cases(), choose=choosers())
def test_after_eos_nothing_follows(make: Factory, case: Case, choose: Choose) -> None:
    _, vocabulary = case
    matcher = make(*case)
    walk(choose, matcher, vocabulary)
    if not matcher.is_terminated():
        ends = set(allowed(matcher, vocabulary.size)).intersection(vocabulary.eos_ids)
        assert ends == (set(vocabulary.eos_ids) if matcher.can_end() else set())
        if not ends:
            return
        mark, before = matcher.mark(), state(matcher, vocabulary.size)
        matcher.accept_token(min(ends))
        matcher.rollback(mark)
        assert state(matcher, vocabulary.size) == before
        matcher.accept_token(max(ends))
    assert matcher.is_terminated()
    assert allowed(matcher, vocabulary.size) == []
    for token_id in range(vocabulary.size):
        with pytest.raises(TokenRejected):
            matcher.accept_token(token_id)
    with pytest.raises(TokenRejected):
        matcher.accept_bytes(b"a")
