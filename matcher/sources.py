"""From each source language to a compiled grammar: one function a language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal

from .compile import CompiledGrammar, compile_grammar
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from infernix.gbnf.grammar import Grammar

__all__ = ["compile_choice", "compile_gbnf", "compile_json_object", "compile_json_schema", "compile_regex"]

Layout = Literal["free", "compact", "spaced"]

READ_SECONDS = 4.5
"""Reading a source into a grammar may take so long, of processor time; a schema has a limit of its own."""


def compile_gbnf(
    text: str | bytes,
    vocabulary: Vocabulary,
    *,
    root: str = "root",
    dialect: Literal["xgrammar", "llama.cpp"] = "xgrammar",
) -> CompiledGrammar:
    """Compile GBNF text. Raises GrammarError with line and column, or LimitError."""
    from infernix.gbnf.checks import check, check_tokens
    from infernix.gbnf.errors import GrammarError
    from infernix.gbnf.parser import parse_gbnf
    from infernix.gbnf.source import Source
    from infernix.gbnf.time_limit import time_limit

    _check_types(vocabulary, "text", text, str | bytes)
    if not isinstance(root, str):
        raise TypeError(f"root must be str, not {type(root).__name__}")
    with time_limit(READ_SECONDS):
        grammar = parse_gbnf(text, root=root, dialect=dialect, token_id=vocabulary.id_of)
        check(grammar, text)
        try:
            check_tokens(grammar, vocabulary.why_not_ordinary)  # in rules that nothing refers to as well
        except GrammarError as error:
            raise Source(text).locate(error) from None
    try:
        return compile_grammar(grammar, vocabulary)
    except GrammarError as error:
        raise Source(text).locate(error) from None


def compile_regex(pattern: str, vocabulary: Vocabulary) -> CompiledGrammar:
    """Compile a regular expression that must match the whole text.

    Raises RegexError with the position, or LimitError.
    """
    from infernix.gbnf.errors import RegexError
    from infernix.gbnf.grammar import NOTHING, Grammar, Rule
    from infernix.gbnf.regex import parse_regex
    from infernix.gbnf.time_limit import time_limit
    from infernix.schema.forms import best_form

    _check_types(vocabulary, "pattern", pattern, str)
    with time_limit(READ_SECONDS):
        body = best_form(parse_regex(pattern))
    if body == NOTHING:
        raise RegexError("no text matches the expression", 0, pattern)
    return compile_grammar(Grammar((Rule("root", body),)), vocabulary)


def compile_choice(choices: Iterable[str], vocabulary: Vocabulary) -> CompiledGrammar:
    """Compile a finite list of texts. Raises ChoiceError, for a single string too, LimitError, or TypeError."""
    from infernix.gbnf.choice import choice_grammar
    from infernix.gbnf.time_limit import time_limit

    texts = listed(choices)
    check_vocabulary(vocabulary)
    with time_limit(READ_SECONDS):
        grammar = choice_grammar(texts)  # type: ignore[arg-type]
    return compile_grammar(grammar, vocabulary)


def compile_json_object(vocabulary: Vocabulary, *, layout: Layout = "free") -> CompiledGrammar:
    """Compile the language of all JSON objects."""
    from infernix.schema import json_object_grammar

    check_vocabulary(vocabulary)
    return compile_grammar(json_object_grammar(layout), vocabulary)


def compile_json_schema(schema: Any, vocabulary: Vocabulary, *, layout: Layout = "free") -> CompiledGrammar:
    """Compile a JSON Schema: a dict, bool, JSON text, or a pydantic model class.

    `layout` "free" allows white space between JSON tokens, "compact" none, "spaced" exactly
    `", "` and `": "`. Raises SchemaError with a JSON Pointer.
    """
    from infernix.gbnf.errors import LimitError
    from infernix.schema import schema_grammar

    from .common_shapes import walk_common_shapes

    check_vocabulary(vocabulary)
    grammar: Grammar = schema_grammar(schema, layout=layout)
    compiled = compile_grammar(grammar, vocabulary)
    known = compiled.store.layouts
    if layout not in known:
        known.add(layout)
        with suppress(LimitError):  # then some mask has to wait for them, or fail on its own
            walk_common_shapes(vocabulary, layout)
    return compiled


def listed(choices: Iterable[str]) -> tuple[str, ...] | str | bytes:
    """The choices as a tuple; a single string as it is, which `choice_grammar` refuses: it would be its characters.

    Raises TypeError for what is no list of any kind, and for a mapping, of which only the keys would count.
    """
    if isinstance(choices, Mapping) or not isinstance(choices, Iterable):
        raise TypeError(f"choices must be a list of strings, not {type(choices).__name__}")
    return choices if isinstance(choices, str | bytes) else tuple(choices)


def _check_types(vocabulary: object, name: str, source: object, expected: Any) -> None:
    """Raise TypeError at once and by name, rather than somewhere inside."""
    if not isinstance(source, expected):
        kind = str(expected) if isinstance(expected, UnionType) else expected.__name__
        raise TypeError(f"{name} must be {kind}, not {type(source).__name__}")
    check_vocabulary(vocabulary)


def check_vocabulary(vocabulary: object) -> None:
    """Raise TypeError for anything but a vocabulary."""
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be an infernix.Vocabulary, not {type(vocabulary).__name__}")
