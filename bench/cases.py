"""What is measured: a source text to compile, and texts to walk through its language.

The real schemas are JSONSchemaBench's, one gzipped file of JSON lines a group. They are not part
of this repository: their folder is `real-schemas` in the shared data (`INFERNIX_DATA`,
or `../shared/data` beside the checkout).

The sample is fixed: in each group, schemas in order of the SHA-256 of their id; from each
group in turn one schema, until there are enough. So a small sample is the beginning of
a larger one, and groups with few schemas are in it entirely.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Literal

__all__ = ["MAX_TOKENS", "Case", "Source", "data_folder", "json_text", "read_groups", "sample", "schema_case"]

MAX_TOKENS = 1500
"""Longer instances are left out."""

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """A text in one of the source languages.

    For "choice" it is a JSON array of the choices, for "json" (any JSON object) it is empty.
    """

    kind: Literal["schema", "gbnf", "regex", "choice", "json"]
    text: str


@dataclass(frozen=True)
class Case:
    """A source and tokenised texts: `valid` are in its language, `invalid` are not."""

    id: str
    source: Source
    valid: list[list[int]]
    invalid: list[list[int]] = field(default_factory=list)


def data_folder() -> Path:
    """The folder of the shared data. Raises SystemExit where there is none."""
    named = os.environ.get("INFERNIX_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    if not folder.is_dir():
        raise SystemExit(f"no benchmark data in {folder}: set INFERNIX_DATA to their folder")
    return folder


def json_text(value: Any) -> str:
    """An instance as text: `", "` and `": "`, and characters as themselves."""
    return json.dumps(value, ensure_ascii=False)


def read_groups(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Group -> the records of its schemas, in the order of the sample."""
    groups = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        groups[path.name.removesuffix(".jsonl.gz")] = sorted(records, key=_place_in_sample)
    if not groups:
        raise SystemExit(f"no *.jsonl.gz in {folder}")
    return groups


def _place_in_sample(record: dict[str, Any]) -> str:
    return hashlib.sha256(record["id"].encode()).hexdigest()


def sample(groups: dict[str, list[dict[str, Any]]], count: int | None) -> Iterator[dict[str, Any]]:
    """The first `count` records (None: all), one from each group in turn."""
    in_turn = chain.from_iterable(zip_longest(*groups.values()))
    return islice((record for record in in_turn if record is not None), count)


def schema_case(record: dict[str, Any], encode: Callable[[str], list[int]]) -> Case:
    """The case of one record, without the instances that are too long."""
    instances: dict[bool, list[list[int]]] = {True: [], False: []}
    for test in record["tests"]:
        tokens = encode(json_text(test["data"]))
        if len(tokens) <= MAX_TOKENS:
            instances[test["valid"]].append(tokens)
    source = Source("schema", json.dumps(record["schema"], ensure_ascii=False))
    return Case(record["id"], source, instances[True], instances[False])
