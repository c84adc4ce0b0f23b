"""After a warm-up into an empty cache, a second process compiles nothing, whatever it calls."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

USE_THE_MATCHER = """
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        pass

    def on_end(self, ended):
        compiled.append(ended.data["dispatcher"].py_func.__qualname__)

event.register("numba:compile", Listener())

import numpy as np
import infernix
from infernix.matcher.lookahead import lookahead_masks

vocabulary = infernix.Vocabulary.byte_level()
row = np.zeros(vocabulary.words, dtype=np.uint32)

def use(compiled_grammar, text):
    matcher = infernix.Matcher(compiled_grammar)
    for byte in text:
        matcher.fill_mask(row)
        matcher.mask_row()
        matcher.accept_token(byte)
    matcher.rollback_tokens(2)
    matcher.fill_mask(row.view(np.int32))
    matcher.find_forced_bytes()
    matcher.reset()
    matcher.accept_bytes(text[:1])
    matcher.mask_row()
    return matcher

schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "day": {"format": "date"}}}
use(infernix.compile_json_schema(schema, vocabulary), '{"name": "Zo\\u00eb", "age": 36}'.encode())
use(infernix.compile_regex("([a-z]+[ .]+){1,30}", vocabulary), b"ab. cd. ")
use(infernix.compile_choice(["alpha", "beta", "al"], vocabulary), b"alpha")
use(infernix.compile_gbnf('root ::= "a" (Token(66) | ExcludeToken(67)) "z" [^"]{0,100}', vocabulary), b"aBzxy")
matcher = use(infernix.compile_gbnf('root ::= root "a" | "b" | "(" root ")"', vocabulary), b"(baa)a")
lookahead_masks([matcher], [[98, 97, 999]], np.zeros((1, 4, vocabulary.words), dtype=np.uint32))
for fresh_masks in (False, True):
    matcher.compiled.store.retire(matcher.live_sets(), fresh_masks)
    matcher.fill_mask(row)
    matcher.find_forced_bytes()
"""
USE_THE_SAMPLER = """
from infernix.sampling import SamplingParams, accept, sample

logits = np.zeros((1, vocabulary.size), dtype=np.float32)
for mask in (None, row[None], matcher.mask_row()[None]):
    sample(logits, mask, SamplingParams(temperature=0.7, top_k=5, top_p=0.9))
accept(np.zeros((1, 2, vocabulary.size), dtype=np.float32), np.zeros((1, 1), dtype=np.int32))
"""


def compiled_after(warmup: list[str | Path], use: str, cache: Path) -> list[str]:
    """The functions that a process still compiles after a warm-up into an empty cache."""
    environment = os.environ | {"XDG_CACHE_HOME": str(cache), "INFERNIX_CACHE": str(cache / "infernix")}
    environment.pop("NUMBA_DISABLE_JIT", None)
    subprocess.run(warmup, env=environment, check=True)
    command = [sys.executable, "-c", use + "print(*compiled)"]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_warmup_leaves_nothing_to_compile(tmp_path: Path) -> None:
    warmup = [Path(sys.executable).with_name("infernix"), "warmup"]
    assert compiled_after(warmup, USE_THE_MATCHER + USE_THE_SAMPLER, tmp_path) == []
    kept = Counter(file.name.partition("-")[0] for file in tmp_path.rglob("*.nbc"))
    versions = {"assembly.lay_out": 1, "cpu._sample": 2, "speculative._accept": 1}  # as many as are ever called
    assert {name: kept[name] for name in versions} == versions, "a part is compiled for arrays that nobody passes"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_core_compiles_the_matcher_without_the_command_line(tmp_path: Path) -> None:
    without_typer = "import sys; sys.modules['typer'] = None; sys.argv = ['infernix', 'warmup']; "
    warmup = [sys.executable, "-c", without_typer + "from infernix.__main__ import main; main()"]
    assert compiled_after(warmup, USE_THE_MATCHER, tmp_path) == []
