"""Full memory for masks, and full tables: what is answered must not depend on them either.

The limits are lowered for it, or masks are thrown away by hand (`retire`).
"""

from __future__ import annotations

import itertools

import pytest
from tests.matcher.matchers import allowed, retire

from infernix import Matcher, compile_gbnf
from infernix.gbnf.errors import LimitError
from infernix.matcher import store as store_module
from infernix.matcher import tables
from infernix.matcher.jit import JIT
from infernix.matcher.store import Store
from infernix.matcher.vocabulary import Vocabulary

# --- masks

EOS = 256


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


def test_too_much_work_is_an_error_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a text that can be read in ever more ways: a hundred bytes take thousands of items each."""
    monkeypatch.setattr(store_module, "MAX_WORK", 5_000)
    vocabulary = Vocabulary.byte_level()
    matcher = Matcher(compile_gbnf('root ::= root root | "a"', vocabulary))
    with pytest.raises(LimitError, match="5000 steps"):
        matcher.accept_bytes(b"a" * 300)
    assert matcher.mark() == 1
    assert allowed(matcher, 257) == [ord("a")]
    start = matcher.mark()
    with pytest.raises(LimitError, match="5000 steps"):
        accept_forever(matcher, ord("a"))
    assert matcher.mark() > start + 10
    matcher.rollback(start + 5)
    assert allowed(matcher, 257) == [ord("a"), EOS]


def test_work_is_counted_anew_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """After n bytes there are n items and more: 100 bytes take over 5,000 together, and each few."""
    monkeypatch.setattr(store_module, "MAX_WORK", 2_000)
    matcher = Matcher(compile_gbnf('root ::= ("a" | "aa"){1000,2000} "."', Vocabulary.byte_level()))
    for _ in range(100):
        matcher.accept_token(ord("a"))
        assert allowed(matcher, 257) == [ord("a")]
    assert matcher.heap.header[tables.AGENDA_SIZE] >= 50


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
