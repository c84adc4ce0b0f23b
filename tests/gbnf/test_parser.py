"""XGrammar's dialect of GBNF: every construct, as the IR it must become."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infernix.gbnf import MAX_NESTING, parse_gbnf
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alternatives,
    CharClass,
    Expression,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
)

A, B, C = Literal("a"), Literal("b"), Literal("c")
X = RuleRef("x")


def body(text: str) -> Expression:
    """The body of `root`, in a grammar that also has a rule x."""
    return parse_gbnf(f'root ::= {text}\nx ::= "x"').by_name["root"].body


def cls(*ranges: tuple[int, int]) -> CharClass:
    return CharClass(ranges)


def chars(text: str) -> CharClass:
    return CharClass(tuple((ord(char), ord(char)) for char in sorted(text)))


CONSTRUCTS = {
    # strings
    '""': EMPTY,
    '"a"': A,
    '"a" "b"': Literal("ab"),
    '"é日😀"': Literal("é日😀"),
    '"# | ( not a comment"': Literal("# | ( not a comment"),
    '"\ttab"': Literal("\ttab"),
    # rules, sequences, alternatives
    "x": X,
    "x x": Sequence((X, X)),
    '"a" | "b"': Alternatives((A, B)),
    '"a" x | "b"': Alternatives((Sequence((A, X)), B)),
    '"a" | x "b" | "c"': Alternatives((A, Sequence((X, B)), C)),
    '"a" | "b" | "a"': Alternatives((A, B)),
    '"a" | "a"': A,
    '"a" | ""': Alternatives((A, EMPTY)),
    # groups
    "()": EMPTY,
    "(\n#comment\n)": EMPTY,
    '("a")': A,
    '((("a")))': A,
    '"a" ("b" | "c")': Sequence((A, Alternatives((B, C)))),
    '("a" | "b") | "c"': Alternatives((A, B, C)),
    '"a" (x "b") "c"': Sequence((A, X, Literal("bc"))),
    '() "a" ()': A,
    # quantifiers
    '"a"*': Repeat(A, 0, None),
    '"a"+': Repeat(A, 1, None),
    '"a"?': Repeat(A, 0, 1),
    '"ab"*': Repeat(Literal("ab"), 0, None),
    '"a" x*': Sequence((A, Repeat(X, 0, None))),
    '("a" x)+': Repeat(Sequence((A, X)), 1, None),
    '("a"*)?': Repeat(Repeat(A, 0, None), 0, 1),
    '"a"{3}': Repeat(A, 3, 3),
    '"a"{3,}': Repeat(A, 3, None),
    '"a"{3,5}': Repeat(A, 3, 5),
    '"a"{0}': EMPTY,
    '"a"{0,0}': EMPTY,
    '"a"{1}': A,
    '"a"{0,}': Repeat(A, 0, None),
    '"a"{002}': Repeat(A, 2, 2),
    '"a" \n { 3 #three\n , 5 }': Repeat(A, 3, 5),
    '"a"\n*': Repeat(A, 0, None),
    '"a"{2147483647}': Repeat(A, 2**31 - 1, 2**31 - 1),
    "()*": EMPTY,
    # tokens
    "Token(7)": TokenSet((7,)),
    "Token(9, 7,9)": TokenSet((7, 9)),
    "ExcludeToken(7)": TokenSet((7,), exclude=True),
    "Token ( 1 , 2 )+": Repeat(TokenSet((1, 2)), 1, None),
    "Token(2147483647)": TokenSet((2**31 - 1,)),
    "Token(007)": TokenSet((7,)),
    # classes
    "[a]": cls((97, 97)),
    "[abc]": cls((97, 99)),
    "[a-z0-9]": cls((48, 57), (97, 122)),
    "[z-za]": cls((97, 97), (122, 122)),
    "[]": NOTHING,
    "[^]": ANY_CHAR,
    "[^a]": cls((0, 96), (98, 0xD7FF), (0xE000, 0x10FFFF)),
    "[-a]": chars("-a"),
    "[a-]": chars("-a"),
    "[-]": chars("-"),
    "[^-]": cls((0, 44), (46, 0xD7FF), (0xE000, 0x10FFFF)),
    "[--a]": cls((45, 97)),
    "[+--]": cls((43, 45)),
    "[a-b-c]": cls((45, 45), (97, 99)),
    "[a\\-z]": chars("-az"),
    "[\\--z]": cls((45, 122)),
    "[a^]": chars("^a"),
    "[^^]": cls((0, 93), (95, 0xD7FF), (0xE000, 0x10FFFF)),
    "[[]": chars("["),
    "[\\]]": chars("]"),
    '["]': chars('"'),
    "[#(|]": chars("#(|"),
    "[\t ]": chars("\t "),
    "[à-ü]": cls((0xE0, 0xFC)),
    "[ぁ-ゟ😀]": cls((0x3041, 0x309F), (0x1F600, 0x1F600)),
    "[\\x41-\\u0043\\U00000045]": cls((65, 67), (69, 69)),
    "[\ud7ff-\ue000]": cls((0xD7FF, 0xD7FF), (0xE000, 0xE000)),
}


@pytest.mark.parametrize(("text", "expected"), CONSTRUCTS.items(), ids=CONSTRUCTS.keys())
def test_construct(text: str, expected: Expression) -> None:
    assert body(text) == expected


STRING_ESCAPES = {
    '\\"': '"',
    "\\\\": "\\",
    "\\/": "/",
    "\\'": "'",
    "\\?": "?",
    "\\n": "\n",
    "\\r": "\r",
    "\\t": "\t",
    "\\b": "\b",
    "\\f": "\f",
    "\\a": "\a",
    "\\v": "\v",
    "\\0": "\0",
    "\\e": "\x1b",
    "\\x41": "A",
    "\\x41B": "\u041b",
    "\\x41 B": "A B",
    "\\x0000000041": "A",
    "\\x10FFFF": "\U0010ffff",
    "\\u00e9": "é",
    "\\u00E9f": "éf",
    "\\U0001F600": "😀",
    "\\U0001f6001": "😀1",
    "\\\\x41": "\\x41",
    "a\\nb\\nc": "a\nb\nc",
}
CLASS_ESCAPES = "^$.*+?()[]{}|/-\\\"'"


@pytest.mark.parametrize(("text", "expected"), STRING_ESCAPES.items(), ids=STRING_ESCAPES.keys())
def test_string_escape(text: str, expected: str) -> None:
    assert body(f'"{text}"') == Literal(expected)


@pytest.mark.parametrize(("text", "expected"), [pair for pair in STRING_ESCAPES.items() if len(pair[1]) == 1], ids=str)
def test_string_escapes_also_stand_in_classes(text: str, expected: str) -> None:
    assert body(f"[{text}]") == chars(expected)


@pytest.mark.parametrize("char", CLASS_ESCAPES)
def test_class_escape(char: str) -> None:
    assert body(f"[\\{char}]") == chars(char)


def test_names_comments_and_line_ends() -> None:
    """Rules may be separated by any line end, or be spread over many; comments stand anywhere."""
    text = (
        "# a comment first\r\nroot ::= a.b-c_D1 # then `x ::= y` in one\r"
        '  _x # before the sign\r\n ::=\n"x" # before the bar\n | "y"\n'
        'a.b-c_D1::="a"_x\n.-. ::= [#"]\n#last'
    )
    grammar = parse_gbnf(text)
    assert [(rule.name, rule.line, rule.column) for rule in grammar.rules] == [
        ("root", 2, 1),
        ("_x", 3, 3),
        ("a.b-c_D1", 7, 1),
        (".-.", 8, 1),
    ]
    assert grammar.by_name["root"].body == RuleRef("a.b-c_D1")
    assert grammar.by_name["_x"].body == Alternatives((Literal("x"), Literal("y")))
    assert grammar.by_name["a.b-c_D1"].body == Sequence((A, RuleRef("_x")))


def test_references_may_be_forward_left_recursive_and_mutual() -> None:
    grammar = parse_gbnf('root ::= root "a" | other\nother ::= root | later\nlater ::= "b" other')
    assert grammar.by_name["root"].body == Alternatives((Sequence((RuleRef("root"), A)), RuleRef("other")))
    assert grammar.by_name["later"].body == Sequence((B, RuleRef("other")))


def test_names_that_only_look_reserved() -> None:
    """Only `true` and `false` are words; the constructors' names are taken where they are used."""
    grammar = parse_gbnf('root ::= trueish Tokens Token.x\ntrueish ::= "a"\nTokens ::= "b"\nToken.x ::= "c"')
    assert grammar.by_name["root"].body == Sequence((RuleRef("trueish"), RuleRef("Tokens"), RuleRef("Token.x")))
    assert parse_gbnf('Token ::= "a"', root="Token").by_name["Token"].body == A


def test_annotation_is_kept_beside_the_body() -> None:
    grammar = parse_gbnf('root ::= "a" | "b" (= x "c" | [c])\nx ::= "x" (= "y")')
    assert grammar.by_name["root"].body == Alternatives((A, B))
    assert grammar.by_name["root"].lookahead == Alternatives((Sequence((X, C)), cls((99, 99))))
    assert grammar.by_name["x"].lookahead == Literal("y")


def test_root_is_the_callers_choice() -> None:
    grammar = parse_gbnf('a ::= "a" root\nroot ::= "b"', root="a")
    assert grammar.root == "a"


def test_bytes_and_text_are_the_same_grammar() -> None:
    text = 'root ::= "é" [日-本]'
    assert parse_gbnf(text.encode()) == parse_gbnf(text)


def test_normal_form_reaches_through_groups() -> None:
    nested = body('(("a" ("b" (x "c"))) ("a" | ("b" | ("c" | x))))')
    assert nested == Sequence((Literal("ab"), X, C, Alternatives((A, B, C, X))))


def test_what_vanishes_still_has_to_be_defined() -> None:
    with pytest.raises(GrammarError, match="`y` is not defined"):
        body('"a" y{0}')


def nested(depth: int) -> str:
    """`x` in parentheses that all mean something: an optional group inside an optional group."""
    return "root ::= " + '("x" ' * depth + ")?" * depth


def test_parentheses_nest_to_the_limit() -> None:
    expression = parse_gbnf(nested(MAX_NESTING)).rules[0].body
    depth = 0
    while isinstance(expression, Repeat):
        depth += 1
        inside = expression.item
        expression = inside.items[1] if isinstance(inside, Sequence) else inside
    assert depth == MAX_NESTING == 1000
    assert expression == Literal("x")


def test_token_parentheses_do_not_count_as_nesting() -> None:
    text = "root ::= " + "(" * MAX_NESTING + "Token(1)" + ")" * MAX_NESTING
    assert parse_gbnf(text).rules[0].body == TokenSet((1,))


def test_unknown_dialect() -> None:
    with pytest.raises(ValueError, match=r"it is one of 'xgrammar', 'llama\.cpp'"):
        parse_gbnf('root ::= "a"', dialect="ebnf")


def test_importing_does_not_load_the_parser_generator() -> None:
    code = "import sys, infernix.gbnf; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
