"""llama.cpp's dialect of GBNF: what it has that XGrammar's has not, and what it refuses.

`.` is any character; `<[5]>` is the token with id 5, `<think>` the token spelled `<think>`
(brackets included), `!<...>` any other token than that one. Alternatives may be empty and
quantifiers may be stacked. Left recursion is refused, as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .callbacks import Callbacks, at, number
from .errors import GrammarError
from .escapes import LLAMA
from .facts import Facts, nullable
from .grammar import ANY_CHAR, CharClass, Expression, Grammar, Rule, RuleRef, Sequence, TokenSet, children
from .source import clip

if TYPE_CHECKING:
    from lark import Token

__all__ = ["LlamaCallbacks", "named_id", "refuse_left_recursion", "resolve_token_text"]


class LlamaCallbacks(Callbacks):
    """The constructs of llama.cpp's dialect."""

    def __init__(self) -> None:
        super().__init__(LLAMA)

    def NAME(self, token: Token) -> RuleRef:  # noqa: N802 - terminals are spelled like this
        """A reference to a rule."""
        return RuleRef(str(token))

    def CLASS(self, token: Token) -> CharClass:  # noqa: N802
        """`[...]`; llama.cpp takes an empty class for the empty string, which nobody can mean."""
        if token in ("[]", "[^]"):
            raise at(token, 'an empty class: write "" for the empty string or `.` for any character')
        return super().CLASS(token)

    def ANY(self, token: Token) -> CharClass:  # noqa: N802
        """`.`, line ends included."""
        return ANY_CHAR

    def TOKEN_ID(self, token: Token) -> TokenSet:  # noqa: N802
        """`<[5]>` or `!<[5]>`."""
        return TokenSet((named_id(token),), exclude=token.startswith("!"))


def named_id(token: Token) -> int:
    """The id in `<[5]>` or `!<[5]>`."""
    return number(token, token[token.index("[") + 1 : token.index("]")])


def resolve_token_text(token: Token, token_id: Callable[[str], int | None] | None) -> Token:
    """`<text>` as `<[id]>`; `token_id` maps the text, brackets included, to its id or None."""
    bang, text = ("!", token[1:]) if token.startswith("!") else ("", str(token))
    if text.startswith("<["):
        raise at(token, f"expected a token id as in <[5]>, found {clip(text)}")
    if token_id is None:
        raise at(token, f"the token {clip(text)} needs a vocabulary: write its id as <[id]>, or compile with one")
    found = token_id(text)
    if found is None:
        raise at(token, f"the vocabulary has no single token {clip(text)}")
    return token.update(type="TOKEN_ID", value=f"{bang}<[{found}]>")


def refuse_left_recursion(grammar: Grammar) -> None:
    """Raise `GrammarError` at the first rule that can begin with itself.

    Depth-first search over "can begin with" without recursion: a rule that is met again
    while it is still being visited begins with itself.
    """
    empty = nullable(grammar)
    by_name = grammar.by_name
    done: set[str] = set()
    for start in grammar.rules:
        path: dict[str, Iterator[str]] = {}
        if start.name not in done:
            path[start.name] = _beginnings(start.body, empty)
        while path:
            name, upcoming = next(reversed(path.items()))
            following = next((other for other in upcoming if other not in done and other in by_name), None)
            if following is None:
                done.add(name)
                del path[name]
            elif following in path:
                raise _left_recursion(by_name[following], list(path))
            else:
                path[following] = _beginnings(by_name[following].body, empty)


def _left_recursion(rule: Rule, path: list[str]) -> GrammarError:
    cycle = path[path.index(rule.name) :]
    through = f" through {', '.join(f'`{name}`' for name in cycle[1:4])}" if len(cycle) > 1 else ""
    message = f"rule `{rule.name}` begins with itself{through}: llama.cpp's dialect has no left recursion"
    return GrammarError(message, rule.line, rule.column)


def _beginnings(body: Expression, empty: Facts) -> Iterator[str]:
    """The rules that a body can begin with: those with nothing but nullable parts before them."""
    pending: list[Expression] = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, RuleRef):
            yield node.name
        elif isinstance(node, Sequence):
            solid = (index for index, item in enumerate(node.items) if not empty.holds(item))
            first = next(solid, len(node.items) - 1)
            pending.extend(reversed(node.items[: first + 1]))
        else:
            pending.extend(reversed(children(node)))
