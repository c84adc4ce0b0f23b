"""`infernix generate`: let a model write inside a constraint, and say how it went."""

from __future__ import annotations

import os
import sys
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ..models.registry import DEFAULT_MODEL, find_model
from .console import CommandError, ExitCode, busy, counted, note, reporting, write_text
from .constraint import (
    ChoiceOption,
    Dialect,
    DialectOption,
    GrammarFileOption,
    JsonObjectOption,
    Layout,
    LayoutOption,
    RegexOption,
    RootOption,
    SchemaFileOption,
    chosen_constraint,
)
from .files import read_stdin
from .warmup import load_kernels

if TYPE_CHECKING:
    from infernix.sampling.params import SamplingParams

    from ..generate import Result, Timings
    from ..models.load import LanguageModel

__all__ = ["generate"]

SAMPLING = "Sampling"
DEFAULT_MAX_TOKENS = 256
MOST_THREADS = 8
DEFAULT_THREADS = min(MOST_THREADS, max(1, (os.cpu_count() or 1) // 2))  # cores are often hyper-threads

MaxNew = Annotated[int, typer.Option("--max-new", min=0, metavar="N", help="At most so many new tokens.")]
Temperature = Annotated[
    float | None,
    typer.Option(metavar="0..2", help="0 takes the best token; 0.2 if not given.", rich_help_panel=SAMPLING),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="0..1", help="Keep this share of the probability; 0.9 if not given.", rich_help_panel=SAMPLING
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(metavar="0..20", help="Keep this many tokens; 0 means 20.", rich_help_panel=SAMPLING),
]
MinP = Annotated[
    float | None,
    typer.Option(metavar="0..1", help="Drop tokens below this share of the best one.", rich_help_panel=SAMPLING),
]
Presence = Annotated[
    float | None,
    typer.Option("--presence-penalty", metavar="-2..2", help="Against tokens used before.", rich_help_panel=SAMPLING),
]
Frequency = Annotated[
    float | None,
    typer.Option("--frequency-penalty", metavar="-2..2", help="The same, per use.", rich_help_panel=SAMPLING),
]
Greedy = Annotated[bool, typer.Option("--greedy", help="Short for --temperature 0.", rich_help_panel=SAMPLING)]
Seed = Annotated[int, typer.Option(metavar="N", help="Equal seeds give equal texts.", rich_help_panel=SAMPLING)]


@reporting
def generate(
    model: Annotated[
        str, typer.Option("--model", metavar="MODEL", help="A name, a GGUF file, or a checkpoint folder.")
    ] = DEFAULT_MODEL,
    prompt: Annotated[
        str | None,
        typer.Option("--prompt", metavar="TEXT", help="What to answer; `-` or nothing reads stdin."),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="A system message before the prompt.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue the prompt as plain text, without the chat template.")
    ] = False,
    grammar_file: GrammarFileOption = None,
    json_schema_file: SchemaFileOption = None,
    json_object: JsonObjectOption = False,
    regex: RegexOption = None,
    choice: ChoiceOption = None,
    dialect: DialectOption = Dialect.XGRAMMAR,
    root: RootOption = "root",
    layout: LayoutOption = Layout.SPACED,
    greedy: Greedy = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    top_k: TopK = None,
    min_p: MinP = None,
    presence_penalty: Presence = None,
    frequency_penalty: Frequency = None,
    seed: Seed = 0,
    max_new: MaxNew = DEFAULT_MAX_TOKENS,
    threads: Annotated[
        int, typer.Option("--threads", min=1, metavar="N", help="CPU threads for the model.")
    ] = DEFAULT_THREADS,
) -> None:
    """Write text with a language model, inside a constraint if one is given.

    The text streams to stdout, exactly as generated. At the end stderr says whether it is
    complete (the constraint may end here) and terminated (the model ended it), and how fast it was.
    Exit code 0: done. 1: the text is unfinished, because --max-new or the context is used up. 2: an error.

    Examples:

        infernix generate --grammar-file docs/examples/dates.gbnf --prompt "When did Apollo 11 land?"

        infernix generate --choice yes --choice no --prompt "Is water wet?" --greedy
    """
    if greedy and temperature:
        raise CommandError("--greedy and --temperature exclude each other")
    overrides = {
        "temperature": 0.0 if greedy else temperature,
        "top_p": top_p,
        "top_k": top_k,
        "min_p": min_p,
        "presence_penalty": presence_penalty,
        "frequency_penalty": frequency_penalty,
        "seed": seed,
    }
    constraint = chosen_constraint(grammar_file, json_schema_file, json_object, regex, choice, dialect, root, layout)
    find_model(model)  # what can be wrong is said before anything slow begins
    params = _params(overrides, constrained=constraint is not None)
    request = _prompt_text(prompt)
    if raw and not request:
        raise CommandError("--raw continues the prompt, which is empty")

    from ..models.load import load_model

    language_model = load_model(model)
    matcher = constraint.matcher(language_model.vocabulary) if constraint else None
    tokens = _prompt_tokens(language_model, request, system, raw)

    with busy(f"loading {language_model.name}"):
        import torch

        from ..generate import Generation

        torch.set_num_threads(threads)
        if matcher is not None:
            load_kernels(language_model.vocabulary)
        generation = Generation(language_model, tokens, matcher=matcher, params=params, max_tokens=max_new)
    ended = "an error"
    try:
        for piece in generation:
            write_text(piece)
    except KeyboardInterrupt:
        ended = "interruption"
        raise
    except BrokenPipeError:
        ended = "the reader of the output"
        raise
    finally:  # after an error too: what has been written is then marked as incomplete
        if generation.result.text and sys.stdout.isatty():
            write_text("\n")
        note(summary(generation.result, ended))
    if generation.result.complete is False:
        raise typer.Exit(ExitCode.UNFINISHED)


def _prompt_text(prompt: str | None) -> str:
    """The prompt option, or standard input if it is `-` or missing."""
    if prompt is not None and prompt != "-":
        return prompt
    if sys.stdin.isatty():
        raise InputError("no prompt: give --prompt TEXT, or write it to standard input")
    try:
        return read_stdin().decode()
    except UnicodeDecodeError as error:
        raise InputError(f"the prompt on standard input is not UTF-8 (byte {error.start})") from None


def _prompt_tokens(model: LanguageModel, prompt: str, system: str | None, raw: bool) -> list[int]:
    """The prompt as the model reads it; a model without a chat template gets it as it is."""
    if raw or (model.chat_template is None and system is None):
        return model.tokenizer.encode(prompt)
    messages = [{"role": "user", "content": prompt}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return model.chat_tokens(messages)


def _params(given: dict[str, float | int | None], constrained: bool) -> SamplingParams:
    """The sampling parameters: the options over the engine's defaults."""
    from infernix.sampling.params import ParameterError, SamplingOverrides, resolve

    from ..sampler import DEFAULT_PARAMS

    try:
        return resolve(DEFAULT_PARAMS, SamplingOverrides(**given), constrained=constrained)  # type: ignore[arg-type]
    except ParameterError as error:
        raise CommandError(f"--{error.field.replace('_', '-')} {error.message}") from None


def summary(result: Result, ended: str = "") -> str:
    """The closing line on stderr: what the text is, and where the time went.

    `ended` says what stopped a generation that did not stop by itself.
    """
    parts = []
    if result.complete is not None:
        parts.append(f"complete: {_yes(result.complete)}, terminated: {_yes(result.terminated)}")
    parts.append(f"stopped by: {result.finish_reason or ended}")
    count, timings = len(result.token_ids), result.timings
    parts.append(f"{counted(count, 'token')}, {result.tokens_per_second:.1f} tokens/s")
    if result.complete is not None and count:
        parts.append(_mask_time(timings))
    parts.append(f"prompt {counted(result.prompt_tokens, 'token')} in {timings.prefill:.2f} s")
    return "[" + "; ".join(parts) + "]"


def _mask_time(timings: Timings) -> str:
    """What the constraint cost: the first mask, the others, and its share of the time."""
    first = f"first mask {1e3 * timings.first_mask:.1f} ms"
    later = timings.constraint[1:]
    if not later:
        return first
    share = 100 * (timings.mask + timings.accept) / (timings.total - timings.first_mask)
    return f"{first}, then {1e6 * median(later):.0f} us a token (median; {share:.2f} % of the time)"


def _yes(value: bool | None) -> str:
    return "yes" if value else "no"
