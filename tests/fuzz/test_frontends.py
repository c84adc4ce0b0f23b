"""Front ends under atheris: seeds that are inputs, a run that reaches code, a message where atheris is missing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from infernix.fuzz import frontends
from infernix.fuzz.frontends import FRONT_ENDS, fuzz_front_end, seeds
from infernix.gbnf.errors import RequestError
from infernix.matcher.vocabulary import Vocabulary


def test_seeds_are_what_the_front_ends_read(tmp_path: Path) -> None:
    byte_level, pieces = seeds("tokenizer-json")
    path = tmp_path / "file"
    path.write_bytes(byte_level)
    read = Vocabulary.from_tokenizer_json(path, eos_ids=[3])
    assert [read.token_bytes(i) for i in range(3)] == [b"a", b"b", b"ab"]
    path.write_bytes(pieces)
    assert Vocabulary.from_tokenizer_json(path, eos_ids=[3]).token_bytes(1) == b" a"
    plain, odd = seeds("tiktoken")
    path.write_bytes(plain)
    read = Vocabulary.from_tiktoken(path, special={"<end>": 3}, eos_ids=[3])
    assert [read.token_bytes(i) for i in range(3)] == [b"a", b"b", b"ab"]
    path.write_bytes(odd)
    read = Vocabulary.from_tiktoken(path, special={"<end>": 3}, eos_ids=[3])
    assert [read.token_bytes(i) for i in (9, 8, 7)] == [b"a", b"b", b"ab"]
    for file in seeds("gguf"):
        path.write_bytes(file)
        assert Vocabulary.from_gguf(path).eos_ids == (2,)
    assert all(isinstance(json.loads(seed), dict) for seed in seeds("schema"))


def test_without_atheris_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(RequestError, match=r"pip install '\.\[atheris\]'"):
        fuzz_front_end("gbnf", 1, tmp_path)
    with pytest.raises(RequestError, match="no front end is called 'yaml'"):
        fuzz_front_end("yaml", 1, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris")
@pytest.mark.parametrize("name", FRONT_ENDS)
def test_a_short_run_reaches_the_reader_and_finds_nothing(name: str, tmp_path: Path) -> None:
    result = fuzz_front_end(name, 5, tmp_path)
    assert result.faults == (), result.log
    assert result.inputs > 0
    # What is not instrumented has no edges; the smallest reader, of lines with two words each, has about sixty.
    assert result.covered > 30
    assert any((tmp_path / "corpus" / name).iterdir())
