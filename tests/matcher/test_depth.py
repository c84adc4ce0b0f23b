"""Recursion as deep as one likes: constant memory where the language allows it, no stack anywhere."""

from __future__ import annotations

import pytest
from tests.matcher.matchers import allowed
from tests.vocabularies import byte_level

from infernix import Matcher, TokenRejected, compile_gbnf
from infernix.matcher import tables
from infernix.matcher.jit import JIT

EOS = 256
DEEP = 100_000
BRACKETS = 10_000 if JIT else 300

TAIL_RECURSIONS = {
    "left": ('root ::= root "a" | "b"', b"b" + b"a" * DEEP, b"a"),
    "right": ('root ::= "a" root | "b"', b"a" * DEEP, b"ab"),
    "mutual tail": ('root ::= "a" x | "."\nx ::= "b" y\ny ::= "c" root', b"abc" * (DEEP // 3), b"a."),
    "mutual left": ('root ::= x "a" | "."\nx ::= root "b"', b"." + b"ba" * (DEEP // 2), b"b"),
    "nullable right": ('root ::= "a" root | ""', b"a" * DEEP, b"a"),
}


def sets_in_use(matcher: Matcher) -> int:
    """How many Earley sets there are in all, those of masks included."""
    return int(matcher.heap.header[tables.N_SETS])


@pytest.mark.parametrize("name", TAIL_RECURSIONS)
def test_tail_recursion_takes_no_memory(name: str) -> None:
    grammar, text, following = TAIL_RECURSIONS[name]
    matcher = Matcher(compile_gbnf(grammar, byte_level()))
    matcher.accept_bytes(text[:30])
    allowed(matcher, 257)
    before = sets_in_use(matcher)
    matcher.accept_bytes(text[30:])
    assert bytes(i for i in allowed(matcher, 257) if i != EOS) == bytes(sorted(following))
    assert sets_in_use(matcher) <= before + 10


def test_deep_brackets() -> None:
    matcher = Matcher(compile_gbnf('root ::= "(" root ")" | "[" root "]" | ""', byte_level()))
    matcher.accept_bytes(b"([" * (BRACKETS // 2))
    assert allowed(matcher, 257) == sorted(b"([]")
    matcher.accept_bytes(b"])" * (BRACKETS // 2 - 1))
    assert allowed(matcher, 257) == [ord("]")]
    with pytest.raises(TokenRejected) as rejection:
        matcher.accept_bytes(b"])]")
    assert rejection.value.offset == 2
    matcher.accept_bytes(b"])")
    assert allowed(matcher, 257) == [EOS]


def test_deep_rollback() -> None:
    """Marks stay good over thousands of positions."""
    matcher = Matcher(compile_gbnf('root ::= "(" root ")" | "x"', byte_level()))
    marks = []
    for _ in range(BRACKETS // 10):
        marks.append(matcher.mark())
        matcher.accept_token(ord("("))
    for depth, mark in reversed(list(enumerate(marks))):
        matcher.rollback(mark)
        assert allowed(matcher, 257) == [ord("("), ord("x")]
        if depth % 100 == 0:
            matcher.accept_bytes(b"x" + b")" * depth)
            assert allowed(matcher, 257) == [EOS]
            matcher.rollback(mark)
