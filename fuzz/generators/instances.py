"""Instances to try on a schema: values made to fit it, near misses, and odd spellings of both.

Nothing here decides what is valid: that is the judge's business. A value only has to be close to
the schema, on one side or the other, to be worth a question.
"""

from __future__ import annotations

import json
from typing import Any

from ..choices import Choose, chance, one_of, some_of
from .regexes import mutated
from .schemas import NAMES, NUMBERS, SCALARS, STRINGS

__all__ = ["instance", "instance_texts"]

MAX_DEPTH = 4
FITTING = {
    "^a": "ab",
    "b$": "ab",
    "^[ab]*$": "abba",
    "a.b": "aab",
    "^$": "",
    "^[a-c]{1,3}$": "cab",
    r"^\d{2}-\d{2}$": "10-20",
    "^(yes|no)$": "no",
    r"\n": "a\nb",
    "é": "é",
}
"""A value for each pattern of the generator of schemas."""
OF_FORMAT = {
    "date": "2024-02-29",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.168.0.1",
    "email": "a.b@example.org",
    "time": "10:20:30Z",
    "date-time": "2024-02-29T10:20:30Z",
    "hostname": "example.org",
    "uri": "https://example.org/a",
}
SPELLINGS = (
    ('"a"', '"\\u0061"'),
    ('"b"', '"\\u0062"'),
    ('"', '"\\ud800'),
    ('"', '"\x01'),
    ('"', '"\n'),
    ("/", "\\/"),
    ("é", "\\u00e9"),
    ("0", "0.0"),
    ("1", "1.0"),
    ("1", "1e0"),
    ("1", "01"),
    ("-", "--"),
    ("5", "50"),
    (", ", ",, "),
    ("}", ", }"),
    ("{", '{"a": 1, '),
    ("{", '{"b": 0, '),
    ("]", ", 0]"),
    ("1", "-1"),
    ("true", "True"),
    ("2", "2.0000001"),
    ("5", "5e-1"),
)
"""What stands in a text, and what is written there instead."""


def instance_texts(choose: Choose, schema: Any, count: int = 5) -> list[str]:
    """Texts to try: values that should fit, values nearby, and the same spelled in other ways."""
    texts = []
    for _ in range(count):
        value = instance(choose, schema, schema, 0)
        if chance(choose, 2):
            value = nearby(choose, value)
        spelled = json.dumps(value, ensure_ascii=False)
        if isinstance(value, dict) and value and chance(choose, 8):
            spelled = repeated(choose, value)
        elif chance(choose, 4):
            old, new = one_of(choose, [pair for pair in SPELLINGS if pair[0] in spelled] or [("", " ")])
            places = spelled.count(old) if old else 1
            spelled = _replaced(spelled, old, new, choose(max(places, 1)))
        texts.append(spelled)
    return list(dict.fromkeys(texts))


def repeated(choose: Choose, value: dict[str, Any]) -> str:
    """The text of an object with one of its members twice; the second key may be spelled with an escape."""
    name, item = one_of(choose, list(value.items()))
    key = json.dumps(name, ensure_ascii=False)
    if name and chance(choose, 2):
        key = f'"\\u{ord(name[0]):04x}{json.dumps(name[1:], ensure_ascii=False)[1:]}' if name[0] < "\uffff" else key
    again = one_of(choose, (item, one_of(choose, SCALARS)))
    return f"{json.dumps(value, ensure_ascii=False)[:-1]}, {key}: {json.dumps(again, ensure_ascii=False)}}}"


def _replaced(text: str, old: str, new: str, which: int) -> str:
    """The text with one occurrence replaced."""
    place = -1
    for _ in range(which + 1):
        place = text.find(old, place + 1)
    return text[:place] + new + text[place + len(old) :] if place >= 0 else text + new


def instance(choose: Choose, schema: Any, root: Any, depth: int) -> Any:
    """A value made to fit the schema, as well as can be seen from its keywords one at a time."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return one_of(choose, SCALARS)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return one_of(choose, schema["enum"])
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return instance(choose, root.get("$defs", {}).get(name, {}), root, depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword) and not chance(choose, 4):
            branch = one_of(choose, schema[keyword])
            merged = {**{k: v for k, v in schema.items() if k != keyword}, **branch} if isinstance(branch, dict) else {}
            return instance(choose, merged, root, depth + 1)
    if "if" in schema:
        branches = [schema[keyword] for keyword in ("if", "then", "else") if keyword in schema]
        return instance(choose, one_of(choose, branches), root, depth + 1)
    types = schema.get("type") or _implied(schema)
    return _of_type(choose, types if isinstance(types, str) else one_of(choose, types), schema, root, depth)


def _implied(schema: dict[str, Any]) -> str | list[str]:
    if "properties" in schema or "required" in schema or "patternProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema or "contains" in schema:
        return "array"
    if "minimum" in schema or "maximum" in schema or "multipleOf" in schema:
        return "number"
    if "pattern" in schema or "minLength" in schema or "maxLength" in schema:
        return "string"
    return ["null", "boolean", "integer", "number", "string", "array", "object"]


def _of_type(choose: Choose, kind: str, schema: dict[str, Any], root: Any, depth: int) -> Any:
    match kind:
        case "object":
            return _object(choose, schema, root, depth)
        case "array":
            prefix = [instance(choose, item, root, depth + 1) for item in schema.get("prefixItems", [])]
            fewest = schema.get("minItems", 0)
            count = max(0, fewest + choose(3) - len(prefix))
            items = [instance(choose, schema.get("items", {}), root, depth + 1) for _ in range(count)]
            if "contains" in schema:
                items.append(instance(choose, schema["contains"], root, depth + 1))
            return prefix + items
        case "string":
            return _string(choose, schema)
        case "integer" | "number":
            number = _number(choose, schema)
            return int(number) if kind == "integer" and float(number).is_integer() else number
        case "boolean":
            return chance(choose, 2)
        case _:
            return None


def _string(choose: Choose, schema: dict[str, Any]) -> str:
    if "format" in schema:
        return OF_FORMAT.get(schema["format"], "a")
    if schema.get("pattern") in FITTING:
        return FITTING[schema["pattern"]]
    value = one_of(choose, STRINGS)
    while len(value) < schema.get("minLength", 0):
        value += one_of(choose, ("a", "b", "\n", '"', "é"))
    return value[: schema.get("maxLength", len(value))]


def _number(choose: Choose, schema: dict[str, Any]) -> Any:
    bounds = [schema[k] for k in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if k in schema]
    if not bounds:
        step = schema.get("multipleOf", 1)
        return one_of(choose, (*NUMBERS, step, 2 * step))
    bound = one_of(choose, bounds)
    return bound + one_of(choose, (0, 1, -1, 0.5, -0.5, 2, 0.25))


def _object(choose: Choose, schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    declared = schema.get("properties", {})
    required = schema.get("required", [])
    result = {
        name: instance(choose, declared[name], root, depth + 1)
        for name in declared
        if name in required or not chance(choose, 3)
    }
    others = [name for name in required if name not in declared]
    if schema.get("additionalProperties", True) is not False and chance(choose, 2):
        others += [name for name in some_of(choose, (*NAMES, "c", ""), 2) if name not in declared]
    for name in others:
        result[name] = instance(choose, schema.get("additionalProperties", {}), root, depth + 1)
    return result


def nearby(choose: Choose, value: Any) -> Any:
    """A value with one thing changed."""
    if isinstance(value, dict) and value and not chance(choose, 4):
        name = one_of(choose, list(value))
        match choose(3):
            case 0:
                return {key: item for key, item in value.items() if key != name}
            case 1:
                return {key: nearby(choose, item) if key == name else item for key, item in value.items()}
            case _:
                return {**value, one_of(choose, (*NAMES, "c")): one_of(choose, SCALARS)}
    if isinstance(value, list) and value and not chance(choose, 4):
        place = choose(len(value))
        changed = [[], [nearby(choose, value[place])], [value[place], value[place]]][choose(3)]
        return [*value[:place], *changed, *value[place + 1 :]]
    if isinstance(value, str) and not chance(choose, 4):
        return mutated(choose, value, 'ab\n"é0')
    if isinstance(value, int | float) and not isinstance(value, bool) and not chance(choose, 4):
        return value + one_of(choose, (1, -1, 0.5, -0.5, 0.001))
    return one_of(choose, SCALARS)
