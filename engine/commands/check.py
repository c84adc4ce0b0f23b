"""`infernix check`: is a text in the language, a legal beginning of one, or where does it go wrong?

Without a model the text is read byte by byte, which is what a constraint without token
terminals is about. With `--model` it is cut into that model's tokens first; grammars with
`Token(...)` need that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from infernix.gbnf.errors import TokenRejected
from infernix.gbnf.grammar import TokenSet, walk

from .console import CommandError, ExitCode, reporting
from .constraint import (
    ChoiceOption,
    Constraint,
    Dialect,
    DialectOption,
    GrammarFileOption,
    JsonObjectOption,
    Layout,
    LayoutOption,
    RegexOption,
    RootOption,
    SchemaFileOption,
    chosen_constraint,
)
from .files import read_stdin
from .key_order import in_order
from .show_bytes import describe_bytes, excerpt_at, position_of

if TYPE_CHECKING:
    from infernix.matcher.matcher import Matcher
    from infernix.matcher.vocabulary import Vocabulary

__all__ = ["check"]

MAX_SHOWN_TOKENS = 8
LINE_ENDS = (b"\n", b"\r\n")


@reporting
def check(
    text: Annotated[str, typer.Argument(metavar="[TEXT|-]", help="The text; `-` or nothing reads stdin.")] = "-",
    grammar_file: GrammarFileOption = None,
    json_schema_file: SchemaFileOption = None,
    json_object: JsonObjectOption = False,
    regex: RegexOption = None,
    choice: ChoiceOption = None,
    dialect: DialectOption = Dialect.XGRAMMAR,
    root: RootOption = "root",
    layout: LayoutOption = Layout.FREE,
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="Read the text as this model's tokens.")
    ] = None,
) -> None:
    """Say whether a text satisfies a constraint, and if not, where and why.

    Exit code 0: it is in the language. 1: it is a legal beginning, but unfinished.
    3: it goes wrong, at the byte that is printed. 2: an error.

    Bytes count from 0, lines and columns from 1.

    Keys are expected in the order in which a schema declares them. Where
    that is all that is wrong, the text in that order is printed too.

    Examples:

        infernix check --grammar-file docs/examples/dates.gbnf 2024-02-30

        printf '{"a": 1' | infernix check --json-object
    """
    constraint = chosen_constraint(grammar_file, json_schema_file, json_object, regex, choice, dialect, root, layout)
    if constraint is None:
        raise CommandError("nothing to check against: give one of the constraint options, see --help")
    data = read_stdin() if text == "-" else os.fsencode(text)
    code = _check_tokens(constraint, data, model) if model else _check_bytes(constraint, data)
    raise typer.Exit(code)


def _check_bytes(constraint: Constraint, data: bytes) -> int:
    from infernix.matcher.vocabulary import Vocabulary

    vocabulary = Vocabulary.byte_level()
    grammar = constraint.grammar(vocabulary)
    if any(isinstance(node, TokenSet) for rule in grammar.rules for node in walk(rule.body)):
        raise CommandError(f"{constraint.origin} speaks of token ids: say whose with --model")
    matcher = constraint.matcher(vocabulary)
    try:
        matcher.accept_bytes(data)
    except TokenRejected as error:
        matcher.accept_bytes(data[: error.offset])
        _report_stop(data, error.offset, _expected_bytes(matcher, vocabulary))
        if matcher.can_end() and data[error.offset :] in LINE_ENDS:
            print("only the end of the line is too much: printf, or echo -n, writes none")
        _report_order(constraint, vocabulary, data)
        return ExitCode.REJECTED
    return _report_legal(matcher, _expected_bytes(matcher, vocabulary))


def _check_tokens(constraint: Constraint, data: bytes, model: str) -> int:
    from ..models.load import load_model

    tokenizer = load_model(model).tokenizer
    try:
        tokens = tokenizer.encode(data.decode())
    except UnicodeDecodeError as error:
        raise CommandError(f"the text is not UTF-8 (byte {error.start}), so it has no tokens") from None
    matcher, offset = constraint.matcher(tokenizer.vocabulary), 0
    for token in tokens:
        spelling = tokenizer.bytes_of(token)
        try:
            matcher.accept_token(token)
        except TokenRejected:
            print(f"token {token} ({spelling!r}) is refused")
            _report_stop(data, offset, _expected_tokens(matcher, tokenizer.vocabulary))
            _report_order(constraint, tokenizer.vocabulary, data)
            return ExitCode.REJECTED
        offset += len(spelling)
    return _report_legal(matcher, _expected_tokens(matcher, tokenizer.vocabulary))


def _report_legal(matcher: Matcher, expected: str) -> int:
    if matcher.can_end():
        print("in the language")
        return ExitCode.DONE
    print(f"a legal beginning, but unfinished; it goes on with {expected}")
    return ExitCode.UNFINISHED


def _report_stop(data: bytes, offset: int, expected: str) -> None:
    line, column = position_of(data, offset)
    found = "the end" if offset >= len(data) else describe_bytes([data[offset]])
    print(f"not in the language: stops at byte {offset} (line {line}, column {column})")
    print(f"expected {expected}; found {found}")
    print("\n".join("  " + row for row in excerpt_at(data, offset)))


def _report_order(constraint: Constraint, vocabulary: Vocabulary, data: bytes) -> None:
    """Say so, if the order of keys is all that a schema's text has wrong."""
    if constraint.is_schema:
        start = constraint.matcher(vocabulary)
        ordered = in_order(start, data, constraint.source.decode("utf-8", errors="replace"))
        if ordered is not None:
            print(f"the same members in the order of the schema are in the language:\n  {ordered}")


def _expected_bytes(matcher: Matcher, vocabulary: Vocabulary) -> str:
    """What may come next, from the mask over the 256 bytes."""
    allowed = [int(token) for token in matcher.allowed_token_ids()]
    end = ["the end"] * matcher.can_end()
    return describe_bytes([token for token in allowed if token not in vocabulary.eos_ids], end) or "nothing at all"


def _expected_tokens(matcher: Matcher, vocabulary: Vocabulary) -> str:
    allowed = [int(token) for token in matcher.allowed_token_ids()]
    shown = ", ".join(f"{token} {vocabulary.token_bytes(token)!r}" for token in allowed[:MAX_SHOWN_TOKENS])
    more = len(allowed) - MAX_SHOWN_TOKENS
    if len(allowed) == 1:
        return f"token {shown}"
    return f"one of {len(allowed)} tokens ({shown}{', ...' if more > 0 else ''})" if allowed else "nothing at all"
