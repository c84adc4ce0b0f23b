"""Ctrl-C and errors in the middle: whatever is cut short, nothing is lost and nobody waits.

A KeyboardInterrupt is raised after one call after the other in the functions that change what matchers share.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.matcher.matchers import allowed

from infernix import Matcher, Vocabulary, lookahead_masks
from infernix.gbnf import parse_gbnf
from infernix.gbnf.errors import LimitError
from infernix.matcher import lookahead as lookahead_module
from infernix.matcher import matcher as matcher_module
from infernix.matcher import store as store_module
from infernix.matcher.compile import compile_grammar
from infernix.matcher.jit import JIT
from infernix.matcher.reference import ReferenceMatcher

GRAMMAR = parse_gbnf('root ::= "(" root ")" | "[" root "]" | [xy]{1,9}')
"""Every open prefix of this language is an Earley set of its own."""
TOKENS = [b"(", b"[", b")", b"]", b"x", b"([", b"xx", b"x)", b"x]", b"])", b"((", b"x])"]
EOS = len(TOKENS)
TEXT = [0, 1, 5, 0, 10, 1, 5, 0, 0, 5, 1, 1, 10, 0, 5, 5, 0, 10, 4, 6]
CHANGING = {"retire", "carry_shapes", "new_heap", "migrate", "call", "_learn_mask", "_learn_token", "accept_token"}
FILES = {store_module.__file__, matcher_module.__file__, lookahead_module.__file__}
CHANGING |= {"accept_bytes", "_read", "_after_bytes", "add_rows", "keep_spare", "find_forced_bytes", "_look_ahead"}
CHANGING |= {"live_sets", "_reachable"}
POINTS = 150 if JIT else 12
"""Places at which a whole walk is interrupted, spread over it."""


class Interruption:
    """Raises KeyboardInterrupt when the nth call made by CHANGING functions returns; counts these.

    There a signal is seen, and nowhere else in these functions but at the end of a loop's body.
    """

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def run(self, action: Callable[[], Any]) -> bool:
        """Whether the action was interrupted, and did not end before."""
        before = sys.getprofile()
        sys.setprofile(self.on_event)
        try:
            action()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(before)
        return False

    def on_event(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("return", "c_return") and frame.f_code.co_filename != weakref.__file__:  # finalizers raise in vain
            caller = frame if event == "c_return" else frame.f_back
            if caller is not None and caller.f_code.co_name in CHANGING and caller.f_code.co_filename in FILES:
                self.calls += 1
                if self.calls == self.at:
                    raise KeyboardInterrupt


def reference_masks() -> list[list[int]]:
    """What is allowed before each token of TEXT and after the last."""
    vocabulary = Vocabulary([*TOKENS, b"</s>"], eos_ids=[EOS])
    reference = ReferenceMatcher(GRAMMAR, vocabulary)
    masks = [reference.allowed_token_ids()]
    for token in TEXT:
        reference.accept_token(token)
        masks.append(reference.allowed_token_ids())
    return masks


def walk(matcher: Matcher) -> None:
    """Go over TEXT from where the matcher is, with each mask."""
    row = np.zeros(1, np.uint32)
    for token in TEXT[matcher.mark() - 1 :]:
        matcher.fill_mask(row)
        matcher.mask_row()
        matcher.accept_token(token)


def is_free(matcher: Matcher) -> bool:
    """Whether another thread gets the lock."""

    def take() -> bool:
        taken = matcher.compiled.store.lock.acquire(timeout=10)
        if taken:
            matcher.compiled.store.lock.release()
        return taken

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take).result()


def new_matcher() -> Matcher:
    return Matcher(compile_grammar(GRAMMAR, Vocabulary([*TOKENS, b"</s>"], eos_ids=[EOS])))


def retire_and_walk(matcher: Matcher) -> None:
    """A walk, with the heap replaced in its middle, and a prefix of bytes in front of it."""
    matcher.accept_bytes(b"(")
    matcher.rollback_tokens(1)
    store = matcher.compiled.store
    row = np.zeros(1, np.uint32)
    for token in TEXT[:5]:
        matcher.fill_mask(row)
        matcher.accept_token(token)
    with store.lock:
        store.retire(matcher.live_sets(), fresh_masks=False)
    walk(matcher)


def test_an_interruption_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The heap is so small that it is replaced several times, too."""
    monkeypatch.setattr(store_module, "SETS", 32)
    expected = reference_masks()
    whole = Interruption(at=0)
    first = new_matcher()
    assert not whole.run(lambda: retire_and_walk(first))
    assert whole.calls > 200
    for at in itertools.count(1, max(1, whole.calls // POINTS)):
        matcher = new_matcher()
        compiled = matcher.compiled
        if not Interruption(at).run(lambda matcher=matcher: retire_and_walk(matcher)):  # type: ignore[misc]
            assert at > 200
            break
        assert is_free(matcher), at
        if matcher.mark() <= 2:  # it may stand after the byte that is taken back again
            matcher.reset()
        accepted = matcher.mark() - 1
        assert allowed(matcher, EOS + 1) == expected[accepted], at
        walk(matcher)
        assert allowed(matcher, EOS + 1) == expected[-1], at
        fresh = Matcher(compiled)
        assert allowed(fresh, EOS + 1) == expected[0], at
        walk(fresh)
        assert allowed(fresh, EOS + 1) == expected[-1], at
        matcher.rollback(3)
        assert allowed(matcher, EOS + 1) == expected[2], at


def interrupted_everywhere(action: Callable[[Matcher], Any]) -> Iterator[tuple[Matcher, int]]:
    """Matchers after "([", for each of which another call of an action was the last one, and that call's number."""
    for at in itertools.count(1):
        matcher = new_matcher()
        matcher.accept_bytes(b"(")
        matcher.accept_token(1)
        if not Interruption(at).run(lambda matcher=matcher: action(matcher)):  # type: ignore[misc]
            assert at > 5
            return
        assert is_free(matcher), at
        yield matcher, at


def test_interrupted_bytes_are_read_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several calls of a kernel, and heaps that are full in between, are one step nevertheless."""
    monkeypatch.setattr(store_module, "SETS", 32)
    text = b"(" * 20 + b"[" * 18
    for matcher, at in interrupted_everywhere(lambda matcher: matcher.accept_bytes(text)):
        assert matcher.mark() in (3, 4), at
        opening = b"([" + (text if matcher.mark() == 4 else b"")
        matcher.accept_bytes(b"x" + opening[::-1].translate(bytes.maketrans(b"([", b")]")))
        assert allowed(matcher, EOS + 1) == [EOS], at


def test_what_changes_nothing_changes_nothing_when_interrupted() -> None:
    """Looking ahead, by bytes and by drafts."""
    out = np.zeros((1, 4, 1), np.uint32)
    reference = ReferenceMatcher(GRAMMAR, Vocabulary([*TOKENS, b"</s>"], eos_ids=[EOS]))
    for token in (0, 1):
        reference.accept_token(token)
    for action in (Matcher.find_forced_bytes, lambda m: lookahead_masks([m], [[0, 5, 0]], out)):
        for matcher, at in interrupted_everywhere(action):
            assert matcher.mark() == 3, at
            assert allowed(matcher, EOS + 1) == reference.allowed_token_ids(), at


@pytest.mark.parametrize("failing", ["new_masks", "new_heap", "carry_shapes"])
@pytest.mark.parametrize("fresh_masks", [False, True])
def test_a_heap_that_cannot_be_replaced_goes_on(
    monkeypatch: pytest.MonkeyPatch, failing: str, fresh_masks: bool
) -> None:
    """There is no memory for the new one, wherever that is found out."""
    expected = reference_masks()
    matcher = new_matcher()
    walk(matcher)
    store = matcher.compiled.store

    def fail(*_: Any) -> None:
        raise LimitError("no memory")

    with monkeypatch.context() as patch, store.lock:
        patch.setattr(store_module if failing == "carry_shapes" else store_module.Store, failing, fail)
        if (failing, fresh_masks) not in (("new_masks", False), ("carry_shapes", True)):
            with pytest.raises(LimitError, match="no memory"):
                store.retire(0, fresh_masks=fresh_masks)
    assert matcher.heap is store.heap
    assert store.heap.masks is store.masks
    for at in range(len(TEXT), -1, -1):
        matcher.rollback(at + 1)
        assert allowed(matcher, EOS + 1) == expected[at]


def test_shapes_that_were_carried_over_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interruption comes when the shapes have the sets of a new heap that nobody will use."""
    expected = reference_masks()
    matcher = new_matcher()
    for token in TEXT[:6]:
        matcher.mask_row()
        matcher.accept_token(token)
    store = matcher.compiled.store
    carry = store_module.carry_shapes

    def carry_and_stop(*heaps: Any) -> None:
        assert carry(*heaps)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, store.lock:
        patch.setattr(store_module, "carry_shapes", carry_and_stop)
        with pytest.raises(KeyboardInterrupt):
            store.retire(matcher.live_sets(), fresh_masks=False)
    masks = store.masks
    for token, mask in zip(TEXT[6:], expected[6:], strict=False):
        assert allowed(matcher, EOS + 1) == mask
        matcher.accept_token(token)
    assert store.masks is not masks
    assert allowed(Matcher(matcher.compiled), EOS + 1) == expected[0]
