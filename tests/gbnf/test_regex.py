from __future__ import annotations

import itertools
import pickle
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gbnf.expressions import full_match
from tests.gbnf.patterns import ALPHABET, pattern_texts, translate

from infernix.gbnf.errors import RegexError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    EMPTY,
    MAX_COUNT,
    NOTHING,
    CharClass,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    walk,
)
from infernix.gbnf.regex import ANY_TEXT, MAX_DEPTH, MAX_LENGTH, parse_regex, parse_search, regex_grammar

# ---------------------------------------------------------------- against Python's re
SHORT_TEXTS = ["".join(chars) for length in range(5) for chars in itertools.product(ALPHABET, repeat=length)]

HAND_WRITTEN = [
    "",
    "a|",
    "|a",
    "(|a)b",
    "()",
    "(a*)*",
    "(a*b*)*",
    "(a|ab)(b|ba)?",
    "((a|b){2}){1,2}",
    "(a?){3}",
    "(a{0,2}){2}b",
    "a{0}b",
    "(?:a|b|-)+?0",
]


@pytest.mark.parametrize("pattern", HAND_WRITTEN)
def test_hand_written_patterns_agree_with_re(pattern):
    agree(pattern)


@settings(max_examples=80, deadline=None)
@given(pattern_texts, st.lists(st.text(ALPHABET + "c\r\u2028é", max_size=7), max_size=10))
@example("(a|b)*a", ["ab" * 3 + "a"])
def test_random_patterns_agree_with_re(pattern, texts):
    agree(pattern, texts)


def agree(pattern, texts=()):
    compiled = re.compile(translate(pattern), re.ASCII)
    whole, anywhere = parse_regex(pattern), parse_search(pattern)
    for text in itertools.chain(SHORT_TEXTS[:400], texts):
        assert full_match(whole, text) == bool(compiled.fullmatch(text)), text
        assert full_match(anywhere, text) == bool(compiled.search(text)), text


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(pattern_texts)
def test_all_texts_up_to_length_six_agree_with_re(pattern):
    compiled = re.compile(translate(pattern), re.ASCII)
    expression = parse_regex(pattern)
    for length in range(7):
        for chars in itertools.product("ab0", repeat=length):
            text = "".join(chars)
            assert full_match(expression, text) == bool(compiled.fullmatch(text)), text


# ---------------------------------------------------------------- anchors

anchored = st.lists(
    st.tuples(st.sampled_from(["", "^"]), pattern_texts, st.sampled_from(["", "$"])), min_size=1, max_size=3
)


def top_level(parts):
    # The pattern texts of a sequence may contain a bare alternative only inside groups, so
    # joining them with "|" makes exactly one alternative of each.
    return "|".join("".join(part) for part in parts)


@settings(max_examples=60, deadline=None)
@given(anchored)
def test_anchors_at_the_ends_of_alternatives(parts):
    pattern = top_level(parts)
    compiled = re.compile(translate(pattern), re.ASCII)
    expression = parse_search(pattern)
    for text in SHORT_TEXTS[:400]:
        assert full_match(expression, text) == bool(compiled.search(text)), text


@settings(max_examples=60, deadline=None)
@given(anchored, st.sampled_from(["", "a", "b?"]), st.sampled_from(["", "0", "[ab]+"]))
def test_search_takes_anchors_in_groups_at_the_edge(parts, before, after):
    starts = any(start for start, _, _ in parts)
    ends = any(end for _, _, end in parts)
    pattern = ("" if starts else before) + "(" + top_level(parts) + ")" + ("" if ends else after)
    compiled = re.compile(translate(pattern), re.ASCII)
    expression = parse_search(pattern)
    for text in SHORT_TEXTS[:400]:
        assert full_match(expression, text) == bool(compiled.search(text)), text
    if starts or ends:
        with pytest.raises(RegexError):
            parse_regex(pattern)


def test_anchors_change_nothing_in_a_full_match():
    assert parse_regex("^ab$") == parse_regex("ab")
    assert parse_regex("^a|b$|^c$") == parse_regex("a|b|c")
    assert parse_regex("^$") == EMPTY


def test_the_text_around_a_search_is_any_text():
    expression = parse_search("a")
    assert all(full_match(expression, text) for text in ["a", "\n\na\r", "\u2028a\U0010ffff", "xay"])
    assert parse_search("^a$") == Literal("a")


@pytest.mark.parametrize("pattern", ["", ".*", "a?", "(a|b)*", "^", "$", "^|a", "x*y*", "(x*)?"])
def test_searches_that_always_succeed_are_any_text(pattern):
    expression = parse_search(pattern)
    assert all(full_match(expression, text) for text in SHORT_TEXTS[:100])


def test_optional_edges_vanish_into_the_surrounding_text():
    assert parse_search(".*a+.*") == Sequence((ANY_TEXT, Literal("a"), ANY_TEXT))
    assert parse_search("(ab)+") == Sequence((ANY_TEXT, Literal("ab"), ANY_TEXT))
    assert parse_search("((ab+)+)+") == Sequence((ANY_TEXT, Literal("ab"), ANY_TEXT))
    assert parse_search(".*") == ANY_TEXT


# ---------------------------------------------------------------- characters


def inside(expression):
    assert isinstance(expression, CharClass)
    return {code for low, high in expression.ranges for code in range(low, high + 1)}


ALL_SCALARS = set(range(0xD800)) | set(range(0xE000, 0x110000))
ECMASCRIPT_SPACE = {
    0x9,
    0xA,
    0xB,
    0xC,
    0xD,
    0x20,
    0xA0,
    0x1680,
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
}
ECMASCRIPT_SPACE |= set(range(0x2000, 0x200B))


def test_class_escapes_over_all_of_unicode():
    import unicodedata

    assert inside(parse_regex(r"\d")) == set(map(ord, "0123456789"))
    assert inside(parse_regex(r"\w")) == {code for code in range(128) if re.match(r"\w", chr(code), re.ASCII)}
    space = inside(parse_regex(r"\s"))
    assert space == ECMASCRIPT_SPACE
    assert {code for code in ALL_SCALARS if unicodedata.category(chr(code)) == "Zs"} <= space
    for small in "dws":
        assert inside(parse_regex("\\" + small.upper())) == ALL_SCALARS - inside(parse_regex("\\" + small))


def test_dot_excludes_the_four_line_terminators():
    assert ALL_SCALARS - inside(parse_regex(".")) == {0xA, 0xD, 0x2028, 0x2029}


@pytest.mark.parametrize(
    ("pattern", "members"),
    [
        (r"[a\d-]", "a0123456789-"),
        (r"[-a]", "-a"),
        (r"[a-]", "a-"),
        (r"[\w-.]", "_-." + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
        (r"[+--]", "+,-"),
        (r"[a-\d]", "a-0123456789"),
        (r"[\]\[\\^]", "][\\^"),
        (r"[a^]", "a^"),
        (r"[\b]", "\b"),
        (r"[.$*+?(){}|/]", ".$*+?(){}|/"),
        (r"[\x41-\u0043]", "ABC"),
        (r"[é-ë]", "éêë"),
        ("[\U0001f600-\U0001f602]", "😀😁😂"),
        (r"[\t\n\v\f\r\0\cJ]", "\t\n\v\f\r\0"),
        (r"[\-\_\/\@\ ]", "-_/@ "),
    ],
)
def test_bracket_classes(pattern, members):
    assert inside(parse_regex(pattern)) == set(map(ord, members))


def test_classes_never_contain_surrogates():
    assert inside(parse_regex(r"[^a]")) == ALL_SCALARS - {ord("a")}
    assert inside(parse_regex(r"[\u0000-\uFFFF]")) == ALL_SCALARS & set(range(0x10000))
    assert inside(parse_regex(r"[^\w\W]")) == set()
    assert parse_regex("[]") == NOTHING
    assert parse_regex("[^]") == ANY_CHAR


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\x41\u00e9", "Aé"),
        (r"\t\n\v\f\r\0", "\t\n\v\f\r\0"),
        (r"\cA\cj", "\x01\n"),
        (r"\.\*\+\?\(\)\[\]\{\}\|\^\$\\\/", ".*+?()[]{}|^$\\/"),
        (r"\-\_\'\,\:\@\ \~\"", "-_',:@ ~\""),
        ("}]", "}]"),
        ("😀\U0010ffff", "😀\U0010ffff"),
        ("(?<year>a)(?:b)(c)", "abc"),
        ("a-b/c", "a-b/c"),
    ],
)
def test_character_escapes_and_literals(pattern, text):
    assert parse_regex(pattern) == Literal(text)


# ---------------------------------------------------------------- structure


def test_counts_stay_counters():
    assert parse_regex("(ab){2,100000}") == Repeat(Literal("ab"), 2, 100000)
    assert parse_regex("[ab]{3}") == Repeat(CharClass(((97, 98),)), 3, 3)
    assert parse_regex("a{2,}") == Repeat(Literal("a"), 2, None)
    assert parse_regex(f"a{{0,{MAX_COUNT}}}") == Repeat(Literal("a"), 0, MAX_COUNT)
    assert parse_regex("a{00002}") == Repeat(Literal("a"), 2, 2)


@pytest.mark.parametrize("lazy", ["a*?", "a+?", "a??", "a{2}?", "a{2,}?", "a{2,3}?"])
def test_lazy_is_greedy(lazy):
    assert parse_regex(lazy) == parse_regex(lazy[:-1])


def test_grammar_has_one_rule():
    grammar = regex_grammar("a|b")
    assert [rule.name for rule in grammar.rules] == ["root"]
    assert not any(isinstance(node, RuleRef) for node in walk(grammar.rules[0].body))


REFUSED = [
    # back-references
    (r"(a)\1", 3, "back-reference"),
    (r"(?<n>a)\k<n>", 7, "back-reference"),
    # lookaround
    ("a(?=b)", 1, "lookaround"),
    ("(?!b)", 0, "lookaround"),
    ("(?<=b)", 0, "lookaround"),
    ("ab(?<!b)", 2, "lookaround"),
    # word boundaries
    (r"a\b", 1, "word boundar"),
    (r"\Ba", 0, "word boundar"),
    (r"[\B]", 1, "word boundar"),
    # property classes, flags and other group kinds
    (r"\p{L}", 0, "property"),
    (r"x\P{L}", 1, "property"),
    (r"[\p{L}]", 1, "property"),
    ("(?i)a", 0, "group"),
    ("a(?i:b)", 1, "group"),
    ("(?P<n>a)", 0, "group"),
    ("(?>a)", 0, "group"),
    ("(?<1>a)", 0, "group"),
    ("(?<n>a)(?<n>b)", 7, "second group"),
    ("(?", 0, "group"),
    # escapes
    (r"\q", 0, "unknown escape"),
    (r"ab\z", 2, "unknown escape"),
    (r"\A", 0, "unknown escape"),
    (r"\é", 0, "unknown escape"),
    (r"[\e]", 1, "unknown escape"),
    (r"\ud83d\ude00", 0, "surrogate"),
    (r"[\uD800-\uDFFF]", 1, "surrogate"),
    ("a\ud83d", 1, "surrogate"),
    ("[\udc00]", 1, "surrogate"),
    (r"\x4", 0, "hexadecimal"),
    (r"\u12g4", 0, "hexadecimal"),
    (r"\u{41}", 0, "hexadecimal"),
    (r"\c1", 0, "letter"),
    (r"\c", 0, "letter"),
    (r"\01", 0, "octal"),
    ("ab\\", 2, "backslash"),
    # balance
    ("(a", 0, "not closed"),
    ("a(b(c)", 1, "not closed"),
    ("a)", 1, "unbalanced"),
    ("[ab", 0, "not closed"),
    ("a[", 1, "not closed"),
    ("[a-", 0, "not closed"),
    ("[", 0, "not closed"),
    ("[b-a]", 1, "out of order"),
    # quantifiers
    ("*a", 0, "nothing to repeat"),
    ("a**", 2, "nothing to repeat"),
    ("a++", 2, "nothing to repeat"),
    ("a???", 3, "nothing to repeat"),
    ("a{2}{3}", 4, "nothing to repeat"),
    ("(+)", 1, "nothing to repeat"),
    ("a|?", 2, "nothing to repeat"),
    ("^*", 1, "nothing to repeat"),
    ("a$+", 2, "nothing to repeat"),
    ("a{5,2}", 1, "out of order"),
    ("a{", 1, "quantifier"),
    ("a{,3}", 1, "quantifier"),
    ("{2}", 0, "nothing to repeat"),
    ("a{x}", 1, "quantifier"),
    ("a{1,2", 1, "quantifier"),
    ("a{2147483648}", 1, "counts end"),
    ("a{1,99999999999}", 1, "counts end"),
    # anchors
    ("a^b", 1, "begin"),
    ("^^a", 1, "begin"),
    ("a$b", 1, "end"),
    ("a$$", 1, "end"),
    ("$a", 0, "end"),
    ("$^", 0, "end"),
    ("^$a", 1, "end"),
    ("a|b^", 3, "begin"),
]


@pytest.mark.parametrize("parse", [parse_regex, parse_search])
@pytest.mark.parametrize(("pattern", "position", "message"), REFUSED)
def test_refused_constructs_have_their_position(parse, pattern, position, message):
    with pytest.raises(RegexError, match=message) as caught:
        parse(pattern)
    assert (caught.value.position, caught.value.pattern) == (position, pattern)


@pytest.mark.parametrize(
    ("pattern", "position"), [("(^a)", 1), ("(a$)", 2), ("a(b|$)", 4), ("((^)a)", 2), ("^(?:a$|b)$", 5)]
)
def test_full_match_refuses_anchors_in_groups(pattern, position):
    with pytest.raises(RegexError, match="top-level") as caught:
        parse_regex(pattern)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("x(^a)", 2),
        ("(a$)x", 2),
        ("(^a)*", 1),
        ("(a|b$){2}", 4),
        ("((a$)|b)c", 3),
        ("a(b(^))", 4),
        ("^(a|^)", 4),
    ],
)
def test_search_refuses_anchors_away_from_the_edge(pattern, position):
    with pytest.raises(RegexError) as caught:
        parse_search(pattern)
    assert caught.value.position == position


def test_deep_nesting_is_a_limit_not_a_crash():
    assert parse_regex("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == Literal("a")
    for text in ("(" * 100_000, "(" * 100_000 + ")" * 100_000, "(a|" * 5000 + ")*" * 5000):
        with pytest.raises(RegexError, match="deep") as caught:
            parse_regex(text)
        assert caught.value.position == text.index("(", MAX_DEPTH) if "|" not in text else 3 * MAX_DEPTH


def test_the_longest_pattern():
    assert parse_regex("a" * MAX_LENGTH) == Literal("a" * MAX_LENGTH)
    with pytest.raises(RegexError, match="at most 262144 characters") as caught:
        parse_regex("a" * (MAX_LENGTH + 1))
    assert caught.value.position == MAX_LENGTH


def test_long_patterns_take_linear_time():
    pattern = "[ab]c" * 20_000
    assert isinstance(parse_regex(pattern), Sequence)


@pytest.mark.parametrize("pattern", ["a(b", "a\\b"])
def test_errors_survive_pickling(pattern):
    with pytest.raises(RegexError) as caught:
        parse_regex(pattern)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert (str(again), vars(again)) == (str(caught.value), vars(caught.value))
