"""The `infernix` command. This module only names the commands: `infernix --help` must be instant."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from typing import Annotated

# Idle OpenMP threads must sleep, not spin: on a busy machine spinning makes torch up to ten
# times slower. Read once, when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import typer

from infernix import __version__

from .commands import check, generate, inspect, model, warmup
from .commands.console import ExitCode

__all__ = ["app", "main"]

app = typer.Typer(
    name="infernix",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Make a language model write inside a grammar: GBNF, JSON Schema, regular expressions, choices.",
    epilog="Begin with: infernix model get smollm2-135m",
)


def print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        print(f"infernix {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command()(generate.generate)
app.command()(check.check)
app.command("grammar")(inspect.grammar)
app.command("schema")(inspect.schema)
app.add_typer(model.app, name="model")
app.command()(warmup.warmup)
# What sits on top of the engine registers its commands, so that nothing below imports it.
for extension in sorted(entry_points(group="infernix.commands"), key=lambda found: found.name):
    app.add_typer(extension.load(), name=extension.name)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except KeyboardInterrupt:  # while modules are still being imported
        sys.exit(ExitCode.INTERRUPTED)
