from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gbnf.expressions import full_match

from infernix.gbnf.grammar import EMPTY, Alternatives, CharClass, Literal, Repeat, Sequence
from infernix.gbnf.simplify import simplify

A, B = Literal("a"), CharClass(((98, 99),))
TEXTS = ["".join(chars) for length in range(7) for chars in itertools.product("ab", repeat=length)]

counts = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3))).map(
    lambda pair: (pair[0], None if pair[1] is None else sum(pair))
)
expressions = st.recursive(
    st.sampled_from([A, B, EMPTY, Literal("ab")]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda items: Sequence(tuple(items))),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: Alternatives(tuple(items))),
        st.builds(lambda item, bounds: Repeat(item, *bounds), inner, counts),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(expressions)
def test_the_language_stays(expression):
    simple = simplify(expression)
    for text in TEXTS:
        assert full_match(simple, text) == full_match(expression, text), text


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 3), (2, 3), (3, 3), (2, None), (0, None), (1, None)])
@pytest.mark.parametrize(("minimum", "maximum"), [(0, 2), (1, 2), (2, 2), (0, None), (1, None), (2, 5), (4, 5)])
def test_two_counters_become_one_only_without_gaps(low, high, minimum, maximum):
    expression = Repeat(Repeat(A, low, high), minimum, maximum)
    # Enumerate the possible totals; "no maximum" is cut off well above what is compared.
    totals = set()
    for rounds in range(minimum, 25 if maximum is None else maximum + 1):
        totals |= set(range(low * rounds, (25 if high is None else high) * rounds + 1))
    for length in range(20):
        assert full_match(simplify(expression), "a" * length) == (length in totals)


def test_the_rewritings():
    assert simplify(Repeat(Repeat(A, 0, 1), 3, 3)) == Repeat(A, 0, 3)
    assert simplify(Repeat(Repeat(A, 1, None), 0, None)) == Repeat(A, 0, None)
    assert simplify(Repeat(Repeat(A, 2, 2), 0, 5)) == Repeat(Repeat(A, 2, 2), 0, 5)
    assert simplify(Repeat(Repeat(A, 2, None), 0, 1)) == Repeat(Repeat(A, 2, None), 0, 1)
    assert simplify(Alternatives((EMPTY, A))) == Repeat(A, 0, 1)
    words = Sequence((Repeat(Sequence((Repeat(A, 1, None), B)), 0, 99), Repeat(A, 1, None)))
    assert simplify(words) == Sequence((Repeat(A, 1, None), Repeat(Sequence((B, Repeat(A, 1, None))), 0, 99)))


def test_two_counters_stay_where_one_would_be_too_large():
    many = Repeat(Repeat(A, 0, 50_000), 0, 50_000)
    assert simplify(many) == many
    assert simplify(Repeat(Repeat(A, 0, 46_340), 0, 46_341)) == Repeat(A, 0, 46_340 * 46_341)
    assert simplify(Repeat(Repeat(A, 65_536, None), 32_768, 32_768)) == Repeat(Repeat(A, 65_536, None), 32_768, 32_768)


def test_very_deep_expressions_are_left_alone():
    deep = A
    for _ in range(5000):
        deep = Repeat(Sequence((deep, B)), 0, 1)
    assert simplify(deep) is deep
