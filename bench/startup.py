"""What a new process pays before its first mask: imports, the vocabulary, machine code, tables.

Each line is a fresh Python process. The first one has an empty cache folder, as on the day
of installation; the others find what it left there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from .cases import CHECKOUT
from .report import format_table
from .vocabularies import VOCABULARIES, load_vocabulary
from .worker import WARM_UP_SCHEMA

LATER_PROCESSES = 3
PHASES = {
    "read": "read the vocabulary file",
    "import": "import infernix",
    "vocabulary": "build the vocabulary",
    "first mask": "first schema to first mask",
    "walk": "walk a text",
    "next mask": "second schema to first mask",
}
SECOND_SCHEMA = '{"type": "array", "items": {"type": "object", "properties": {"city": {"type": "string"}}}}'


def phases(name: str) -> dict[str, tuple[float, float]]:
    """Run the phases in this process: phase -> (wall, CPU) seconds."""
    found: dict[str, tuple[float, float]] = {}
    last = (perf_counter(), process_time())

    def done(phase: str) -> None:
        nonlocal last
        now = (perf_counter(), process_time())
        found[phase] = (now[0] - last[0], now[1] - last[1])
        last = now

    import infernix
    from infernix import Matcher, compile_json_schema

    done("import")
    data = load_vocabulary(name)
    tokens = data.encode('{"name": "Zoë of York", "age": 36}')
    done("read")
    vocabulary = data.infernix()
    done("vocabulary")
    matcher = Matcher(compile_json_schema(WARM_UP_SCHEMA, vocabulary))
    matcher.mask_row()
    done("first mask")
    for token in tokens:
        matcher.accept_token(token)
        matcher.mask_row()
    done("walk")
    Matcher(infernix.compile_json_schema(SECOND_SCHEMA, vocabulary)).mask_row()
    done("next mask")
    return found


def fresh_process(name: str, cache: Path) -> dict[str, Any]:
    """The phases in a new process with this cache folder, and the process's whole wall time."""
    started = perf_counter()
    finished = subprocess.run(
        [sys.executable, "-m", "bench.startup", "--vocabulary", name, "--phases"],
        env=os.environ | {"INFERNIX_CACHE": str(cache)},
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return {"phases": json.loads(finished.stdout), "process": perf_counter() - started}


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.startup",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="qwen35")
    parser.add_argument("--phases", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args(arguments)
    if options.phases:
        print(json.dumps(phases(options.vocabulary)))
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = [fresh_process(options.vocabulary, Path(folder)) for _ in range(1 + LATER_PROCESSES)]
    names = ["empty cache", *(f"process {i + 2}" for i in range(LATER_PROCESSES))]
    rows = [
        [PHASES[phase], *("{:.2f} ({:.2f})".format(*run["phases"][phase]) for run in runs)]
        for phase in runs[0]["phases"]
    ]
    rows.append(["the whole process", *(f"{run['process']:.2f}" for run in runs)])
    print(format_table(["seconds, wall (CPU)", *names], rows))
    if options.json:
        options.json.write_text(json.dumps(dict(zip(names, runs, strict=True)), indent=1) + "\n")


if __name__ == "__main__":
    main()
