"""Does memory stay bounded? Resident memory over a long text, and over many grammars.

    text        a million tokens on one matcher, each with its mask: an array of records without end
    grammars    ten thousand schemas that all differ, each compiled through the compile cache and walked

Both run in a process of their own. What a curve should show is that it becomes flat.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .cases import json_text
from .footprint import MIB, resident_bytes
from .made_cases import an_object, words
from .vocabularies import VOCABULARIES, BenchVocabulary, load_vocabulary

TOKENS = 1_000_000
GRAMMARS = 10_000
POINTS = 100
"""Measured along each curve."""
SEED = 20_240_229

Curve = list[tuple[int, float]]
"""(tokens or grammars so far, MiB)."""

RECORD: dict[str, Any] = {
    "id": {"type": "integer"},
    "text": {"type": "string"},
    "short": {"type": "string", "maxLength": 200},
    "level": {"type": "number"},
    "kind": {"enum": ["ok", "late", "lost"]},
    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
}
KINDS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "string"}, "Ouse"),
    ({"type": "integer"}, 7),
    ({"type": "number", "minimum": 0}, 0.5),
    ({"type": "boolean"}, True),
    ({"type": "array", "items": {"type": "string"}}, ["a", "b"]),
    ({"type": "string", "format": "date"}, "2024-02-29"),
]


def record(chance: random.Random) -> dict[str, Any]:
    """One record of the endless text."""
    text = words(1000)
    start = chance.randrange(800)
    return {
        "id": chance.randrange(10**9),
        "text": text[start : start + chance.randrange(200)] + chr(chance.randrange(0x4E00, 0x9FA5)),
        "short": text[: chance.randrange(200)],
        "level": chance.uniform(-1e6, 1e6),
        "kind": chance.choice(RECORD["kind"]["enum"]),
        "tags": {f"k{chance.randrange(1000)}": "v", "x": text[start : start + 9]},
    }


def endless_tokens(vocabulary: BenchVocabulary) -> Iterator[int]:
    """The tokens of an array that does not end."""
    chance = random.Random(SEED)
    yield from vocabulary.encode("[" + json_text(record(chance)))
    while True:
        yield from vocabulary.encode(", " + json_text(record(chance)))


def long_text(name: str, tokens: int) -> Curve:
    """Resident memory while one matcher walks a long text."""
    import infernix

    data = load_vocabulary(name)
    vocabulary = data.infernix()
    schema = {"type": "array", "items": an_object(RECORD)}
    matcher = infernix.Matcher(infernix.compile_json_schema(schema, vocabulary))
    row = np.zeros(vocabulary.words, dtype=np.uint32)
    curve = []
    for done, token in enumerate(islice(endless_tokens(data), tokens)):
        if done % max(1, tokens // POINTS) == 0:
            curve.append((done, resident_bytes() / MIB))
        matcher.fill_mask(row)
        matcher.accept_token(token)
    return [*curve, (tokens, resident_bytes() / MIB)]


def different_schema(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema that no other number has, and an instance of it."""
    chance = random.Random(SEED + number)
    chosen = {f"{chance.choice(words(100).split()).lower()}_{i}_{number}": chance.choice(KINDS) for i in range(8)}
    longest = {"bound": ({"type": "string", "maxLength": number}, "")}
    properties = {key: kind for key, (kind, _) in (chosen | longest).items()}
    return an_object(properties), {key: value for key, (_, value) in (chosen | longest).items()}


def many_grammars(name: str, grammars: int) -> Curve:
    """Resident memory while schemas are compiled through one cache and walked, one after the other."""
    import infernix
    from infernix.matcher.cache import GrammarCompiler

    data = load_vocabulary(name)
    vocabulary = data.infernix()
    compiler = GrammarCompiler(vocabulary)
    row = np.zeros(vocabulary.words, dtype=np.uint32)
    curve = []
    for number in range(grammars):
        if number % max(1, grammars // POINTS) == 0:
            curve.append((number, resident_bytes() / MIB))
        schema, instance = different_schema(number)
        matcher = infernix.Matcher(compiler.json_schema(schema)[0])
        for token in data.encode(json_text(instance)):
            matcher.fill_mask(row)
            matcher.accept_token(token)
        if not matcher.can_end():
            raise RuntimeError(f"schema {number} refused its instance")
    return [*curve, (grammars, resident_bytes() / MIB)]


def in_own_process(work: Callable[[str, int], Curve], vocabulary: str, count: int) -> Curve:
    """Run one measurement in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, vocabulary, count).result()


def plot(curves: dict[str, Curve], path: Path) -> None:
    """Both curves, each over its own count."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(curves), figsize=(10.0, 4.0), layout="constrained", squeeze=False)
    for axes, (name, curve) in zip(panels[0], curves.items(), strict=True):
        axes.plot(*zip(*curve, strict=True))
        axes.set(xlabel=name, ylabel="resident memory, MiB", ylim=(0, None))
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--grammars", type=int, default=GRAMMARS)
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="qwen35")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the curves as JSON")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write memory.png into this folder")
    options = parser.parse_args(arguments)
    curves = {
        "tokens accepted by one matcher": in_own_process(long_text, options.vocabulary, options.tokens),
        "different grammars": in_own_process(many_grammars, options.vocabulary, options.grammars),
    }
    for name, curve in curves.items():
        quarter = [memory for _, memory in curve[:: max(1, len(curve) // 4)]]
        print(f"{name}: resident MiB at each quarter: {', '.join(f'{memory:.0f}' for memory in quarter)}")
        print(f"    largest {max(memory for _, memory in curve):.0f} MiB, at the end {curve[-1][1]:.0f} MiB")
    if options.json:
        options.json.write_text(json.dumps(curves) + "\n")
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        plot(curves, options.plots / "memory.png")


if __name__ == "__main__":
    main()
