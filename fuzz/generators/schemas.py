"""Random JSON Schemas over a small world, so that random constraints meet.

The world: three property names, short strings over few characters, integers around zero. Most
schemas are plain, as people write them: one type and its keywords. Some compose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..choices import Choose, chance, one_of, some_of

__all__ = ["NAMES", "random_schema"]

Schema = dict[str, Any] | bool
Maker = Callable[[Choose, int], Any]

NAMES = ("a", "b", "ab")
PATTERNS = ("^a", "b$", "^[ab]*$", "a.b", "^$", "^[a-c]{1,3}$", r"^\d{2}-\d{2}$", "^(yes|no)$", r"\n", "é")
FORMATS = ("date", "uuid", "ipv4", "email", "time", "date-time", "hostname", "uri")
STRINGS = ("a", "b", "ab", "", "abb", "é", "a\nb", '"', "\\", "a/b", "😀", "\u2028", "\t", "2024-01-31", "10-20")
NUMBERS: tuple[Any, ...] = (0, 1, -1, 2, 10, 1.5, 0.5, -2, 100, 12345678, 0.001, 1e-7, 2.25, 1e20)
SCALARS: tuple[Any, ...] = (None, True, False, *STRINGS[:8], *NUMBERS[:8])
COMPOUND: tuple[Any, ...] = ([], [0], ["a", 1], {}, {"a": 1}, {"a": 0, "b": "a"}, {"c": None})
MAX_DEPTH = 3
SOME_BOUNDS = (-2, 0, 1, 2, 0.5, -0.5, 10, 1e-7, 1.25, 1000)


def random_schema(choose: Choose) -> dict[str, Any]:
    """A 2020-12 schema. Now and then it has two definitions that may refer to each other."""
    referring = chance(choose, 4)
    maker = SchemaMaker(choose, referring)
    root = maker.schema(MAX_DEPTH)
    schema = root if isinstance(root, dict) else {"const": 1}
    if referring:
        schema = {**schema, "$defs": {"one": maker.schema(1), "two": maker.schema(2)}}
    return schema


class SchemaMaker:
    """Draws the parts of one schema."""

    def __init__(self, choose: Choose, referring: bool) -> None:
        self.choose = choose
        self.referring = referring

    def schema(self, depth: int) -> Schema:
        """A schema: of one type in most cases."""
        kinds: list[Callable[[int], Schema]] = [self.string, self.number, self.constant, self.plain]
        if depth > 0:
            kinds = [*kinds, self.object, self.object, self.object, self.array, self.array, self.composed, self.mixed]
        if self.referring:
            kinds += [self.reference]
        return one_of(self.choose, kinds)(depth)

    def reference(self, _depth: int) -> Schema:
        """A reference, sometimes beside other keywords."""
        beside = self.schema(0) if chance(self.choose, 3) else {}
        target = one_of(self.choose, ("#/$defs/one", "#/$defs/two"))
        return {**(beside if isinstance(beside, dict) else {}), "$ref": target}

    def plain(self, _depth: int) -> Schema:
        """A type or two, without any other keyword; or a boolean."""
        names = ["boolean", "null", "integer", "number", "string", "array", "object"]
        match self.choose(6):
            case 0 | 1 | 2:
                return {"type": one_of(self.choose, names)}
            case 3:
                return {"type": sorted({one_of(self.choose, names[:5]), one_of(self.choose, names)})}
            case 4:
                return {}
            case _:
                return chance(self.choose, 2)

    def constant(self, _depth: int) -> Schema:
        """Values that are listed."""
        values = list(SCALARS + COMPOUND)
        if chance(self.choose, 2):
            return {"const": one_of(self.choose, values)}
        return {"enum": some_of(self.choose, values, 4) or [1]}

    def string(self, _depth: int) -> Schema:
        """Lengths, a pattern, a format: alone and together."""
        result: dict[str, Any] = {"type": "string"}
        if chance(self.choose, 3):
            result["minLength"] = self.choose(4)
        if chance(self.choose, 3):
            result["maxLength"] = result.get("minLength", 0) + self.choose(4)
        if chance(self.choose, 3):
            result["pattern"] = one_of(self.choose, PATTERNS)
        if chance(self.choose, 10):
            result["format"] = one_of(self.choose, FORMATS)
        return result

    def number(self, _depth: int) -> Schema:
        """Bounds of both kinds, and divisors."""
        result: dict[str, Any] = {"type": one_of(self.choose, ("integer", "number"))}
        for keyword in some_of(self.choose, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), 2):
            result[keyword] = one_of(self.choose, SOME_BOUNDS)
        if chance(self.choose, 6):
            result["multipleOf"] = one_of(self.choose, (1, 2, 3, 0.5, 0.01))
        return result

    def object(self, depth: int) -> Schema:
        """Properties, required ones among them, and what is said about others."""
        result: dict[str, Any] = {"type": "object"}
        declared = some_of(self.choose, NAMES, 3)
        if declared:
            result["properties"] = {name: self.schema(depth - 1) for name in declared}
        if chance(self.choose, 2):
            result["required"] = some_of(self.choose, NAMES, 2)
        if chance(self.choose, 2):
            result["additionalProperties"] = False if chance(self.choose, 2) else self.schema(depth - 1)
        extras: tuple[tuple[str, Maker], ...] = (
            ("minProperties", lambda choose, _: choose(3)),
            ("maxProperties", lambda choose, _: choose(4)),
            ("patternProperties", lambda choose, d: {one_of(choose, PATTERNS[:3]): self.schema(d)}),
            ("propertyNames", lambda choose, d: one_of(choose, ({"pattern": "^a"}, {"maxLength": 1}, {"enum": ["a"]}))),
            ("dependentRequired", lambda choose, _: {one_of(choose, NAMES): some_of(choose, NAMES, 2)}),
            ("dependentSchemas", lambda choose, d: {one_of(choose, NAMES): self.schema(d)}),
            ("unevaluatedProperties", lambda choose, d: False if choose(2) else self.schema(d)),
        )
        return self.with_extras(result, extras, depth)

    def array(self, depth: int) -> Schema:
        """Items, a prefix, counts, and what must be contained."""
        result: dict[str, Any] = {"type": "array"}
        if not chance(self.choose, 4):
            result["items"] = self.schema(depth - 1)
        extras: tuple[tuple[str, Maker], ...] = (
            ("minItems", lambda choose, _: choose(3)),
            ("maxItems", lambda choose, _: choose(4)),
            ("prefixItems", lambda choose, d: [self.schema(d) for _ in range(1 + choose(2))]),
            ("uniqueItems", lambda choose, _: True),
            ("contains", lambda choose, d: self.schema(d)),
            ("unevaluatedItems", lambda choose, d: False),
        )
        return self.with_extras(result, extras, depth)

    def composed(self, depth: int) -> Schema:
        """One keyword that composes, alone or beside a type."""
        some: Maker = lambda choose, d: [self.schema(d) for _ in range(1 + choose(2) + choose(2))]  # noqa: E731
        one: Maker = lambda choose, d: self.schema(d)  # noqa: E731
        keywords: tuple[tuple[str, Maker], ...] = (
            ("anyOf", some),
            ("oneOf", some),
            ("allOf", some),
            ("not", one),
            ("if", one),
        )
        keyword, maker = one_of(self.choose, keywords)
        base = self.schema(0) if chance(self.choose, 3) else {}
        result = {**(base if isinstance(base, dict) else {}), keyword: maker(self.choose, depth - 1)}
        if keyword == "if":
            for branch in ("then", "else"):
                if chance(self.choose, 2):
                    result[branch] = self.schema(depth - 1)
        return result

    def mixed(self, depth: int) -> Schema:
        """Keywords of two makers in one schema, such as a type beside a choice."""
        result: dict[str, Any] = {}
        for _ in range(2):
            drawn = self.schema(depth - 1)
            if isinstance(drawn, dict):
                result.update(drawn)
        return result

    def with_extras(self, result: dict[str, Any], extras: tuple[tuple[str, Maker], ...], depth: int) -> Schema:
        """The schema with, seldom, one or two of the less usual keywords."""
        most = 2 if chance(self.choose, 3) else 0
        for keyword, maker in some_of(self.choose, extras, most):
            result[keyword] = maker(self.choose, depth - 1)
        return result
