"""The options that state a constraint, shared by the commands that take one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import CommandError, located
from .files import read_text

if TYPE_CHECKING:
    from infernix.matcher.compile import CompiledGrammar
    from infernix.matcher.matcher import Matcher
    from infernix.matcher.vocabulary import Vocabulary

__all__ = [
    "ChoiceOption",
    "Constraint",
    "Dialect",
    "DialectOption",
    "GrammarFileOption",
    "JsonObjectOption",
    "RegexOption",
    "RootOption",
    "SchemaFileOption",
    "chosen_constraint",
]

PANEL = "Constraint (at most one kind)"


class Dialect(StrEnum):
    """The two dialects of GBNF."""

    XGRAMMAR = "xgrammar"
    LLAMA_CPP = "llama.cpp"


GrammarFileOption = Annotated[
    Path | None,
    typer.Option("--grammar-file", metavar="FILE", help="A GBNF grammar.", rich_help_panel=PANEL),
]
SchemaFileOption = Annotated[
    Path | None,
    typer.Option(
        "--json-schema-file", metavar="FILE", help="JSON of this JSON Schema.", rich_help_panel=PANEL
    ),
]
JsonObjectOption = Annotated[
    bool, typer.Option("--json-object", help="Any JSON object.", rich_help_panel=PANEL)
]
RegexOption = Annotated[
    str | None,
    typer.Option(
        "--regex", metavar="PATTERN", help="A regular expression, matched whole.", rich_help_panel=PANEL
    ),
]
ChoiceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--choice", metavar="TEXT", help="One of these texts (repeat the option).", rich_help_panel=PANEL
    ),
]
DialectOption = Annotated[
    Dialect, typer.Option("--dialect", help="How to read the grammar file.", rich_help_panel=PANEL)
]
RootOption = Annotated[
    str, typer.Option("--root", metavar="RULE", help="The grammar's entry rule.", rich_help_panel=PANEL)
]


@dataclass(frozen=True)
class Constraint:
    """A constraint as stated: where it came from, and how it compiles for a vocabulary."""

    origin: str
    build: Callable[[Vocabulary], CompiledGrammar]

    def matcher(self, vocabulary: Vocabulary) -> Matcher:
        """Compile, and start matching; a CommandError names the file or option at fault."""
        from infernix.matcher.matcher import Matcher

        with located(self.origin):
            return Matcher(self.build(vocabulary))


def chosen_constraint(
    grammar_file: Path | None,
    schema_file: Path | None,
    json_object: bool,
    regex: str | None,
    choices: list[str] | None,
    dialect: Dialect,
    root: str,
) -> Constraint | None:
    """The one constraint that the options state, its file read; None if they state none.

    Raises CommandError for two of them at once, InputError for an unreadable file.
    """
    import infernix

    stated: dict[str, Callable[[], Constraint]] = {}
    if grammar_file is not None:
        stated["--grammar-file"] = lambda: _grammar_text(grammar_file, dialect, root)
    if schema_file is not None:
        stated["--json-schema-file"] = lambda: _schema_text(schema_file)
    if json_object:
        stated["--json-object"] = lambda: Constraint("--json-object", infernix.compile_json_object)
    if regex is not None:
        stated["--regex"] = lambda: Constraint("--regex", partial(infernix.compile_regex, regex))
    if choices:
        stated["--choice"] = lambda: Constraint("--choice", partial(infernix.compile_choice, choices))
    if len(stated) > 1:
        raise CommandError(f"{' and '.join(stated)} exclude each other: give one")
    return next(iter(stated.values()))() if stated else None


def _grammar_text(path: Path, dialect: Dialect, root: str) -> Constraint:
    import infernix

    text = read_text(path)
    return Constraint(
        str(path), lambda vocab: infernix.compile_gbnf(text, vocab, root=root, dialect=dialect.value)
    )


def _schema_text(path: Path) -> Constraint:
    import infernix

    return Constraint(str(path), partial(infernix.compile_json_schema, read_text(path)))
