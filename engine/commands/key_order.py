"""Is the order of its keys all that is wrong with a JSON text?

A schema's properties are generated in the order of its document (docs/json-schema.md), so an object that any validator
accepts may be no sentence. Whether it is so is tried out: the members of each object are put in another order, and the
matcher judges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from infernix.gbnf.errors import TokenRejected

if TYPE_CHECKING:
    from infernix.matcher.matcher import Matcher

__all__ = ["in_order"]

MAX_TRIALS = 2000
"""So many beginnings are tried; then nothing is said."""
SEPARATORS = ((", ", ": "), (",", ":"))
"""Two of the layouts; the third allows both."""


class _Spelled(str):
    """A number as it is written."""


class _Members(list[tuple[str, Any]]):
    """The members of an object."""


def in_order(start: Matcher, data: bytes, schema: str) -> str | None:
    """The text with the members of its objects in an order that the language has, if there is one and it is found."""
    try:
        value = json.loads(data, object_pairs_hook=_Members, parse_int=_Spelled, parse_float=_Spelled)
    except (ValueError, RecursionError):
        return None
    for comma, colon in SEPARATORS:
        trial = _Trial(schema, comma, colon)
        try:
            for matcher, text in trial.values(start, "", value):
                if matcher.can_end():
                    return text
        except (_Enough, RecursionError):
            return None
    return None


class _Enough(Exception):
    """More trials than are worth it."""


class _Trial:
    """A search through the orders. Names that the schema mentions first are tried first: mostly that is the order."""

    def __init__(self, schema: str, comma: str, colon: str) -> None:
        self.schema, self.comma, self.colon = schema, comma, colon
        self.left = MAX_TRIALS

    def accepted(self, matcher: Matcher, before: str, text: str) -> Iterator[tuple[Matcher, str]]:
        """The position after a piece of text, if it may come here, and all text up to it."""
        self.left -= 1
        if self.left < 0:
            raise _Enough
        after = matcher.fork()
        try:
            after.accept_bytes(text.encode())
        except (TokenRejected, UnicodeEncodeError):
            return
        yield after, before + text

    def values(self, matcher: Matcher, before: str, value: Any) -> Iterator[tuple[Matcher, str]]:
        """The positions after a value, for each order of its members."""
        if isinstance(value, _Members):
            for inside, text in self.accepted(matcher, before, "{"):
                yield from self.members(inside, text, sorted(value, key=self.place), "")
        elif isinstance(value, list):
            for inside, text in self.accepted(matcher, before, "["):
                yield from self.items(inside, text, value, "")
        else:
            spelling = value if isinstance(value, _Spelled) else json.dumps(value, ensure_ascii=False)
            yield from self.accepted(matcher, before, spelling)

    def members(
        self, matcher: Matcher, before: str, waiting: list[tuple[str, Any]], comma: str
    ) -> Iterator[tuple[Matcher, str]]:
        """The positions after an object of which some members are written."""
        if not waiting:
            yield from self.accepted(matcher, before, "}")
        for place, (key, value) in enumerate(waiting):
            spelling = comma + json.dumps(key, ensure_ascii=False) + self.colon
            for at_value, text in self.accepted(matcher, before, spelling):
                for after, longer in self.values(at_value, text, value):
                    yield from self.members(after, longer, waiting[:place] + waiting[place + 1 :], self.comma)

    def items(self, matcher: Matcher, before: str, waiting: list[Any], comma: str) -> Iterator[tuple[Matcher, str]]:
        """The positions after an array of which some items are written; these keep their order."""
        if not waiting:
            yield from self.accepted(matcher, before, "]")
            return
        for at_value, text in self.accepted(matcher, before, comma) if comma else [(matcher, before)]:
            for after, longer in self.values(at_value, text, waiting[0]):
                yield from self.items(after, longer, waiting[1:], self.comma)

    def place(self, member: tuple[str, Any]) -> int:
        """Where the schema mentions a name first; names that it does not mention come last."""
        found = self.schema.find(json.dumps(member[0], ensure_ascii=False))
        return found if found >= 0 else len(self.schema)
