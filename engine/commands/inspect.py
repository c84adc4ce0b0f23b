"""`infernix grammar` and `infernix schema`: what the front ends make of a source file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from .console import ExitCode, located, note, reporting
from .constraint import Dialect, DialectOption, RootOption
from .files import read_source

if TYPE_CHECKING:
    from infernix.gbnf.grammar import Grammar

__all__ = ["grammar", "schema"]

MAX_SECONDS = 10.0
"""For building the automata that the statistics count."""

KINDS = {
    "Literal": "literals",
    "CharClass": "classes",
    "Sequence": "sequences",
    "Alternatives": "alternatives",
    "Repeat": "repetitions",
    "RuleRef": "references",
    "TokenSet": "token terminals",
    "Automaton": "automata",
}


@reporting
def grammar(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A GBNF grammar.")],
    dialect: DialectOption = Dialect.XGRAMMAR,
    root: RootOption = "root",
) -> None:
    """Print a grammar in normal form, then its statistics as comments.

    The output is GBNF again, in the default dialect, and means the same. Warnings (rules that
    cannot be reached or match nothing) go to stderr.
    """
    from infernix.gbnf.checks import check
    from infernix.gbnf.parser import parse_gbnf
    from infernix.gbnf.printer import print_grammar

    with located(str(file)):
        parsed = parse_gbnf(read_source(file), root=root, dialect=dialect.value)
        for warning in check(parsed):
            note(f"warning: {file}:{warning}")
    print(print_grammar(parsed).rstrip("\n"))
    print("\n".join(f"# {line}" for line in statistics(parsed)))


def statistics(parsed: Grammar) -> list[str]:
    """What a grammar consists of, and how large its automata are."""
    from infernix.gbnf.checks import nullable_rules
    from infernix.gbnf.grammar import walk
    from infernix.matcher.automaton import build_automata

    nullable = nullable_rules(parsed)
    counts = Counter(type(node).__name__ for rule in parsed.rules for node in walk(rule.body))
    shown = ", ".join(f"{counts[kind]} {name}" for kind, name in KINDS.items() if counts[kind])
    automata = build_automata(parsed, lambda _: 0, lambda _: None, monotonic() + MAX_SECONDS)
    alive = [automata.rules[rule] for component in automata.components for rule in component]
    states, edges = automata.size()
    recursive = sum(len(component) for component in automata.components if len(component) > 1)
    return [
        f"{len(parsed.rules)} rules, {len(nullable)} of them may match the empty text;"
        f" the whole text {'may' if parsed.root in nullable else 'cannot'} be empty",
        f"{sum(counts.values())} expressions: {shown}",
        f"compiled: {len(alive)} automata ({recursive} of them mutually recursive),"
        f" at most {states} states and {edges} edges",
    ]


@reporting
def schema(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON Schema.")],
    reduced: Annotated[bool, typer.Option("--reduced", help="Print the reduced schema, as JSON.")] = False,
    as_grammar: Annotated[bool, typer.Option("--grammar", help="Print the grammar it becomes.")] = False,
) -> None:
    """Say whether a JSON Schema can be enforced exactly, and if not, where and why not.

    The verdict is `supported`, or `unsupported`, `unsatisfiable` or `invalid` at a JSON Pointer
    (exit code 3). Members that are no keywords have no effect and are listed on stderr.
    """
    from infernix.gbnf.printer import print_grammar
    from infernix.schema import analyse

    verdict = analyse(read_source(file))
    for pointer in verdict.unknown:
        note(f"warning: {file}: {pointer} is not a keyword and has no effect")
    if verdict.grammar is None:
        print(verdict)
        raise typer.Exit(ExitCode.REJECTED)
    if not reduced and not as_grammar:
        print(verdict)
    if reduced:
        print(json.dumps(verdict.reduced, indent=2, ensure_ascii=False))
    if as_grammar:
        print(print_grammar(verdict.grammar).rstrip("\n"))
