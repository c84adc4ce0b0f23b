from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.data import data_path
from tests.gbnf.expressions import full_match, sample
from tests.gbnf.patterns import ALPHABET, pattern_texts, translate

from infernix.gbnf.errors import InvalidSchema, UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.grammar import Automaton, Repeat, RuleRef, walk
from infernix.schema.json_text import JSON_CHAR, encode
from infernix.schema.strings import (
    JSON_STRING,
    StringLanguage,
    checker,
    contains,
    disjoint,
    intersect,
    is_empty,
    json_text,
    values,
)

RULES = {JSON_STRING.name: JSON_STRING.body}
TEXTS = ["".join(chars) for length in range(5) for chars in itertools.product(ALPHABET, repeat=length)][:300]
budget = settings(max_examples=30, deadline=None)


def canonical(value):
    return json.dumps(value, ensure_ascii=False)


def accepts(language, text):
    return full_match(json_text(language), text, RULES)


# ---------------------------------------------------------------- free strings


def is_json_string(text):
    """Python's parser as the judge, with lone surrogates and raw control characters refused."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, str) and text[:1] == '"' == text[-1:] and not re.search("[\ud800-\udfff]", value)


PIECES = [
    "a",
    "é",
    "😀",
    " ",
    "\x7f",
    "\x00",
    "\n",
    "\t",
    '"',
    "\\",
    "\x1f",
    "\u2028",
    "\U0010ffff",
    "u",
    "0",
    "D",
]
PIECES += [
    r"\n",
    r"\/",
    r"\"",
    r"\\",
    r"\b",
    r"\f",
    r"\r",
    r"\t",
    r"\'",
    r"\a",
    r"\x41",
    r"\u",
    r"\u12",
    "d8",
]
PIECES += [r"\u0041", r"\uD83D\uDE00", r"\ud83d", r"\ude00", r"\uD7FF", r"\uE000", r"\u00e9", r"\uFFFF"]
PIECES += [r"\uDBFF\uDFFF", r"\uDBFF\uE000"]
pieces = st.sampled_from(PIECES)


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=5).map("".join), st.sampled_from(['"{}"', "{}", '"{}', '{}"', ' "{}"']))
@example("\\ud83d\\ud83d\\ude00", '"{}"')
def test_free_strings_are_rfc_8259(inner, frame):
    text = frame.replace("{}", inner)
    assert accepts(StringLanguage(), text) == is_json_string(text)


def test_free_strings_are_one_shared_rule():
    assert json_text(StringLanguage()) == RuleRef("json-string")
    assert JSON_STRING.name == "json-string"


@budget
@given(st.lists(pieces, max_size=5).map("".join), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 4)))
def test_length_counts_decoded_characters(inner, minimum, maximum):
    language = StringLanguage(minimum, maximum)
    text = f'"{inner}"'
    if maximum is not None and maximum < minimum:
        with pytest.raises(UnsatisfiableSchema):
            json_text(language)
        return
    expected = is_json_string(text) and contains(language, json.loads(text))
    assert accepts(language, text) == expected
    if expected:
        assert minimum <= len(json.loads(text)) <= (len(text) if maximum is None else maximum)


def test_plain_lengths_are_one_counter():
    assert Repeat(JSON_CHAR, 2, 100_000) in walk(json_text(StringLanguage(2, 100_000)))
    assert Repeat(JSON_CHAR, 0, 10**9) in walk(json_text(StringLanguage(0, 10**9)))


# ---------------------------------------------------------------- canonical escapes


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from('a"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é😀'), max_size=6))
def test_canonical_spelling_is_that_of_json_dumps(value):
    for pattern in ("^[^]*$", "^(?:[^a]|a)*$"):
        assert accepts(StringLanguage(patterns=(pattern,)), canonical(value))
    automaton = encode(Automaton((((0, 0xD7FF, 0), (0xE000, 0x10FFFF, 0)),), frozenset([0])))
    assert full_match(automaton, canonical(value)[1:-1])


@pytest.mark.parametrize(
    "text", ['"\\u0061"', '"\\/"', '"\\u000A"', '"\\u000a"', '"\\u001F"', '"\n"', '"""', '"\\"', '"\\u00e9"']
)
def test_other_spellings_are_refused_beside_a_pattern(text):
    assert not accepts(StringLanguage(patterns=("^[^x]$",)), text)


def test_every_control_character_has_its_spelling():
    language = StringLanguage(patterns=(r"^[\0-\x1f\x22\x5c]$",))
    spellings = [canonical(chr(code)) for code in [*range(0x20), 0x22, 0x5C]]
    assert all(accepts(language, text) for text in spellings)
    automaton = json_text(StringLanguage(patterns=(r"^[\0-\x1f\x22\x5c]$",), excluded=frozenset("\n")))
    assert [text for text in spellings if not full_match(automaton, text)] == ['"\\n"']


HARD = st.text('ab"\\\n\x01\x1fé😀/u0', max_size=4)
KEY_PATTERNS = [(), ("^a",), ('"|😀$',), ("\\\\",), ("^[^a]*$",), ("a.*b", "\n"), ("^[ab]{2}$",), ("^ab?$",)]


@settings(max_examples=200, deadline=None)
@given(st.frozensets(HARD, min_size=1, max_size=6), st.sampled_from(KEY_PATTERNS), st.lists(HARD, max_size=10))
def test_excluded_texts_cannot_be_spelled(excluded, patterns, others):
    language = StringLanguage(patterns=patterns, excluded=excluded)
    found = [re.compile(translate(pattern), re.ASCII) for pattern in patterns]
    texts = {*excluded, *others, *(text + "a" for text in excluded), *(text[:-1] for text in excluded)}
    expected = {text for text in texts if text not in excluded and all(part.search(text) for part in found)}
    if is_empty(language):
        assert not expected
    else:
        assert {text for text in texts if accepts(language, canonical(text))} == expected


def test_states_inside_escapes_count():
    """About 17,000 states for the values, five times as many for their spellings."""
    with pytest.raises(UnsupportedSchema, match="with its escapes"):
        json_text(StringLanguage(max_length=300, patterns=(r"^(?:\S+\s+){0,29}\S+$",)))


# ---------------------------------------------------------------- patterns and combinations


@budget
@given(pattern_texts, st.sampled_from(["", "^"]), st.sampled_from(["", "$"]))
def test_pattern_is_a_search(pattern, start, end):
    pattern = f"{start}(?:{pattern}){end}"
    found = re.compile(translate(pattern), re.ASCII)
    language = StringLanguage(patterns=(pattern,))
    expected = {text for text in TEXTS if found.search(text)}
    assert {text for text in TEXTS if contains(language, text)} == expected
    assert is_empty(language) or {text for text in TEXTS if accepts(language, canonical(text))} == expected
    assert not (is_empty(language) and expected)


languages = st.builds(
    StringLanguage,
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(2, 5)),
    st.lists(st.builds("^(?:{})$".format, pattern_texts) | pattern_texts, max_size=2).map(tuple),
    st.just(()),
    st.frozensets(st.text(ALPHABET, max_size=3), max_size=3),
    st.lists(pattern_texts, max_size=1).map(tuple),
)


def members(language):
    """The texts of TEXTS in the language, by `re` and plain comparisons."""
    required = [re.compile(translate(pattern), re.ASCII) for pattern in language.patterns]
    forbidden = [re.compile(translate(pattern), re.ASCII) for pattern in language.not_patterns]
    return {
        text
        for text in TEXTS
        if language.min_length <= len(text)
        and (language.max_length is None or len(text) <= language.max_length)
        and text not in language.excluded
        and all(found.search(text) for found in required)
        and not any(found.search(text) for found in forbidden)
    }


@settings(max_examples=60, deadline=None)
@given(languages)
def test_all_assertions_hold_together(language):
    expected = members(language)
    check = checker(language)
    assert {text for text in TEXTS if check(text)} == expected
    if is_empty(language):
        assert not expected
        with pytest.raises(UnsatisfiableSchema):
            json_text(language)
        return
    raw, quoted = json_text(language, raw=True), json_text(language)
    assert {text for text in TEXTS if full_match(raw, text)} == expected
    assert {text for text in TEXTS if full_match(quoted, canonical(text), RULES)} == expected


@budget
@given(languages, languages)
def test_intersection_and_disjointness(first, second):
    both = intersect(first, second)
    assert members(both) == members(first) & members(second)
    assert disjoint(first, second) == is_empty(both)
    if disjoint(first, second):
        assert not members(first) & members(second)


@budget
@given(languages)
def test_raw_text_is_the_value_itself(language):
    if not is_empty(language):
        inner = values(language)
        for seed in range(5):
            value = sample(inner, random.Random(seed), most=2)
            if value is not None:
                assert contains(language, value)
                assert accepts(language, canonical(value))


def test_intersect_merges_every_assertion():
    first = StringLanguage(1, 9, ("a",), ("date",), frozenset("x"), ("q",))
    second = StringLanguage(2, None, ("b", "a"), ("uri",), frozenset("y"), ("r",))
    assert intersect(first, second) == StringLanguage(2, 9, ("a", "b"), ("date", "uri"), frozenset("xy"), ("q", "r"))
    assert intersect(first, StringLanguage()) == first


@pytest.mark.parametrize("pattern", ["", ".*", "^", "a?", "(x|y)*"])
def test_patterns_that_say_nothing_cost_nothing(pattern):
    only = json_text(StringLanguage(2, 7, (pattern,)))
    assert not any(isinstance(node, Automaton) for node in walk(only))


# ---------------------------------------------------------------- forms


@pytest.mark.parametrize(
    ("language", "counter"),
    [
        (StringLanguage(0, 80, ("^[a-z]{1,800}$",)), (1, 80)),
        (StringLanguage(5, 63, ("^[a-z0-9-]+$",)), (5, 63)),
        (StringLanguage(0, 2000, ("^https://[!-~]+$",)), (1, 1992)),
        (StringLanguage(patterns=("^[A-Za-z ,.]{1,800}$",)), (1, 800)),
        (StringLanguage(patterns=(r"^(?:\S+\s+){0,99}\S+$",)), (0, 99)),
        (StringLanguage(0, 32767, ("^data:image/(jpg|jpeg|png);base64,[0-9a-zA-Z+/=]*$",)), (0, 32744)),
    ],
)
def test_counters_stay_counters(language, counter):
    nodes = list(walk(json_text(language)))
    assert not any(isinstance(node, Automaton) for node in nodes)
    assert counter in {(node.minimum, node.maximum) for node in nodes if isinstance(node, Repeat)}


@pytest.mark.parametrize(
    "language",
    [
        StringLanguage(patterns=("[0-9]{3}",)),
        StringLanguage(patterns=(r"^[\w.]+@[\w.]+\.[a-z]{2,}$",)),
        StringLanguage(0, 255, (r"^\S+@\S+$",)),
        StringLanguage(patterns=("^a", "z$")),
        StringLanguage(formats=("ipv6",)),
        StringLanguage(excluded=frozenset(["id", "name"]), patterns=("^[a-z]+$",)),
    ],
)
def test_ambiguous_and_combined_languages_are_automata(language):
    assert any(isinstance(node, Automaton) for node in walk(json_text(language)))


@pytest.mark.parametrize(
    ("pattern", "bounds"),
    [
        ("^[a-z0-9-]+$", (0, 63)),
        (r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$", (0, None)),
        ("^(?:[A-Z]{2}|[a-z]{3})-[0-9]{1,5}$", (1, 9)),
        (r"^\d{4}-\d{2}-\d{2}$", (10, 10)),
    ],
)
def test_common_patterns_are_quick(pattern, bounds):
    json_text(StringLanguage(0, None, ("^warm up$",)))
    start = time.process_time()
    json_text(StringLanguage(*bounds, (pattern,)))
    assert time.process_time() - start < 0.1  # single milliseconds on an idle machine


# ---------------------------------------------------------------- emptiness, errors, limits


@pytest.mark.parametrize(
    "language",
    [
        StringLanguage(3, 2),
        StringLanguage(0, 0, excluded=frozenset([""])),
        StringLanguage(4, None, ("^abc$",)),
        StringLanguage(patterns=("^a$", "^b$")),
        StringLanguage(patterns=("[]",)),
        StringLanguage(patterns=("^a$",), excluded=frozenset("a")),
        StringLanguage(patterns=("^a+$",), not_patterns=("a",)),
        StringLanguage(not_patterns=("",)),
        StringLanguage(1, 1, ("^(?:aa)+$",)),
        StringLanguage(4, 5, ("^(?:aaa|bbb)+$", "^[^]*$")),
    ],
)
def test_empty_languages_are_unsatisfiable(language):
    assert is_empty(language)
    with pytest.raises(UnsatisfiableSchema) as caught:
        json_text(language)
    assert caught.value.pointer == ""


@pytest.mark.parametrize("pattern", ["(", "a**", "[z-a]", "a{3,2}", "\\", ")"])
def test_broken_patterns_are_invalid(pattern):
    for use in (json_text, is_empty, checker):
        with pytest.raises(InvalidSchema, match="position"):
            use(StringLanguage(patterns=(pattern,)))


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", r"\bword", r"\p{L}", "(?i)a", "a^b", r"\ud83d", r"\q"])
def test_refused_patterns_are_unsupported(pattern):
    for use in (json_text, is_empty, checker):
        with pytest.raises(UnsupportedSchema, match="position"):
            use(StringLanguage(patterns=(pattern,)))
    with pytest.raises(UnsupportedSchema):
        json_text(StringLanguage(not_patterns=(pattern,)))


def test_counted_lengths_end_at_8192():
    pattern = r"^\S+@\S+$"
    assert not is_empty(StringLanguage(0, 8192, (pattern,)))
    with pytest.raises(UnsupportedSchema, match="8192"):
        json_text(StringLanguage(0, 8193, (pattern,)))
    # Bounds that the pattern keeps by itself, or that fit its counter, are not counted.
    json_text(StringLanguage(0, 9000, ("^[ab]+$",)))
    json_text(StringLanguage(0, 9000, ("^(?:a|bc)d{0,9}$",)))


def test_large_combinations_are_unsupported_in_bounded_time():
    start = time.process_time()
    with pytest.raises(UnsupportedSchema, match="too large"):
        json_text(StringLanguage(patterns=("^[ab]*a[ab]{30}$", "^[ab]*b[ab]{31}$")))
    assert time.process_time() - start < 60


def test_a_large_single_pattern_keeps_its_expression():
    pattern = "^[ab]*a[ab]{30}$"
    assert accepts(StringLanguage(patterns=(pattern,)), '"' + "b" + "a" + "b" * 30 + '"')
    assert not accepts(StringLanguage(patterns=(pattern,)), '"' + "b" * 40 + '"')


# ---------------------------------------------------------------- patterns people write


@pytest.mark.slow
def test_real_patterns_agree_with_re():
    """Members made by our expressions, and mutations of them, judged by `re`."""
    patterns = real_patterns(data_path("real-schemas"))
    rng = random.Random(5)
    compared = 0
    for pattern in patterns:
        try:
            judge = re.compile(to_python(pattern), re.ASCII)
            text = json_text(StringLanguage(patterns=(pattern,)))
        except (re.error, UnsupportedSchema, InvalidSchema, UnsatisfiableSchema):
            continue
        for _ in range(4):
            value = sample(values(StringLanguage(patterns=(pattern,))), rng, most=2)
            for candidate in mutations(value or "", rng):
                expected = bool(judge.search(candidate))
                assert full_match(text, canonical(candidate), RULES) == expected, (pattern, candidate)
                compared += 1
    assert compared > 4000


def real_patterns(folder):
    found = set()
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path) as lines:
            pending = [json.loads(line)["schema"] for line in lines]
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                found.update([part["pattern"]] if isinstance(part.get("pattern"), str) else [])
                pending.extend(part.values())
            elif isinstance(part, list):
                pending.extend(part)
    return sorted(pattern for pattern in found if len(pattern) < 200)


def to_python(pattern):
    """ECMAScript's dot, `$` and `\\s` for `re.ASCII`; the class of white space by its members."""
    space = "\\t-\\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
    tokens = re.findall(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    result = []
    for token in tokens:
        if token.startswith("["):
            token = token.replace(r"\s", space).replace(r"\/", "/")
            token = "[" + token[1:].replace("[", r"\[")
            if r"\S" in token:
                raise re.error("a complement inside a class")
        plain = {
            ".": "[^\\n\\r\u2028\u2029]",
            "$": r"\Z",
            r"\s": f"[{space}]",
            r"\S": f"[^{space}]",
            r"\/": "/",
        }
        result.append(plain.get(token, token))
    return "".join(result)


def mutations(value, rng):
    yield value
    at = rng.randrange(len(value) + 1)
    yield value[:at] + rng.choice("aZ0-_. /\n\u3000é") + value[at:]
    yield value[:at] + value[at + 1 :]


def test_generated_members_of_a_joined_language():
    language = StringLanguage(6, 20, (r"^.+@.+\.[a-z]{2,3}$", r"^[a-z@.]+$"), excluded=frozenset(["ab@c.de"]))
    rng = random.Random(1)
    check = checker(language)
    for _ in range(50):
        value = sample(values(language), rng)
        assert value is None or check(value)
    assert not check("ab@c.de")
    assert check("abc@c.de")
