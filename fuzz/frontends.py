"""Coverage-guided fuzzing of what reads texts and files: only documented errors, and nothing hangs.

Atheris (libFuzzer for Python) changes bytes so as to reach new lines of the reader. Each front end has a process of
its own, which instruments the reader's modules while it imports them, and stops at the first fault:

    OUT/corpus/NAME/     inputs that reached something new; kept for the next run
    OUT/faults/NAME-*    the input that shows a fault: any exception but a RequestError, more than SECONDS_PER_INPUT,
                         or more than MEGABYTES

Seeds are sources of the generators (`fuzz.generators`), and small tokenizer files written here.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from infernix.gbnf.errors import RequestError

__all__ = ["FRONT_ENDS", "FrontEndResult", "fuzz_front_end"]

SECONDS_PER_INPUT = 30
MEGABYTES = 4096
LONGEST = 4096
"""Bytes of an input."""
SEEDS = 60
BOOT = """
import sys, atheris
readers = ["infernix.gbnf", "infernix.schema", "infernix.matcher.loaders", "infernix.matcher.gguf_metadata", "lark"]
with atheris.instrument_imports(include=readers):
    from infernix.fuzz.frontends import FRONT_ENDS
    target = FRONT_ENDS[sys.argv[1]]()
atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
atheris.Fuzz()
"""
"""The process of one front end: its name, then libFuzzer's options and folders. What is imported before the readers
are instrumented stays blind, and this very module imports some of them."""
GRACE_SECONDS = 120
"""To import and to instrument, beyond the time for fuzzing itself."""

Target = Callable[[bytes], None]


# --- the front ends: a function that makes the target (inside the instrumented process)


def _gbnf() -> Target:
    from infernix.gbnf.checks import check
    from infernix.gbnf.parser import parse_gbnf

    def target(data: bytes) -> None:
        for dialect in ("xgrammar", "llama.cpp"):
            try:
                check(parse_gbnf(data, dialect=dialect), data)
            except RequestError:
                continue

    return target


def _regex() -> Target:
    from infernix.gbnf.regex import parse_regex, parse_search

    def target(data: bytes) -> None:
        for read in (parse_regex, parse_search):
            try:
                read(data.decode("utf-8", "surrogateescape"))
            except RequestError:
                continue

    return target


def _schema() -> Target:
    from infernix.schema import schema_grammar

    return _documented(schema_grammar)


def _tokenizer_json() -> Target:
    from infernix.matcher.loaders import load_tokenizer_json

    return _from_file(load_tokenizer_json)


def _tiktoken() -> Target:
    from infernix.matcher.loaders import load_tiktoken

    def load(path: Path, eos_ids: list[int] | None) -> None:
        # Which tokens are special, and which of them end the sequence, is nowhere in such a file.
        load_tiktoken(path, special={"<end>": 3}, eos_ids=eos_ids or [3])

    return _from_file(load)


def _gguf() -> Target:
    from infernix.matcher.loaders import load_gguf

    return _from_file(load_gguf)


def _documented(read: Callable[..., object]) -> Target:
    def target(data: bytes) -> None:
        try:
            read(data)
        except RequestError:
            return

    return target


def _from_file(load: Callable[..., object]) -> Target:
    # A folder for the life of the process, which ends without clean-up: the parent removes the one it is in.
    path = Path(tempfile.mkdtemp()) / "file"

    def target(data: bytes) -> None:
        path.write_bytes(data)
        for eos_ids in ([0], None):
            try:
                load(path, eos_ids=eos_ids)
            except RequestError:
                continue

    return target


FRONT_ENDS: dict[str, Callable[[], Target]] = {
    "gbnf": _gbnf,
    "regex": _regex,
    "schema": _schema,
    "tokenizer-json": _tokenizer_json,
    "tiktoken": _tiktoken,
    "gguf": _gguf,
}


# --- seeds


def seeds(name: str) -> Iterator[bytes]:
    """Inputs to begin with."""
    from .generate import case_of
    from .names import SYNTHETIC

    match name:
        case "tokenizer-json":
            yield from map(_json_bytes, _tokenizers())
        case "tiktoken":
            yield from _tiktoken_files()
        case "gguf":
            yield from _gguf_files()
        case _:
            for number in range(SEEDS):
                for problem in case_of(name, SYNTHETIC, 1, number).problems:
                    yield problem.source.encode("utf-8", "surrogatepass")


def _json_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


def _tokenizers() -> Iterator[dict[str, object]]:
    added = [{"id": 3, "content": "<end>", "special": True}]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False}
    bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], "unk_token": "a"}
    yield {"model": bpe, "decoder": byte_level, "pre_tokenizer": byte_level, "added_tokens": added}
    pieces = [["<unk>", 0.0], ["\u2581a", -1.0], ["<0x41>", -2.5]]
    steps = [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}]
    unigram = {"type": "Unigram", "vocab": pieces, "unk_id": 0, "byte_fallback": True}
    yield {"model": unigram, "decoder": {"type": "Sequence", "decoders": steps}, "added_tokens": added}


def _tiktoken_files() -> Iterator[bytes]:
    tokens = (b"a", b"b", b"ab")
    yield b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))
    # Blank lines, another line end, ids out of order and with a gap.
    yield b"\n".join(b"%s\t%d\r" % (base64.b64encode(token), 9 - rank) for rank, token in enumerate(tokens)) + b"\n\n"


def _gguf_files() -> Iterator[bytes]:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    for model in ("gpt2", "llama"):
        pairs = [
            text("tokenizer.ggml.model") + struct.pack("<I", 8) + text(model),
            text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + text("a") + text("<0x41>") + text("</s>"),
            text("tokenizer.ggml.token_type") + struct.pack("<IIQiii", 9, 5, 3, 1, 6, 3),
            text("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 2),
        ]
        yield b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


# --- running


@dataclass(frozen=True, slots=True)
class FrontEndResult:
    """What came of fuzzing one front end."""

    name: str
    faults: tuple[Path, ...]
    inputs: int
    covered: int
    """Edges that libFuzzer counts as covered."""
    log: str


def fuzz_front_end(name: str, seconds: float, out: Path) -> FrontEndResult:
    """Fuzz one front end for some time, in a process of its own.

    Raises RequestError for an unknown name, where atheris is missing, and where fuzzing does not come about.
    """
    if name not in FRONT_ENDS:
        raise RequestError(f"no front end is called {name!r}; there is {', '.join(FRONT_ENDS)}")
    if importlib.util.find_spec("atheris") is None:
        hint = "install the extra `atheris`: pip install '.[atheris]' in the checkout (Linux and macOS only)"
        raise RequestError(f"this needs the package atheris; {hint}")
    corpus, faults = out / "corpus" / name, out / "faults"
    for folder in (corpus, faults):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(faults.glob(f"{name}-*"))
    with tempfile.TemporaryDirectory(prefix="infernix-frontends-") as scratch:
        for number, seed in enumerate(seeds(name)):
            (Path(scratch) / f"seed{number}").write_bytes(seed)
        options = {
            "max_total_time": max(1, round(seconds)),
            "timeout": SECONDS_PER_INPUT,
            "report_slow_units": SECONDS_PER_INPUT,
            "rss_limit_mb": MEGABYTES,
            "max_len": LONGEST,
            "artifact_prefix": f"{faults}/{name}-",
            "print_final_stats": 1,
        }
        command = [sys.executable, "-c", BOOT, name, *(f"-{key}={value}" for key, value in options.items())]
        done = subprocess.run(
            [*command, str(corpus), scratch], capture_output=True, timeout=seconds + GRACE_SECONDS, check=False
        )
    log = (done.stdout + done.stderr).decode("utf-8", "replace")
    inputs, covered = _last_number(log, "stat::number_of_executed_units:"), _last_number(log, "cov:")
    found = tuple(sorted(set(faults.glob(f"{name}-*")) - before))
    if not found and (done.returncode != 0 or inputs == 0):
        raise RequestError(f"{name}: fuzzing ended with exit code {done.returncode}: {log[-2000:]}")
    return FrontEndResult(name, found, inputs, covered, log)


def _last_number(log: str, label: str) -> int:
    numbers = [after for word, after in pairwise(log.split()) if word == label and after.isdigit()]
    return int(numbers[-1]) if numbers else 0
