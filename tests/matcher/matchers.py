"""The matchers under test, by name: everything that claims to behave like the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infernix.gbnf.grammar import Grammar
from infernix.matcher import tables
from infernix.matcher.bitmask import Words, allocate, unpack
from infernix.matcher.compile import compile_grammar
from infernix.matcher.matcher import Matcher
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

Factory = Callable[[Grammar, Vocabulary], Any]


def _fast(features: int) -> Factory:
    def make(grammar: Grammar, vocabulary: Vocabulary) -> Any:
        return Matcher(compile_grammar(grammar, vocabulary, allow_control=True, features=features))

    return make


SWITCHES = {name.removeprefix("OFF_").lower(): bit for name, bit in vars(tables).items() if name.startswith("OFF_")}
"""Every optimisation that can be switched off."""
FACTORIES: dict[str, Factory] = {
    "reference": ReferenceMatcher,
    "fast": _fast(0),
    **{f"without {name}": _fast(bit) for name, bit in SWITCHES.items()},
    "small limits": _fast(tables.SMALL_LIMITS),
    "whole masks": _fast(tables.WHOLE_MASKS),
    "plain": _fast(sum(SWITCHES.values())),
}

MAIN = ("reference", "fast", "plain")
every_matcher = pytest.mark.parametrize("make", [FACTORIES[name] for name in MAIN], ids=MAIN)
"""For properties of one matcher on its own: the oracle, all optimisations, and none."""
FAST = {name: make for name, make in FACTORIES.items() if name != "reference"}
"""For comparisons with the reference: also with each optimisation switched off."""


def mask(matcher: Any, size: int) -> Words:
    """The matcher's mask, written over a row full of ones, so that a bit left alone shows."""
    row: Words = allocate(1, size)[0]
    row[:] = 0xFFFFFFFF
    matcher.fill_mask(row)
    return row


def allowed(matcher: Any, size: int) -> list[int]:
    """The ids in the matcher's mask; a bit past the domain is an error."""
    return [int(token_id) for token_id in unpack(mask(matcher, size), size)]


def state(matcher: Any, size: int) -> tuple[list[int], bool, bool, bool]:
    """Everything one can see of a matcher's state: its mask, can_end, is_terminated, is_dead_end."""
    return allowed(matcher, size), matcher.can_end(), matcher.is_terminated(), matcher.is_dead_end()


def retire(matcher: Matcher, fresh_masks: bool = False) -> None:
    """Do what a full heap does: the store gets a new one, matchers move when they need it."""
    store = matcher.compiled.store
    with store.lock:
        store.retire(matcher.live_sets(), fresh_masks=fresh_masks)
