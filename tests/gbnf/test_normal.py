"""The normal form in one pass equals the one that the helpers build level by level."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Alternatives,
    Expression,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    alternatives,
    repeat,
    sequence,
)
from infernix.gbnf.normal import normal_form, raw_alternatives, raw_sequence


def shapes(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    lists = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        lists.map(tuple).map(Sequence),
        lists.map(tuple).map(Alternatives),
        st.builds(Repeat, parts, st.sampled_from([0, 1]), st.sampled_from([1, 2, None])),
    )


leaves = st.sampled_from([Literal("a"), Literal("bc"), EMPTY, NOTHING, RuleRef("x")])
trees = st.recursive(leaves, shapes, max_leaves=12)


def level_by_level(node: Expression) -> Expression:
    match node:
        case Sequence(items):
            return sequence(map(level_by_level, items))
        case Alternatives(choices):
            return alternatives(map(level_by_level, choices))
        case Repeat(item, minimum, maximum):
            return repeat(level_by_level(item), minimum, maximum)
        case _:
            return node


@given(trees)
def test_one_pass_equals_level_by_level(tree: Expression) -> None:
    assert normal_form(tree) == level_by_level(tree)


@given(trees)
def test_the_normal_form_is_stable(tree: Expression) -> None:
    once = normal_form(tree)
    assert normal_form(once) == once


def test_raw_constructors_drop_what_vanishes() -> None:
    a = Literal("a")
    assert raw_sequence([EMPTY, a, EMPTY]) == a
    assert raw_sequence([EMPTY, EMPTY]) == raw_sequence([]) == EMPTY
    assert raw_sequence([Sequence((a, a)), a]) == Sequence((Sequence((a, a)), a))
    assert raw_alternatives([a]) == a
    assert raw_alternatives([EMPTY, EMPTY]) == EMPTY
    assert raw_alternatives([a, EMPTY]) == Alternatives((a, EMPTY))


def test_wide_and_deep_trees_take_linear_time() -> None:
    """A million copied items if each level copied the ones inside; a thousand if not."""
    wide: Expression = Sequence(tuple(RuleRef("x") for _ in range(1000)))
    for _ in range(1000):
        wide = Sequence((wide, RuleRef("y")))
    flat = normal_form(wide)
    assert isinstance(flat, Sequence)
    assert len(flat.items) == 2000
