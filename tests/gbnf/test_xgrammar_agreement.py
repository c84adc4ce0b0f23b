"""Agreement with XGrammar, where it is installed: the same texts are grammars of the same language."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.gbnf.expressions import full_match

from infernix.gbnf import Grammar, parse_gbnf
from infernix.gbnf.errors import GrammarError

pytestmark = pytest.mark.slow

# Left out, because the difference is meant (docs/gbnf.md names each): numbers beyond 2**31 - 1, `{n,-1}`,
# surrogates and NUL in the text, rule options, the constructors that are not offered.
SIGNS = "root x x () ( ) | | * + ? {2} {0} {1,} {1,2} {3,1} { } true . 1 Token Token(1) Token() (="
SPELLED = r""" "a" "b" "" "\x61" "\u0062" "\q" " [a] [^a] [ab-] [b-a] [] [^] [\d] """
PIECES = [*SIGNS.split(), *SPELLED.split(), "#\n", "\n", "\nx ::=", "\nroot ::="]
ELEMENTS = r"""item () "a" "ab" "" "\x61" "\u0062""-" [a] [^a] [ab-] [a-b-] [] [^]"""
WORDS = ["".join(word) for length in range(4) for word in itertools.product("ab-", repeat=length)]


@pytest.fixture(scope="module")
def xgrammar() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("xgrammar.testing")
        return pytest.importorskip("xgrammar")


def theirs(xgrammar: Any, text: str) -> Any | None:
    try:
        return xgrammar.Grammar.from_ebnf(text)
    except RuntimeError as error:
        # Read, but then not supported by a later pass.
        assume("are not supported yet" not in str(error))
        return None


def ours(text: str) -> Grammar | None:
    try:
        return parse_gbnf(text)
    except GrammarError:
        return None


@given(st.lists(st.sampled_from(PIECES), max_size=9), st.sampled_from(['\nx ::= "ab"', ""]))
def test_the_same_texts_are_grammars(xgrammar: Any, pieces: list[str], end: str) -> None:
    text = f"root ::= {' '.join(pieces)}{end}"
    assert (ours(text) is None) == (theirs(xgrammar, text) is None), text


texts = st.recursive(
    st.sampled_from(ELEMENTS.split()),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(" ".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda choices: f"({' | '.join(choices)})"),
        st.builds("({}){}".format, parts, st.sampled_from(["*", "+", "?", "{2}", "{0}", "{1,}", "{1,2}"])),
    ),
    max_leaves=8,
)


@given(texts, texts)
def test_they_have_the_same_language(xgrammar: Any, root: str, item: str) -> None:
    text = f"root ::= {root} | item\nitem ::= {item.replace('item', 'leaf')}\nleaf ::= [-ab]"
    grammar = parse_gbnf(text)
    other = theirs(xgrammar, text)
    rules = {rule.name: rule.body for rule in grammar.rules}
    accepts = xgrammar.testing._is_grammar_accept_string
    for word in WORDS:
        assert full_match(rules["root"], word, rules) == accepts(other, word), word
