"""Grammars as text: what came from a text comes back equal, anything else with the same language."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data import data_path
from tests.gbnf.expressions import full_match
from tests.gbnf.test_parser import CONSTRUCTS, STRING_ESCAPES, nested

from infernix.gbnf import MAX_NESTING, parse_gbnf, print_grammar
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import (
    ANY_CHAR,
    EMPTY,
    NOTHING,
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    Sequence,
    TokenSet,
    alternatives,
    char_class,
    repeat,
    sequence,
)


def reread(grammar: Grammar) -> Grammar:
    return parse_gbnf(print_grammar(grammar), root=grammar.root)


def one_rule(body: Expression) -> Grammar:
    return Grammar((Rule("root", body),))


# ---------------------------------------------------------------- equal

names = st.sampled_from(["root", "x", "a.b-c_D1", "Token", "_"])
characters = st.one_of(
    st.sampled_from("ab]^-[\\\"'\n\r\t\0\x7f\x80é\u2028\ud7ff\ue000\uffff\U00010000\U0010ffff"),
    st.characters(exclude_categories=["Cs"]),
)
literals = st.text(characters, min_size=1, max_size=4).map(Literal)
classes = st.builds(
    lambda pairs, negated: char_class([tuple(sorted(map(ord, pair))) for pair in pairs], negated),
    st.lists(st.tuples(characters, characters), max_size=4),
    st.booleans(),
)
token_ids = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3, unique=True).map(sorted)
tokens = st.builds(TokenSet, token_ids.map(tuple), st.booleans())
references = st.sampled_from(["root", "x", "a.b-c_D1", "_"]).map(RuleRef)
bounds = st.one_of(
    st.sampled_from([(0, None), (1, None), (0, 1), (2**31 - 1, None)]),
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair))),
)


def expressions(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Random expressions in normal form: built with the helpers that define it."""
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.lists(parts, max_size=4).map(sequence),
            st.lists(parts, min_size=1, max_size=4).map(alternatives),
            st.builds(lambda item, pair: repeat(item, *pair), parts, bounds),
        ),
        max_leaves=15,
    )


normal = expressions(st.one_of(literals, classes, tokens, references, st.just(EMPTY), st.just(NOTHING)))


@given(st.lists(st.tuples(normal, st.none() | normal), min_size=4, max_size=4))
def test_grammars_in_normal_form_come_back_equal(bodies: list[tuple[Expression, Expression | None]]) -> None:
    rules = [
        Rule(name, body, lookahead)
        for name, (body, lookahead) in zip(["root", "x", "a.b-c_D1", "_"], bodies, strict=True)
    ]
    grammar = Grammar(tuple(rules))
    assert reread(grammar) == grammar


def test_every_construct_comes_back_equal() -> None:
    for text in [*CONSTRUCTS, *(f'"{escape}"' for escape in STRING_ESCAPES)]:
        grammar = parse_gbnf(f'root ::= {text} (= {text})\nx ::= "x"')
        assert reread(grammar) == grammar, text


@pytest.mark.parametrize("name", ["arithmetic", "c", "chess", "english", "japanese", "json", "json_arr", "list"])
def test_llama_files_come_back_equal(name: str) -> None:
    grammar = parse_gbnf(data_path(f"llama.cpp-grammars/{name}.gbnf").read_bytes(), dialect="llama.cpp")
    assert reread(grammar) == grammar


def test_names_that_only_a_definition_may_have() -> None:
    grammar = parse_gbnf('Token ::= "a" Regex.x\nRegex.x ::= "b"', root="Token")
    assert reread(grammar) == grammar


def test_nesting_to_the_limit_prints_as_it_was_read() -> None:
    """Compared as texts: comparing expressions recurses."""
    text = nested(MAX_NESTING) + "\n"
    assert print_grammar(parse_gbnf(text)) == text.replace('("x" )?', '"x"?')


# ---------------------------------------------------------------- readable


def test_spelling() -> None:
    text = (
        'root ::= "a\\"b\\\\\\n" (x | "") [a-z\\]\\^\\-]{2,3} [^"\\\\]* (= x)\n'
        'x ::= Token(1, 2) | ExcludeToken(3)+ | ("a" [])? | ([^]{2}){0,} | "é日\\u00A0\\U000E0001"\n'
    )
    shown = (
        'root ::= "a\\"b\\\\\\n" (x | "") [\\-\\]\\^a-z]{2,3} [^"\\\\]* (= x)\n'
        'x ::= Token(1, 2) | ExcludeToken(3)+ | ("a" [])? | ([^]{2})* | "é日\\u00A0\\U000E0001"\n'
    )
    assert print_grammar(parse_gbnf(text)) == shown


def test_long_rules_are_broken_at_their_alternatives() -> None:
    choices = [f'"word number {index}" x' for index in range(9)]
    text = f'root ::= {" | ".join(choices)}\nx ::= "x"\n'
    shown = print_grammar(parse_gbnf(text))
    assert shown == "root ::= " + "\n  | ".join(choices) + '\nx ::= "x"\n'


# ---------------------------------------------------------------- the same language

ALPHABET = "ab"
WORDS = ["".join(word) for length in range(5) for word in itertools.product(ALPHABET, repeat=length)]


def language(grammar: Grammar) -> set[str]:
    """The words of at most four letters, by the simple interpreter of the tests."""
    rules = {rule.name: rule.body for rule in grammar.rules}
    return {word for word in WORDS if full_match(rules[grammar.root], word, rules)}


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    """Deterministic by construction: at most one target for each letter; some states fall back."""
    states = draw(st.integers(1, 4))
    targets = st.none() | st.integers(0, states - 1)
    edges = []
    for _ in range(states):
        steps = [(ord(char), draw(targets)) for char in ALPHABET]
        edges.append(tuple((code, code, target) for code, target in steps if target is not None))
    accepting = draw(st.frozensets(st.integers(0, states - 1)))
    # Only the last state is fallen back to, so it has no fallback itself.
    choices = draw(st.lists(st.sampled_from([-1, states - 1]), min_size=states - 1, max_size=states - 1))
    return Automaton(tuple(edges), accepting, draw(st.sampled_from([(), (*choices, -1)])))


def accepts(automaton: Automaton, word: str) -> bool:
    state: int | None = 0
    for char in word:
        assert state is not None
        following = step(automaton, state, ord(char))
        if following is None and automaton.fallback and automaton.fallback[state] >= 0:
            following = step(automaton, automaton.fallback[state], ord(char))
        if following is None:
            return False
        state = following
    return state in automaton.accepting


def step(automaton: Automaton, state: int, code: int) -> int | None:
    return next((target for low, high, target in automaton.edges[state] if low <= code <= high), None)


@given(automata())
def test_an_automaton_becomes_right_linear_rules(automaton: Automaton) -> None:
    grammar = reread(one_rule(automaton))
    assert language(grammar) == {word for word in WORDS if accepts(automaton, word)}
    for rule in grammar.rules:
        for choice in rule.body.choices if isinstance(rule.body, Alternatives) else (rule.body,):
            parts = choice.items if isinstance(choice, Sequence) else (choice,)
            assert all(isinstance(part, CharClass | Literal) for part in parts[:-1])


def test_automata_inside_expressions_get_names_nobody_has() -> None:
    letters = Automaton((((97, 97, 1),), ((98, 98, 0),)), frozenset({1}))
    grammar = Grammar(
        (Rule("root", Repeat(letters, 1, 2)), Rule("root_1", letters), Rule("root_1_2", RuleRef("root_1")))
    )
    again = reread(grammar)
    assert len({rule.name for rule in again.rules}) == len(again.rules) == 3 + 2 * 2
    assert language(again) == {"a", "aa", "aba", "aaba", "abaa"}


def shapes(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    items = st.lists(parts, max_size=3).map(tuple)
    return st.one_of(
        items.map(Sequence),
        items.map(Alternatives),
        st.builds(Repeat, parts, st.just(0), st.sampled_from([0, 1, 2, None])),
        st.lists(st.tuples(parts, st.booleans()), min_size=2, max_size=3).flatmap(
            lambda slots: parts.map(lambda separator: Joined(*zip(*slots, strict=True), separator))
        ),
    )


@given(st.recursive(st.sampled_from([Literal("a"), Literal("b"), EMPTY, NOTHING, TokenSet(())]), shapes, max_leaves=8))
def test_any_shape_keeps_its_language(body: Expression) -> None:
    """Also trees that no helper would build: empty unions, unions in unions, `{0}`."""
    plain = replace_empty_token_sets(body)
    assert language(reread(one_rule(body))) == language(one_rule(plain))


def replace_empty_token_sets(body: Expression) -> Expression:
    match body:
        case TokenSet(()):
            return NOTHING
        case Sequence(items):
            return Sequence(tuple(map(replace_empty_token_sets, items)))
        case Alternatives(choices):
            return Alternatives(tuple(map(replace_empty_token_sets, choices)))
        case Repeat(item, minimum, maximum):
            return Repeat(replace_empty_token_sets(item), minimum, maximum)
        case Joined(items, required, separator):
            parts = tuple(map(replace_empty_token_sets, items))
            return Joined(parts, required, replace_empty_token_sets(separator))
        case _:
            return body


@pytest.mark.parametrize("name", ["", "1st", "true", "Token", "a b", "#/definitions/é", "x\n::= y"])
def test_names_that_gbnf_does_not_allow_are_replaced(name: str) -> None:
    grammar = Grammar((Rule("root", sequence([Literal("a"), RuleRef(name)])), Rule(name, Literal("b"))))
    again = reread(grammar)
    assert language(again) == {"ab"}
    assert len(again.rules) == 2


def test_replaced_names_stay_apart() -> None:
    names = ["a b", "a:b", "_a_b_1", "a_b"]
    bodies: Iterable[Expression] = (Literal(letters) for letters in ("a", "b", "aa", "bb"))
    rules = [Rule(name, body) for name, body in zip(names, bodies, strict=True)]
    again = reread(Grammar((Rule("root", alternatives(map(RuleRef, names))), *rules)))
    assert language(again) == {"a", "b", "aa", "bb"}


def test_deeper_than_parentheses_go() -> None:
    """An expression of 2,500 levels is cut into rules; unfolding them gives the same levels."""
    levels = 2500
    body: Expression = Literal("x")
    for _ in range(levels):
        body = Repeat(sequence([Literal("x"), body]), 0, 1)
    again = reread(one_rule(body))
    assert len(again.rules) == 3
    found, node = 0, again.by_name["root"].body
    while node != Literal("xx"):
        if isinstance(node, RuleRef):
            node = again.by_name[node.name].body
        elif isinstance(node, Repeat):
            found, node = found + 1, node.item
        else:
            assert isinstance(node, Sequence)
            node = node.items[1]
    assert found == levels


# ---------------------------------------------------------------- what has no spelling


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (TokenSet((), exclude=True), "excludes nothing"),
        (TokenSet((2**31,)), "token ids"),
        (TokenSet((-1, 3)), "token ids"),
        (Repeat(ANY_CHAR, 2**31, None), "repetitions"),
        (Repeat(ANY_CHAR, 0, 2**31), "repetitions"),
    ],
)
def test_no_spelling(body: Expression, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        print_grammar(one_rule(body))
