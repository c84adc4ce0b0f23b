"""What each optimisation of ours is worth: the real schemas again, with one of them switched off at a time.

A mask is the same with and without them; tests make sure of that. Here only time and memory differ.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .cases import data_folder, read_groups, sample, schema_case
from .engines import WITHOUT, switches
from .masks import collect
from .report import as_json, details, tables, versions
from .runner import Plan
from .vocabularies import VOCABULARIES, load_vocabulary

SAMPLE = 60
LIMIT_S = 20.0


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.ablation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"how many schemas (default {SAMPLE})")
    parser.add_argument("--off", nargs="+", choices=switches(), default=list(switches()), metavar="OPTIMISATION")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="qwen35")
    parser.add_argument("--seconds-per-case", type=float, default=LIMIT_S, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write tables, slowest cases and wrong verdicts")
    options = parser.parse_args(arguments)

    vocabulary = load_vocabulary(options.vocabulary)
    records = sample(read_groups(data_folder() / "real-schemas"), options.sample)
    cases = [schema_case(record, vocabulary.encode) for record in records]
    engines = ("infernix", *(WITHOUT + name for name in options.off))
    results = collect(Plan(engines, options.vocabulary, cases, options.seconds_per_case))
    common = results.common()
    about = {
        "versions": versions(engines),
        "vocabulary": vocabulary.name,
        "mask_width": vocabulary.size,
        "cases": len(cases),
    }
    data = as_json([results.summary(engine, common) for engine in engines], common, about)
    print(tables(data))
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    if options.report:
        options.report.write_text(f"{tables(data)}\n\n{details(results, cases, vocabulary.tokens())}\n")


if __name__ == "__main__":
    main()
