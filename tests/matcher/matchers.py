"""The matchers under test, by name: everything that claims to behave like the reference."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from infernix.gbnf.grammar import Grammar
from infernix.matcher.bitmask import Words, allocate, unpack
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary

Factory = Callable[[Grammar, Vocabulary], Any]


def _fast(grammar: Grammar, vocabulary: Vocabulary) -> Any:
    from infernix.matcher.compile import compile_grammar
    from infernix.matcher.matcher import Matcher

    return Matcher(compile_grammar(grammar, vocabulary, allow_control=True))


FACTORIES: dict[str, Factory] = {"reference": ReferenceMatcher}
if importlib.util.find_spec("infernix.matcher.matcher"):
    FACTORIES["fast"] = _fast

every_matcher = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES.keys())
"""For properties of one matcher on its own."""
every_fast_matcher = pytest.mark.parametrize(
    "make",
    [factory for name, factory in FACTORIES.items() if name != "reference"] or [ReferenceMatcher],
    ids=[name for name in FACTORIES if name != "reference"] or ["reference"],
)
"""For comparisons with the reference."""


def mask(matcher: Any, size: int) -> Words:
    """The matcher's mask, written over a row full of ones, so that a bit left alone shows."""
    row: Words = allocate(1, size)[0]
    row[:] = 0xFFFFFFFF
    matcher.fill_mask(row)
    return row


def allowed(matcher: Any, size: int) -> list[int]:
    """The ids in the matcher's mask; a bit past the domain is an error."""
    return [int(token_id) for token_id in unpack(mask(matcher, size), size)]


def state(matcher: Any, size: int) -> tuple[list[int], bool, bool]:
    """Everything one can see of a matcher's state: its mask, can_end, is_terminated."""
    return allowed(matcher, size), matcher.can_end(), matcher.is_terminated()
