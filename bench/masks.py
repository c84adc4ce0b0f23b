"""Real JSON Schemas: compile time, masks, accepts, verdicts and memory of every engine.

python -m bench.masks                      300 schemas, all engines, twice: about an hour
python -m bench.masks --quick              a small sample, once, in about three minutes
python -m bench.masks --all                all schemas there are: hours
python -m bench.masks --only infernix      one engine, for work on it
"""

from __future__ import annotations

import argparse
import json
from itertools import chain
from pathlib import Path
from time import monotonic

from .cases import data_folder, read_groups, sample, schema_case
from .engines import ENGINES
from .report import as_json, details, note, tables, versions
from .runner import Plan, run_plan
from .summary import Results
from .vocabularies import VOCABULARIES, load_vocabulary

SAMPLE = 300
QUICK_SAMPLE = 45
REPEAT, QUICK_REPEAT = 2, 1
LIMIT_S = 30.0
QUICK_LIMIT_S = 5.0
PROGRESS_SECONDS = 10.0


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    options = parse(arguments)
    groups = read_groups(data_folder() / "real-schemas")
    vocabulary = load_vocabulary(options.vocabulary)
    records = sample(groups, None if options.all else options.sample)
    cases = [schema_case(record, vocabulary.encode) for record in records if options.match in record["id"]]
    plan = Plan(tuple(options.engines), options.vocabulary, cases, options.seconds_per_case)
    results = collect(plan, options.repeat)

    among = None
    if options.common_from:
        among = json.loads(options.common_from.read_text())["common_cases"]
    common = results.common(among)
    summaries = [results.summary(engine, common) for engine in plan.engines]
    about = {
        "versions": versions(plan.engines),
        "vocabulary": vocabulary.name,
        "mask_width": vocabulary.size,
        "cases": len(cases),
        "repeat": options.repeat,
    }
    data = as_json(summaries, common, about)
    print(tables(data))
    if options.json:
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    if options.report:
        options.report.write_text(f"{tables(data)}\n\n{details(results, cases, vocabulary.tokens())}\n")
    if options.plots:
        from .plots import plot_distributions

        plot_distributions(summaries, options.plots)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The options, with the defaults of --quick applied."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.masks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write tables, slowest cases and wrong verdicts")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write plots (PNG) into this folder")
    parser.add_argument("--sample", type=int, metavar="N", help=f"how many schemas (default {SAMPLE})")
    parser.add_argument("--all", action="store_true", help="all schemas")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SAMPLE} schemas and a short time limit")
    parser.add_argument("--match", default="", metavar="TEXT", help="of these, only schemas with TEXT in their id")
    parser.add_argument(
        "--engines", "--only", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE",
        help=f"which engines (default all): {', '.join(ENGINES)}",
    )  # fmt: skip
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="qwen35")
    parser.add_argument(
        "--seconds-per-case", type=float, metavar="SECONDS",
        help=f"CPU time for one engine on one schema and its texts (default {LIMIT_S:.0f})",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=positive, metavar="N",
        help=f"do the whole run N times; each call's smallest time counts (default {REPEAT}, with --quick"
        f" {QUICK_REPEAT})",
    )  # fmt: skip
    parser.add_argument(
        "--common-from",
        type=Path,
        metavar="FILE",
        help="count only the cases that were common in an earlier --json FILE",
    )
    options = parser.parse_args(arguments)
    options.sample = options.sample or (QUICK_SAMPLE if options.quick else SAMPLE)
    options.repeat = options.repeat or (QUICK_REPEAT if options.quick else REPEAT)
    options.seconds_per_case = options.seconds_per_case or (QUICK_LIMIT_S if options.quick else LIMIT_S)
    return options


def positive(text: str) -> int:
    """A number of runs on the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def collect(plan: Plan, repeat: int = 1) -> Results:
    """Run the plan so many times (`bench.repeat`), with a line of progress now and then."""
    results = Results(plan.engines)
    turns = repeat * len(plan.cases) * len(plan.engines)
    started = spoken = monotonic()
    note(f"{len(plan.cases)} cases for {len(plan.engines)} engines; starting and warming the engines ...")
    runs = chain.from_iterable(run_plan(plan, note) for _ in range(repeat))
    for done, result in enumerate(runs, start=1):
        results.add(result)
        now = monotonic()
        if now - spoken > PROGRESS_SECONDS or done == turns:
            note(f"{done} of {turns} turns, {now - started:.0f} s")
            spoken = now
    return results


if __name__ == "__main__":
    main()
