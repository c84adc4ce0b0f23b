"""The two dialects as values: a grammar file, the callbacks, and what the token loop must know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from .callbacks import Callbacks, XGrammarCallbacks
from .grammar import Grammar
from .llama import LlamaCallbacks, refuse_left_recursion

if TYPE_CHECKING:
    from lark import Lark

__all__ = ["DIALECTS", "Dialect"]


class _AlwaysLex:
    """Tells lark's contextual lexer to read line ends everywhere; the token loop drops the idle ones."""

    always_accept = ("_NEWLINE",)

    def process(self, stream: object) -> object:
        """Lark's hook for filtering; the token loop does that, because it knows more."""
        return stream


@dataclass(frozen=True)
class Dialect:
    """`lines_end_rules`: a line end outside parentheses ends a rule. `check` refuses whole grammars."""

    name: str
    grammar_file: str
    callbacks: Callable[[], Callbacks]
    lines_end_rules: bool
    check: Callable[[Grammar], None]

    def parser(self) -> Lark:
        """The LALR parser with its callbacks, built at the first use (about 0.1 s) and then kept."""
        return _parser(self)


@lru_cache
def _parser(dialect: Dialect) -> Lark:
    from lark import Lark  # deferred: importing the package must not pay for it

    text = files(__package__).joinpath(dialect.grammar_file).read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        transformer=dialect.callbacks(),
        postlex=_AlwaysLex() if dialect.lines_end_rules else None,
    )


def _nothing(grammar: Grammar) -> None:
    """XGrammar's dialect refuses no grammar as a whole."""


DIALECTS: Mapping[str, Dialect] = {
    "xgrammar": Dialect("xgrammar", "syntax.lark", XGrammarCallbacks, False, _nothing),
    "llama.cpp": Dialect("llama.cpp", "llama.lark", LlamaCallbacks, True, refuse_left_recursion),
}
"""The dialects by the name that `parse_gbnf` takes."""
