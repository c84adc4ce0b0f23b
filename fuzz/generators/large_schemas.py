"""Schemas with many parts, as applications send them: calls of one of many functions, objects with many properties.

No part is unusual, so that no engine refuses it. What an engine does for each part when it compiles adds up.
"""

from __future__ import annotations

from typing import Any

from ..choices import Choose, chance, one_of

__all__ = ["large_schema"]

FUNCTIONS = (8, 32, 64, 128)
ARGUMENTS = (1, 2, 4, 8)
PROPERTIES = (15, 30, 60, 240)
VERBS = ("get", "set", "find", "delete")
NOUNS = ("user", "weather", "file", "order", "route", "price", "page")


def large_schema(choose: Choose) -> dict[str, Any]:
    """Functions with arguments, alternatives without a name, or one object with many properties."""
    match choose(4):
        case 0 | 1:
            return functions(choose, one_of(choose, FUNCTIONS), one_of(choose, ARGUMENTS))
        case 2:
            names = _names(choose, one_of(choose, FUNCTIONS))
            return {"anyOf": [_object(choose, {name: _value(choose)}) for name in names]}
        case _:
            names = _names(choose, one_of(choose, PROPERTIES))
            return _object(choose, {name: _value(choose) for name in names})


def functions(choose: Choose, count: int, most_arguments: int) -> dict[str, Any]:
    """A call of one of so many functions, by its name, with the arguments of each."""
    calls = []
    for name in _names(choose, count):
        arguments = {argument: _value(choose) for argument in _names(choose, 1 + choose(most_arguments))}
        call = {"name": {"const": name}, "arguments": _object(choose, arguments)}
        calls.append({"type": "object", "properties": call, "required": list(call), "additionalProperties": False})
    return {"anyOf": calls}


def _object(choose: Choose, properties: dict[str, Any]) -> dict[str, Any]:
    """An object of these properties, all of them required or none, with others or without."""
    result: dict[str, Any] = {"type": "object", "properties": properties}
    if chance(choose, 2):
        result["required"] = list(properties)
    if not chance(choose, 4):
        result["additionalProperties"] = False
    return result


def _value(choose: Choose) -> dict[str, Any]:
    """What an argument usually is."""
    values: tuple[dict[str, Any], ...] = (
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "number"},
        {"enum": [f"{one_of(choose, NOUNS)}s", one_of(choose, NOUNS), one_of(choose, VERBS)]},
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "maxLength": 1 + choose(100)},
        {"type": "integer", "minimum": choose(10)},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
    )
    return one_of(choose, values)


def _names(choose: Choose, count: int) -> list[str]:
    """So many different names, many of which begin alike."""
    return [f"{one_of(choose, VERBS)}_{one_of(choose, NOUNS)}_{number}" for number in range(count)]
