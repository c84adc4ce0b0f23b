"""The random grammars and vocabularies of `infernix.fuzz.generate` as hypothesis strategies."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from infernix.fuzz.choices import Choose
from infernix.fuzz.generate import random_case, random_grammar, random_vocabulary
from infernix.gbnf.grammar import Grammar
from infernix.matcher.vocabulary import Vocabulary


@cache
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def _chooser(draw: st.DrawFn) -> Choose:
    # A choice of one is no choice: drawing it would only slow the shrinker down.
    return lambda count: draw(_below(count)) if count > 1 else 0


@st.composite
def choosers(draw: st.DrawFn) -> Choose:
    """The source of choices itself, for walks that decide as they go."""
    return _chooser(draw)


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Small vocabularies with every irregularity."""
    return random_vocabulary(_chooser(draw))


@st.composite
def grammars(draw: st.DrawFn, largest_bound: int = 4) -> Grammar:
    """Grammars without token terminals, with at least one sentence."""
    return random_grammar(_chooser(draw), None, largest_bound)


@st.composite
def cases(draw: st.DrawFn, largest_bound: int = 4) -> tuple[Grammar, Vocabulary]:
    """A vocabulary and a grammar that may name its tokens."""
    return random_case(_chooser(draw), largest_bound)
