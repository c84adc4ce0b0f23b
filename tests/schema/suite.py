"""The official JSON Schema test suite, group by group, judged by the grammar.

    exact          every valid instance is accepted, every invalid one is refused
    refused: ...   the schema is not supported, with the reason
    stricter: ...  invalid instances are refused, but so are the named valid ones: the
                   layout has no text for them, or `format` is an assertion here
    WRONG: ...     an invalid instance is accepted

Instances are written with their keys in the order in which the schema declares them, other
keys behind; an invalid instance must be refused in any order of its keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from infernix.gbnf.errors import SchemaError
from tests.schema.recogniser import Recogniser, dumps, reorderings

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
RATCHET = Path(__file__).with_name("ratchet.json")


def groups(folder: Path, pattern: str = "*.json") -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """The groups of both drafts: name, schema with its dialect named, tests."""
    for draft, dialect in DRAFTS.items():
        for path in sorted((folder / draft).glob(pattern)):
            for group in json.loads(path.read_text(encoding="utf-8")):
                schema = group["schema"]
                if isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": dialect, **schema}
                name = f"{draft}/{path.relative_to(folder / draft).as_posix()}: {group['description']}"
                yield name, schema, group["tests"]


def outcome(schema: Any, tests: list[dict[str, Any]]) -> str:
    """How the grammar of the schema judges the tests of its group."""
    from infernix.schema import schema_grammar

    try:
        language = Recogniser(schema_grammar(schema, layout="spaced"))
    except SchemaError as error:
        if error.code == "unsatisfiable_json_schema":
            valid = [test["description"] for test in tests if test["valid"]]
            return f"WRONG: not unsatisfiable: {valid}" if valid else "exact"
        return f"refused: {error}"
    order = declared_names(schema)
    missed = []
    for test in tests:
        data = test["data"]
        if test["valid"]:
            if not language.accepts(dumps(in_order(data, order))):
                missed.append(test["description"])
        else:
            for variant in reorderings(data):
                if language.accepts(dumps(variant)):
                    return f"WRONG: accepted {dumps(variant)}"
    return f"stricter: {'; '.join(missed)}" if missed else "exact"


def declared_names(root: Any) -> list[str]:
    """The names under any `properties`, in the order of the document; local references are entered."""
    names: dict[str, None] = {}
    entered: set[str] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key in reversed(node):
                if key == "properties" and isinstance(node[key], dict):
                    stack.append(tuple(node[key]))
                elif key == "$ref" and isinstance(node[key], str) and node[key].startswith("#/"):
                    if node[key] not in entered:
                        entered.add(node[key])
                        stack.append(_target(root, node[key]))
                stack.append(node[key])
        elif isinstance(node, tuple):
            names.update(dict.fromkeys(node))
        elif isinstance(node, list):
            stack.extend(reversed(node))
    return list(names)


def _target(root: Any, reference: str) -> Any:
    node = root
    for token in reference[2:].split("/"):
        token = unquote(token).replace("~1", "/").replace("~0", "~")
        node = node[int(token)] if isinstance(node, list) else node.get(token, {})
    return node


def in_order(value: Any, order: list[str]) -> Any:
    """The value with the keys of every object in the order of `order`, others behind."""
    if isinstance(value, dict):
        place = {name: index for index, name in enumerate(order)}
        keys = sorted(value, key=lambda key: place.get(key, len(place)))
        return {key: in_order(value[key], order) for key in keys}
    if isinstance(value, list):
        return [in_order(item, order) for item in value]
    return value
