"""Cases made here: ordinary grammars of every source language, and the ones that make engines slow.

The texts are made of a fixed list of words, with characters of several lengths in UTF-8
and an escape now and then, so that they are tokenised like text and not like noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

from .cases import MAX_TOKENS, Case, Source, json_text

__all__ = ["cliff_cases", "grammar_cases"]

Encode = Callable[[str], list[int]]

SENTENCE = (
    "the river Ouse was in flood again and nobody in York had sold a dry pair of boots since "
    "Tuesday morning when Zoë asked how many metres it had risen overnight"
)
WORDS = SENTENCE.split()
SEVERAL_SCRIPTS = ("naïve", "Straße", "\n", "東京", "🙂", '"so"')

JSON_GBNF = r"""
root   ::= ws value
value  ::= object | array | string | number | "true" ws | "false" ws | "null" ws
object ::= "{" ws (member ("," ws member)*)? "}" ws
member ::= string ":" ws value
array  ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws     ::= [ \t\r\n]{0,32}
"""
PROGRAM_GBNF = r"""
root       ::= statement+
statement  ::= name " = " expression ";\n" | "print(" expression ");\n"
expression ::= term | expression " " [-+] " " term
term       ::= factor | term " " [*/] " " factor
factor     ::= name | [0-9]+ | "(" expression ")"
name       ::= [a-z] [a-z0-9_]{0,20}
"""
PROGRAM = "total = 0;\nrate = (3 + 4) * (x_1 - 7);\ntotal = total + rate / 2 - ((1));\nprint(total * (2 + rate));\n"


def words(length: int, vocabulary: tuple[str, ...] = ()) -> str:
    """A text of exactly `length` characters: the words in turn, every fifth one from `vocabulary`."""
    special = cycle(vocabulary or WORDS)
    mixed = (next(special) if i % 5 == 4 else word for i, word in enumerate(cycle(WORDS)))
    return " ".join(islice(mixed, length))[:length]


def fitting(encode: Encode, text: str, end: str = '"') -> str:
    """The text, shortened until with `end` it is at most MAX_TOKENS long."""
    while len(encode(text + end)) > MAX_TOKENS:
        text = text[: len(text) * 9 // 10].rstrip("\\")
    return text + end


def schema(name: str, encode: Encode, definition: Any, *instances: Any) -> Case:
    """A case of one schema."""
    return Case(name, Source("schema", json.dumps(definition)), [encode(json_text(value)) for value in instances])


def an_object(properties: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    """A closed object with all properties required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    } | keywords


def grammar_cases(encode: Encode) -> list[Case]:
    """Ordinary grammars, one a way of describing texts."""
    prose = words(600, SEVERAL_SCRIPTS)
    document = {
        "name": "Ouse",
        "level": [1.5, -2, 3e2, None, True],
        "notes": {"a": words(80, SEVERAL_SCRIPTS), "b": [[], {}, ""]},
    }
    four = {name: {"type": kind} for name, kind in zip("abcd", ("string", "integer", "number", "boolean"), strict=True)}
    open_object = {"type": "object", "properties": four}
    instance = {"a": words(60), "b": 42, "c": -1.25e3, "d": True}
    choices = [f"{WORDS[i % len(WORDS)]}-{i}" for i in range(1000)]
    return [
        Case("any JSON object", Source("json", ""), [encode(json_text(document))]),
        schema("object of 4 fields", encode, an_object(four), instance),
        schema("60 fields, enum of 1000", encode, *sixty_fields(choices)),
        schema("30 levels of $ref, a tree", encode, *chain_of_references()),
        schema("string, maxLength 10000", encode, {"type": "string", "maxLength": 10_000}, prose),
        schema("unbounded string", encode, {"type": "string"}, prose),
        schema("open object", encode, open_object, instance | {"more": prose[:100], "other": [1, {"x": None}]}),
        Case("choice of 1000", Source("choice", json.dumps(choices)), [encode(text) for text in choices[::200]]),
        Case("GBNF: JSON", Source("gbnf", JSON_GBNF), [encode(json_text(document))]),
        Case("GBNF: small programs", Source("gbnf", PROGRAM_GBNF), [encode(PROGRAM)]),
        Case("regex: date and time", Source("regex", DATE_TIME), [encode("2024-02-29T23:59:60.125+01:30")]),
    ]


DATE_TIME = r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]+)?(Z|[+-][0-2][0-9]:[0-5][0-9])"


def sixty_fields(choices: list[str]) -> tuple[Any, Any]:
    """A wide object, one of its fields an enumeration."""
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"enum": choices}]
    values = [words(12), 7, False, choices[617]]
    names = [f"{WORDS[i % len(WORDS)].lower()}_{i}" for i in range(60)]
    choose = [3 if i == 30 else i % 3 for i in range(60)]
    properties = {name: kinds[kind] for name, kind in zip(names, choose, strict=True)}
    return an_object(properties), {name: values[kind] for name, kind in zip(names, choose, strict=True)}


def chain_of_references(levels: int = 30) -> tuple[Any, Any]:
    """Each definition holds the next one; the last is a binary tree."""
    definitions: dict[str, Any] = {
        f"level{i}": an_object({"value": {"type": "integer"}, "next": {"$ref": f"#/$defs/level{i + 1}"}})
        for i in range(levels)
    }
    branch = {"anyOf": [{"$ref": f"#/$defs/level{levels}"}, {"type": "null"}]}
    definitions[f"level{levels}"] = an_object({"left": branch, "name": {"type": "string"}, "right": branch})
    leaf = {"left": None, "name": "leaf", "right": None}
    value: Any = {"left": leaf, "name": words(20), "right": {"left": leaf, "name": "", "right": None}}
    for i in reversed(range(levels)):
        value = {"value": i, "next": value}
    return {"$ref": "#/$defs/level0", "$defs": definitions}, value


def cliff_cases(encode: Encode) -> list[Case]:
    """Bounds, counts and sizes that an engine may have to pay for in time or memory."""
    prose = words(9000, SEVERAL_SCRIPTS)
    letters = words(799).replace("ë", "e")
    dotted = " ".join(WORDS * 10).replace("ë", "e")[:1400].rstrip() + "."
    short = {"type": "string", "maxLength": 40}
    strings = {"type": "array", "items": short, "maxItems": 300}
    return [
        schema("maxLength 10", encode, {"type": "string", "maxLength": 10}, prose[:10], prose[20:27]),
        schema("maxLength 100", encode, {"type": "string", "maxLength": 100}, prose[:100]),
        schema("maxLength 100000", encode, {"type": "string", "maxLength": 100_000}, prose[:10], prose[:100]),
        Case(
            "maxLength 100000, a long text",
            Source("schema", '{"type": "string", "maxLength": 100000}'),
            [encode(fitting(encode, json_text(prose)[:-1]))],
        ),
        schema("letters {1,800}", encode, pattern("^[A-Za-z ,.]{1,800}$"), letters),
        schema("words {1,300}", encode, pattern("^([A-Za-z]+[ .]+){1,300}$"), dotted),
        schema("e-mail with counts", encode, pattern(EMAIL), *EMAILS),
        schema("300 strings of 40", encode, strings, [words(30 + i % 11) for i in range(120)]),
        schema("64 tools of 8 arguments", encode, tools(64, 8), *tool_calls(64, 8, (0, 17, 63))),
        schema("400 functions", encode, tools(400, 4), *tool_calls(400, 4, (0, 123, 399))),
    ]


EMAIL = r"^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){0,8}\.[A-Za-z]{2,24}$"
EMAILS = ("zoe.of.york+floods@boots.example.co.uk", "a@b.io", "x" * 64 + "@" + "y" * 63 + ".museum")
ARGUMENT_KINDS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"type": "boolean"},
    {"enum": ["celsius", "fahrenheit", "kelvin"]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "number"},
    {"type": "string", "maxLength": 64},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
]
ARGUMENTS: list[Any] = [words(40), 12, True, "celsius", ["left", "right"], 2.75, words(30), None]


def pattern(text: str) -> dict[str, Any]:
    return {"type": "string", "pattern": text}


def argument_names(count: int) -> list[str]:
    return [f"{WORDS[i].lower()}_value" for i in range(count)]


def tool_name(number: int) -> str:
    return f"{WORDS[number % len(WORDS)].lower()}_tool_{number}"


def tools(count: int, arguments: int) -> dict[str, Any]:
    """A call of one of `count` functions, each with arguments of its own."""
    calls = []
    for number in range(count):
        kinds = [ARGUMENT_KINDS[(number + i) % len(ARGUMENT_KINDS)] for i in range(arguments)]
        properties = dict(zip(argument_names(arguments), kinds, strict=True))
        calls.append(an_object({"name": {"const": tool_name(number)}, "arguments": an_object(properties)}))
    return {"anyOf": calls}


def tool_calls(count: int, arguments: int, chosen: tuple[int, ...]) -> list[Any]:
    """Calls of the chosen functions of `tools(count, arguments)`."""
    calls = []
    for number in chosen:
        values = [ARGUMENTS[(number + i) % len(ARGUMENTS)] for i in range(arguments)]
        calls.append(
            {
                "name": tool_name(number),
                "arguments": dict(zip(argument_names(arguments), values, strict=True)),
            }
        )
    return calls
