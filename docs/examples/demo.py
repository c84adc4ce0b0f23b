"""The point of Infernix in one minute: the same prompt, free and inside a grammar.

Run it with `make demo`. It uses the demo model (`infernix model get smollm2-135m`), takes the
most likely token at every step, and checks both answers with an ordinary parser.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported; see engine/cli.py

import infernix
from infernix.engine.commands.generate import summary
from infernix.engine.commands.warmup import ensure_warm, load_kernels
from infernix.engine.generate import Generation
from infernix.engine.models.load import LanguageModel, load_model
from infernix.sampling.params import SamplingParams

EXAMPLES = Path(__file__).parent
GREEDY = SamplingParams(temperature=0)
MAX_TOKENS = 64
ENOUGH = 16  # tokens of an answer in prose, to see that it is no date whatever follows

PERSON = "Extract the person as JSON with name, age, city and likes: Anna Berg is 34, lives in Oslo and likes chess."
LANDING = "When did Apollo 11 land on the Moon?"


def answer(model: LanguageModel, prompt: str, matcher: infernix.Matcher | None, most: int = MAX_TOKENS) -> str:
    """Stream one answer to the terminal and return it."""
    tokens = model.chat_tokens([{"role": "user", "content": prompt}])
    generation = Generation(model, tokens, matcher=matcher, params=GREEDY, max_tokens=most)
    for piece in generation:
        print(piece, end="", flush=True)
    print(f"\n{summary(generation.result)}")
    return generation.result.text


def verdict(parse: Callable[[str], object], text: str) -> str:
    """What an ordinary parser says about the text."""
    try:
        return f"parses: {parse(text)!r}"
    except ValueError as error:
        return f"does not parse: {error}"


def compare(
    model: LanguageModel, prompt: str, free_tokens: int, grammar: str, root: str, parse: Callable[[str], object]
) -> bool:
    """Show a prompt's free and constrained answers; whether the constrained one parses."""
    # A method that is built in has no module, but its qualified name says enough.
    name = parse.__qualname__ if parse.__module__ in (None, "datetime") else f"{parse.__module__}.{parse.__qualname__}"
    print(f"\n=== {prompt}\n\n--- free")
    print(f"--> {name} {verdict(parse, answer(model, prompt, None, free_tokens))}")
    print(f"\n--- inside {grammar} ({root})")
    compiled = infernix.compile_gbnf((EXAMPLES / grammar).read_text("utf-8"), model.vocabulary, root=root)
    judgement = verdict(parse, answer(model, prompt, infernix.Matcher(compiled)))
    print(f"--> {name} {judgement}")
    return judgement.startswith("parses")


def main() -> int:
    """Run both comparisons; 0 if every constrained answer parses."""
    ensure_warm()
    start = time.perf_counter()
    import torch

    torch.set_num_threads(1)
    model = load_model("smollm2-135m")
    model.decoder  # noqa: B018 -- loads the weights
    load_kernels(model.vocabulary)
    print(f"{model.name}: ready after {time.perf_counter() - start:.1f} s")
    good = compare(model, PERSON, MAX_TOKENS, "person.gbnf", "root", json.loads)
    good &= compare(model, LANDING, ENOUGH, "dates.gbnf", "date", datetime.date.fromisoformat)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
