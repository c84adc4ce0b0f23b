"""Tokenizers: exact bytes, and text only where characters are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.checkpoints import save_checkpoint, save_gguf, save_tokenizer

from infernix.engine.errors import ModelError
from infernix.engine.models.gguf_file import read_gguf
from infernix.engine.models.load import load_model
from infernix.engine.models.tokenizer import TextStream, Tokenizer, encoder_from_gguf, encoder_from_json
from infernix.matcher.vocabulary import Vocabulary

HELLO, SPACE_HELLO, E_ACUTE = 261, 262, 263  # the ids that `checkpoints.MERGES` make


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    path = folder / "tokenizer.json"
    return Tokenizer(encoder_from_json(path), Vocabulary.from_tokenizer_json(path, eos_ids=[256]))


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(tokenizer: Tokenizer, text: str) -> None:
    assert b"".join(map(tokenizer.bytes_of, tokenizer.encode(text))) == text.encode()


def test_merges_apply_and_control_tokens_have_no_bytes(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("hello hello é<|end|>") == [HELLO, SPACE_HELLO, 32, E_ACUTE, 256]
    assert tokenizer.bytes_of(SPACE_HELLO) == b" hello"
    assert tokenizer.bytes_of(256) == b""


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("gpt-2", ["a", "123", " hello", "'s"]),
        ("smollm", ["a", "1", "2", "3", " hello", "'s"]),
        ("qwen2", ["a", "1", "2", "3", " hello", "'s"]),
        ("llama-bpe", ["a", "123", " hello", "'s"]),
    ],
)
def test_pre_tokenizers_of_gguf_files_cut_where_they_should(pre: str, pieces: list[str], tmp_path: Path) -> None:
    reference = save_checkpoint(tmp_path, "llama")
    save_gguf(tmp_path / "t.gguf", reference, "llama", pre)
    encoder = encoder_from_gguf(read_gguf(tmp_path / "t.gguf"))
    cut = encoder.pre_tokenizer.pre_tokenize_str("a123 hello's")
    assert [piece.replace("Ġ", " ") for piece, _ in cut] == pieces
    model = load_model(str(tmp_path / "t.gguf"))
    assert model.tokenizer.encode("hello hello é<|end|>") == [HELLO, SPACE_HELLO, 32, E_ACUTE, 256]


def test_an_unknown_pre_tokenizer_is_refused(tmp_path: Path) -> None:
    reference = save_checkpoint(tmp_path, "llama")
    save_gguf(tmp_path / "t.gguf", reference, "llama", "made-up")
    with pytest.raises(ModelError, match="made-up"):
        load_model(str(tmp_path / "t.gguf"))


@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=6))
def test_the_stream_gives_what_a_decoder_of_the_whole_gives(data: bytes, cuts: list[int]) -> None:
    stream, pieces, start = TextStream(), [], 0
    for end in [*sorted(cuts), len(data)]:
        pieces.append(stream.push(data[start:end]))
        start = max(start, end)
    pieces.append(stream.close())
    assert "".join(pieces) == data.decode("utf-8", errors="replace")


def test_the_stream_holds_back_only_what_is_unfinished() -> None:
    stream = TextStream()
    assert [stream.push(bytes([byte])) for byte in "a😀b".encode()] == ["a", "", "", "", "😀", "b"]
