"""Large and hostile texts: a right result or a clear error, in bounded time.

The bound is generous, ten seconds as promised to users; what takes linear time here needs
a fraction of it. Something quadratic would need minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from infernix.gbnf import MAX_TOKENS, check, parse_gbnf, print_grammar
from infernix.gbnf.errors import GrammarError, LimitError, UnsupportedSchema
from infernix.gbnf.grammar import MAX_CLASS_RANGES, MAX_CLASS_TEXT, Alternatives, CharClass, Literal, Repeat, Sequence
from infernix.gbnf.regex import parse_regex
from infernix.gbnf.source import MAX_TEXT_BYTES
from infernix.schema import schema_grammar

SECONDS = 10
LARGE = 2_000_000
FIVE_MEGABYTES = 5_000_000


@contextmanager
def promptly() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < SECONDS


@pytest.fixture(autouse=True, scope="module")
def _parsers_are_built() -> None:
    for dialect in ("xgrammar", "llama.cpp"):
        parse_gbnf('root ::= "a"', dialect=dialect)


# ---------------------------------------------------------------- right results


def test_one_large_string() -> None:
    with promptly():
        grammar = parse_gbnf(f'root ::= "{"a" * LARGE}"')
    assert grammar.rules[0].body == Literal("a" * LARGE)


def test_one_large_string_of_escapes() -> None:
    with promptly():
        grammar = parse_gbnf('root ::= "' + "\\n" * (LARGE // 20) + '"')
    assert grammar.rules[0].body == Literal("\n" * (LARGE // 20))


def test_one_large_class() -> None:
    with promptly():
        grammar = parse_gbnf(f"root ::= [{'a-z' * (LARGE // 60)}]")
    assert grammar.rules[0].body == CharClass(((97, 122),))


def test_many_strings_in_a_row_are_joined() -> None:
    count = 10_000
    with promptly():
        grammar = parse_gbnf("root ::= " + '"a" ' * count)
    assert grammar.rules[0].body == Literal("a" * count)


@pytest.mark.parametrize("filler", ["x", "\n#", "\r\n"])
def test_large_comments_and_blanks(filler: str) -> None:
    """Between a rule's name and its `::=` they are looked through twice, not once per line."""
    with promptly():
        grammar = parse_gbnf("root ::= a #" + filler * (LARGE // 3) + '\n a #\n ::= "x"')
    assert [rule.name for rule in grammar.rules] == ["root", "a"]


def test_many_line_ends_in_llamas_dialect() -> None:
    with promptly():
        text = 'root ::= "a" |' + "\n" * LARGE + '"b"' + "\n# c" * (LARGE // 4)
        grammar = parse_gbnf(text, dialect="llama.cpp")
    assert grammar.rules[0].body == Alternatives((Literal("a"), Literal("b")))


def test_wide_groups_inside_deep_groups() -> None:
    """Each of 900 levels adds to the same sequence; copying it at each level would take minutes."""
    count, levels = 10_000, 900
    text = "root ::= " + "(" * levels + "[a]* " * count + "[b] )" * levels
    with promptly():
        body = parse_gbnf(text).rules[0].body
    assert isinstance(body, Sequence)
    assert len(body.items) == count + levels


def test_numbers_with_many_leading_zeros() -> None:
    with promptly():
        grammar = parse_gbnf('root ::= "a"{' + "0" * LARGE + "7}")
    assert grammar.rules[0].body == Repeat(Literal("a"), 7, 7)


def test_many_rules_are_checked_and_printed() -> None:
    count = 2_000
    lines = [f'r{index} ::= "a" r{index + 1} | [b]' for index in range(count)]
    text = "\n".join(["root ::= r0", *lines, f'r{count} ::= "z"', ""])
    with promptly():
        grammar = parse_gbnf(text)
    with promptly():
        assert check(grammar) == []
        assert print_grammar(grammar) == text


# ---------------------------------------------------------------- clear errors


def test_five_megabytes_of_rules() -> None:
    lines = [f'rule-{index} ::= "abc" rule-{index + 1} | [a-z]{{1,3}}' for index in range(FIVE_MEGABYTES // 40)]
    text = "\n".join(lines)
    assert len(text) > FIVE_MEGABYTES
    with promptly(), pytest.raises(LimitError, match=f"a grammar may have {MAX_TOKENS:,} names"):
        parse_gbnf(text)


@pytest.mark.slow
def test_exactly_as_many_tokens_as_there_may_be() -> None:
    """The costliest text that is read at all: one token a character, or nearly."""
    text = "root ::= " + "[a]" * (MAX_TOKENS - 2)
    with promptly():
        body = parse_gbnf(text).rules[0].body
    assert isinstance(body, Sequence)
    assert len(body.items) == MAX_TOKENS - 2
    with promptly(), pytest.raises(LimitError):
        parse_gbnf(text + "x")


def test_tokens_that_a_first_look_cannot_count() -> None:
    """`a.b` is one name in one dialect and three tokens in the other, which is found while reading."""
    with promptly(), pytest.raises(LimitError, match="names, strings, classes and signs"):
        parse_gbnf("root ::= " + ".a." * (MAX_TOKENS // 2), dialect="llama.cpp")


@pytest.mark.parametrize("piece", ["(", '""', pytest.param("<>", marks=pytest.mark.slow), "\0", "a "])
def test_five_megabytes_of_anything(piece: str) -> None:
    with promptly(), pytest.raises((LimitError, GrammarError)):
        parse_gbnf("root ::= " + piece * (FIVE_MEGABYTES // len(piece)))


@pytest.mark.parametrize("piece", ["[", '"\\', "[\\", "<"])
def test_five_megabytes_of_things_that_are_never_closed(piece: str) -> None:
    with promptly(), pytest.raises(GrammarError):
        parse_gbnf("root ::= a " + piece * (FIVE_MEGABYTES // len(piece)))


def test_longer_than_any_text_may_be() -> None:
    for text in (" " * (MAX_TEXT_BYTES + 1), b"\xff" * (MAX_TEXT_BYTES + 1)):
        with promptly(), pytest.raises(LimitError, match="16,777,216 bytes"):
            parse_gbnf(text)


@pytest.mark.parametrize("dialect", ["xgrammar", "llama.cpp"])
def test_a_class_has_a_largest_size(dialect: str) -> None:
    def separate(count: int) -> str:
        """Characters, no two of which are neighbours."""
        return "".join(chr(0x10000 + 2 * i) for i in range(count))

    body = parse_gbnf(f"root ::= [{separate(MAX_CLASS_RANGES)}]", dialect=dialect).rules[0].body
    assert isinstance(body, CharClass)
    assert len(body.ranges) == MAX_CLASS_RANGES
    for content in (separate(MAX_CLASS_RANGES + 1), separate(500_000)):
        with promptly(), pytest.raises(LimitError, match=r"^2:10: this character class has more than 10,000"):
            parse_gbnf(f"root ::= x\nx    ::= [{content}]", dialect=dialect)
    for text in ("a" * MAX_CLASS_TEXT, "a" * 15_000_000):
        with promptly(), pytest.raises(LimitError, match=r"^1:10: this character class is written with"):
            parse_gbnf(f"root ::= [{text}]", dialect=dialect)


def test_a_class_of_an_expression_has_a_largest_size() -> None:
    """Neighbours merge, so that an alphabet of any size is one range."""
    separate = "".join(chr(0x10000 + 2 * i) for i in range(131_000))
    assert isinstance(parse_regex(f"[{separate[:MAX_CLASS_RANGES]}]"), CharClass)
    assert parse_regex("[" + "".join(map(chr, range(0x10000, 0x30000))) + "]") == CharClass(((0x10000, 0x2FFFF),))
    for pattern in (f"ab[{separate}]", f"ab[^{separate}]"):
        with promptly(), pytest.raises(LimitError, match=r"^at position 2: this character class has"):
            parse_regex(pattern)
    with pytest.raises(UnsupportedSchema, match="at position 0: this character class has") as refused:
        schema_grammar({"properties": {"a": {"pattern": f"[{separate}]"}}})
    assert refused.value.pointer == "/properties/a/pattern"


HOSTILE = {
    "open parentheses": ("(" * (MAX_TOKENS // 2), 1010, "nest deeper than 1000"),
    "stacked quantifiers": ('"a"' + "*" * (MAX_TOKENS // 2), 14, "takes one quantifier"),
    "unclosed string": ('"' + "a" * LARGE, 10, "this string is never closed"),
    "unclosed string of escapes": ('"' + "\\n" * LARGE, 10, "this string is never closed"),
    "unclosed class": ("[" + "a-z" * (LARGE // 3), 10, "this character class is never closed"),
    "unclosed class of escapes": ("[" + "\\]" * LARGE, 10, "this character class is never closed"),
    "a long name": ("a" * LARGE, 10, "is not defined"),
    "dashes": ("-" * LARGE, 10, "is not defined"),
    "a long number": ('"a"{' + "9" * LARGE + "}", 14, "is too large"),
    "a long escape": ('"\\x' + "9" * LARGE + '"', 11, "is beyond U+10FFFF"),
    "no grammar at all": ("\0" * (MAX_TOKENS // 2), 10, "unexpected character (U+0000)"),
}


@pytest.mark.parametrize(("text", "column", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile(text: str, column: int, message: str) -> None:
    with promptly(), pytest.raises(GrammarError) as caught:
        parse_gbnf(f"root ::= {text}")
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)
    assert len(caught.value.message) < 300
    assert len(caught.value.excerpt()) < 300


def test_a_large_file_that_is_not_utf8() -> None:
    with promptly(), pytest.raises(GrammarError, match="byte 0xFF") as caught:
        parse_gbnf(b"root ::= a\n" * (LARGE // 11) + b"\xff")
    assert (caught.value.line, caught.value.column) == (LARGE // 11 + 1, 1)
