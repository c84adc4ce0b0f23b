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
    # People write all their objects alike: only then what each of these costs can show.
    closed, required = not chance(choose, 4), chance(choose, 2)

    def an_object(properties: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            result["required"] = list(properties)
        if closed:
            result["additionalProperties"] = False
        return result

    def arguments(count: int) -> dict[str, Any]:
        return {name: _value(choose) for name in _names(choose, count)}

    match choose(4):
        case 0 | 1:
            most = one_of(choose, ARGUMENTS)
            names = _names(choose, one_of(choose, FUNCTIONS))
            return {"anyOf": [_call(name, an_object(arguments(1 + choose(most)))) for name in names]}
        case 2:
            names = _names(choose, one_of(choose, FUNCTIONS))
            return {"anyOf": [an_object({name: _value(choose)}) for name in names]}
        case _:
            return an_object(arguments(one_of(choose, PROPERTIES)))


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call of a function, by its name."""
    properties = {"name": {"const": name}, "arguments": arguments}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


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
