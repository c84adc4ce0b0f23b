"""Full heaps: what is answered must not depend on them.

A heap is retired by hand (`retire`), or it is made so small that it fills on its own. Expected
values come from the reference matcher, or are written down.
"""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from tests.matcher.matchers import allowed, retire, state
from tests.matcher.strategies import cases, choosers
from tests.matcher.test_properties import Case, next_token, walk

from infernix import Matcher, compile_gbnf
from infernix.fuzz.choices import Choose, chance
from infernix.gbnf.errors import TokenRejected
from infernix.matcher import matcher as matcher_module
from infernix.matcher import store as store_module
from infernix.matcher import tables
from infernix.matcher.compile import compile_grammar
from infernix.matcher.jit import JIT
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

EOS = 256
BRACKETS = 'root ::= "(" root ")" | "[" root "]" | "x"'
"""Every open prefix of this language is an Earley set of its own."""
DEPTH = 5_000 if JIT else 200


def closing(opening: bytes) -> bytes:
    """The brackets that close `opening`."""
    return opening[::-1].translate(bytes.maketrans(b"([", b")]"))


def reference_after(case: Case, tokens: list[int]) -> tuple[list[int], bool, bool, bool]:
    """What the reference says after some tokens."""
    grammar, vocabulary = case
    reference = ReferenceMatcher(grammar, vocabulary)
    for token in tokens:
        reference.accept_token(token)
    return state(reference, vocabulary.size)


# --- nothing shows


@given(case=cases(), choose=choosers())
def test_retiring_shows_nowhere(case: Case, choose: Choose) -> None:
    """Matchers and forks of one store go on, back and apart while heaps and masks are replaced under them."""
    grammar, vocabulary = case
    compiled = compile_grammar(grammar, vocabulary, allow_control=True)
    matchers: list[tuple[Matcher, list[int]]] = [(Matcher(compiled), [])]
    for _ in range(8):
        matcher, tokens = matchers[choose(len(matchers))]
        legal = reference_after(case, tokens)[0]
        token = next_token(choose, legal, vocabulary)
        if token is not None:
            matcher.accept_token(token)
            tokens.append(token)
        if chance(choose, 3):
            retire(matchers[choose(len(matchers))][0], fresh_masks=chance(choose, 2))
        if chance(choose, 4):
            matchers.append((matcher.fork(), tokens.copy()))
        if tokens and chance(choose, 5):
            back = 1 + choose(len(tokens))
            matcher.rollback_tokens(back)
            del tokens[-back:]
        if chance(choose, 3):
            assert state(matcher, vocabulary.size) == reference_after(case, tokens)
    for matcher, tokens in matchers:
        assert state(matcher, vocabulary.size) == reference_after(case, tokens)


@pytest.mark.parametrize("features", [0, tables.OFF_SHAPES], ids=["shapes", "no shapes"])
def test_a_tiny_heap(features: int) -> None:
    """A heap of 16 sets: it fills up at almost every step, and grows when the text needs it."""

    @given(case=cases(), choose=choosers())
    def check(case: Case, choose: Choose) -> None:
        grammar, vocabulary = case
        with mock.patch.object(store_module, "SETS", 16):
            compiled = compile_grammar(grammar, vocabulary, allow_control=True, features=features)
        matcher = Matcher(compiled)
        tokens = walk(choose, matcher, vocabulary)
        for length in range(len(tokens), -1, -1):
            assert state(matcher, vocabulary.size) == reference_after(case, tokens[:length])
            if length:
                matcher.rollback_tokens(1)

    check()


def test_a_text_far_larger_than_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sets of an open text are all needed: the heap must grow, and every rollback stays possible."""
    monkeypatch.setattr(store_module, "SETS", 32)
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    random = Random(1)
    opening = bytes(random.choice(b"([") for _ in range(DEPTH))
    marks = []
    for byte in opening:
        marks.append(matcher.mark())
        matcher.accept_token(byte)
    assert matcher.compiled.store.set_limit > DEPTH
    matcher.accept_bytes(b"x" + closing(opening))
    assert allowed(matcher, 257) == [EOS]
    for depth in (DEPTH - 1, DEPTH // 2, 1, 0):
        matcher.rollback(marks[depth])
        assert allowed(matcher, 257) == [ord("("), ord("["), ord("x")]
        matcher.accept_bytes(b"x" + closing(opening[:depth]))
        assert allowed(matcher, 257) == [EOS]


# --- moving


def test_known_answers_do_not_move_a_matcher() -> None:
    """On a retired heap, what was asked before is still known; the first new question moves the matcher."""
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    old = matcher.heap
    start = matcher.mark()
    matcher.accept_token(ord("("))
    assert allowed(matcher, 257) == sorted(b"([x")
    matcher.rollback(start)
    retire(matcher)
    matcher.accept_token(ord("("))
    assert allowed(matcher, 257) == sorted(b"([x")
    assert not matcher.can_end()
    assert matcher.heap is old
    matcher.accept_token(ord("["))
    assert matcher.heap is matcher.compiled.store.heap is not old
    matcher.accept_bytes(b"x])")
    assert allowed(matcher, 257) == [EOS]


def test_rejections_on_a_retired_heap_change_nothing() -> None:
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    matcher.accept_bytes(b"([")
    retire(matcher)
    with pytest.raises(TokenRejected):
        matcher.accept_token(ord(")"))
    retire(matcher)
    with pytest.raises(TokenRejected) as rejection:
        matcher.accept_bytes(b"x]x")
    assert rejection.value.offset == 2
    assert matcher.find_forced_bytes() == b""
    matcher.accept_bytes(b"x])")
    assert matcher.can_end()


def test_a_fork_stays_behind_and_follows_later() -> None:
    """Two retirements later, a fork that was left on the first heap still knows its whole past."""
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    marks = []
    for byte in b"([[(":
        marks.append(matcher.mark())
        matcher.accept_token(byte)
    fork = matcher.fork()
    for _ in range(2):
        retire(matcher, fresh_masks=True)
        matcher.accept_token(ord("["))
    assert fork.heap is not matcher.heap
    fork.accept_bytes(b"x)]])")
    assert fork.heap is matcher.heap
    assert allowed(fork, 257) == [EOS]
    fork.rollback(marks[2])
    fork.accept_bytes(b"x])")
    assert allowed(fork, 257) == [EOS]
    matcher.accept_bytes(b"x]])]])")
    assert allowed(matcher, 257) == [EOS]


def test_terminated_and_reset_matchers_move_too() -> None:
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    start = matcher.mark()
    matcher.accept_bytes(b"(x)")
    mark = matcher.mark()
    matcher.accept_token(EOS)
    retire(matcher)
    assert (allowed(matcher, 257), matcher.is_terminated(), matcher.is_dead_end()) == ([], True, False)
    matcher.rollback(mark)
    assert allowed(matcher, 257) == [EOS]
    matcher.rollback(start)
    assert allowed(matcher, 257) == sorted(b"([x")
    retire(matcher)
    matcher.reset()
    assert matcher.heap is matcher.compiled.store.heap
    matcher.accept_bytes(b"[x]")
    assert allowed(matcher, 257) == [EOS]


def test_a_matcher_that_moves_late_into_a_crowded_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The new heap is nearly full of another request's sets when this one's past has to fit in as well."""
    monkeypatch.setattr(store_module, "SETS", 64)
    compiled = compile_gbnf(BRACKETS, Vocabulary.byte_level())
    late, busy = Matcher(compiled), Matcher(compiled)
    marks, opening = [], b"([" * 10
    for byte in opening:
        marks.append(late.mark())
        late.accept_token(byte)
    start = busy.mark()
    for word in itertools.product(b"([", repeat=7):
        for byte in word:
            busy.accept_token(byte)
        busy.rollback(start)
        if busy.heap is not late.heap and busy.heap.header[tables.N_SETS] >= busy.heap.set_limit - 4:
            break
    assert late.heap is not compiled.store.heap
    late.accept_bytes(b"x" + closing(opening))
    assert allowed(late, 257) == [EOS]
    for depth, mark in reversed(list(enumerate(marks))):
        late.rollback(mark)
        late.accept_bytes(b"x" + closing(opening[:depth]))
        assert allowed(late, 257) == [EOS]


def test_a_long_text_lets_others_go_on() -> None:
    """Its bytes take ever longer, and nobody waits for the last of them."""
    vocabulary = Vocabulary.byte_level()
    slow = Matcher(compile_gbnf('root ::= root root | "a"', vocabulary))
    quick = compile_gbnf('root ::= [a-z]+ "!"', vocabulary)
    ended, texts = threading.Event(), []

    def answer() -> None:
        while not ended.is_set():
            matcher = Matcher(quick)
            matcher.accept_bytes(b"word")
            texts.append(allowed(matcher, 257))

    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(answer)
        slow.accept_bytes(b"a" * (600 if JIT else 60))
        ended.set()
        answers.result()
    assert len(texts) >= 5
    assert all(text == [ord("!"), *range(ord("a"), ord("z") + 1)] for text in texts)


def test_two_long_requests_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What both need does not fit into one heap: it grows, and they do not push each other out for ever."""
    monkeypatch.setattr(store_module, "SETS", 64)
    compiled = compile_gbnf(BRACKETS, Vocabulary.byte_level())
    random = Random(7)
    matchers = [Matcher(compiled) for _ in range(3)]
    openings = [bytes(random.choice(b"([") for _ in range(100)) for _ in matchers]
    heaps = [compiled.store.heap]
    for column in zip(*openings):
        for matcher, byte in zip(matchers, column):
            matcher.accept_token(byte)
            if compiled.store.heap is not heaps[-1]:
                heaps.append(compiled.store.heap)
    assert len(heaps) < 20
    for matcher, opening in zip(matchers, openings):
        matcher.accept_bytes(b"x" + closing(opening))
        assert allowed(matcher, 257) == [EOS]


# --- the past


def test_known_sets_change_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """One matcher may forget all steps while another one meets a new set."""
    compiled = compile_gbnf('root ::= [0-9]{0,60} "."?', Vocabulary.byte_level())
    without_lock = store_module.Heap.known_set

    def with_lock(heap: store_module.Heap, number: int) -> store_module.KnownSet:
        assert compiled.store.lock._is_owned()  # type: ignore[attr-defined]
        return without_lock(heap, number)

    monkeypatch.setattr(store_module.Heap, "known_set", with_lock)
    matcher = Matcher(compiled)
    matcher.accept_bytes(b"1")
    matcher.accept_token(ord("2"))
    matcher.fill_mask(np.zeros(compiled.vocabulary.words, dtype=np.uint32))
    retire(matcher)
    matcher.accept_token(ord("3"))
    retire(matcher)
    matcher.accept_bytes(b"4.")
    matcher.fork().accept_token(256)
    matcher.reset()


def test_a_bounded_past(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last 8 positions can always be returned to; what is forgotten is refused and nothing changes."""
    least = 8
    monkeypatch.setattr(matcher_module, "MAX_ROLLBACK", least)
    monkeypatch.setattr(matcher_module, "FORGET_AT", 2 * least)
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    marks = [matcher.mark()]
    opening = b"([[([(" * 10
    for i, byte in enumerate(opening):
        if i % 3:
            matcher.accept_token(byte)
        else:
            matcher.accept_bytes(bytes([byte]))
        marks.append(matcher.mark())
        for back in range(min(least, i + 2)):
            fork = matcher.fork()
            fork.rollback(marks[-1 - back])
            assert fork.mark() == marks[-1 - back]
    assert marks == sorted(set(marks))
    assert len(matcher._history) <= 2 * least + 1
    for forgotten in (marks[0], marks[20], marks[-1] + 1, -1):
        with pytest.raises(ValueError, match="past"):
            matcher.rollback(forgotten)
    with pytest.raises(ValueError, match=rf"take back {len(opening)} tokens: only \d+ are remembered"):
        matcher.rollback_tokens(len(opening))
    matcher.rollback(marks[-least])
    matcher.accept_bytes(b"x" + closing(opening[: 1 - least]))
    assert allowed(matcher, 257) == [EOS]
    matcher.reset()
    matcher.accept_bytes(b"(x)")
    assert allowed(matcher, 257) == [EOS]


@pytest.mark.parametrize("count", [-1, 3, 10**9])
def test_rollback_tokens_only_as_far_as_there_are(count: int) -> None:
    matcher = Matcher(compile_gbnf(BRACKETS, Vocabulary.byte_level()))
    matcher.accept_bytes(b"(")
    matcher.accept_bytes(b"")
    expected = "negative" if count < 0 else f"cannot take back {count} tokens: only 2 were accepted"
    with pytest.raises(ValueError, match=expected):
        matcher.rollback_tokens(count)
    matcher.rollback_tokens(1)
    assert not matcher.can_end()
    matcher.accept_bytes(b"x)")
    assert allowed(matcher, 257) == [EOS]


# --- threads

GRAMMARS = {
    "brackets": (BRACKETS, b"([[x]])"),
    "counts": ('root ::= ([a-f]{2,5} "," ){3,7} "."', b"ab,abcde,ff,."),
    "left": ('root ::= root "a" | root "b" | "c"', b"cababab"),
    "words": ('root ::= ("one" | "two" | "three") (" " root)?', b"one three two"),
    "characters": ('root ::= [^"]* "\\""', 'é€😀"'.encode()),
}


def masks_along(grammar: str, text: bytes, vocabulary: Vocabulary, random: Random) -> list[list[int]]:
    """The allowed ids before each byte of a text and after it; now and then the heap is retired."""
    matcher = Matcher(compile_gbnf(grammar, vocabulary))
    seen = [allowed(matcher, 257)]
    for byte in text:
        matcher.accept_token(byte)
        seen.append(allowed(matcher, 257))
        if random.random() < 0.02:
            retire(matcher, fresh_masks=random.random() < 0.3)
    return seen


def test_threads_share_a_store() -> None:
    """Different grammars of one vocabulary at once, compiled and matched: the masks of a single thread."""
    alone = {name: masks_along(*parts, Vocabulary.byte_level(), Random(0)) for name, parts in GRAMMARS.items()}
    for name, (grammar, text) in GRAMMARS.items():
        reference = ReferenceMatcher(compile_gbnf(grammar, Vocabulary.byte_level()).grammar, Vocabulary.byte_level())
        reference.accept_bytes(text)
        assert alone[name][-1] == reference.allowed_token_ids()
    vocabulary = Vocabulary.byte_level()
    barrier = threading.Barrier(4)

    def work(seed: int) -> None:
        random = Random(seed)
        names = list(GRAMMARS) * 2
        random.shuffle(names)
        barrier.wait()
        for name in names:
            assert masks_along(*GRAMMARS[name], vocabulary, random) == alone[name], name

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_the_same_rules_after_retirement_share_masks() -> None:
    """Shapes are carried over to a new heap: nothing is walked again."""
    vocabulary = Vocabulary.byte_level()
    compiled = compile_gbnf('root ::= "(" [a-z]{2,30} ")" ', vocabulary)
    matcher = Matcher(compiled)
    matcher.accept_bytes(b"(abc")
    allowed(matcher, 257)
    shapes = int(matcher.heap.header[tables.N_SHAPES])
    retire(matcher)
    matcher.accept_bytes(b"d")
    assert allowed(matcher, 257) == [ord(")"), *b"abcdefghijklmnopqrstuvwxyz"]
    assert int(matcher.heap.header[tables.N_SHAPES]) == shapes


def test_live_texts_that_fill_most_of_a_heap_are_not_moved_for_each_new_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three texts of 290 positions are 870 of 1,024 sets: they move once, when the next text begins."""
    monkeypatch.setattr(store_module, "SETS", 1024)
    source = 'root ::= "x" [ab]{0,100000} "." | "y" [ab]{0,90000} "." | "z" [ab]{0,80000} "."'
    compiled = compile_gbnf(source, Vocabulary.byte_level())
    matchers = [Matcher(compiled) for _ in "xyz"]
    for matcher, first in zip(matchers, b"xyz", strict=True):
        for token in (first, *[ord("a")] * 289):
            matcher.accept_token(token)
    full = compiled.store.heap
    assert all(matcher.heap is full for matcher in matchers)
    Matcher(compiled)
    heap = compiled.store.heap
    assert heap is not full
    for _ in range(5):
        for matcher in matchers:
            matcher.accept_token(ord("a"))
            assert matcher.heap is heap
        Matcher(compiled)
        assert compiled.store.heap is heap


def test_a_text_begins_with_memory_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a large vocabulary, each growing array has a MiB touched beyond what is used: no mask waits for it."""
    monkeypatch.setattr(store_module, "LARGE_VOCABULARY", 1)
    monkeypatch.setattr(store_module, "TOUCHED_FOR", 0)
    vocabulary = Vocabulary([b"a", b"b", b""], eos_ids=[2])
    compiled = compile_gbnf("root ::= [ab]*", vocabulary)
    for _ in range(2):
        heap = Matcher(compiled).heap
        used = heap.used_bytes()
        for name in store_module.GROWING:
            assert heap.at_hand[name] >= used[name] + store_module.AHEAD, name
        heap.at_hand["moves"] = used["moves"] + store_module.AHEAD - 1
