"""The official JSON Schema test suite, group by group, judged by the grammar.

    exact          every valid instance is accepted, every invalid one is refused
    refused: ...   the schema is not supported, with the reason
    stricter: ...  invalid instances are refused, but so are the named valid ones: the
                   layout has no text for them, or `format` is an assertion here
    WRONG: ...     an invalid instance is accepted

Instances are written with their keys in the order in which the schema declares them, other
keys behind; an invalid instance must be refused in any order of its keys.

`python -m tests.schema.suite` writes the outcomes to `ratchet.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.data import data_path
from tests.schema.recogniser import Recogniser, dumps, reorderings

from infernix.gbnf.errors import SchemaError, UnsatisfiableSchema
from infernix.schema import schema_grammar

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
PATTERNS = ("*.json", "optional/format/*.json")
RATCHET = Path(__file__).with_name("ratchet.json")
RANKS = ("WRONG", "refused", "stricter", "exact")


def rank(text: str) -> int:
    """How good an outcome is; higher is better."""
    return RANKS.index(text.partition(":")[0])


def groups(folder: Path, draft: str, pattern: str) -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """The groups of some files of a draft: name, schema with its dialect named, tests."""
    for path in sorted((folder / draft).glob(pattern)):
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": DRAFTS[draft], **schema}
            name = f"{draft}/{path.relative_to(folder / draft).as_posix()}: {group['description']}"
            yield name, schema, group["tests"]


def outcome(schema: Any, tests: list[dict[str, Any]]) -> str:
    """How the grammar of the schema judges the tests of its group."""
    try:
        language = Recogniser(schema_grammar(schema, layout="spaced"))
    except UnsatisfiableSchema:
        valid = [test["description"] for test in tests if test["valid"]]
        return f"WRONG: called unsatisfiable, but: {'; '.join(valid)}" if valid else "exact"
    except SchemaError as error:
        return f"refused: {error}"
    order = declared_names(schema)
    missed = []
    for test in tests:
        if test["valid"]:
            if not language.accepts(dumps(in_order(test["data"], order))):
                missed.append(test["description"])
            continue
        for variant in reorderings(test["data"]):
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
                elif key == "$ref" and str(node[key]).startswith("#/") and node[key] not in entered:
                    entered.add(node[key])
                    stack.append(_target(root, node[key]))
                stack.append(node[key])
        elif isinstance(node, tuple):
            names.update(dict.fromkeys(node))
        elif isinstance(node, list):
            stack.extend(reversed(node))
    return list(names)


def _target(root: Any, reference: str) -> Any:
    """What a local reference points to."""
    node = root
    for token in reference[2:].split("/"):
        key = unquote(token).replace("~1", "/").replace("~0", "~")
        node = node[int(key)] if isinstance(node, list) else node.get(key, {})
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


def main() -> None:
    """Record how every group is judged now."""
    folder = data_path("json-schema-test-suite")
    found = {
        name: outcome(schema, tests)
        for draft in DRAFTS
        for pattern in PATTERNS
        for name, schema, tests in groups(folder, draft, pattern)
    }
    RATCHET.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for kind in RANKS:
        print(kind, sum(text.startswith(kind) for text in found.values()))


if __name__ == "__main__":
    main()
