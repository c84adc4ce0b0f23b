"""The compiler on top of the compile cache: what makes a key, and what becomes of sources and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.vocabularies import byte_level

from infernix import GrammarCompiler, Matcher
from infernix.gbnf.errors import ChoiceError, GrammarError, RegexError, SchemaError
from infernix.matcher.cache import CacheOutcome
from infernix.matcher.compile import CompiledGrammar

HIT, BUILT = CacheOutcome.HIT, CacheOutcome.BUILT
MIB = 1 << 20


@pytest.fixture
def compiler() -> GrammarCompiler:
    """A compiler over single bytes, with a cache of its own."""
    return GrammarCompiler(byte_level())


SOURCES: dict[str, Callable[[GrammarCompiler], tuple[CompiledGrammar, CacheOutcome]]] = {
    "gbnf": lambda compiler: compiler.gbnf('root ::= "a"'),
    "gbnf, other dialect": lambda compiler: compiler.gbnf('root ::= "a"', dialect="llama.cpp"),
    "gbnf, framed": lambda compiler: compiler.gbnf('root ::= "a"', framing=("qwen", "content")),
    "gbnf, other root": lambda compiler: compiler.gbnf('root ::= "b"\na ::= "a"', root="a"),
    "gbnf, default root": lambda compiler: compiler.gbnf('root ::= "b"\na ::= "a"'),
    "gbnf, bytes": lambda compiler: compiler.gbnf(b'root ::= "a"'),
    "regex": lambda compiler: compiler.regex("a"),
    "choice": lambda compiler: compiler.choice(["a"]),
    "json object": lambda compiler: compiler.json_object(),
    "json object, compact": lambda compiler: compiler.json_object(layout="compact"),
    "schema": lambda compiler: compiler.json_schema('{"const": "a"}'),
    "schema, compact": lambda compiler: compiler.json_schema('{"const": "a"}', layout="compact"),
    "schema, framed": lambda compiler: compiler.json_schema('{"const": "a"}', framing="tool"),
    "schema, data": lambda compiler: compiler.json_schema({"const": "a"}),
    "schema, data in another order": lambda compiler: compiler.json_schema({"type": "string", "const": "a"}),
    "schema, other order": lambda compiler: compiler.json_schema('{"type": "string", "const": "a"}'),
}


def test_kind_source_options_and_framing_are_the_key(compiler: GrammarCompiler) -> None:
    assert [source(compiler)[1] for source in SOURCES.values()] == [BUILT] * len(SOURCES)
    assert [source(compiler)[1] for source in SOURCES.values()] == [HIT] * len(SOURCES)
    assert len(compiler.cache) == len(SOURCES)


def test_the_order_of_choices_and_repetitions_do_not_matter(compiler: GrammarCompiler) -> None:
    assert compiler.choice(["b", "a"])[1] == BUILT
    assert compiler.choice(iter(["a", "b"]))[1] == HIT
    assert compiler.choice(["a", "b", "a"])[1] == HIT
    assert compiler.choice(["a", "b", "c"])[1] == BUILT


def test_a_hit_parses_nothing(compiler: GrammarCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in SOURCES.values():
        source(compiler)
    for name in ("gbnf", "regex", "choice", "json_object", "json_schema"):
        monkeypatch.setattr(f"infernix.matcher.sources.compile_{name}", lambda *args, **options: pytest.fail("parsed"))
    assert [source(compiler)[1] for source in SOURCES.values()] == [HIT] * len(SOURCES)


def test_errors_are_those_of_the_source_language(compiler: GrammarCompiler) -> None:
    for _ in range(2):
        with pytest.raises(GrammarError) as grammar_error:
            compiler.gbnf('root ::= "a"\n  | nothing')
        assert grammar_error.value.line is not None
        with pytest.raises(RegexError) as regex_error:
            compiler.regex("ab(")
        assert regex_error.value.position >= 2
        with pytest.raises(ChoiceError):
            compiler.choice([])
        with pytest.raises(ChoiceError, match="not one string"):
            compiler.choice("yes")
        with pytest.raises(SchemaError):
            compiler.json_schema("{")
    assert len(compiler.cache) == 5


def test_roots_and_data_are_told_apart(compiler: GrammarCompiler) -> None:
    source = 'root ::= "b"\na ::= "a"'
    for root, byte in (("root", b"b"), ("a", b"a")):
        Matcher(compiler.gbnf(source, root=root)[0]).accept_bytes(byte)
    Matcher(compiler.json_schema({"const": 1})[0]).accept_bytes(b"1")
    with pytest.raises(SchemaError):  # JSON text could not tell it from the other
        compiler.json_schema({"properties": {1: True}})
    assert compiler.json_schema({"properties": {"1": True}})[1] == BUILT
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"not": deep}
    with pytest.raises(SchemaError, match="deep"):
        compiler.json_schema(deep)


def test_classes_are_their_own_keys(compiler: GrammarCompiler) -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Point", x=(int, ...))
    assert compiler.json_schema(model)[1] == BUILT
    compiled, outcome = compiler.json_schema(model)
    assert outcome == HIT
    Matcher(compiled).accept_bytes(b'{"x": 1}')


def test_a_grammar_in_use_outlives_eviction() -> None:
    compiler = GrammarCompiler(byte_level(), grammar_cache_bytes=1)
    compiled, outcome = compiler.gbnf('root ::= "a"{2} "b"')
    matcher = Matcher(compiled)
    assert (outcome, len(compiler.cache)) == (BUILT, 0)
    matcher.accept_bytes(b"aa")
    assert matcher.allowed_token_ids() == [ord("b")]
    assert compiler.gbnf('root ::= "a"{2} "b"')[1] == BUILT


def test_every_grammar_weighs_something(compiler: GrammarCompiler) -> None:
    compiled, _ = compiler.gbnf('root ::= "a"')
    assert 0 < compiled.nbytes < compiler.cache.nbytes < MIB
    # Also one whose tables were there already: its expressions are its own.
    again, _ = compiler.gbnf('root ::= "a" # once more')
    assert again.nbytes > 0
    assert compiler.cache.budget == 256 * MIB


def test_failing_texts_do_not_outgrow_the_budget() -> None:
    compiler = GrammarCompiler(byte_level(), grammar_cache_bytes=4 * MIB)
    for i in range(20):
        with pytest.raises(GrammarError):
            compiler.gbnf(f"root ::= undefined-{i} # " + "x" * MIB)
    assert MIB < compiler.cache.nbytes <= 4 * MIB
    assert 1 <= len(compiler.cache) <= 4
