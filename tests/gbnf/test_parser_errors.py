"""Every error of XGrammar's dialect, with its exact place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.gbnf import MAX_NESTING, Grammar, parse_gbnf
from infernix.gbnf.errors import GrammarError

# text, line, column, a part of the message
ERRORS = [
    # nothing there
    ("", 1, 1, "the grammar is empty"),
    (" \n\n  # only a comment\n", 1, 1, "the grammar is empty"),
    # rules
    ('root ::= "a"\nroot ::= "b"', 2, 1, "`root` is already defined at 1:1"),
    ('root ::= "a" | missing', 1, 16, "rule `missing` is not defined"),
    ('root ::= "a"\nb ::= missing missing\nc ::= missing', 2, 7, "rule `missing` is not defined"),
    ("root ::= item\nitems ::= root", 1, 10, "did you mean `items`?"),
    ("root ::= .", 1, 10, "any character is [^] here"),
    ('root ::= "a" (= gone)', 1, 17, "rule `gone` is not defined"),
    ('start ::= "a"', 1, 1, "there is no rule `root` to start from"),
    ('\n\n  roots ::= "a"', 3, 3, "did you mean `roots`?"),
    ('root ::= "a" b ::= "b"', 1, 14, "must be the first thing on its line"),
    ('root ::= "a"::= "b"', 1, 13, "`::=` must follow the name of a rule"),
    ('root ::= "a" ::= "b"', 1, 14, "`::=` must follow the name of a rule"),
    ('"a" ::= "b"', 1, 1, 'expected a rule, `name ::= ...`, found `"a"`'),
    ('| root ::= "b"', 1, 1, "expected a rule"),
    ("root", 1, 5, "expected `::=` after the rule name `root`"),
    ('root := "a"', 1, 6, "expected `::=` after the rule name `root`"),
    ('root # c\n  "a"', 2, 3, "expected `::=` after the rule name `root`"),
    ('root ::= a\na: := "x"', 2, 2, "a rule is defined with `::=`"),
    ('root ::= a\na = "x"', 2, 3, "a rule is defined with `::=`"),
    ('root ::= true\ntrue ::= "a"', 1, 10, "`true` is a reserved word"),
    ('false ::= "a"', 1, 1, "`false` is a reserved word"),
    ('1a ::= "a"', 1, 1, "expected a rule"),
    ("root ::= 1a", 1, 10, "a number cannot stand here"),
    ('root ::= "a" 1', 1, 14, "a number cannot stand here"),
    # rule options
    ('root[capture] ::= "a"', 1, 5, "rule options such as [capture] are not supported"),
    ('root [max_tokens=5, lazy] ::= "a"', 1, 6, "rule options such as [max_tokens=5, lazy]"),
    ('root ::= a\na[temperature=0.5]\n  ::= "x"', 2, 2, "rule options"),
    # constructors that are not offered
    ('root ::= TagDispatch(("a", b))\nb ::= "b"', 1, 10, "TagDispatch is not available"),
    ("root ::= TokenTagDispatch((1, b))", 1, 10, "TokenTagDispatch is not available"),
    ('root ::= "x" Regex("a+")', 1, 14, "Regex is not available"),
    ('root ::= Substring("abc")', 1, 10, "Substring is not available"),
    # empty alternatives and bodies
    ("root ::=", 1, 9, "expected an element before the end"),
    ('root ::= "a" |', 1, 15, "expected an element before the end"),
    ('root ::= "a" | # c\n', 1, 15, "expected an element before the end"),
    ('root ::= | "a"', 1, 10, "an alternative is empty"),
    ('root ::= "a" | | "b"', 1, 16, "an alternative is empty"),
    ('root ::= ("a" | )', 1, 17, "an alternative is empty"),
    ('root ::= (| "a")', 1, 11, "an alternative is empty"),
    ('root ::=\nx ::= "a"', 2, 1, "expected an element before the next rule"),
    ('root ::= "a" |\nx ::= "a"', 2, 1, "expected an element before the next rule"),
    ('root ::= x ::= "a"', 1, 10, "must be the first thing on its line"),
    ('root ::= (\nx ::= "a"', 1, 10, "this parenthesis is never closed"),
    ("root ::= x [a]\n[b] ::= x", 2, 5, "`::=` must follow the name of a rule"),
    # parentheses
    ('root ::= ("a"', 1, 10, "this parenthesis is never closed"),
    ('root ::= ("a" ("b")\nx ::= "x"', 1, 10, "this parenthesis is never closed"),
    ('root ::= (("a"\n | "b")', 1, 10, "this parenthesis is never closed"),
    ("root ::= (", 1, 10, "this parenthesis is never closed"),
    ('root ::= "a")', 1, 13, "this `)` closes no parenthesis"),
    ("root ::= )", 1, 10, "an alternative is empty"),
    ("root ::= " + "(" * 1001, 1, 1010, "nest deeper than 1000"),
    ("root ::= " + "\n(" * 2000, 1002, 1, "nest deeper than 1000"),
    # quantifiers
    ('root ::= "a"**', 1, 14, "an element takes one quantifier"),
    ('root ::= "a"+{2}', 1, 14, "an element takes one quantifier"),
    ('root ::= "a"{2}?', 1, 16, "an element takes one quantifier"),
    ("root ::= *", 1, 10, "nothing stands before `*`"),
    ('root ::= "a" | {2}', 1, 16, "nothing stands before `{`"),
    ('root ::= (+ "a")', 1, 11, "nothing stands before `+`"),
    ('root ::= "a"{5,2}', 1, 16, "the upper bound 2 is less than the lower bound 5"),
    ('root ::= "a"{,3}', 1, 14, "expected a number: bounds are written {n}, {n,} or {n,m}"),
    ('root ::= "a"{}', 1, 14, "expected a number"),
    ('root ::= "a"{-1}', 1, 14, "expected a number"),
    ('root ::= "a"{x}', 1, 14, "expected a number"),
    ('root ::= "a"{1,-1}', 1, 16, "expected `}`"),
    ('root ::= "a"{1;2}', 1, 15, "expected `,` or `}`"),
    ('root ::= "a"{1', 1, 15, "expected `,` or `}`"),
    ('root ::= "a"{1,2,3}', 1, 17, "expected `}`"),
    ('root ::= ("a"{x})', 1, 15, "expected a number"),
    ('root ::= "a"{2147483648}', 1, 14, "2147483648 is too large"),
    ('root ::= "a"{0,99999999999999999999}', 1, 16, "99999999999999999999 is too large"),
    ('root ::= "a"{' + "9" * 5000 + "}", 1, 14, "is too large"),
    # strings
    ('root ::= "a', 1, 10, "this string is never closed on its line"),
    ('root ::= "a\n"', 1, 10, "this string is never closed on its line"),
    ('root ::= "a\r"', 1, 10, "this string is never closed on its line"),
    ('root ::= "a\\"', 1, 10, "this string is never closed on its line"),
    ('root ::= "a\\\n"', 1, 10, "this string is never closed on its line"),
    ('root ::= "ab\\q"', 1, 13, "unknown escape \\q"),
    ('root ::= "\\["', 1, 11, "unknown escape \\["),
    ('root ::= "\\-"', 1, 11, "unknown escape \\-"),
    ('root ::= "\\d"', 1, 11, "unknown escape \\d"),
    ('root ::= "é\\x"', 1, 12, "\\x needs at least one hexadecimal digit"),
    ('root ::= "\\xg"', 1, 11, "\\x needs at least one hexadecimal digit"),
    ('root ::= "\\u41"', 1, 11, "\\u needs 4 hexadecimal digits"),
    ('root ::= "\\U0041"', 1, 11, "\\U needs 8 hexadecimal digits"),
    ('root ::= "a\\ud800"', 1, 12, "\\ud800 is a surrogate"),
    ('root ::= "\\xDFFF"', 1, 11, "\\xDFFF is a surrogate"),
    ('root ::= "\\ud83d\\ude00"', 1, 11, "\\ud83d is a surrogate"),
    ('root ::= "\\x110000"', 1, 11, "beyond U+10FFFF"),
    ('root ::= "\\UFFFFFFFF"', 1, 11, "beyond U+10FFFF"),
    ('root ::= "\\x' + "F" * 6000 + '"', 1, 11, "beyond U+10FFFF"),
    ('root ::= "\\q" "\\z"', 1, 11, "unknown escape \\q"),
    ('root ::= "\\q" $', 1, 11, "unknown escape \\q"),
    ("root ::= 'a'", 1, 10, "strings are written with double quotes"),
    # classes
    ("root ::= [a", 1, 10, "this character class is never closed on its line"),
    ("root ::= [a\n]", 1, 10, "this character class is never closed on its line"),
    ("root ::= [a\\]", 1, 10, "this character class is never closed on its line"),
    ("root ::= [z-a]", 1, 11, "the range z-a is empty"),
    ("root ::= [xa--]", 1, 12, "the range a-- is empty"),
    ("root ::= [\\x42-\\x41]", 1, 11, "is empty"),
    ("root ::= [^b-a]", 1, 12, "the range b-a is empty"),
    ("root ::= [a\\d]", 1, 12, "\\d is no escape of GBNF"),
    ("root ::= [\\w]", 1, 11, "\\w is no escape of GBNF"),
    ("root ::= [\\s]", 1, 11, "\\s is no escape of GBNF"),
    ("root ::= [\\W]", 1, 11, "\\W is no escape of GBNF"),
    ("root ::= [\\q]", 1, 11, "unknown escape \\q"),
    ("root ::= [\\uD800-\\uDFFF]", 1, 11, "surrogate"),
    ("root ::= [a-\\x110000]", 1, 13, "beyond U+10FFFF"),
    ("root ::= []]", 1, 12, "unexpected character `]`"),
    # tokens
    ("root ::= Token", 1, 10, "this needs token ids in parentheses"),
    ('root ::= Token "a"', 1, 10, "this needs token ids in parentheses"),
    ('root ::= ExcludeToken\nx ::= "a"', 1, 10, "this needs token ids in parentheses"),
    ("root ::= Token()", 1, 16, "expected a token id, a non-negative integer"),
    ("root ::= Token(-1)", 1, 16, "expected a token id, a non-negative integer"),
    ('root ::= Token("a")', 1, 16, "expected a token id, a non-negative integer"),
    ("root ::= Token(1,)", 1, 18, "expected a token id, a non-negative integer"),
    ("root ::= Token(1 2)", 1, 18, "expected `,` or `)`"),
    ("root ::= Token(1.5)", 1, 17, "expected `,` or `)`"),
    ("root ::= Token(1", 1, 15, "this parenthesis is never closed"),
    ("root ::= Token(2147483648)", 1, 16, "is too large"),
    # annotations
    ('root ::= (= "a")', 1, 10, "the annotation (= ...) can only be the last thing in a rule"),
    ('root ::= ("a" (= "b"))', 1, 15, "the annotation (= ...) can only be the last thing in a rule"),
    ('root ::= "a" (= "b") "c"', 1, 22, "the annotation (= ...) must be the last thing in a rule"),
    ('root ::= "a" (= "b") | "c"', 1, 22, "the annotation (= ...) must be the last thing in a rule"),
    ('root ::= "a" (= "b") (= "c")', 1, 22, "the annotation (= ...)"),
    ('root ::= "a" (= )', 1, 17, "an alternative is empty"),
    ('root ::= "a" (= "b"', 1, 14, "this parenthesis is never closed"),
    ('root ::= "a" ( = "b")', 1, 14, "the annotation (= ...)"),
    # characters
    ("root ::= é", 1, 10, "unexpected character `é` (U+00E9 LATIN SMALL LETTER E WITH ACUTE)"),
    ('root ::= "a";', 1, 13, "unexpected character `;`"),
    ('root ::= "a"\x0b', 1, 13, "unexpected character (U+000B)"),
    ('root ::= "a"\u00a0', 1, 13, "unexpected character (U+00A0 NO-BREAK SPACE)"),
    ("root ::= <[5]>", 1, 10, "belongs to the llama.cpp dialect"),
    ('root ::= !"a"', 1, 10, "belongs to the llama.cpp dialect"),
    ('root ::= "a" // comment', 1, 14, "comments begin with `#`"),
    ("root ::= \\n", 1, 10, "an escape can only stand in a string or a class"),
    ('\ufeffroot ::= "a"', 1, 1, "byte-order mark"),
    ('root ::= "a" "\ud800"', 1, 15, "a lone surrogate is not a character"),
    ('# é\r\nroot ::= "a"\r\n  #\ud83d', 3, 4, "a lone surrogate is not a character"),
]


def shortened(value: object) -> str:
    text = str(value)
    return ascii(text if len(text) < 40 else text[:37] + "...")


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS, ids=shortened)
def test_error(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_gbnf(text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column) == (line, column)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert error.source_line == lines[line - 1]
    assert str(error).startswith(f"{line}:{column}: ")
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("data", "line", "column", "source_line"),
    [
        (b'root ::= "\xff"', 1, 11, 'root ::= "\ufffd"'),
        ("root ::= é\r\n  x é".encode() + b"\xe9", 2, 6, "  x é\ufffd"),
        (b"\xff\xferoot", 1, 1, "\ufffd\ufffdroot"),
        (b'root ::= "a"\n\xed\xa0\x80', 2, 1, "\ufffd\ufffd\ufffd"),
        (b'root ::= "\xc3', 1, 11, 'root ::= "\ufffd'),
    ],
)
def test_bytes_that_are_not_utf8(data: bytes, line: int, column: int, source_line: str) -> None:
    with pytest.raises(GrammarError, match="the text is not UTF-8") as caught:
        parse_gbnf(data)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.source_line == source_line


def test_excerpt_points_at_the_place() -> None:
    with pytest.raises(GrammarError) as caught:
        parse_gbnf('root ::= "a"\n\tb ::= "\\q"\n')
    assert caught.value.excerpt() == '\tb ::= "\\q"\n\t       ^'


def test_suggestions_are_not_searched_for_in_huge_grammars() -> None:
    rules = "".join(f'rule{index} ::= "a"\n' for index in range(1200))
    with pytest.raises(GrammarError) as caught:
        parse_gbnf(f"root ::= rule\n{rules}")
    assert caught.value.message == "rule `rule` is not defined"


# ---------------------------------------------------------------- anything at all

PIECES = [
    *(
        "root",
        "x",
        "true",
        "Token",
        "ExcludeToken",
        "Regex",
        "::=",
        "::=",
        "|",
        "(",
        ")",
        "(=",
        "*",
        "+",
        "?",
    ),
    *(
        "{",
        "}",
        "{2}",
        "{1,2}",
        "{3,1}",
        ",",
        "1",
        "99999999999",
        '"a"',
        '"\\q"',
        '"',
        "[a-z]",
        "[z-a]",
        "[^",
    ),
    *(
        "]",
        "\\",
        "#",
        "# x\n",
        "\n",
        "\nroot ::=",
        "\nx ::=",
        " ",
        "\r\n",
        "\t",
        "\0",
        "é",
        "<[1]>",
        "<a>",
        "!",
        ".",
    ),
]


def outcome(text: str | bytes, dialect: str) -> Grammar | GrammarError:
    try:
        return parse_gbnf(text, dialect=dialect)
    except GrammarError as error:
        return error


@given(st.lists(st.sampled_from(PIECES), max_size=25), st.sampled_from(["xgrammar", "llama.cpp"]))
def test_any_text_is_a_grammar_or_a_located_error(pieces: list[str], dialect: str) -> None:
    """Whatever is wrong, the place lies inside the text, and nothing but GrammarError is raised."""
    text = "root ::=" + " ".join(pieces)
    found = outcome(text, dialect)
    if isinstance(found, Grammar):
        assert "root" in found.by_name
        return
    assert found.line is not None
    assert found.column is not None
    assert found.source_line == text.replace("\r\n", "\n").split("\n")[found.line - 1]
    assert 1 <= found.column <= len(found.source_line) + 1
    assert len(found.message) < 300
    for internal in ("_NEWLINE", "VBAR", "RPAR", "LPAR", "RULE_NAME", "$END", "DEFINES"):
        assert internal not in found.message


@given(st.binary(max_size=30), st.sampled_from(["xgrammar", "llama.cpp"]))
def test_any_bytes_are_a_grammar_or_a_located_error(data: bytes, dialect: str) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_gbnf(b"root ::= \\" + data, dialect=dialect)
    assert caught.value.line is not None


def test_nesting_limit_is_documented() -> None:
    assert MAX_NESTING == 1000
