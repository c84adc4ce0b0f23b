"""Full heaps, full tables, full memory for masks: what is answered must not depend on any of it.

A heap is retired by hand (`retire`), or it is made so small that it fills on its own. Expected
values come from the reference matcher, or are written down.
"""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from unittest import mock

import pytest
from hypothesis import given
from tests.matcher.matchers import allowed, state
from tests.matcher.strategies import cases, choosers
from tests.matcher.test_properties import Case, next_token, walk

from infernix import Matcher, compile_gbnf
from infernix.fuzz.choices import Choose, chance
from infernix.gbnf.errors import LimitError, TokenRejected
from infernix.matcher import matcher as matcher_module
from infernix.matcher import store as store_module
from infernix.matcher import tables
from infernix.matcher.compile import compile_grammar
from infernix.matcher.jit import JIT
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.store import Store
from infernix.matcher.vocabulary import Vocabulary

EOS = 256
BRACKETS = 'root ::= "(" root ")" | "[" root "]" | "x"'
"""Every open prefix of this language is an Earley set of its own."""
DEPTH = 5_000 if JIT else 200


def retire(matcher: Matcher, fresh_masks: bool = False) -> None:
    """Do what a full heap does: the store gets a new one, matchers move when they need it."""
    store = matcher.compiled.store
    with store.lock:
        store.retire(matcher.live_sets(), fresh_masks=fresh_masks)


def closing(opening: bytes) -> bytes:
    """The brackets that close `opening`."""
    return opening[::-1].translate(bytes.maketrans(b"([", b")]"))


def reference_after(case: Case, tokens: list[int]) -> tuple[list[int], bool, bool]:
    """What the reference says after some tokens."""
    grammar, vocabulary = case
    reference = ReferenceMatcher(grammar, vocabulary)
    for token in tokens:
        reference.accept_token(token)
    return reference.allowed_token_ids(), reference.can_end(), reference.is_terminated()


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
    assert late.heap.retired
    late.accept_bytes(b"x" + closing(opening))
    assert allowed(late, 257) == [EOS]
    for depth, mark in reversed(list(enumerate(marks))):
        late.rollback(mark)
        late.accept_bytes(b"x" + closing(opening[:depth]))
        assert allowed(late, 257) == [EOS]


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


# --- masks


def test_new_masks_and_old_rows() -> None:
    """Masks are thrown away and made again; a row that was handed out before stays as it was."""
    words = [bytes(pair) for pair in itertools.product(b"abcdefghijklmnopqrstuvwxyz", repeat=2)]
    vocabulary = Vocabulary([*words, b""], eos_ids=[len(words)])
    matcher = Matcher(compile_gbnf("root ::= [a-y]*", vocabulary))
    expected = [*(i for i, word in enumerate(words) if b"z" not in word), len(words)]
    assert allowed(matcher, vocabulary.size) == expected
    row = matcher.mask_row()
    before = row.copy()
    old_masks = matcher.heap.masks
    retire(matcher, fresh_masks=True)
    other = Matcher(compile_gbnf("root ::= [b-z]*", vocabulary))
    assert other.heap.masks is not old_masks
    assert allowed(other, vocabulary.size) == [*(i for i, w in enumerate(words) if b"a" not in w), len(words)]
    matcher.accept_bytes(b"q")
    assert allowed(matcher, vocabulary.size) == expected
    assert matcher.heap.masks is not old_masks
    assert row.tolist() == before.tolist()
    assert not row.flags.writeable


@pytest.fixture
def pairs() -> Vocabulary:
    """All words of one and two letters: enough that masks are dense rows."""
    letters = b"abcdefghijklmnopqrstuvwxyz"
    words = [bytes([a]) for a in letters] + [bytes(pair) for pair in itertools.product(letters, repeat=2)]
    return Vocabulary([*words, b""], eos_ids=[len(words)])


FORBIDDEN = b"abcdefghijkl"
TWELVE_CLASSES = "root ::= " + " ".join(f"[^{chr(letter)}]" for letter in FORBIDDEN)
"""At place i of a text, any character but FORBIDDEN[i]: a different dense mask everywhere."""


def check_twelve(matcher: Matcher, vocabulary: Vocabulary) -> None:
    for place in range(len(FORBIDDEN)):
        expected = []
        for token in range(vocabulary.size - 1):
            word = vocabulary.token_bytes(token)
            rest = FORBIDDEN[place : place + len(word)]
            if len(rest) == len(word) and all(a != b for a, b in zip(word, rest)):
                expected.append(token)
        assert allowed(matcher, vocabulary.size) == expected
        matcher.accept_bytes(b"z")
    assert allowed(matcher, vocabulary.size) == [vocabulary.size - 1]


def test_little_memory_for_rows(pairs: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for four rows, masks are dropped and made again all the time."""
    monkeypatch.setattr(store_module, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(store_module, "ROW_BYTES", 4 * 4 * pairs.words)
    matcher = Matcher(compile_gbnf(TWELVE_CLASSES, pairs))
    start, masks = matcher.mark(), matcher.heap.masks
    for _ in range(2):
        check_twelve(matcher, pairs)
        matcher.rollback(start)
    assert matcher.heap.masks is not masks
    assert matcher.heap.masks.max_rows == 4


def test_no_memory_for_rows_is_an_error(pairs: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(store_module, "ROW_BYTES", 0)
    matcher = Matcher(compile_gbnf(TWELVE_CLASSES + ' "!"?', pairs))
    for _ in range(2):
        with pytest.raises(LimitError, match="memory budget"):
            matcher.allowed_token_ids()
    # Other questions go on being answered, and so do masks once there is memory.
    matcher.accept_bytes(b"z" * len(FORBIDDEN))
    assert matcher.can_end()
    monkeypatch.undo()
    matcher.reset()
    retire(matcher, fresh_masks=True)
    check_twelve(matcher, pairs)


@pytest.mark.skipif(not JIT, reason="twenty seconds as plain Python")
def test_a_description_of_many_tails() -> None:
    """Forty frames end at the same letter, and a thousand tokens go on below each: a few words describe them."""
    frames, letters = 40, b"abcdefghij"
    words = [b"a" + bytes(word) for word in itertools.product(letters, repeat=3)]
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"", *words], eos_ids=[EOS])
    # The rules differ in one character each, whose first byte is C4 for all of them.
    rules = [f'r{i} ::= "x" [a{chr(0x100 + i)}]' for i in range(frames)]
    choices = [f'r{i} [a-z]* "{i}!"' for i in range(frames)]
    matcher = Matcher(compile_gbnf("\n".join(["root ::= " + " | ".join(choices), *rules]), vocabulary))
    matcher.accept_bytes(b"x")
    assert allowed(matcher, vocabulary.size) == [ord("a"), 0xC4, *range(EOS + 1, vocabulary.size)]
    assert matcher.heap.header[tables.KEY_SIZE] < 10 * frames


def accept_forever(matcher: Matcher, token: int) -> None:
    """Accept a token until something is raised."""
    while True:
        matcher.accept_token(token)


def test_too_ambiguous_is_an_error_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for 64 items in a set, a count that stands for up to a thousand things is refused."""
    monkeypatch.setattr(store_module, "WORKLIST", 64)
    vocabulary = Vocabulary.byte_level()
    matcher = Matcher(compile_gbnf('root ::= ("a" | "aa"){1000,2000} "."', vocabulary))
    start = matcher.mark()
    with pytest.raises(LimitError, match="ambiguous"):
        accept_forever(matcher, ord("a"))
    accepted = matcher.mark() - start
    assert 50 < accepted < 150
    with pytest.raises(LimitError, match="ambiguous"):
        matcher.accept_bytes(b"aaaa")
    matcher.rollback_tokens(accepted // 2)
    assert allowed(matcher, 257) == [ord("a")]
    matcher.rollback_tokens(accepted - accepted // 2)
    matcher.accept_bytes(b"aaa")
    assert allowed(matcher, 257) == [ord("a")]
    other = Matcher(compile_gbnf('root ::= "ok"', vocabulary))
    other.accept_bytes(b"ok")
    assert allowed(other, 257) == [EOS]


# --- tables


def tiny_store(states: int, edges: int) -> tuple[Vocabulary, Store]:
    """A vocabulary whose store has hardly any tables."""
    vocabulary = Vocabulary.byte_level()
    store = Store(vocabulary, 0, states=states, edges=edges)
    vars(vocabulary)["_stores"] = {0: store}
    return vocabulary, store


@pytest.mark.parametrize(("states", "edges"), [(40, 1000), (1000, 40)])
def test_full_tables_bring_a_new_store(states: int, edges: int) -> None:
    """Grammars in use keep the old store; new ones, and the same ones compiled again, go to the new one."""
    vocabulary, first = tiny_store(states, edges)
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"]
    matchers = []
    for word in words:
        matcher = Matcher(compile_gbnf(f'root ::= "{word}" root2\nroot2 ::= [0-9]+ "{word}"', vocabulary))
        matcher.accept_bytes(word[:2].encode())
        matchers.append(matcher)
    stores = [matcher.compiled.store for matcher in matchers]
    assert stores[0] is first
    assert stores[-1] is not first
    assert first.replaced
    assert not stores[-1].replaced
    for word, matcher in zip(words, matchers):
        assert matcher.find_forced_bytes() == word[2:].encode()
        matcher.accept_bytes(word[2:].encode() + b"1")
        assert allowed(matcher, 257) == [*b"0123456789", ord(word[0])]
        matcher.accept_bytes(word.encode())
        assert allowed(matcher, 257) == [EOS]
    again = compile_gbnf('root ::= "alpha" root2\nroot2 ::= [0-9]+ "alpha"', vocabulary)
    assert not again.store.replaced


def test_one_grammar_larger_than_the_tables() -> None:
    vocabulary, first = tiny_store(16, 16)
    text = "a long text " * 50
    matcher = Matcher(compile_gbnf(f'root ::= "{text}"', vocabulary))
    assert matcher.compiled.store is not first
    matcher.accept_bytes(text.encode())
    assert allowed(matcher, 257) == [EOS]


# --- the past


def test_a_bounded_past(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last 8 positions can always be returned to; what is forgotten is refused and nothing changes."""
    least = 8
    monkeypatch.setattr(matcher_module, "MAX_ROLLBACK", least)
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
