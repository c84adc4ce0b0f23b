"""GBNF text -> Grammar.

    text ── Source ──> lines ── lark's contextual lexer ──> tokens ── token loop ──> LALR parser
                                                                                        │ Callbacks
                                      Grammar <── names, roots, the dialect's check <── rules

The token loop stands between lexer and parser and does what no LALR grammar can: it limits
nesting and size, remembers where each rule and token id is first named, drops the line ends that
mean nothing, and knows what is still open when the parser gives up. `explain` turns that
into an error message. Nothing here recurses, so no input can exhaust the stack.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from .callbacks import at, number
from .dialect import DIALECTS, Dialect
from .errors import GrammarError, LimitError
from .explain import Situation, unexpected_character, unexpected_token
from .grammar import Grammar, Rule
from .llama import named_id, resolve_token_text
from .source import Source, clip
from .time_limit import check_time

if TYPE_CHECKING:
    from lark import Token
    from lark.exceptions import UnexpectedInput

__all__ = ["MAX_NESTING", "MAX_TOKENS", "parse_gbnf"]

MAX_NESTING = 1000
"""How deep parentheses may nest, and how many quantifiers may be stacked on one element."""
MAX_TOKENS = 100_000
"""How many names, strings, classes, numbers and signs a text may have: about half a
megabyte of dense grammar, and two seconds of parsing."""
_SUGGESTIONS_FROM = 1000

# Every token of both dialects, and comments, which are none. Counting with it takes a fraction of
# a second, so a hopeless text is refused at once instead of at the limit. What is never closed
# reaches to the end of the text, so that nothing is scanned twice; it is an error anyway.
_ROUGH_TOKEN = re.compile(
    r'#[^\n]*+|"(?:[^"\\]++|\\.)*+"?|\[(?:[^\]\\]++|\\.)*+\]?|<[^>\n]*+>?|[A-Za-z0-9_.\-]++|::=|[^ \t\n]',
    re.DOTALL,
)

TokenId = Callable[[str], int | None]


def parse_gbnf(
    text: str | bytes, *, root: str = "root", dialect: str = "xgrammar", token_id: TokenId | None = None
) -> Grammar:
    """Read a GBNF text.

    Args:
        text: the grammar; bytes must be UTF-8.
        root: the rule that the language begins with.
        dialect: "xgrammar" (the default) or "llama.cpp"; `docs/gbnf.md` describes both.
        token_id: for the llama.cpp dialect, the id of the one token with a given spelling such
            as `<think>`, or None if there is none.

    Raises:
        GrammarError: with line, column and the offending line, for everything that is wrong
            in the text, undefined and duplicate rules and a missing root included.
        LimitError: the text is longer than `MAX_TEXT_BYTES` or has more than `MAX_TOKENS` tokens.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"unknown dialect {dialect!r}: it is one of {', '.join(map(repr, DIALECTS))}")
    source = Source(text)
    _check_size(source.text)
    loop = _TokenLoop(source, DIALECTS[dialect], token_id)
    try:
        rules = loop.run()
        grammar = Grammar(tuple(rules), root, loop.token_places)
        _check_definitions(rules)
        _check_references(grammar, loop.references)
        if root not in grammar.by_name:
            message = f"there is no rule `{clip(root)}` to start from{_suggestion(root, grammar)}"
            raise source.error(message, rules[0].line or 1, rules[0].column or 1)
        DIALECTS[dialect].check(grammar)
    except GrammarError as error:
        raise source.locate(error) from None
    return grammar


class _TokenLoop:
    """One run of the parser over one text."""

    def __init__(self, source: Source, dialect: Dialect, token_id: TokenId | None) -> None:
        self.references: dict[str, Token] = {}
        self.token_places: dict[int, tuple[int, int]] = {}
        self._lists_ids = False
        self._source = source
        self._dialect = dialect
        self._token_id = token_id
        self._open: list[Token] = []
        self._previous: Token | None = None
        self._stacked = 0
        self._watch: dict[str, Callable[[Token], Token | None]] = {
            "LPAR": self._opening,
            "_ANNOTATION": self._opening,
            "RPAR": self._closing,
            "RULE_NAME": self._rule_name,
            "NAME": self._reference,
            "INTEGER": self._integer,
            "TOKEN_ID": self._token,
            "TOKEN_TEXT": lambda token: self._token(resolve_token_text(token, self._token_id)),
            "_NEWLINE": self._line_end,
            "QUANTIFIER": self._quantifier,
            "LBRACE": self._quantifier,
        }

    def run(self) -> list[Rule]:
        """Parse the text into rules."""
        from lark.exceptions import UnexpectedInput

        parser = self._dialect.parser().parse_interactive(self._source.text)
        try:
            for count, token in enumerate(parser.lexer_thread.lex(parser.parser_state)):  # type: ignore[no-untyped-call]
                if count == MAX_TOKENS:
                    raise _too_many_tokens()
                check_time()
                watch = self._watch.get(token.type)
                admitted = watch(token) if watch is not None else token
                if admitted is not None:
                    parser.feed_token(admitted)
                    self._previous = token
            rules: list[Rule] = parser.feed_eof()  # type: ignore[no-untyped-call]
        except UnexpectedInput as error:
            raise self._explained(error) from None
        return rules

    def _explained(self, error: UnexpectedInput) -> GrammarError:
        from lark.exceptions import UnexpectedToken

        here = Situation(
            source=self._source,
            expected=frozenset(getattr(error, "expected", None) or getattr(error, "allowed", None) or ()),
            previous=self._previous,
            opened=self._open[-1] if self._open else None,
        )
        if isinstance(error, UnexpectedToken):
            return unexpected_token(here, error.token)
        return unexpected_character(here, error.pos_in_stream or 0, self._dialect.name)

    # ------------------------------------------------------------ what each kind of token is watched for

    def _opening(self, token: Token) -> Token:
        self._open.append(token)
        of_token = self._previous is not None and self._previous.type == "TOKENS"
        self._lists_ids = of_token
        if len(self._open) > MAX_NESTING and not of_token:
            raise at(token, f"parentheses nest deeper than {MAX_NESTING} here")
        return token

    def _closing(self, token: Token) -> Token:
        if self._open:
            self._open.pop()
        self._lists_ids = False
        return token

    def _rule_name(self, token: Token) -> Token:
        before = self._previous
        same_line = before is not None and before.type != "_NEWLINE" and before.end_line == token.line
        if same_line and not self._open:
            raise at(token, "a rule's name must be the first thing on its line")
        return token

    def _reference(self, token: Token) -> Token:
        self.references.setdefault(str(token), token)
        return token

    def _integer(self, token: Token) -> Token:
        """A bound, or an id of `Token(...)`."""
        if self._lists_ids:
            self.token_places.setdefault(number(token, token), (token.line or 1, token.column or 1))
        return token

    def _token(self, token: Token) -> Token:
        """A token of the llama.cpp dialect, by its id."""
        self.token_places.setdefault(named_id(token), (token.line or 1, token.column or 1))
        return token

    def _quantifier(self, token: Token) -> Token:
        repeated = self._previous is not None and self._previous.type in ("QUANTIFIER", "RBRACE")
        self._stacked = self._stacked + 1 if repeated else 1
        if self._stacked > MAX_NESTING:
            raise at(token, f"more than {MAX_NESTING} quantifiers are stacked here")
        return token

    def _line_end(self, token: Token) -> Token | None:
        """A line end ends a rule unless the rule cannot end there."""
        before = self._previous.type if self._previous is not None else "_NEWLINE"
        idle = self._open or before in ("_NEWLINE", "_DEFINES", "VBAR")
        return None if idle else token


def _check_size(text: str) -> None:
    """Refuse a text that is sure to have too many tokens; the token loop counts exactly."""
    if len(text) > MAX_TOKENS:
        tokens = (match for match in _ROUGH_TOKEN.finditer(text) if text[match.start()] != "#")
        if next(islice(tokens, MAX_TOKENS, None), None) is not None:
            raise _too_many_tokens()


def _too_many_tokens() -> LimitError:
    return LimitError(f"a grammar may have {MAX_TOKENS:,} names, strings, classes and signs, and this one has more")


def _check_definitions(rules: list[Rule]) -> None:
    defined: dict[str, Rule] = {}
    for rule in rules:
        first = defined.setdefault(rule.name, rule)
        if first is not rule:
            message = f"rule `{clip(rule.name)}` is already defined at {first.line}:{first.column}"
            raise GrammarError(message, rule.line, rule.column)


def _check_references(grammar: Grammar, references: dict[str, Token]) -> None:
    """Every name that is used is defined; the first use is the place of the error."""
    for name, token in references.items():
        if name not in grammar.by_name:
            hint = ": any character is [^] here" if name == "." else _suggestion(name, grammar)
            raise at(token, f"rule `{clip(name)}` is not defined{hint}")


def _suggestion(name: str, grammar: Grammar) -> str:
    """The most similar rule name, if there is one; not searched for in very large grammars."""
    if len(grammar.rules) > _SUGGESTIONS_FROM:
        return ""
    similar = difflib.get_close_matches(name, grammar.by_name, n=1)
    return f" (did you mean `{clip(similar[0])}`?)" if similar else ""
