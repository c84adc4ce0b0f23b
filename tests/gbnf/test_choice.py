from __future__ import annotations

import pytest
from tests.gbnf.expressions import full_match

from infernix.gbnf.choice import choice_grammar, normalize_choices
from infernix.gbnf.errors import ChoiceError
from infernix.gbnf.grammar import Grammar, Literal, Rule


def test_single_choice_is_one_literal():
    assert choice_grammar(["yes"]) == Grammar((Rule("root", Literal("yes")),))


def test_accepts_exactly_the_choices():
    choices = ["a", "ab", " a", "A", "", "é", "e\u0301", "🙂", 'q"\\\n', "\x00"]
    body = choice_grammar(choices).by_name["root"].body
    others = ["b", "aa", "a ", "É", "e", '"', "\n", "abc", "\x01"]
    assert [text for text in choices + others if full_match(body, text)] == choices


def test_duplicates_are_removed_in_order_of_first_appearance():
    assert normalize_choices(["b", "a", "b", "a", "c"]) == ("b", "a", "c")
    assert choice_grammar(["x", "x"]) == choice_grammar(["x"])


def test_the_only_choice_may_be_empty():
    body = choice_grammar([""]).by_name["root"].body
    assert full_match(body, "")
    assert not full_match(body, "a")


def test_empty_list_is_refused():
    with pytest.raises(ChoiceError, match="empty") as caught:
        choice_grammar([])
    assert caught.value.index is None


@pytest.mark.parametrize(
    ("choices", "index"),
    [(["a", 1], 1), ([None], 0), (["a", b"b"], 1), (["ok", "x\ud83d"], 1), (["\udc00"], 0), ([["a"]], 0)],
)
def test_bad_elements_are_located(choices, index):
    with pytest.raises(ChoiceError) as caught:
        normalize_choices(choices)
    assert caught.value.index == index


def test_one_string_is_not_a_list_of_characters():
    with pytest.raises(ChoiceError, match="list"):
        choice_grammar("abc")
