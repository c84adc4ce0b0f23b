"""Checks and warnings, and the facts behind them against a naive computation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.gbnf import (
    GrammarWarning,
    check,
    check_tokens,
    nullable,
    nullable_rules,
    parse_gbnf,
    productive,
    productive_rules,
    reachable_rules,
)
from infernix.gbnf.errors import GrammarError
from infernix.gbnf.grammar import (
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
    walk,
)

A = Literal("a")
DEAD_AUTOMATON = Automaton((((97, 97, 1),), (), ()), frozenset({2}))
EMPTY_AUTOMATON = Automaton((((97, 97, 0),),), frozenset({0}))
# State 0 takes `a` to a dead end and falls back to state 2, whose only way to acceptance is `a` too.
SHADOWED_AUTOMATON = Automaton((((97, 97, 1),), (), ((97, 97, 3),), ()), frozenset({3}), (2, -1, -1, -1))
FALLBACK_AUTOMATON = Automaton((((97, 97, 1),), (), ((97, 98, 3),), ()), frozenset({3}), (2, -1, -1, -1))
LIVE_AUTOMATON = Automaton((((97, 97, 1),), ()), frozenset({1}))

# ---------------------------------------------------------------- against definitions applied naively

NAMES = ["root", "a", "b", "c"]
LEAVES = [
    *(A, EMPTY, NOTHING, CharClass(((97, 98),)), TokenSet((1,)), TokenSet(()), TokenSet((), exclude=True)),
    *(DEAD_AUTOMATON, EMPTY_AUTOMATON, LIVE_AUTOMATON, SHADOWED_AUTOMATON, FALLBACK_AUTOMATON),
]
PRODUCTIVE_LEAVES = {
    A,
    EMPTY,
    LEAVES[3],
    LEAVES[4],
    LEAVES[6],
    EMPTY_AUTOMATON,
    LIVE_AUTOMATON,
    FALLBACK_AUTOMATON,
}
NULLABLE_LEAVES = {EMPTY, EMPTY_AUTOMATON}


def shapes(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    some = st.lists(parts, min_size=2, max_size=3).map(tuple)
    counts = st.sampled_from([(0, None), (0, 1), (1, None), (2, 3)])
    return st.one_of(
        some.map(Sequence),
        some.map(Alternatives),
        st.builds(lambda item, pair: Repeat(item, *pair), parts, counts),
        st.lists(st.tuples(parts, st.booleans()), min_size=2, max_size=3).flatmap(
            lambda slots: parts.map(lambda separator: Joined(*zip(*slots, strict=True), separator))
        ),
    )


bodies = st.recursive(st.sampled_from(LEAVES) | st.sampled_from(NAMES).map(RuleRef), shapes, max_leaves=6)
grammars = st.lists(bodies, min_size=4, max_size=4).map(
    lambda four: Grammar(tuple(Rule(name, body) for name, body in zip(NAMES, four, strict=True)))
)


def naive(grammar: Grammar, leaves: set[Expression]) -> set[str]:
    """Apply the definition to all rules again and again until nothing changes."""
    known: set[str] = set()
    while True:
        found = {rule.name for rule in grammar.rules if holds(rule.body, leaves, known)}
        if found == known:
            return known
        known = found


def holds(node: Expression, leaves: set[Expression], known: set[str]) -> bool:
    match node:
        case RuleRef(name):
            return name in known
        case Sequence(items):
            return all(holds(item, leaves, known) for item in items)
        case Alternatives(choices):
            return any(holds(choice, leaves, known) for choice in choices)
        case Repeat(item, minimum, _):
            return minimum == 0 or holds(item, leaves, known)
        case Joined(items, required, separator):
            # A text with as few items as possible shows it: the required ones, or one.
            needed = [item for item, must in zip(items, required, strict=True) if must]
            if not needed:
                return any(holds(item, leaves, known) for item in items)
            parts = [*needed, *([separator] if len(needed) > 1 else [])]
            return all(holds(part, leaves, known) for part in parts)
        case _:
            return node in leaves


@given(grammars)
def test_productive_and_nullable_as_defined(grammar: Grammar) -> None:
    for rules, facts, leaves in (
        (productive_rules(grammar), productive(grammar), PRODUCTIVE_LEAVES),
        (nullable_rules(grammar), nullable(grammar), NULLABLE_LEAVES),
    ):
        known = naive(grammar, leaves)
        assert rules == known
        for rule in grammar.rules:
            assert facts.rule_holds(rule.name) == (rule.name in known)
            for node in walk(rule.body):
                assert facts.holds(node) == holds(node, leaves, known)


@given(grammars)
def test_reachable_as_defined(grammar: Grammar) -> None:
    known = {"root"}
    while True:
        bodies = [rule.body for rule in grammar.rules if rule.name in known]
        found = known | {node.name for body in bodies for node in walk(body) if isinstance(node, RuleRef)}
        if found == known:
            break
        known = found
    reached = reachable_rules(grammar)
    assert set(reached) == known
    assert len(reached) == len(known)
    assert reached[0] == "root"


def test_reachable_rules_come_in_order_of_their_first_mention() -> None:
    grammar = parse_gbnf(
        'root ::= (c | b)* a\na ::= "a" (= hint)\nb ::= d\nc ::= e b\nd ::= "d"\ne ::= "e"\nhint ::= "h"'
    )
    assert reachable_rules(grammar) == ["root", "c", "b", "a", "e", "d"]
    assert reachable_rules(grammar, annotations=True) == ["root", "c", "b", "a", "e", "d", "hint"]


def test_undefined_references_are_neither_reached_nor_productive() -> None:
    grammar = Grammar((Rule("root", Alternatives((RuleRef("gone"), A))), Rule("x", RuleRef("gone"))))
    assert reachable_rules(grammar) == ["root"]
    assert productive_rules(grammar) == {"root"}
    assert reachable_rules(Grammar((Rule("a", A),))) == []


# ---------------------------------------------------------------- errors


def rules(**bodies: Expression) -> Grammar:
    return Grammar(tuple(Rule(name, body, line=3, column=2) for name, body in bodies.items()))


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (Grammar((Rule("root", A), Rule("root", A))), "rule `root` is already defined"),
        (
            Grammar((Rule("root", A, line=1, column=4), Rule("root", A))),
            "rule `root` is already defined at 1:4",
        ),
        (rules(root=Sequence((A, RuleRef("gone")))), "rule `root` refers to `gone`, which is not defined"),
        (Grammar((Rule("root", A, RuleRef("gone")),)), "rule `root` refers to `gone`, which is not defined"),
        (rules(other=A), "there is no rule `root` to start from"),
        (Grammar(()), "there is no rule `root` to start from"),
    ],
)
def test_names_must_be_right(grammar: Grammar, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        check(grammar)
    assert caught.value.message == message


EMPTY_LANGUAGES = [
    "root ::= []",
    "root ::= root",
    'root ::= "a" root',
    'root ::= "a" []',
    'root ::= [] | "a" []+',
    "root ::= a\na ::= b | root\nb ::= a a",
    "root ::= a{2,3}\na ::= []",
]


@pytest.mark.parametrize("text", EMPTY_LANGUAGES)
def test_an_empty_language_is_an_error(text: str) -> None:
    with pytest.raises(GrammarError, match="no finite text belongs to the grammar") as caught:
        check(parse_gbnf(text))
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert caught.value.source_line is None


def test_errors_show_their_line_if_the_text_is_given() -> None:
    text = '# first\r\n root ::= x\r\nx ::= "x" root'
    with pytest.raises(GrammarError, match="never ends") as caught:
        check(parse_gbnf(text), text)
    assert (caught.value.line, caught.value.column) == (2, 2)
    assert caught.value.excerpt() == " root ::= x\n ^"


@pytest.mark.parametrize(
    "body", [TokenSet(()), DEAD_AUTOMATON, SHADOWED_AUTOMATON, NOTHING, Alternatives((NOTHING, TokenSet(())))]
)
def test_nothing_else_is_productive(body: Expression) -> None:
    with pytest.raises(GrammarError, match="no finite text belongs to the grammar"):
        check(rules(root=body))


# ---------------------------------------------------------------- warnings


def test_no_warnings_for_a_sound_grammar() -> None:
    assert check(parse_gbnf('root ::= "a" root | x?\nx ::= []* (= y)\ny ::= "y"')) == []


def test_warnings_name_the_rule_and_its_place() -> None:
    warnings = check(
        parse_gbnf(
            'root ::= "a" | dead | "b" dead\n'
            '  unused ::= "u" dead? used-by-unused\n'
            'used-by-unused ::= "x"\n'
            'dead ::= "d" dead'
        )
    )
    assert warnings == [
        GrammarWarning("2 alternatives in rule `root` can match no text", "root", 1, 1),
        GrammarWarning("rule `unused` cannot be reached from `root`", "unused", 2, 3),
        GrammarWarning("rule `used-by-unused` cannot be reached from `root`", "used-by-unused", 3, 1),
        GrammarWarning("rule `dead` matches no text", "dead", 4, 1),
    ]
    assert str(warnings[1]) == "2:3: rule `unused` cannot be reached from `root`"


def test_warnings_without_a_place() -> None:
    grammar = Grammar(
        (
            Rule(
                "root",
                Sequence((A, Alternatives((A, NOTHING)))),
            ),
        )
    )
    assert [str(warning) for warning in check(grammar)] == ["an alternative in rule `root` can match no text"]


def test_optional_dead_parts_are_no_alternatives() -> None:
    assert check(parse_gbnf('root ::= "a" []*')) == []


# ---------------------------------------------------------------- tokens


def test_token_ids_against_a_vocabulary() -> None:
    asked: list[int] = []

    def problem(token: int) -> str | None:
        asked.append(token)
        return "which is not in the vocabulary" if token > 9 else None

    check_tokens(parse_gbnf("root ::= Token(3, 9) ExcludeToken(3) (= Token(4))"), problem)
    assert sorted(asked) == [3, 4, 9]
    texts = {"ExcludeToken(10)": 21, "Token(3, 10)*": 17, 'Token(3) (= "a" | Token(10))': 32, "Token(3\n,10)": 2}
    for text, column in texts.items():
        with pytest.raises(GrammarError) as caught:
            check_tokens(parse_gbnf(f"root ::= Token(1)\n x ::= {text}"), problem)
        assert caught.value.message == "rule `x` names token 10, which is not in the vocabulary"
        assert (caught.value.line, caught.value.column) == (3 if "\n" in text else 2, column)


def refused_place(grammar: Grammar) -> tuple[int | None, int | None]:
    with pytest.raises(GrammarError) as caught:
        check_tokens(grammar, lambda token: "which is refused" if token == 9 else None)
    return caught.value.line, caught.value.column


def test_a_refused_token_is_shown_where_it_is_named() -> None:
    assert refused_place(parse_gbnf('root ::=\n  "a"{9} |\n  Token(9)\n')) == (3, 9)
    assert refused_place(parse_gbnf('root ::= ("a" |\n !<[9]>)', dialect="llama.cpp")) == (2, 2)
    by_text = parse_gbnf("root ::= <a>? <b>", dialect="llama.cpp", token_id={"<a>": 8, "<b>": 9}.get)
    assert refused_place(by_text) == (1, 15)
    # Where it is named first, nothing comes of it: then the rule is what is known.
    assert refused_place(parse_gbnf('x ::= "a" Token(9){0}\nroot ::= x Token(9)')) == (2, 1)
    assert refused_place(Grammar((Rule("root", TokenSet((9,), exclude=False)),))) == (None, None)


# ---------------------------------------------------------------- depth


def test_nothing_recurses() -> None:
    """A chain of 5,000 rules and an expression of 5,000 levels."""
    depth = 5000
    body: Expression = A
    for _ in range(depth):
        body = Repeat(Sequence((A, body)), 0, 1)
    chain = [Rule(f"r{index}", RuleRef(f"r{index + 1}")) for index in range(depth)]
    grammar = Grammar((Rule("root", Sequence((body, RuleRef("r0")))), *chain, Rule(f"r{depth}", EMPTY)))
    assert check(grammar) == []
    assert len(nullable_rules(grammar)) == depth + 2
    assert len(reachable_rules(grammar)) == depth + 2
