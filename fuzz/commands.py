"""`infernix fuzz`: run a campaign, replay a finding, put an engine through the contract, or the fuzzer to the test.

Exit codes: 0 nothing unknown, 1 an unknown difference or a requirement that fails, 2 an error,
130 interrupted (the campaign can go on).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from infernix.engine.commands.console import CommandError, ExitCode, note, reporting
from infernix.gbnf.errors import RequestError

from .names import ENGINE_NAMES, KINDS, SYNTHETIC

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Differential fuzzing of engines against each other.")

FOUND = 1
DEFAULT_ENGINES = "infernix,reference,xgrammar,llguidance"


@app.callback()
def _group() -> None:
    """Differential fuzzing of engines against each other."""


def names(text: str, allowed: Sequence[str], what: str) -> tuple[str, ...]:
    """A comma-separated list of names, each of which must be allowed."""
    chosen = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in chosen:
        if name not in allowed:
            raise CommandError(f"no {what} is called {name!r}; there is {', '.join(allowed)}")
    if not chosen:
        raise CommandError(f"no {what} is given")
    return chosen


def vocabularies(text: str) -> tuple[str, ...]:
    """The vocabularies of a campaign; "auto" is synthetic ones and those real ones that are here."""
    from .real import REAL, present

    if text == "auto":
        return (SYNTHETIC, *present())
    return names(text, (SYNTHETIC, *REAL), "vocabulary")


PACKAGES = {"xgrammar": "xgrammar", "llguidance": "llguidance"}
"""What an engine is a package for."""


def need_packages(engines: Sequence[str], kinds: Sequence[str] = KINDS) -> None:
    """Raise CommandError before anything is started, if a package is missing that all of it would fail for."""
    needed = [PACKAGES[name] for name in engines if name in PACKAGES]
    needed += ["jsonschema"] if "schema" in kinds else []
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        hint = "install the extra `fuzz`: pip install '.[fuzz]' in the checkout"
        raise CommandError(f"this needs {' and '.join(missing)}; {hint}")


@app.command()
@reporting
def run(
    engines: Annotated[str, typer.Option(help="Names, with commas; the first is what others are compared with.")] = (
        DEFAULT_ENGINES
    ),
    kind: Annotated[str, typer.Option(help="Source languages, with commas.")] = ",".join(KINDS),
    minutes: Annotated[float, typer.Option(min=0.01, help="How long to run.")] = 2.0,
    seed: Annotated[int, typer.Option(help="Determines all cases.")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Workers, each with a process for every engine (default: 1; all of a cluster)."),
    ] = None,
    ray: Annotated[str, typer.Option(metavar="ADDRESS", help="Spread over the Ray cluster there (or: auto).")] = "",
    vocabulary: Annotated[str, typer.Option(help="synthetic, qwen35, smollm2, bytes with commas, or auto.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for state, findings and corpus (default: user cache).")] = (
        None
    ),
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again, though the folder has a campaign.")] = False,
    seconds_per_case: Annotated[float, typer.Option(help="Processor time that a case may cost an engine.")] = 5.0,
    ours_only: Annotated[
        bool, typer.Option("--ours-only", help="Fail only if a difference concerns Infernix; others are reported.")
    ] = False,
) -> None:
    """Run a campaign, or go on with one."""
    from .campaign import Campaign, Pool, concerns_us
    from .cluster import Cluster
    from .host import EngineFailed, Limits
    from .job import Settings
    from .progress import progress, summary
    from .replay import vanished

    settings = Settings(
        names(engines, ENGINE_NAMES, "engine"),
        names(kind.replace("json-schema", "schema"), KINDS, "kind"),
        vocabularies(vocabulary),
        seed,
        Limits(seconds=seconds_per_case),
    )
    need_packages(settings.engines, settings.kinds)
    folder = out if out is not None else default_folder(settings.engines, settings.kinds, seed)
    campaign = Campaign(settings, folder, fresh)
    if campaign.resumed:
        note(f"going on at case {campaign.state.done} of {folder} (--fresh begins again)")
    note("starting the engines")
    try:
        with progress(60 * minutes) as show:
            pool = Cluster(settings, ray, jobs) if ray else Pool(settings, jobs or 1)
            state = campaign.run(pool, 60 * minutes, show)
    except KeyboardInterrupt:
        note(f"interrupted; the same command goes on. {summary(campaign.state)}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except EngineFailed as failure:
        raise CommandError(str(failure)) from None
    print(summary(state))
    report(campaign.folder, state.unknown, state.known)
    for name in vanished(settings.engines, settings.kinds, settings.vocabularies):
        print(f"GONE     {name}: its example no longer shows it")
    if any(concerns_us(name) or not ours_only for name in state.unknown):
        raise typer.Exit(FOUND)


def default_folder(engines: tuple[str, ...], kinds: tuple[str, ...], seed: int) -> Path:
    """A folder in the user cache for a campaign."""
    from infernix.matcher.user_cache import cache_folder

    return cache_folder() / "fuzz" / f"{'+'.join(engines)}-{'+'.join(kinds)}-{seed}"


def report(folder: Path, unknown: dict[str, int], known: dict[str, int]) -> None:
    """What was found, by name."""
    for name, count in sorted(known.items()):
        print(f"known    {count:7}  {name}")
    for name, count in sorted(unknown.items()):
        print(f"UNKNOWN  {count:7}  {folder / 'findings' / name}.toml")


@app.command()
@reporting
def replay(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Findings.")],
    engines: Annotated[str, typer.Option(help="Other engines than those that the file names.")] = "",
) -> None:
    """Run findings again, and say what differs."""
    from .files import read_finding
    from .replay import replay as run_again

    chosen = names(engines, ENGINE_NAMES, "engine") if engines else ()
    unknown = False
    for file in files:
        try:
            finding = read_finding(file)
        except OSError as error:
            raise CommandError(f"cannot read {file}: {error.strerror}") from None
        need_packages(chosen or finding.engines, [problem.kind for problem in finding.case.problems])
        outcome = run_again(file, chosen)
        if not outcome.differences:
            print(f"{file}: no difference")
        for difference, known in outcome.differences:
            print(f"{file}: {difference}  [{'known: ' + known if known else 'UNKNOWN'}]")
            unknown = unknown or known is None
        for name, why in outcome.refused:
            print(f"{file}: {name} refuses: {why}")
    if unknown:
        raise typer.Exit(FOUND)


@app.command()
@reporting
def contract(
    engine: Annotated[str, typer.Option(help="The engine to put through the suite.")] = "infernix",
) -> None:
    """Put one engine through the contract, and say which requirement holds."""
    from .contract import contract as requirements
    from .files import markdown
    from .host import Limits
    from .job import Settings, Worker

    (name,) = names(engine, ENGINE_NAMES, "engine")
    need_packages([name])
    others = () if name == "reference" else ("reference",)
    settings = Settings((*others, name), KINDS, shrink_seconds=10.0)
    worker = Worker(replace(settings, limits=Limits(seconds=30.0)))
    failed = 0
    try:
        for verdict in requirements(name, worker):
            print(f"{verdict.outcome:15} {verdict.sentence}  ({verdict.taken} problems)", flush=True)
            if verdict.counterexample is not None:
                failed += 1
                text = markdown(verdict.counterexample)
                print("\n".join(f"                | {line}" for line in text.splitlines() if line), flush=True)
    finally:
        worker.close()
    print(f"{failed} requirements fail" if failed else "all requirements hold that apply", file=sys.stdout)
    if failed:
        raise typer.Exit(FOUND)


@app.command()
@reporting
def mutants(
    only: Annotated[str, typer.Option(help="Names of mutations, with commas; all of them by default.")] = "",
    seconds: Annotated[float, typer.Option(help="Processor time within which each must be caught.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Determines all cases.")] = 1,
) -> None:
    """Put faults into copies of the matcher, one at a time, and see whether fuzzing finds them."""
    from .mutants import MUTATIONS, hunt_in

    by_name = {mutation.name: mutation for mutation in MUTATIONS}
    chosen = [by_name[name] for name in names(only or ",".join(by_name), list(by_name), "mutation")]
    caught = slowest = 0
    for mutation in chosen:
        quarry = hunt_in(mutation, seconds, seed=seed)
        slowest = max(slowest, quarry.cases)
        caught += bool(quarry.difference)
        print(
            f"{mutation.name:24} {mutation.file:20} {(quarry.difference and 'caught') or 'MISSED':7} "
            f"{quarry.seconds:5.1f} s {quarry.cases:4} cases  {quarry.difference}",
            flush=True,
        )
    control = hunt_in(None, 2 * seconds, slowest, seed)
    wrong = f"WRONG: {control.difference}" if control.difference else "nothing differs"
    print(f"{'(unchanged)':45} {wrong} in {control.cases} cases, {control.seconds:.1f} s")
    print(f"{caught} of {len(chosen)} caught")
    if caught < len(chosen) or control.difference:
        raise typer.Exit(FOUND)


@app.command()
@reporting
def frontends(
    minutes: Annotated[float, typer.Option(min=0.01, help="How long to run, all front ends together.")] = 5.0,
    only: Annotated[str, typer.Option(help="Names of front ends, with commas; all of them by default.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for corpus and faults (default: user cache).")] = None,
) -> None:
    """Coverage-guided fuzzing of parsers and loaders, with atheris."""
    from infernix.matcher.user_cache import cache_folder

    from .frontends import FRONT_ENDS, fuzz_front_end

    chosen = names(only or ",".join(FRONT_ENDS), list(FRONT_ENDS), "front end")
    folder = out if out is not None else cache_folder() / "fuzz" / "frontends"
    faults = 0
    for name in chosen:
        result = fuzz_front_end(name, 60 * minutes / len(chosen), folder)
        print(f"{name:16} {result.inputs:9} inputs {result.covered:6} edges  {len(result.faults)} faults", flush=True)
        for path in result.faults:
            faults += 1
            print(f"FAULT    {path}")
            print("\n".join(f"    {line}" for line in result.log.splitlines()[:40]))
    if faults:
        raise typer.Exit(FOUND)


def main() -> None:
    """The commands alone, as `python -m infernix.fuzz`."""
    try:
        app()
    except (CommandError, RequestError) as error:
        raise SystemExit(f"error: {error}") from None
