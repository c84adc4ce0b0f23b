"""llama.cpp's dialect: its constructs, its line rule, its refusals, and its own example files."""

from __future__ import annotations

import pytest
from tests.data import data_path
from tests.gbnf.expressions import full_match

from infernix.gbnf import check, parse_gbnf
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    EMPTY,
    Alternatives,
    CharClass,
    Expression,
    Grammar,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
)

A, B = Literal("a"), Literal("b")
TOKENS = {"<think>": 5, "</think>": 6, "<|im_end|>": 7}


def read(text: str) -> Grammar:
    return parse_gbnf(text, dialect="llama.cpp", token_id=TOKENS.get)


CONSTRUCTS = {
    ".": ANY_CHAR,
    '"a".': Sequence((A, ANY_CHAR)),
    "<[5]>": TokenSet((5,)),
    "!<[5]>": TokenSet((5,), exclude=True),
    "<think>": TokenSet((5,)),
    "!<think> </think>": Sequence((TokenSet((5,), exclude=True), TokenSet((6,)))),
    "<|im_end|>*": Repeat(TokenSet((7,)), 0, None),
    "": EMPTY,
    '| "a"': Alternatives((EMPTY, A)),
    '"a" | | "b" |': Alternatives((A, EMPTY, B)),
    "()": EMPTY,
    '("a" | )': Alternatives((A, EMPTY)),
    '"a"*?': Repeat(Repeat(A, 0, None), 0, 1),
    '"a"{2}{3}': Repeat(Repeat(A, 2, 2), 3, 3),
    '"a"+{2,}?': Repeat(Repeat(Repeat(A, 1, None), 2, None), 0, 1),
    '"a"{0,5000}': Repeat(A, 0, 5000),
    '"a"{ 2 , 3 }': Repeat(A, 2, 3),
    '"\\x41B\\t\\r\\n\\\\\\"\\[\\]\\-"': Literal('AB\t\r\n\\"[]-'),
    '"\\u00e9\\U0001F600"': Literal("é😀"),
    "[\\x41-\\x43\\]]": CharClass(((65, 67), (93, 93))),
    "[^\\n]": CharClass(((0, 9), (11, 0xD7FF), (0xE000, 0x10FFFF))),
    '[a"-]': CharClass(((34, 34), (45, 45), (97, 97))),
    '"a\nb"': Literal("a\nb"),
    "[a\n]": CharClass(((10, 10), (97, 97))),
    '"a" # comment': A,
}


@pytest.mark.parametrize(("text", "expected"), CONSTRUCTS.items(), ids=CONSTRUCTS.keys())
def test_construct(text: str, expected: Expression) -> None:
    assert read(f"root ::= {text}").by_name["root"].body == expected


def test_names_may_begin_with_digits_or_be_words() -> None:
    grammar = read("root ::= 1st true Token\n1st ::= [a]\ntrue ::= [b]\nToken ::= [c]")
    assert grammar.by_name["root"].body == Sequence((RuleRef("1st"), RuleRef("true"), RuleRef("Token")))


def test_line_ends() -> None:
    """A line end ends a rule, except after `::=` and `|` and inside parentheses."""
    grammar = read(
        '\n# first\n\nroot ::=\n\n  "a" |\n # why not\n  b (\n "x"\n | # y\n "y"\n ) "z" # end\n\r\n\n  b ::= "b"\r\n'
    )
    tail = Sequence((RuleRef("b"), Alternatives((Literal("x"), Literal("y"))), Literal("z")))
    assert [rule.name for rule in grammar.rules] == ["root", "b"]
    assert [(rule.line, rule.column) for rule in grammar.rules] == [(4, 1), (15, 3)]
    assert grammar.by_name["root"].body == Alternatives((A, tail))


# text, line, column, a part of the message
ERRORS = [
    ("", 1, 1, "the grammar is empty"),
    ('root ::= "a"\n| "b"', 2, 1, "a rule ends with its line: put `|` on the line before"),
    ('root ::= "a"\n"b"', 2, 1, 'a rule ends with its line: put `"b"`'),
    ('root ::= "a"\n*', 2, 1, "a rule ends with its line"),
    ('root ::= "a"\n(\n"b")', 2, 1, "a rule ends with its line"),
    ('root\n::= "a"', 1, 5, "expected `::=` after the rule name `root`"),
    ("root", 1, 5, "expected `::=` after the rule name `root`"),
    ('root "a"', 1, 6, "expected `::=` after the rule name `root`"),
    ('root = "a"', 1, 6, "a rule is defined with `::=`"),
    ("root ::= [a] b ::= [b]", 1, 14, "must be the first thing on its line"),
    ("root ::= [a] |\nb ::= [b]", 2, 1, "expected an element before the next rule"),
    ("root ::= ([a]\nb ::= [b]", 1, 10, "this parenthesis is never closed"),
    ("root ::= ([a]", 1, 10, "this parenthesis is never closed"),
    ("root ::= [a])", 1, 13, "this `)` closes no parenthesis"),
    ("root ::= *", 1, 10, "nothing stands before `*`"),
    ("root ::= [a] | {2}", 1, 16, "nothing stands before `{`"),
    ("root ::= [a]{3,2}", 1, 16, "the upper bound 2 is less than the lower bound 3"),
    ("root ::= [a]{,3}", 1, 14, "expected a number"),
    ("root ::= [a]{2\n}", 1, 15, "expected `,` or `}`"),
    ("root ::= [a]" + "?" * 1001, 1, 1013, "more than 1000 quantifiers are stacked"),
    ("root ::= [a]" + "{2}" * 1001, 1, 3013, "more than 1000 quantifiers are stacked"),
    ("root ::= " + "(" * 1001, 1, 1010, "nest deeper than 1000"),
    ("root ::= a_b.c", 1, 10, "rule `a_b` is not defined"),
    ('root ::= "a"\nroot ::= "b"', 2, 1, "`root` is already defined at 1:1"),
    ("root ::= [a", 1, 10, "this character class is never closed"),
    ('root ::= "a\n\nx', 1, 10, "this string is never closed"),
    ('root ::= "a\n  \\q"', 2, 3, "unknown escape \\q"),
    ('root ::= "\\x4"', 1, 11, "\\x needs 2 hexadecimal digits"),
    ('root ::= "\\0"', 1, 11, "unknown escape \\0"),
    ("root ::= [\\d]", 1, 11, "\\d is no escape of GBNF"),
    ("root ::= []", 1, 10, "an empty class"),
    ("root ::= [^]", 1, 10, "an empty class"),
    ("root ::= <[x]>", 1, 10, "expected a token id as in <[5]>"),
    ("root ::= <[99999999999]>", 1, 10, "is too large"),
    ("root ::= !<[-1]>", 1, 10, "expected a token id as in <[5]>"),
    ("root ::= <nothing>", 1, 10, "the vocabulary has no single token <nothing>"),
    ("root ::= <think", 1, 10, "unexpected character `<`"),
    ('root ::= !"a"', 1, 10, "unexpected character `!`"),
    ("root ::= root [a]", 1, 1, "`root` begins with itself"),
    ('root ::= "" b\nb ::= [b]? c\nc ::= ([c] | root)', 1, 1, "begins with itself through `b`, `c`"),
    ('root ::= "x" b\nb ::= b? [b]', 2, 1, "`b` begins with itself"),
    ("root ::= [x] | (e e){2,} b\nb ::= [b] | root\ne ::= | [e]", 1, 1, "begins with itself through `b`"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS, ids=lambda v: ascii(v)[:40])
def test_error(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.source_line == text.split("\n")[line - 1]


def test_token_text_needs_a_vocabulary() -> None:
    with pytest.raises(GrammarError, match="<think> needs a vocabulary") as caught:
        parse_gbnf("root ::= [a] !<think>", dialect="llama.cpp")
    assert (caught.value.line, caught.value.column) == (1, 14)


def test_right_and_centre_recursion_are_fine() -> None:
    """A rule may contain itself anywhere but at its beginning."""
    read("root ::= [a] root | ( [b] root [c] )? | e [d] root\ne ::= | [e]")


def test_long_chains_of_rules_need_no_recursion() -> None:
    length = 3000
    rules = [f"r{index} ::= r{index + 1}" for index in range(length)]
    read("\n".join(["root ::= r0", *rules, f"r{length} ::= [a]"]))
    with pytest.raises(GrammarError, match="`root` begins with itself"):
        read("\n".join(["root ::= r0", *rules, f"r{length} ::= root"]))


# ---------------------------------------------------------------- llama.cpp's own files

# What each file must accept and refuse, found by reading it.
FILES = {
    "arithmetic": (["1=2\n", "a+b*c=(d-1)\n1=1\n"], ["1=2", "=\n", "a+=b\n"]),
    "c": (["int f(){}", "int main(int x){return 1;}"], ["int f()", "f(){}"]),
    "chess": (["1. e4 e5\n2. Nf3 Nc6\n"], ["1. e4 e5\n", "1. z9 e5\n2. a a\n"]),
    "english": (["Hello, world!", "a"], ["", "é"]),
    "japanese": (["ひらがな カタカナ", "一"], ["abc", ""]),
    "json": (['{"a": [1, 2.5e-3, null]}', "{}"], ["[1]", "{'a': 1}", '{"a": }']),
    "json_arr": (["[\n]", '[\n1,\n"a"]'], ["{}", "[1]"]),
    "list": (["- a\n", "- a\n- b c\n"], ["- a", "a\n", "- \n"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_llama_cpp(name: str) -> None:
    text = data_path(f"llama.cpp-grammars/{name}.gbnf").read_bytes()
    grammar = parse_gbnf(text, dialect="llama.cpp")
    assert check(grammar) == []
    rules = {rule.name: rule.body for rule in grammar.rules}
    accepted, refused = FILES[name]
    for example in accepted:
        assert full_match(rules["root"], example, rules), example
    for example in refused:
        assert not full_match(rules["root"], example, rules), example


def test_every_file_is_in_the_table() -> None:
    folder = data_path("llama.cpp-grammars")
    assert {path.stem for path in folder.glob("*.gbnf")} == set(FILES)
