"""From grammars to tables: what is built, what is shared, what is refused.

That the automata mean the right language is the business of the property tests. Here it is how
large they are, which rows two grammars have in common, and which errors there are.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import thread_time
from typing import Any

import pytest
from tests.matcher.matchers import SWITCHES, allowed, state
from tests.vocabularies import awkward

from infernix import Matcher, compile_gbnf, compile_json_schema, compile_regex
from infernix.gbnf.checks import check
from infernix.gbnf.choice import choice_grammar
from infernix.gbnf.errors import GrammarError, LimitError, TokenRejected
from infernix.gbnf.grammar import (
    EMPTY,
    NOTHING,
    Alternatives,
    Automaton,
    Grammar,
    Literal,
    Repeat,
    Rule,
    RuleRef,
    TokenSet,
    alternatives,
    char_class,
    repeat,
    sequence,
)
from infernix.gbnf.parser import parse_gbnf
from infernix.matcher import store as store_module
from infernix.matcher import tables
from infernix.matcher.analysis import strongly_connected
from infernix.matcher.assembly import EPSILON_GROWTH, EPSILON_SLACK
from infernix.matcher.automaton import build_automata
from infernix.matcher.compile import CompiledGrammar, compile_grammar, store_of
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.vocabulary import Vocabulary
from infernix.schema import schema_grammar

EOS = 256


def gbnf(text: str, vocabulary: Vocabulary, **options: Any) -> CompiledGrammar:
    """Compile GBNF text."""
    grammar = parse_gbnf(text)
    check(grammar)
    return compile_grammar(grammar, vocabulary, **options)


def used(vocabulary: Vocabulary, features: int = 0) -> dict[str, int]:
    """How much of each table a vocabulary's store uses."""
    store = vars(vocabulary)["_stores"][features]
    return dict(store.tables.used)


def growth(vocabulary: Vocabulary, compile_it: Callable[[], Any], features: int = 0) -> dict[str, int]:
    """What compiling one more grammar adds to the tables."""
    before = used(vocabulary, features)
    compile_it()
    after = used(vocabulary, features)
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def sizes(grammar: Grammar) -> list[tuple[int, int]]:
    """(states, edges) of each rule in the tables that a grammar needs."""
    compiled = compile_grammar(grammar, Vocabulary.byte_level())
    arrays, in_use = compiled.store.tables.arrays, compiled.store.tables.used
    bounds = [*sorted(arrays["rules"][: in_use["rules"]].tolist()), in_use["states"]]
    counts = arrays["states"]["edge_count"]
    return sorted((end - start, int(counts[start:end].sum())) for start, end in pairwise(bounds))


# --- sharing


def test_equal_grammars_share_everything() -> None:
    vocabulary = Vocabulary.byte_level()
    text = 'root ::= "[" item ("," item)* "]"\nitem ::= [a-z]{1,5} | root'
    first = gbnf(text, vocabulary)
    assert growth(vocabulary, lambda: gbnf(text, vocabulary)) == {}
    assert gbnf(text, vocabulary).root == first.root


def test_names_and_order_of_rules_do_not_matter() -> None:
    """Rules are equal by what they consist of; a grammar that calls an old one adds only itself."""
    vocabulary = Vocabulary.byte_level()
    gbnf('root ::= "(" word ")"\nword ::= [a-z]+', vocabulary)
    assert growth(vocabulary, lambda: gbnf('w ::= [a-z]+\nroot ::= "(" w ")"', vocabulary)) == {}
    added = growth(vocabulary, lambda: gbnf('root ::= "<" letters ">"\nletters ::= [a-z]+', vocabulary))
    assert added["rules"] == 1


def test_groups_of_mutually_recursive_rules_are_shared_as_a_whole() -> None:
    vocabulary = Vocabulary.byte_level()
    pair = 'x ::= "a" y | "."\ny ::= "b" x | ","'
    gbnf(f'root ::= "1" x\n{pair}', vocabulary)
    added = growth(vocabulary, lambda: gbnf(f'root ::= "2" x\n{pair}', vocabulary))
    assert added["rules"] == 1
    # One letter differs in one of the two: both are new, since each contains the other.
    changed = pair.replace('","', '";"')
    assert growth(vocabulary, lambda: gbnf(f'root ::= "2" x\n{changed}', vocabulary))["rules"] == 3


def test_equal_rules_of_one_grammar_are_one_rule() -> None:
    vocabulary = Vocabulary.byte_level()
    gbnf('root ::= "x"', vocabulary)
    added = growth(vocabulary, lambda: gbnf('root ::= a "," b\na ::= [0-9]+\nb ::= [0-9]+', vocabulary))
    assert added["rules"] == 2


def test_sharing_can_be_switched_off() -> None:
    vocabulary = Vocabulary.byte_level()
    off = tables.OFF_SHARING
    first = gbnf('root ::= "a" x\nx ::= [a-z]+', vocabulary, features=off)
    assert growth(vocabulary, lambda: gbnf('root ::= "a" x\nx ::= [a-z]+', vocabulary, features=off), off)["rules"] == 2
    assert first.store is not gbnf('root ::= "a" x\nx ::= [a-z]+', vocabulary).store


@pytest.mark.parametrize("name", SWITCHES)
def test_each_set_of_features_has_its_own_store(name: str) -> None:
    vocabulary = Vocabulary.byte_level()
    plain = gbnf('root ::= "a"{2,3}', vocabulary)
    switched = gbnf('root ::= "a"{2,3}', vocabulary, features=SWITCHES[name])
    assert switched.store is not plain.store
    assert switched.store is gbnf('root ::= "b"', vocabulary, features=SWITCHES[name]).store
    for matcher in (Matcher(plain), Matcher(switched)):
        matcher.accept_bytes(b"aa")
        assert state(matcher, 257) == ([ord("a"), EOS], True, False, False)


def test_vocabularies_have_stores_of_their_own() -> None:
    one, other = Vocabulary.byte_level(), Vocabulary.byte_level()
    assert gbnf('root ::= "a"', one).store is not gbnf('root ::= "a"', other).store


def test_standard_rules_are_found_by_identity() -> None:
    """A front end's fixed rules are linked once, by the object; what they call must be the same too."""
    vocabulary = Vocabulary.byte_level()
    digit = Rule("digit", char_class([(0x30, 0x39)]), standard=True)
    number = Rule("number", sequence([RuleRef("digit"), repeat(RuleRef("digit"), 0, None)]), standard=True)
    maybe = Rule("maybe", repeat(RuleRef("digit"), 0, 1), standard=True)

    def language(before: str, *rules: Rule) -> CompiledGrammar:
        body = sequence([Literal(before), RuleRef("number"), RuleRef("maybe"), Literal("!")])
        return compile_grammar(Grammar((Rule("root", body), *rules)), vocabulary)

    def allowed_after(compiled: CompiledGrammar, text: bytes) -> bytes:
        matcher = Matcher(compiled)
        matcher.accept_bytes(text)
        return bytes(allowed(matcher, 257))

    first = language("<", number, digit, maybe)
    store_tables = first.store.tables
    assert set(store_tables.standard) == {id(digit), id(number), id(maybe)}
    known = store_tables.standard[id(number)].number
    added = growth(vocabulary, lambda: language(">", number, digit, maybe))
    assert added["rules"] == 1
    assert allowed_after(language("?", number, digit, maybe), b"?1") == b"!0123456789"
    # Another rule of the name that `number` refers to: it is another language.
    letter = Rule("digit", char_class([(0x61, 0x63)]), standard=True)
    other = language("<", number, letter, maybe)
    assert allowed_after(other, b"<") == b"abc"
    assert allowed_after(other, b"<a") == b"!abc"
    assert store_tables.standard[id(number)].number == known
    # Not the same object, but equal: found by its content.
    twin = Rule("digit", char_class([(0x30, 0x39)]), standard=True)
    assert growth(vocabulary, lambda: language(">", number, twin, maybe)) == {}


# --- literals


def test_literals_from_one_state_form_a_trie() -> None:
    """A choice of n words takes a state for each distinct prefix, except the words' common end."""
    words = ["car", "card", "care", "cat", "dog", "do", "é", "è", ""]
    vocabulary = Vocabulary.byte_level()
    gbnf('root ::= "unrelated"', vocabulary)
    encoded = [word.encode() for word in words]
    prefixes = {word[:end] for word in encoded for end in range(len(word) + 1)}
    added = growth(vocabulary, lambda: compile_grammar(choice_grammar(words), vocabulary))
    # START and END; a state for every prefix but "", where some word goes on.
    inner = {p for p in prefixes if p and any(word != p and word.startswith(p) for word in encoded)}
    assert added["states"] == 2 + len(inner)
    matcher = Matcher(compile_grammar(choice_grammar(words), vocabulary))
    start = matcher.mark()
    for prefix in sorted(prefixes):
        matcher.accept_bytes(prefix)
        following = {word[len(prefix)] for word in encoded if word != prefix and word.startswith(prefix)}
        assert allowed(matcher, 257) == sorted(following) + [EOS] * (prefix in encoded)
        matcher.rollback(start)


def test_a_thousand_words_cost_their_letters() -> None:
    vocabulary = Vocabulary.byte_level()
    words = [f"word-{i:04}-{i * 7919 % 10_000:04}" for i in range(1000)]
    gbnf('root ::= "unrelated"', vocabulary)
    added = growth(vocabulary, lambda: compile_grammar(choice_grammar(words), vocabulary))
    prefixes = {word[:end] for word in words for end in range(1, len(word))}
    assert added["states"] == 2 + len(prefixes)
    assert added["rules"] == 1


# --- automata


def test_counted_rules_do_not_grow_with_their_bounds() -> None:
    def counted(minimum: int, maximum: int | None) -> Grammar:
        return Grammar((Rule("root", sequence([repeat(char_class([(97, 122)]), minimum, maximum), Literal(".")])),))

    small = sizes(counted(2, 3))
    assert sizes(counted(1, 2**31 - 1)) == sizes(counted(70_000, None)) == small
    # A count from zero can be skipped; that too costs the same for every maximum.
    assert sizes(counted(0, 2**31 - 1)) == sizes(counted(0, 2))
    nested = [sizes(parse_gbnf(f'root ::= (([a-z]{{2,{n}}} ","){{3,{n}}} ";"){{0,{n}}}')) for n in (5, 10**9)]
    assert nested[0] == nested[1]


def test_counted_bodies_with_different_bounds_share_twins() -> None:
    """In shapes one state stands for the equal states of all of them, whatever the bounds."""
    vocabulary = Vocabulary.byte_level()
    off = tables.OFF_TWINS

    def loop_twin(bounds: str, features: int) -> tuple[int, int]:
        compiled = gbnf(f'root ::= [a-z]{bounds} "."', vocabulary, features=features)
        counter = compiled.store.tables.used["counters"] - 1
        loop = int(compiled.store.tables.arrays["counters"][counter]["loop"])
        return loop, int(compiled.store.tables.arrays["states"][loop]["twin"])

    first, second = loop_twin("{2,3}", 0), loop_twin("{5,5000}", 0)
    assert first[0] != second[0]
    assert first[1] == second[1] == first[0]
    first, second = loop_twin("{2,3}", off), loop_twin("{5,5000}", off)
    assert (first[0], second[0]) == (first[1], second[1])
    other = gbnf('root ::= [a-y]{2,3} "."', vocabulary)
    counters = other.store.tables.arrays["counters"][: other.store.tables.used["counters"]]
    assert len({int(other.store.tables.arrays["states"][loop]["twin"]) for loop in counters["loop"]}) == 2


def test_past_its_exceptions_any_key_is_the_same_in_all_grammars() -> None:
    """Edges of the second grammar lead to states of the first one, where a name cannot be one of its own any more."""
    vocabulary = Vocabulary.byte_level()

    def edges_to_older_states(names: str, features: int) -> int:
        grammar = schema_grammar({"properties": {name: {"type": "null"} for name in names}})
        before = dict(store_of(vocabulary, features).tables.used)
        compiled = compile_grammar(grammar, vocabulary, features=features)
        edges = compiled.store.tables.arrays["edges"][before["edges"] : compiled.store.tables.used["edges"]]
        by_state = edges[(edges["kind"] == tables.BYTE) | (edges["kind"] == tables.FALLBACK)]
        for key, legal in (("z", True), ("ab", True), ("b", "b" not in names), ("x", "x" not in names)):
            matcher = Matcher(compiled)
            matcher.accept_bytes(b'{"')
            mark = matcher.mark()
            if legal:
                matcher.accept_bytes(f'{key}": 1'.encode())
            else:
                matcher.accept_bytes(f'{key}": '.encode())
                with pytest.raises(TokenRejected):
                    matcher.accept_bytes(b"1")
            matcher.rollback(mark)
        return int(((by_state["target"] < before["states"]) & (by_state["target"] > 0)).sum())

    assert edges_to_older_states("ab", 0) == 0
    assert edges_to_older_states("xy", 0) > 2
    assert edges_to_older_states("ab", tables.OFF_TWINS) == edges_to_older_states("xy", tables.OFF_TWINS) == 0


def test_optional_parts_in_a_row_stay_linear() -> None:
    """n optional parts have n * n / 2 ways to skip; past a limit they keep their epsilons."""
    counts = {}
    for n in (10, 100, 1000):
        parts = [repeat(char_class([(i % 128, i % 128)]), 0, 1) for i in range(n)]
        ((_, counts[n]),) = sizes(Grammar((Rule("root", sequence(parts)),)))
        assert counts[n] <= EPSILON_GROWTH * 3 * n + EPSILON_SLACK
    assert counts[10] == 10 * 11 // 2
    assert counts[1000] <= 11 * counts[100]


def test_states_with_equal_edges_become_one() -> None:
    """Nine alternatives that end alike have one end, where epsilons are removed."""
    choices = [sequence([char_class([(97 + i, 97 + i)]), char_class([(48, 57)])]) for i in range(9)]
    assert sizes(Grammar((Rule("root", alternatives([*choices, EMPTY])),))) == [(3, 10)]


def test_inner_states_of_characters_are_shared() -> None:
    """All code points of more than one byte need nine inner states on the way to one target."""
    one = sizes(Grammar((Rule("root", char_class([(0, 0x10FFFF)])),)))
    ((states, _),) = one
    assert states == 2 + 7
    two = Grammar((Rule("root", repeat(char_class([(0, 0x10FFFF)]), 2, 2)),))
    assert sizes(two)[-1][0] <= 2 + 2 * 7


def test_unproductive_parts_are_dropped() -> None:
    clean = Grammar((Rule("root", alternatives([Literal("ab"), Literal("cd")])),))
    dirty = Grammar(
        (
            Rule(
                "root",
                Alternatives((Literal("ab"), Literal("cd"), sequence([Literal("x"), RuleRef("never")]), NOTHING)),
            ),
            Rule("never", sequence([Literal("y"), RuleRef("never")])),
            Rule("unreached", Literal("z")),
        )
    )
    assert [edges for _, edges in sizes(clean)] == [edges for _, edges in sizes(dirty)] == [4]


def test_components_come_callees_first() -> None:
    grammar = parse_gbnf('root ::= x y\nx ::= "a" y | z\ny ::= x | "b"\nz ::= "c" z?')
    automata = build_automata(grammar, lambda terminal: 0, lambda rule: None)
    place = {rule: i for i, component in enumerate(automata.components) for rule in component}
    names = automata.names
    assert place[names["x"]] == place[names["y"]]
    assert place[names["z"]] < place[names["x"]] < place[names["root"]]
    assert strongly_connected(automata.rules) == automata.components
    assert automata.nullable == set()


def test_deep_nesting_needs_no_stack() -> None:
    """A chain of 3,000 rules, and 3,000 repetitions inside each other."""
    depth = 3_000
    rules = [Rule(f"r{i}", RuleRef(f"r{i + 1}")) for i in range(depth)] + [Rule(f"r{depth}", Literal("a"))]
    chain = compile_grammar(Grammar(tuple(rules), root="r0"), Vocabulary.byte_level())
    assert allowed(Matcher(chain), 257) == [ord("a")]
    body: Any = Literal("b")
    for _ in range(depth):
        body = Repeat(body, 0, 1)
    nest = compile_grammar(Grammar((Rule("root", body),)), Vocabulary.byte_level())
    assert allowed(Matcher(nest), 257) == [ord("b"), EOS]


# --- refusals


@pytest.mark.parametrize(
    "rules",
    [
        {"root": NOTHING},
        {"root": RuleRef("root")},
        {"root": sequence([Literal("a"), RuleRef("root")])},
        {
            "root": sequence([Literal("a"), RuleRef("x")]),
            "x": sequence([RuleRef("y"), Literal("b")]),
            "y": RuleRef("x"),
        },
        {"root": Repeat(NOTHING, 1, 5)},
        {"root": Automaton(((),), frozenset())},
        {"root": Automaton((((97, 97, 1),), ()), frozenset())},
    ],
    ids=["nothing", "itself", "never ends", "two never end", "repeated nothing", "no state", "no way"],
)
def test_an_empty_language_is_an_error(rules: dict[str, Any]) -> None:
    grammar = Grammar(tuple(Rule(name, body) for name, body in rules.items()))
    with pytest.raises(GrammarError, match="empty"):
        compile_grammar(grammar, Vocabulary.byte_level())


def test_a_token_set_that_is_empty_in_this_vocabulary() -> None:
    """ "Any token but a and b" where there are no others: an alternative drops out, a language is empty."""
    vocabulary = Vocabulary([b"a", b"b", b""], eos_ids=[2])
    others = TokenSet((0, 1), exclude=True)
    compiled = compile_grammar(Grammar((Rule("root", Alternatives((others, Literal("ab")))),)), vocabulary)
    assert allowed(Matcher(compiled), 3) == [0]
    with pytest.raises(GrammarError, match="empty"):
        compile_grammar(Grammar((Rule("root", others),)), vocabulary)
    compile_grammar(Grammar((Rule("root", Repeat(others, 0, 3)),)), vocabulary)


def test_an_empty_language_is_shown_at_its_root() -> None:
    """Which tokens there are is known with the vocabulary only."""
    with pytest.raises(GrammarError, match="empty") as refused:
        compile_gbnf('x ::= "a"\n  root ::= ExcludeToken(0, 1)', Vocabulary([b"a", b"b", b""], eos_ids=[2]))
    assert (refused.value.line, refused.value.column) == (2, 3)
    assert "root ::= ExcludeToken(0, 1)" in refused.value.excerpt()


def test_counts_beyond_32_bits_are_refused_or_kept_apart() -> None:
    """Two counters in each other may allow more than one can count."""
    vocabulary = Vocabulary.byte_level()
    matcher = Matcher(compile_regex("(a{50000}){50000}", vocabulary))
    matcher.accept_bytes(b"a" * 70_000)
    assert allowed(matcher, 257) == [ord("a")]
    compile_json_schema({"type": "string", "pattern": "^(a{0,50000}){0,50000}$"}, vocabulary)
    compile_regex("(?:" * 20 + "a" + "{0,9})" * 20, vocabulary)
    with pytest.raises(LimitError, match="counts end at 2147483647"):
        compile_grammar(Grammar((Rule("root", Repeat(Literal("a"), 0, 1 << 31)),)), vocabulary)


@pytest.mark.parametrize("bad", ["<x>", "<eos>", "<unused>", "padding", "outside"])
def test_tokens_that_may_not_be_named_are_refused_with_their_place(bad: str) -> None:
    vocabulary = awkward()
    by_text = {vocabulary.token_bytes(i).decode("latin-1"): i for i in range(30, 42)}
    token = {"padding": 41, "outside": 42}.get(bad, by_text.get(bad))
    text = f'root ::= "a" x\n\n  x ::= "b" | Token(0, {token})'
    grammar = parse_gbnf(text)
    with pytest.raises(GrammarError) as error:
        compile_grammar(grammar, vocabulary)
    assert (error.value.line, error.value.column) == (3, 24)
    assert f"token {token}" in str(error.value)
    assert "`x`" in str(error.value)
    if bad == "<x>":
        compiled = compile_grammar(grammar, vocabulary, allow_control=True)
        matcher = Matcher(compiled)
        matcher.accept_bytes(b"a")
        assert token in allowed(matcher, vocabulary.size)
    else:
        with pytest.raises(GrammarError):
            compile_grammar(grammar, vocabulary, allow_control=True)


def test_too_late_is_an_error() -> None:
    grammar = parse_gbnf('root ::= "a" | "b"')
    vocabulary = Vocabulary.byte_level()
    with pytest.raises(LimitError, match="time limit"):
        compile_grammar(grammar, vocabulary, seconds=0.0)
    assert allowed(Matcher(compile_grammar(grammar, vocabulary)), 257) == [97, 98]


def test_the_time_limit_holds_in_the_middle_of_a_large_grammar() -> None:
    rules = [Rule(f"r{i}", alternatives([RuleRef(f"r{i + 1}"), char_class([(97, 0x2000 + i)])])) for i in range(20_000)]
    grammar = Grammar((*rules, Rule("r20000", EMPTY)), root="r0")
    start = thread_time()
    with pytest.raises(LimitError, match="time limit"):
        compile_grammar(grammar, Vocabulary.byte_level(), seconds=0.05)
    assert thread_time() - start < 5.0


def test_many_token_sets_over_time_are_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One grammar may name so many; grammar after grammar may name as many as they like."""
    monkeypatch.setattr(store_module, "MAX_TOKEN_SETS", 8)
    monkeypatch.setattr("infernix.matcher.compile.MAX_TOKEN_SETS", 8)
    vocabulary = Vocabulary.byte_level()
    matchers = []
    for i in range(20):
        pair = alternatives([TokenSet((i, 100)), sequence([TokenSet((i, 101)), Literal("x")])])
        matchers.append(Matcher(compile_grammar(Grammar((Rule("root", pair),)), vocabulary)))
    for i, matcher in enumerate(matchers):
        assert allowed(matcher, 257) == [i, 100, 101]
    too_many = alternatives([TokenSet((i, i + 1)) for i in range(5)])
    with pytest.raises(LimitError, match="token sets"):
        compile_grammar(Grammar((Rule("root", too_many),)), vocabulary)


# --- together


def test_threads_compile_into_one_store() -> None:
    """Grammars that share rules, compiled at once: each is right, and equal rules are there once."""
    vocabulary = Vocabulary.byte_level()
    texts = [f'root ::= "{i}" word (", " word){{0,{i + 2}}}\nword ::= [a-z]{{1,8}} | "<" root ">"' for i in range(8)]

    def work(text: str) -> CompiledGrammar:
        return gbnf(text, vocabulary)

    with ThreadPoolExecutor(4) as pool:
        compiled = list(pool.map(work, texts * 3))
    roots = [grammar.root for grammar in compiled]
    assert roots[:8] == roots[8:16] == roots[16:]
    assert len(set(roots)) == 8
    for text, grammar in zip(texts, compiled):
        matcher, reference = Matcher(grammar), ReferenceMatcher(parse_gbnf(text), vocabulary)
        for byte in f"{text[10]}ab, <{text[10]}c>".encode():
            matcher.accept_token(byte)
            reference.accept_token(byte)
        assert state(matcher, 257) == (reference.allowed_token_ids(), reference.can_end(), False, False)


@pytest.mark.parametrize("root", [None, ["x"], b"root"])
def test_the_root_is_a_name(root: Any) -> None:
    with pytest.raises(TypeError, match=f"root must be str, not {type(root).__name__}"):
        compile_gbnf('root ::= "a"', Vocabulary.byte_level(), root=root)
