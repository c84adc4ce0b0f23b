from __future__ import annotations

import itertools
import string
import time

import interegular
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gbnf.expressions import full_match
from tests.gbnf.patterns import ALPHABET, pattern_texts

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Automaton,
    CharClass,
    Literal,
    alternatives,
    normal_ranges,
    repeat,
    sequence,
)
from infernix.gbnf.regex import ANY_TEXT, MAX_DEPTH, parse_regex, parse_search
from infernix.schema.automata import build, difference, disjoint, intersect, minimize
from infernix.schema.bounded import bounded, text_lengths
from infernix.schema.dfa import DEAD, Alphabet, common_alphabet
from infernix.schema.forms import best_form, has_nested_counters, is_deterministic
from infernix.schema.lengths import with_length
from infernix.schema.names import all_but
from infernix.schema.nfa import MAX_WORK, accepts

TEXTS = ["".join(chars) for length in range(5) for chars in itertools.product(ALPHABET, repeat=length)][:500]
budget = settings(max_examples=25, deadline=None)

# What interegular reads as this project does, and in reasonable time.
plain_patterns = st.recursive(
    st.sampled_from(["a", "b", "0", "[ab]", "[^a]", "[^ab0]", "[a-c0]", "ab", "[0-9]"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from("*+?")),
    ),
    max_leaves=6,
)


def language(pattern):
    """The texts of TEXTS in a pattern, by the simple interpreter."""
    expression = parse_regex(pattern)
    return {text for text in TEXTS if full_match(expression, text)}


def accepted(dfa):
    return {text for text in TEXTS if dfa.accepts(text)}


# ---------------------------------------------------------------- alphabets

classes = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))))


@budget
@given(st.lists(classes.map(normal_ranges), min_size=1, max_size=5))
def test_symbols_never_mix_classes(given_classes):
    alphabet = Alphabet(given_classes)
    for ranges in given_classes:
        inside = {code for low, high in ranges for code in range(low, high + 1)}
        symbols = alphabet.symbols(ranges)
        assert inside == {code for code in range(60) if alphabet.symbol_of(code) in symbols}
    covered = {code for ranges in given_classes for low, high in ranges for code in range(low, high + 1)}
    assert covered == {code for code in range(60) if alphabet.symbol_of(code) is not None}


def test_symbols_are_as_few_as_possible():
    alphabet = Alphabet.of(parse_regex(r"[a-z]x|[0-9]"))
    assert alphabet.size == 4  # x, the other letters, the digits, all else


# ---------------------------------------------------------------- building and set operations


@budget
@given(pattern_texts)
def test_build_accepts_the_language(pattern):
    assert accepted(build(parse_regex(pattern))) == language(pattern)


@budget
@given(plain_patterns)
def test_build_is_minimal(pattern):
    dfa = build(parse_regex(pattern))
    other = interegular.parse_pattern(pattern).to_fsm().reduce()  # it may have dead states
    assert len(dfa.moves) == sum(other.islive(state) for state in other.states)
    assert minimize(dfa).moves == dfa.moves


@budget
@given(plain_patterns, plain_patterns)
def test_set_operations_agree_with_sets_and_with_interegular(first, second):
    one, two = build(parse_regex(first)), build(parse_regex(second))
    assert accepted(intersect(one, two)) == language(first) & language(second)
    assert accepted(difference(one, two)) == language(first) - language(second)
    left, right = (interegular.parse_pattern(text).to_fsm() for text in (first, second))
    assert disjoint(one, two) == (left & right).empty()
    assert difference(one, two).is_empty == (left - right).empty()


@budget
@given(pattern_texts)
def test_expression_round_trip(pattern):
    expression = build(parse_regex(pattern)).to_expression()
    assert {text for text in TEXTS if full_match(expression, text)} == language(pattern)
    if isinstance(expression, Automaton):
        assert accepted(build(expression)) == language(pattern)
        assert all(edge[0] <= edge[1] for edges in expression.edges for edge in edges)
        for edges in expression.edges:
            assert all(before[1] < after[0] for before, after in itertools.pairwise(edges))


def test_empty_languages_have_no_states():
    nothing = build(parse_regex("a[]"))
    assert nothing.is_empty
    assert nothing.to_expression() == NOTHING
    assert not nothing.accepts("")
    assert intersect(build(parse_regex("a")), build(parse_regex("b"))).is_empty
    assert intersect(nothing, build(ANY_TEXT)).is_empty
    assert accepted(difference(build(parse_regex("a")), nothing)) == {"a"}
    assert with_length(nothing, 0, 3).is_empty


def test_common_alphabet_keeps_the_languages():
    first, second = common_alphabet([build(parse_regex("[a-m]+")), build(parse_regex("[h-z0]"))])
    assert first.alphabet is second.alphabet
    assert [text for text in ("a", "m", "z", "am", "0") if first.accepts(text)] == ["a", "m", "am"]
    assert [text for text in ("a", "m", "z", "am", "0") if second.accepts(text)] == ["m", "z", "0"]


# ---------------------------------------------------------------- lengths


@budget
@given(pattern_texts, st.integers(0, 4), st.one_of(st.none(), st.integers(0, 5)))
def test_with_length_filters_by_length(pattern, minimum, maximum):
    dfa = with_length(build(parse_regex(pattern)), minimum, maximum)
    expected = {
        text for text in language(pattern) if minimum <= len(text) and (maximum is None or len(text) <= maximum)
    }
    assert accepted(dfa) == expected
    assert len(minimize(dfa).moves) == len(dfa.moves)  # no two states are the same


@budget
@given(pattern_texts)
def test_distances_are_the_extreme_lengths(pattern):
    dfa = build(parse_regex(pattern))
    bounds = text_lengths(parse_regex(pattern))
    if dfa.is_empty:
        assert bounds is None
        return
    assert bounds == dfa.lengths  # one from the expression, one from the automaton
    shortest, longest = dfa.lengths
    lengths = {len(text) for text in language(pattern)}
    assert all(shortest <= length and (longest is None or length <= longest) for length in lengths)


def test_length_of_long_chains_takes_linear_time():
    start = time.process_time()
    dfa = with_length(build(parse_regex("(a|bc)*")), 10, 8000)
    assert time.process_time() - start < 5
    assert dfa.lengths == (10, 8000)
    assert dfa.accepts("abc" * 2000)
    assert not dfa.accepts("a" * 8001)


@budget
@given(pattern_texts, st.integers(0, 4), st.one_of(st.none(), st.integers(0, 5)))
def test_bounded_expressions_agree_with_automata(pattern, minimum, maximum):
    for expression in (parse_regex(pattern), parse_search(pattern)):
        found = bounded(expression, minimum, maximum)
        if found is not None:
            wanted = with_length(build(expression), minimum, maximum)
            assert difference(build(found), wanted).is_empty
            assert difference(wanted, build(found)).is_empty


@pytest.mark.parametrize(
    ("pattern", "minimum", "maximum", "expected"),
    [
        ("[a-z]+", 0, 63, "[a-z]{1,63}"),
        ("[a-z]{1,800}", 3, 80, "[a-z]{3,80}"),
        ("[0-9a-f]{8}-[0-9a-f]{4}", 1, 36, "[0-9a-f]{8}-[0-9a-f]{4}"),
        ("https://[^ ]+", 0, 2000, "https://[^ ]{1,1992}"),
        ("(?:ab|cd)*", 3, 9, "(?:ab|cd){2,4}"),
        ("|[a-z][a-z0-9]*", 1, None, "[a-z][a-z0-9]*"),
        ("(?:jpg|jpeg);[ab]*", 0, 8, "jpg;[ab]{0,4}|jpeg;[ab]{0,3}"),
        ("-?[0-9]+", 2, 3, "[0-9]{2,3}|-[0-9]{1,2}"),
        ("[a-z]{10,}", 0, 9, "[]"),
        ("abc", 4, None, "[]"),
        ("a|bb|ccc", 2, 2, "bb"),
    ],
)
def test_bounds_go_into_the_counters(pattern, minimum, maximum, expected):
    assert bounded(parse_regex(pattern), minimum, maximum) == parse_regex(expected)


@pytest.mark.parametrize("pattern", ["a*b*", "(?:a|bc)*", "[^@]+@[^@]+"])
def test_two_loops_need_an_automaton(pattern):
    assert bounded(parse_regex(pattern), 3, 5) is None


# ---------------------------------------------------------------- lazy cells


@budget
@given(pattern_texts)
def test_lazy_cells_accept_the_language(pattern):
    expression = parse_regex(pattern)
    assert {text for text in TEXTS[:120] if accepts(expression, text)} == language(pattern) & set(TEXTS[:120])


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("a{1,100000}", "a" * 50, ""),
        ("a{2000000000}", None, "aaa"),
        ("(a?){100000}b", "aab", "aa"),
        ("((a*)*)*b", "aaab", "aaa"),
        ("(a|aa)+", "a" * 60, "a" * 60 + "b"),
        ("(a+)+", "a" * 40, "a" * 40 + "b"),
        ("(" * MAX_DEPTH + "a" + ")*" * MAX_DEPTH, "aaa", "b"),
        ("(|" * MAX_DEPTH + "a" + "b)" * MAX_DEPTH, "bbb", "c"),
    ],
)
def test_counters_and_nesting_are_followed_lazily(pattern, inside, outside):
    expression = parse_regex(pattern)
    start = time.process_time()
    assert inside is None or accepts(expression, inside)
    assert not accepts(expression, outside)
    assert time.process_time() - start < 3


# ---------------------------------------------------------------- limits


def test_exponential_automata_stop_at_the_limit():
    start = time.process_time()
    with pytest.raises(LimitError):
        build(parse_regex("[ab]*a[ab]{40}"))
    assert time.process_time() - start < 30
    with pytest.raises(LimitError, match="100 states"):
        build(parse_regex("a{200}"), limit=100)
    assert MAX_WORK > 0


def test_products_stop_at_the_limit():
    first, second = build(parse_regex("(a{97}b)*")), build(parse_regex("([ab]{101})*"))
    with pytest.raises(LimitError, match="1000 states"):
        intersect(first, second, limit=1000)
    with pytest.raises(LimitError, match="1000 states"):
        with_length(build(parse_regex("(a|bc)*d(a|bc)*")), 0, 900, limit=1000)


# ---------------------------------------------------------------- names


@budget
@given(st.lists(st.text("ab\n\x00é😀", max_size=4), max_size=8), st.text("ab\n\x00éè😀", max_size=5))
def test_all_but_accepts_everything_else(names, other):
    automaton = all_but(names)
    for text in [*names, other, *TEXTS[:40]]:
        assert full_match(automaton, text) == (text not in names)
    assert automaton.edges[0] or not names


def test_all_but_shares_equal_tails():
    names = ["".join(chars) + "_name" for chars in itertools.product(string.ascii_lowercase, repeat=2)]
    assert len(all_but(names).edges) == 1 + 2 + len("_name") + 1


def test_all_but_nothing_is_everything():
    assert full_match(all_but([]), "any")
    assert full_match(all_but([]), "")


# ---------------------------------------------------------------- determinism


@pytest.mark.parametrize(
    "pattern",
    ["[a-z]{1,800}", "a{2,5}b", "([a-z]+,)*;", r"\d{4}-\d{2}", "(?:ab|cd)*e", "[0-9a-f]{64}", "", "[]"],
)
def test_deterministic_patterns(pattern):
    assert is_deterministic(parse_regex(pattern))


@pytest.mark.parametrize("pattern", ["a*a", "(a|ab)c", "(a{1,3}b?){2}", "[a-z]{1,800}z", "(ab|ac)", "(ab?){1,3}ab"])
def test_patterns_that_read_a_character_in_two_ways(pattern):
    assert not is_deterministic(parse_regex(pattern))


def test_nested_counters():
    assert has_nested_counters(parse_regex("([a-z]{1,9} ){1,40}"))
    assert has_nested_counters(parse_regex("(x|[a-z]{3}y){2,}"))
    assert not has_nested_counters(parse_regex("([a-z]{1,9} )*[0-9]{3}"))
    assert not has_nested_counters(parse_regex("([a-z]+ ?){2,40}"))


@budget
@given(pattern_texts)
def test_the_best_form_has_the_same_language(pattern):
    form = best_form(parse_regex(pattern))
    assert {text for text in TEXTS if full_match(form, text)} == language(pattern)


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("[a-z]{1,800}", True),
        ("(?:a|ab)c", False),
        ("([a-z]{1,9} ){1,40}", False),
        ("([a-z]{1,9} ){1,400}", True),
        ("([a-z]{1,3} ){1,4}", False),
        ("[ab]*a[ab]{40}", True),
    ],
)
def test_the_best_form_of(pattern, kept):
    expression = parse_regex(pattern)
    form = best_form(expression)
    assert form is expression if kept else isinstance(form, Automaton)


@pytest.mark.parametrize(
    "pattern",
    [
        "a?" * 1_000,  # few states, but each of them a thousand positions
        "a?" * 100_000,
        "".join(f"{chr(0x4E00 + i)}?" for i in range(5_000)),
        "(x|xy)" + "".join(chr(0x10000 + i) for i in range(100_000)),
        "(a{1,1000}b?){1,1000}",
    ],
    ids=["optional", "very many", "distinct", "a large alphabet", "counters"],
)
def test_the_better_form_is_not_searched_for_long(pattern):
    expression = parse_regex(pattern)
    start = time.process_time()
    assert best_form(expression) is expression
    assert time.process_time() - start < 2  # a tenth of that on an idle machine


def test_the_search_for_the_better_form_is_counted_in_steps():
    expression = parse_regex("a?" * 30)
    assert build(expression, work=20_000).moves == build(expression).moves
    with pytest.raises(LimitError, match="more than 500 steps"):
        build(expression, work=500)


def test_an_alphabet_has_a_largest_size():
    with pytest.raises(LimitError, match="8192 classes"):
        build(parse_regex("(x|xy)" + "".join(chr(0x10000 + i) for i in range(8_192))))


def test_deep_expressions_are_handled_without_recursion():
    deep = EMPTY
    for _ in range(3000):
        deep = repeat(alternatives([sequence([Literal("a"), deep]), CharClass(((98, 98),))]), 0, 3)
    assert text_lengths(deep) == (0, None) or text_lengths(deep)[0] == 0
    assert not is_deterministic(sequence([deep, ANY_CHAR, deep]))
    assert DEAD == -1
