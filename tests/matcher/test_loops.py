"""Whole subtrees near the bounds of counters, where a walk may take them only if no token crosses a bound."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.matcher.matchers import FAST, state

from infernix import Vocabulary
from infernix.gbnf import parse_gbnf
from infernix.matcher.reference import ReferenceMatcher

TEXTS = ["".join(p) for n in range(1, 6) for p in product("ab", repeat=n)]
TEXTS += ["".join(p) for n in range(1, 4) for p in product("ab.é", repeat=n) if set(p) - {"a", "b"}]
TEXTS += ["a" * n for n in range(6, 15)] + ["." * n for n in range(4, 9)]
TEXTS += [part * n for part in ("ab", "a.", "aé") for n in range(4, 7)]
VOCABULARY = Vocabulary([text.encode() for text in TEXTS] + [b"</s>"], eos_ids=[len(TEXTS)])

UNITS = ["[a-f]", "[a-f.]", "[a-fÀ-߿]", '"."? [a-f]', '[a-f] "."*', '([a-f] | "b" [a-f])', '[a-f] | "." [a-f]']
"""Classes of whole kinds of characters (`matcher.characters`), since others never loop."""
BOUNDS = st.tuples(st.integers(0, 4), st.integers(0, 9)).map(lambda bounds: (bounds[0], sum(bounds)))


@st.composite
def counted(draw: st.DrawFn) -> str:
    """A grammar with one or two counters, beside or inside each other, before, between and after other things."""

    def unit() -> str:
        least, most = draw(BOUNDS)
        return f"({draw(st.sampled_from(UNITS))}){{{least},{most}}}"

    first, second = unit(), unit()
    least, most = draw(st.tuples(st.integers(0, 2), st.integers(2, 4)))
    forms = [
        f'[a-f] {first} "."',
        f'{first} "é" {second}',
        f"({first} | {second} [a-f])",
        f'([a-f] {first} "."){{{least},{most}}} [a-f]*',
        f'"a" ({first} "é")* {second}',
        f'[a-f]* {first} ("." {second})?',
    ]
    return "root ::= " + draw(st.sampled_from(forms))


@pytest.mark.parametrize("name", ["fast", "without symbolic", "without shapes", "without skimming", "small limits"])
@given(st.data())
def test_masks_near_bounds_equal_the_reference(name: str, data: st.DataObject) -> None:
    grammar = parse_gbnf(data.draw(counted()))
    reference, matcher = ReferenceMatcher(grammar, VOCABULARY), FAST[name](grammar, VOCABULARY)
    for _ in range(6):
        expected = state(reference, VOCABULARY.size)
        assert state(matcher, VOCABULARY.size) == expected
        legal = [token for token in expected[0] if token not in VOCABULARY.eos_ids]
        if not legal:
            break
        token = data.draw(st.sampled_from(legal))
        reference.accept_token(token)
        matcher.accept_token(token)
