"""The real-world schemas of the shared data, each with instances that are known to be valid or not.

`python -m tests.schema.real` judges all of them and prints the counts: how many schemas are
supported and fully right, which valid instances are refused, why schemas are refused.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.data import data_path
from tests.schema.recogniser import Recogniser, dumps

from infernix.gbnf.errors import LimitError, SchemaError
from infernix.schema import schema_grammar

FOLDER = "real-schemas"


@dataclass
class Tally:
    """What became of the schemas and instances looked at."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    accepted_invalid: list[str] = field(default_factory=list)
    refused_valid: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Judge one schema and its instances."""
        self.counts["schemas"] += 1
        try:
            language = Recogniser(schema_grammar(entry["schema"], layout="spaced"))
        except (SchemaError, LimitError) as error:
            self.counts["refused"] += 1
            self.reasons[re.sub(r"'.*?'|\d+", "_", f"{type(error).__name__}: {error.message}")] += 1
            return
        right = True
        for test in entry["tests"]:
            accepted = language.accepts(dumps(test["data"]))
            self.counts["valid" if test["valid"] else "invalid"] += 1
            if accepted != test["valid"]:
                right = False
                missed = self.refused_valid if test["valid"] else self.accepted_invalid
                missed.append(f"{entry['id']}: {dumps(test['data'])[:200]}")
        self.counts["right"] += right


def entries(folder: Path, step: int = 1, offset: int = 0) -> Iterator[dict[str, Any]]:
    """Every `step`-th schema of every file, from `offset` on."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if number % step == offset:
                    yield json.loads(line)


def main() -> None:
    """Judge all schemas (or every n-th) and print the tally."""
    tally = Tally()
    for entry in entries(data_path(FOLDER), int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        tally.add(entry)
    print(dict(tally.counts))
    print(f"invalid accepted: {len(tally.accepted_invalid)}, valid refused: {len(tally.refused_valid)}")
    for reason, count in tally.reasons.most_common():
        print(f"{count:5}  {reason}")


if __name__ == "__main__":
    main()
