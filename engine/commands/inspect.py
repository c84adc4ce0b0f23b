"""`infernix grammar` and `infernix schema`: what the front ends make of a source file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import ExitCode, counted, located, note, reporting
from .constraint import Dialect, DialectOption, Layout, LayoutOption, RootOption
from .files import read_argument

if TYPE_CHECKING:
    from infernix.gbnf.grammar import Grammar

__all__ = ["grammar", "schema"]

KINDS = {
    "Literal": ("literal", "literals"),
    "CharClass": ("class", "classes"),
    "Sequence": ("sequence", "sequences"),
    "Alternatives": ("list of alternatives", "lists of alternatives"),
    "Repeat": ("repetition", "repetitions"),
    "RuleRef": ("reference", "references"),
    "TokenSet": ("token terminal", "token terminals"),
    "Automaton": ("automaton", "automata"),
}


@reporting
def grammar(
    file: Annotated[Path, typer.Argument(metavar="FILE|-", help="A GBNF grammar; `-` reads stdin.")],
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

    source, name = read_argument(file)
    with located(name):
        parsed = parse_gbnf(source, root=root, dialect=dialect.value)
        for warning in check(parsed, source):
            note(f"warning: {name}:{warning}")
    print(print_grammar(parsed).rstrip("\n"))
    print("\n".join(f"# {line}" for line in statistics(parsed)))


def statistics(parsed: Grammar) -> list[str]:
    """What a grammar consists of, and how large its automata are."""
    from infernix.gbnf.checks import nullable_rules
    from infernix.gbnf.grammar import walk
    from infernix.gbnf.time_limit import time_limit
    from infernix.matcher.automaton import build_automata
    from infernix.matcher.compile import COMPILE_SECONDS

    nullable = nullable_rules(parsed)
    counts = Counter(type(node).__name__ for rule in parsed.rules for node in walk(rule.body))
    shown = ", ".join(f"{counted(counts[kind], *names)}" for kind, names in KINDS.items() if counts[kind])
    with time_limit(COMPILE_SECONDS):
        automata = build_automata(parsed, lambda _: 0, lambda _: None)
    alive = [automata.rules[rule] for component in automata.components for rule in component]
    states, edges = automata.size()
    recursive = sum(len(component) for component in automata.components if len(component) > 1)
    return [
        f"{counted(len(parsed.rules), 'rule')}, {len(nullable)} of them may match the empty text;"
        f" the whole text {'may' if parsed.root in nullable else 'cannot'} be empty",
        f"{counted(sum(counts.values()), 'expression')}: {shown}",
        f"compiled: {counted(len(alive), 'automaton', 'automata')} ({recursive} of them mutually recursive),"
        f" at most {counted(states, 'state')} and {counted(edges, 'edge')}",
    ]


def without_effect(document: Any, pointer: str) -> str:
    """Why a member of a schema has no effect, and what was probably meant."""
    from infernix.schema.formats import FORMATS
    from infernix.schema.keywords import KEYWORDS

    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        parent, document = document, document[int(key) if isinstance(document, list) else key]
    if key not in KEYWORDS:
        return f"{pointer} is not a keyword and has no effect{_suggestion(key, set(KEYWORDS) - set(parent))}"
    if key == "format" and document not in FORMATS:
        return f"{pointer}: no draft has the format {document!r}; it has no effect{_suggestion(document, FORMATS)}"
    return f"{pointer} stands beside a $ref, which hides it: it has no effect"


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


@reporting
def schema(
    file: Annotated[Path, typer.Argument(metavar="FILE|-", help="A JSON Schema; `-` reads stdin.")],
    reduced: Annotated[bool, typer.Option("--reduced", help="Print the reduced schema, as JSON.")] = False,
    as_grammar: Annotated[bool, typer.Option("--grammar", help="Print the grammar it becomes.")] = False,
    layout: LayoutOption = Layout.FREE,
) -> None:
    """Say whether a JSON Schema can be enforced exactly, and if not, where and why not.

    The verdict is `supported`, or `unsupported`, `unsatisfiable` or `invalid` at a JSON Pointer
    (exit code 3). Members that are no keywords, and formats that no draft defines, have no effect: they are
    listed on stderr.
    """
    from infernix.gbnf.printer import print_grammar
    from infernix.schema import analyse

    source, name = read_argument(file)
    verdict = analyse(source, layout=layout.value)
    for pointer in verdict.unknown:
        note(f"warning: {name}: {without_effect(json.loads(source), pointer)}")
    if verdict.grammar is None:
        print(verdict)
        raise typer.Exit(ExitCode.REJECTED)
    if not reduced and not as_grammar:
        print(verdict)
    if reduced:
        print(json.dumps(verdict.reduced, indent=2, ensure_ascii=False))
    if as_grammar:
        print(print_grammar(verdict.grammar).rstrip("\n"))
