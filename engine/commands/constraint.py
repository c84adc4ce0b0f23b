"""The options that state a constraint, shared by the commands that take one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import CommandError, located
from .files import read_source
from .warmup import ensure_warm

if TYPE_CHECKING:
    from infernix.gbnf.grammar import Grammar
    from infernix.matcher.matcher import Matcher
    from infernix.matcher.vocabulary import Vocabulary

__all__ = [
    "ChoiceOption",
    "Constraint",
    "Dialect",
    "DialectOption",
    "GrammarFileOption",
    "JsonObjectOption",
    "Layout",
    "LayoutOption",
    "RegexOption",
    "RootOption",
    "SchemaFileOption",
    "chosen_constraint",
]

PANEL = "Constraint (one kind)"
DETAILS = "How to read it"


class Dialect(StrEnum):
    """The two dialects of GBNF."""

    XGRAMMAR = "xgrammar"
    LLAMA_CPP = "llama.cpp"


class Layout(StrEnum):
    """Where JSON has white space."""

    FREE = "free"
    COMPACT = "compact"
    SPACED = "spaced"


GrammarFileOption = Annotated[
    Path | None,
    typer.Option("--grammar-file", metavar="FILE", help="A GBNF grammar.", rich_help_panel=PANEL),
]
SchemaFileOption = Annotated[
    Path | None,
    typer.Option("--json-schema-file", metavar="FILE", help="JSON of this JSON Schema.", rich_help_panel=PANEL),
]
JsonObjectOption = Annotated[bool, typer.Option("--json-object", help="Any JSON object.", rich_help_panel=PANEL)]
RegexOption = Annotated[
    str | None,
    typer.Option("--regex", metavar="PATTERN", help="A regular expression, matched whole.", rich_help_panel=PANEL),
]
ChoiceOption = Annotated[
    list[str] | None,
    typer.Option("--choice", metavar="TEXT", help="One of these texts (repeat the option).", rich_help_panel=PANEL),
]
DialectOption = Annotated[
    Dialect, typer.Option("--dialect", help="The dialect of the grammar file.", rich_help_panel=DETAILS)
]
RootOption = Annotated[
    str, typer.Option("--root", metavar="RULE", help="The grammar's entry rule.", rich_help_panel=DETAILS)
]
LayoutOption = Annotated[
    Layout,
    typer.Option(
        "--layout",
        help='White space in JSON: anywhere, nowhere, or ", " and ": " only.',
        rich_help_panel=DETAILS,
    ),
]


@dataclass(frozen=True)
class Constraint:
    """A constraint as stated: where it came from, and how it becomes a grammar for a vocabulary."""

    origin: str
    read: Callable[[Vocabulary], Grammar]
    source: bytes = b""
    """The text of the file, if there is one."""
    is_schema: bool = False

    def grammar(self, vocabulary: Vocabulary) -> Grammar:
        """The grammar; a CommandError names the file or option at fault."""
        with located(self.origin):
            return self.read(vocabulary)

    def matcher(self, vocabulary: Vocabulary) -> Matcher:
        """Compile, and start matching; a CommandError names the file or option at fault."""
        from infernix import Matcher, compile_grammar
        from infernix.gbnf.errors import GrammarError
        from infernix.gbnf.source import Source

        grammar = self.grammar(vocabulary)
        ensure_warm()
        with located(self.origin):
            try:
                return Matcher(compile_grammar(grammar, vocabulary))
            except GrammarError as error:
                raise Source(self.source).locate(error) from None


def chosen_constraint(
    grammar_file: Path | None,
    schema_file: Path | None,
    json_object: bool,
    regex: str | None,
    choices: list[str] | None,
    dialect: Dialect,
    root: str,
    layout: Layout,
) -> Constraint | None:
    """The one constraint that the options state, its file read; None if they state none.

    Raises CommandError for two of them at once, InputError for an unreadable file.
    """
    stated: dict[str, Callable[[], Constraint]] = {}
    if grammar_file is not None:
        stated["--grammar-file"] = lambda: _from_gbnf(grammar_file, dialect, root)
    if schema_file is not None:
        stated["--json-schema-file"] = lambda: _from_schema(schema_file, layout)
    if json_object:
        stated["--json-object"] = lambda: _from_nothing(layout)
    if regex is not None:
        stated["--regex"] = lambda: _from_regex(regex)
    if choices:
        stated["--choice"] = lambda: _from_choices(choices)
    if len(stated) > 1:
        raise CommandError(f"{' and '.join(stated)} exclude each other: give one")
    return next(iter(stated.values()))() if stated else None


def _from_gbnf(path: Path, dialect: Dialect, root: str) -> Constraint:
    source = read_source(path)

    def read(vocabulary: Vocabulary) -> Grammar:
        from infernix.gbnf.checks import check
        from infernix.gbnf.parser import parse_gbnf

        ids: dict[bytes, int] = {}

        def token_id(spelling: str) -> int | None:
            if not ids:
                ids.update((vocabulary.token_bytes(token), token) for token in range(vocabulary.size))
            return ids.get(spelling.encode())

        grammar = parse_gbnf(source, root=root, dialect=dialect.value, token_id=token_id)
        check(grammar, source)
        return grammar

    return Constraint(str(path), read, source)


def _from_schema(path: Path, layout: Layout) -> Constraint:
    source = read_source(path)

    def read(_: Vocabulary) -> Grammar:
        from infernix.schema import schema_grammar

        return schema_grammar(source, layout=layout.value)

    return Constraint(str(path), read, source, is_schema=True)


def _from_nothing(layout: Layout) -> Constraint:
    def read(_: Vocabulary) -> Grammar:
        from infernix.schema import json_object_grammar

        return json_object_grammar(layout.value)

    return Constraint("--json-object", read)


def _from_regex(pattern: str) -> Constraint:
    def read(_: Vocabulary) -> Grammar:
        from infernix.gbnf.regex import regex_grammar

        return regex_grammar(pattern)

    return Constraint("--regex", read)


def _from_choices(choices: list[str]) -> Constraint:
    def read(_: Vocabulary) -> Grammar:
        from infernix.gbnf.choice import choice_grammar

        return choice_grammar(choices)

    return Constraint("--choice", read)
