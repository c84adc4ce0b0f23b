"""What the largest and worst sources cost: each ends in a grammar or an error, soon and in bounded memory.

Each source is compiled in a process of its own. It is as large as its limits allow, or larger, or made to
multiply: nested counters, products of patterns, unions that overlap. A matcher over single bytes keeps the
vocabulary out of the figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from .cases import CHECKOUT
from .report import format_table

SECONDS, MIB = 10, 1024
"""What no source may exceed, on a quiet machine."""


def alike(count: int, width: int) -> list[str]:
    """Different strings without anything in common, of so many hexadecimal digits."""
    return [f"{i * 2654435761 % (1 << 32):08x}" * (width // 8) for i in range(count)]


SOURCES: dict[str, Callable[[], tuple[str, Any]]] = {
    "GBNF, 12,000 rules": lambda: (
        "gbnf",
        "root ::= r0\n" + "\n".join(f'r{i} ::= [a-z] "x" r{i * 7 % 12_000}?' for i in range(12_000)),
    ),
    "GBNF, 19,000 classes": lambda: (
        "gbnf",
        "root ::= " + " ".join(f"[^\\u{300 + i:04x}-\\u{40_000 - i:04x}]" for i in range(19_000)),
    ),
    "GBNF, counters 200 deep": lambda: ("gbnf", "root ::= " + "(" * 200 + "[a-z]" + "{1,50})" * 200),
    "GBNF, 7,000 counters": lambda: ("gbnf", "root ::= " + " ".join(["([a-z]{3,9} | [0-9]){2,7}"] * 7_000)),
    "choice of 15,000": lambda: ("choice", alike(15_000, 64)),
    "regex, 3,000 branches": lambda: (
        "regex",
        "(" + "|".join(f"[a-z]{{{i % 90 + 1}}}x?" for i in range(3_000)) + ")*",
    ),
    "object of 20,000 properties": lambda: (
        "json_schema",
        {"type": "object", "properties": {f"key{i}": {"type": "string", "maxLength": i + 1} for i in range(20_000)}},
    ),
    "enum of 60,000": lambda: ("json_schema", {"enum": alike(60_000, 16)}),
    "3,000 numbers with bounds": lambda: (
        "json_schema",
        {
            "type": "array",
            "prefixItems": [
                {"type": "number", "minimum": i * 1.2345678, "maximum": i * 77.123456, "multipleOf": 0.0001}
                for i in range(1, 3_000)
            ],
        },
    ),
    "2,000 patterns with counters": lambda: (
        "json_schema",
        {
            "type": "array",
            "prefixItems": [{"pattern": f"^[a-z]{{1,{i}}}([0-9]{{2,{i + 2}}}|x)*$"} for i in range(1, 2_000)],
        },
    ),
    "product of 12 patterns": lambda: ("json_schema", {"allOf": [{"pattern": f"a.{{{i}}}b"} for i in range(12)]}),
    "oneOf of 40 that overlap": lambda: (
        "json_schema",
        {"oneOf": [{"properties": {f"a{j}": {"type": "integer"} for j in range(12)}, "required": [f"a{i}"]}
                   for i in range(40)]},
    ),
}  # fmt: skip


def compile_source(name: str) -> dict[str, Any]:
    """Compile one source in this process: seconds, MiB at the peak above the beginning, what came of it."""
    import infernix
    from infernix.gbnf.errors import RequestError

    vocabulary = infernix.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], eos_ids=[256])
    infernix.Matcher(infernix.compile_json_schema({}, vocabulary)).mask_row()
    kind, source = SOURCES[name]()
    before, wall, cpu = peak(), perf_counter(), process_time()
    try:
        getattr(infernix, f"compile_{kind}")(source, vocabulary)
        outcome = "compiled"
    except RequestError as error:
        outcome = f"{type(error).__name__}: {error}"
    return {"cpu": process_time() - cpu, "wall": perf_counter() - wall, "mib": peak() - before, "outcome": outcome}


def peak() -> float:
    """The largest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.limits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only is not None:
        print(json.dumps(compile_source(options.only)))
        return
    found = {}
    for name in SOURCES:
        command = [sys.executable, "-m", "bench.limits", "--only", name]
        finished = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, check=True)
        found[name] = json.loads(finished.stdout)
    rows = [
        [name, f"{f['cpu']:.1f}", f"{f['wall']:.1f}", f"{f['mib']:.0f}", f["outcome"][:90]] for name, f in found.items()
    ]
    print(format_table(["source", "CPU s", "wall s", "MiB", "what came of it"], rows))
    over = [name for name, f in found.items() if f["cpu"] > SECONDS or f["mib"] > MIB]
    print(f"\nover {SECONDS} s of CPU time or {MIB} MiB: {', '.join(over) or 'none'}")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
