"""Random schemas over a small world, and all the small values to try them on.

The world is small so that random constraints meet: three property names, short strings over
two letters, integers around zero. Each value is judged by the `jsonschema` package.
"""

from __future__ import annotations

from itertools import chain, product
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "ab")
PATTERNS = ("^a", "b$", "^[ab]*$", "a.b", "^$")
SCALARS: tuple[Any, ...] = (None, True, False, -1, 0, 1, 2, 1.5, "", "a", "b", "ab", "abb")
SMALL: tuple[Any, ...] = (None, True, 0, 1, 1.5, "a", "ab")


def values() -> list[Any]:
    """All the small values: scalars, and arrays and objects of them."""
    arrays = [list(items) for size in range(3) for items in product(SMALL, repeat=size)]
    objects = [
        dict(zip(names, items, strict=True))
        for names in (("a",), ("b",), ("c",), ("a", "b"), ("b", "ab"), ("a", "c"), ("a", "b", "c"))
        for items in product(SMALL if len(names) < 3 else (0, "a"), repeat=len(names))
    ]
    nested = [[[]], [{}], [{"a": 1}], {"a": []}, {"a": {"b": 1}}, {"a": {"a": {}}}, [["a"], "a"]]
    return list(chain(SCALARS, arrays, [{}], objects, nested))


VALUES = values()

_counts = st.integers(0, 3)
_constants = st.one_of(
    st.sampled_from(SCALARS),
    st.sampled_from([[], [0], ["a", 1], {}, {"a": 1}, {"a": 0, "b": "a"}, {"c": None}]),
)
_types = st.one_of(
    st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]),
    st.lists(
        st.sampled_from(["null", "boolean", "integer", "string", "array", "object"]),
        min_size=1,
        max_size=3,
        unique=True,
    ),
)
_assertions: dict[str, st.SearchStrategy[Any]] = {
    "type": _types,
    "enum": st.lists(_constants, min_size=1, max_size=4, unique_by=repr),
    "const": _constants,
    "minimum": st.integers(-2, 2),
    "maximum": st.integers(-2, 2),
    "exclusiveMinimum": st.sampled_from([-1, 0, 0.5, 1]),
    "exclusiveMaximum": st.sampled_from([-1, 0, 1.5, 2]),
    "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
    "minLength": _counts,
    "maxLength": _counts,
    "pattern": st.sampled_from(PATTERNS),
    "minItems": _counts,
    "maxItems": _counts,
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    "minProperties": st.integers(0, 2),
    "maxProperties": _counts,
    "dependentRequired": st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2, unique=True), max_size=2
    ),
}


def _with_children(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(children, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from(NAMES), children, max_size=3)
    applicators: dict[str, st.SearchStrategy[Any]] = {
        "properties": named,
        "additionalProperties": children,
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), children, max_size=2),
        "propertyNames": children,
        "unevaluatedProperties": children,
        "unevaluatedItems": children,
        "items": children,
        "prefixItems": some,
        "contains": children,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": children,
        "if": children,
        "then": children,
        "else": children,
        "dependentSchemas": st.dictionaries(st.sampled_from(NAMES), children, max_size=2),
        "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
    }
    keywords = {**_assertions, **applicators}
    return st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


_simple = st.lists(st.sampled_from(sorted(_assertions)), max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: _assertions[name] for name in names})
)
_subschemas = st.recursive(st.one_of(st.booleans(), _simple), _with_children, max_leaves=6)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """A random 2020-12 schema with two definitions that may refer to each other."""
    root = draw(_with_children(_subschemas))
    root["$defs"] = {"one": draw(_subschemas), "two": draw(_subschemas)}
    return root
