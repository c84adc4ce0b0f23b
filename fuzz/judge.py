"""Who is right, where it is not for an engine to say: the standards, by kind.

    choice    the list
    regex     the syntax and meaning of Python's `re`, with the dialect's differences translated (docs/regex.md)
    schema    `jsonschema`, on decimals; and JSON itself: a text that a strict reader takes
    gbnf      nobody outside: the reference matcher is the definition, as an engine of its own

None means that the standard does not say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import regex

from .case import Problem

__all__ = ["STANDARDS", "judge", "python_pattern"]

STANDARDS = {
    "gbnf": "the reference matcher, Earley's algorithm on the grammar",
    "regex": "Python's re on the same expression, full match",
    "schema": "jsonschema on the value of the text, read strictly",
    "choice": "membership in the list",
}
SECONDS = 0.2
"""For one text: backtracking can take for ever."""
LINE_ENDS = "\n\r\u2028\u2029"
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
IN_CLASS = {r"\s": SPACE, r"\d": "0-9", r"\w": "A-Za-z0-9_", r"\/": "/"}
ALONE = {
    ".": f"[^{LINE_ENDS}]",
    "[^]": r"[\s\S]",
    "[]": "(?!)",
    r"\s": f"[{SPACE}]",
    r"\S": f"[^{SPACE}]",
    r"\/": "/",
    "$": r"\Z",
    "^": r"\A",
}
_TOKEN = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|\[\^?\]|\[\^?(?:\\.|[^\]\\])+\]|.", re.DOTALL)
_IN_CLASS = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|.", re.DOTALL)


def judge(problem: Problem, text: str) -> bool | None:
    """Whether the text belongs to the problem's language, according to the standard; None if it does not say."""
    match problem.kind:
        case "choice":
            return text in json.loads(problem.source)
        case "regex":
            return _matches(problem.source, text)
        case "schema":
            return _valid(problem.source, text)
        case _:
            return None


# --- regular expressions


def python_pattern(pattern: str) -> str:
    """The same language for `re.compile(..., re.ASCII)`.

    Raises ValueError for what the generator does not write and the translation does not know.
    """
    return "".join(
        ALONE.get(token, token) if token[0] != "[" or token in ALONE else _class(token)
        for token in _TOKEN.findall(pattern)
    )


def _class(token: str) -> str:
    negated = token.startswith("[^")
    inner = token[2:-1] if negated else token[1:-1]
    if r"\S" in inner:
        raise ValueError("a complement inside a class")
    parts = [IN_CLASS.get(part, "\\[" if part == "[" else part) for part in _IN_CLASS.findall(inner)]
    return ("[^" if negated else "[") + "".join(parts) + "]"


def _matches(pattern: str, text: str) -> bool | None:
    """By the package `regex`, which has the syntax of `re` and a time limit: both try all ways."""
    try:
        return regex.fullmatch(python_pattern(pattern), text, regex.ASCII, timeout=SECONDS) is not None
    except (regex.error, ValueError, TimeoutError):
        return None


# --- JSON Schema


def _valid(source: str, text: str) -> bool | None:
    try:
        value, doubled = _read(text)
    except (ValueError, ArithmeticError):
        return False
    except RecursionError:
        return None
    validator = _validator(source)
    if validator is None or _has_surrogate(text):
        return None if validator is None else False
    if doubled & _declared(source):
        # Only declared keys are promised to be unique, and only where nothing composes.
        return False
    return validator(value)


def _with_python_patterns(schema: Any) -> Any:
    """The schema with its patterns as `re` would write them: its dollar also matches before a last line end."""
    match schema:
        case list():
            return [_with_python_patterns(item) for item in schema]
        case dict():
            result = {key: _with_python_patterns(value) for key, value in schema.items()}
            if isinstance(schema.get("pattern"), str):
                result["pattern"] = python_pattern(schema["pattern"])
            if isinstance(schema.get("patternProperties"), dict):
                named = result["patternProperties"].items()
                result["patternProperties"] = {python_pattern(name): value for name, value in named}
            return result
        case _:
            return schema


def _is_number(_checker: Any, value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_integer(checker: Any, value: Any) -> bool:
    return _is_number(checker, value) and value == value // 1


def _read(text: str) -> tuple[Any, set[str]]:
    """The value of a JSON text with exact numbers, and the keys that an object at the root repeats."""
    doubled: set[str] = set()

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        doubled.clear()  # the root is read last
        seen: set[str] = set()
        for key, _ in items:
            (doubled if key in seen else seen).add(key)
        return dict(items)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    value = json.loads(text, object_pairs_hook=pairs, parse_float=Decimal, parse_constant=constant)
    return value, doubled if isinstance(value, dict) else set()


def _has_surrogate(text: str) -> bool:
    """Whether some string of the text has a lone surrogate: no Unicode text is written that way."""
    return any("\ud800" <= char <= "\udfff" for char in json.dumps(json.loads(text), ensure_ascii=False))


CHECKED_FORMATS = ("date", "ipv4", "ipv6", "uuid")
"""The formats that the package checks to the letter without others' help; the rest it cannot judge."""
COMPOSING = frozenset(["$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "patternProperties"])


@lru_cache(maxsize=64)
def _declared(source: str) -> frozenset[str]:
    schema = json.loads(source)
    if not isinstance(schema, dict) or COMPOSING & schema.keys():
        return frozenset()
    return frozenset(schema.get("properties", {}))


@lru_cache(maxsize=64)
def _validator(source: str) -> Callable[[Any], bool | None] | None:
    import jsonschema

    try:
        schema = _with_python_patterns(json.loads(source, parse_float=Decimal))
        if isinstance(schema, dict):
            jsonschema.Draft202012Validator.check_schema(json.loads(source))
    except (ValueError, jsonschema.SchemaError):
        return None
    # Numbers are read as decimals, which the package does not know as numbers by itself.
    plain = jsonschema.Draft202012Validator
    types = plain.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
    strict = jsonschema.validators.extend(plain, type_checker=types)
    validator = strict(schema, format_checker=jsonschema.FormatChecker(CHECKED_FORMATS))

    def valid(value: Any) -> bool | None:
        try:
            return bool(validator.is_valid(value))
        except (RecursionError, ArithmeticError):
            return None

    return valid
