"""A matcher as a Python object: copies, pickles, and what it says when it is used wrongly."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.vocabularies import byte_level

import infernix
from infernix import ChoiceError, Matcher, TokenRejected, Vocabulary
from infernix.matcher import matcher as matcher_module


@pytest.fixture
def matcher() -> Matcher:
    return Matcher(infernix.compile_gbnf('root ::= ("yes" | "no") "!"', byte_level()))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(matcher: Matcher, copied: Callable[[Matcher], Matcher]) -> None:
    matcher.accept_bytes(b"y")
    twin = copied(matcher)
    twin.accept_bytes(b"es!")
    assert matcher.allowed_token_ids() == [ord("e")]
    twin.rollback_tokens(2)
    assert twin.allowed_token_ids() == [ord("n"), ord("y")]
    with pytest.raises(ValueError, match="only 1 were accepted"):
        matcher.rollback_tokens(2)
    assert twin.compiled is matcher.compiled


def test_a_compiled_grammar_is_its_own_copy(matcher: Matcher) -> None:
    assert copy.copy(matcher.compiled) is matcher.compiled
    assert copy.deepcopy({"grammar": matcher.compiled})["grammar"] is matcher.compiled


def test_pickling_is_refused_with_the_reason(matcher: Matcher) -> None:
    for thing in (matcher, matcher.compiled):
        with pytest.raises(TypeError, match=rf"a {type(thing).__name__} cannot be pickled"):
            pickle.dumps(thing)


@pytest.mark.parametrize("token", ["y", None, b"y", 0.5, [121]])
def test_what_is_not_an_integer_is_named(matcher: Matcher, token: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"a token id is an integer, not {type(token).__name__}: {token!r}")):
        matcher.accept_token(token)
    matcher.accept_token(np.int64(ord("y")))  # type: ignore[arg-type]
    assert matcher.allowed_token_ids() == [ord("e")]


@pytest.mark.parametrize("value", [1.0, None, "1"])
def test_positions_and_numbers_of_tokens_are_integers(matcher: Matcher, value: Any) -> None:
    matcher.accept_bytes(b"y")
    with pytest.raises(TypeError, match=f"a position is an integer, not {type(value).__name__}"):
        matcher.rollback(value)
    with pytest.raises(TypeError, match=f"a number of tokens is an integer, not {type(value).__name__}"):
        matcher.rollback_tokens(value)
    assert matcher.allowed_token_ids() == [ord("e")]


LONG = infernix.compile_gbnf('root ::= [ab]{3,90} "."', byte_level())
BYTES: dict[str, tuple[Any, int]] = {
    "bytes": (b"ab" * 20, 40),
    "a bytearray": (bytearray(b"ab" * 20), 40),
    "every other byte": (memoryview(b"a.b." * 20)[::2], 40),
    "numbers of four bytes": (memoryview(np.frombuffer(b"abab" * 10, np.int32)), 40),
    "none": (b"", 0),
    "sixteen": (b"a" * 16, 16),
    "seventeen": (b"a" * 17, 17),
}


@pytest.mark.parametrize("case", BYTES)
def test_bytes_of_any_kind(case: str) -> None:
    """However many there are, they are one step; those that are not legal are named by their place among all."""
    data, count = BYTES[case]
    matcher = Matcher(LONG)
    matcher.accept_bytes(data)
    assert matcher.mark() == 2
    with pytest.raises(TokenRejected, match="byte 0x63 at offset 50") as refused:
        matcher.accept_bytes(b"a" * 50 + b"c")
    assert refused.value.offset == 50
    assert matcher.mark() == 2
    matcher.accept_bytes(b"b" * (90 - count))
    assert matcher.allowed_token_ids() == [ord(".")]
    matcher.rollback_tokens(2)
    assert matcher.allowed_token_ids() == [ord("a"), ord("b")]


def test_forced_bytes_beyond_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matcher stays where it is, however many there are."""
    monkeypatch.setattr(matcher_module, "FORGET_AT", 40)
    monkeypatch.setattr(matcher_module, "MAX_ROLLBACK", 20)
    matcher = Matcher(infernix.compile_gbnf('root ::= "a"{500}', byte_level()))
    matcher.accept_bytes(b"a")
    assert matcher.find_forced_bytes(300) == b"a" * 300
    assert matcher.mark() == 2
    assert matcher.find_forced_bytes(2000) == b"a" * 499
    matcher.rollback(1)
    assert matcher.find_forced_bytes(2000) == b"a" * 500


def test_what_bytes_of_no_bytes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are steps like others, of which the oldest are forgotten."""
    monkeypatch.setattr(matcher_module, "FORGET_AT", 40)
    monkeypatch.setattr(matcher_module, "MAX_ROLLBACK", 20)
    matcher = Matcher(LONG)
    for _ in range(100):
        matcher.accept_bytes(b"")
    assert matcher.mark() == 101
    matcher.rollback_tokens(19)
    with pytest.raises(ValueError, match="only"):
        matcher.rollback_tokens(30)


def test_a_row_that_was_handed_out_is_nobodys_to_write() -> None:
    """Neither a dense one, nor one of a list, nor that of the end."""
    matcher = Matcher(LONG)
    rows = [matcher.mask_row()]
    matcher.accept_bytes(b"abab")
    rows.append(matcher.mask_row())
    matcher.accept_bytes(b".")
    matcher.accept_token(256)
    rows.append(matcher.mask_row())
    for row in rows:
        with pytest.raises(ValueError, match="WRITEABLE"):
            row.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            row[0] = 0


def test_refusals_say_the_token_and_its_bytes(matcher: Matcher) -> None:
    with pytest.raises(TokenRejected, match=re.escape("token 120 (b'x') is not allowed here")) as refused:
        matcher.accept_token(ord("x"))
    assert refused.value.token == ord("x")
    with pytest.raises(TokenRejected, match="token 999 is outside the vocabulary of 257 ids"):
        matcher.accept_token(999)


WRONG_ARGUMENTS: dict[str, tuple[Callable[[Vocabulary], object], type[Exception], str]] = {
    "no vocabulary": (
        lambda _: infernix.compile_gbnf('root ::= "a"', None),  # type: ignore[arg-type]
        TypeError,
        "vocabulary must be an infernix.Vocabulary, not NoneType",
    ),
    "no text": (lambda v: infernix.compile_gbnf(None, v), TypeError, "text must be str | bytes, not NoneType"),  # type: ignore[arg-type]
    "bytes": (lambda v: infernix.compile_regex(b"a", v), TypeError, "pattern must be str, not bytes"),  # type: ignore[arg-type]
    "a number": (lambda v: infernix.compile_choice(3, v), TypeError, "choices must be a list of strings, not int"),  # type: ignore[arg-type]
    "no choices": (
        lambda v: infernix.compile_choice(None, v),  # type: ignore[arg-type]
        TypeError,
        "choices must be a list of strings, not NoneType",
    ),
    "a dictionary": (
        lambda v: infernix.compile_choice({"a": 1}, v),
        TypeError,
        "choices must be a list of strings, not dict",
    ),
    "a dictionary, cached": (
        lambda v: infernix.GrammarCompiler(v).choice({"a": 1}),
        TypeError,
        "choices must be a list of strings, not dict",
    ),
    "no choices, cached": (
        lambda v: infernix.GrammarCompiler(v).choice(None),  # type: ignore[arg-type]
        TypeError,
        "choices must be a list of strings, not NoneType",
    ),
    "a compiler of a name": (
        lambda _: infernix.GrammarCompiler("x"),  # type: ignore[arg-type]
        TypeError,
        "vocabulary must be an infernix.Vocabulary, not str",
    ),
    "a matcher of a schema": (
        lambda _: infernix.Matcher({"type": "null"}),  # type: ignore[arg-type]
        TypeError,
        "compiled must be an infernix.CompiledGrammar, as compile_gbnf makes one, not dict",
    ),
    "a matcher of a vocabulary": (lambda v: infernix.Matcher(v), TypeError, "not Vocabulary"),  # type: ignore[arg-type]
    "one string": (lambda v: infernix.compile_choice("yes", v), ChoiceError, "not one string"),
    "some bytes": (lambda v: infernix.compile_choice(b"yes", v), ChoiceError, "not one string"),  # type: ignore[arg-type]
    "schema": (
        lambda _: infernix.compile_json_schema({}, "vocabulary"),  # type: ignore[arg-type]
        TypeError,
        "not str",
    ),
    "object": (lambda _: infernix.compile_json_object(None), TypeError, "not NoneType"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_wrong_arguments_are_named(case: str) -> None:
    call, kind, message = WRONG_ARGUMENTS[case]
    with pytest.raises(kind, match=re.escape(message)):
        call(byte_level())


def test_without_eos_a_complete_text_is_a_dead_end_too() -> None:
    matcher = Matcher(infernix.compile_choice(["a"], Vocabulary([b"a", b"b"], eos_ids=[])))
    assert (matcher.can_end(), matcher.is_dead_end()) == (False, False)
    matcher.accept_token(0)
    assert (matcher.can_end(), matcher.is_dead_end()) == (True, True)
