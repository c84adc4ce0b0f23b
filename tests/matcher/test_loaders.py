"""Tokenizer files: what the loaders read is what other programs' tokenizers produce.

The files are written by the `tokenizers` and `gguf` packages. The main property needs no
knowledge of piece conventions: the bytes of the ids that a tokenizer encodes a text to,
joined, are the text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infernix.gbnf.errors import VocabularyError
from infernix.matcher.vocabulary import TokenKind, Vocabulary

tokenizers = pytest.importorskip("tokenizers")
gguf = pytest.importorskip("gguf")

TEXT = 'She said: "naïve café" – 東京 🙂\tand\n\nleft.  {"k": [1, 2.5e-3]} ÿĀ ġ \u2581 <0x41>\x00\x7f'
CORPUS = [
    "She said that the naïve café was left.",
    "東京 and 東京",
    '{"key": [1, 2, 3], "other": "value"}',
] * 3


def joined(vocabulary: Vocabulary, ids: list[int]) -> bytes:
    return b"".join(vocabulary.token_bytes(token_id) for token_id in ids)


def byte_level_tokenizer() -> Any:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=["<|end|>", "<|call|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_tokens(["Ġliteral ġ"])
    return tokenizer


def sentencepiece_tokenizer(unigram: bool) -> Any:
    """A tokenizer as converted from SentencePiece: U+2581 for spaces, and byte fallback."""
    if unigram:
        pieces = [("<unk>", 0.0), *((f"<0x{byte:02X}>", -20.0) for byte in range(256))]
        pieces += [("\u2581", -2.0), ("said", -3.0), ("a", -4.0), ("東京", -3.0), ("\u2581and", -2.5)]
        model = tokenizers.models.Unigram(pieces, unk_id=0, byte_fallback=True)
    else:
        pieces_by_id = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "a", "n", "d"]
        pieces_by_id += ["an", "and", "\u2581and", "東"]
        merges = [("a", "n"), ("an", "d"), ("\u2581", "and")]
        vocabulary = {piece: token_id for token_id, piece in enumerate(pieces_by_id)}
        model = tokenizers.models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [
            tokenizers.decoders.Replace("\u2581", " "),
            tokenizers.decoders.ByteFallback(),
            tokenizers.decoders.Fuse(),
        ]
    )
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Any], Path]:
    def save(tokenizer: Any) -> Path:
        path = tmp_path / "tokenizer.json"
        tokenizer.save(str(path))
        return path

    return save


# --- tokenizer.json


def test_byte_level_bpe(saved: Callable[[Any], Path]) -> None:
    tokenizer = byte_level_tokenizer()
    end, call = tokenizer.token_to_id("<|end|>"), tokenizer.token_to_id("<|call|>")
    vocabulary = Vocabulary.from_tokenizer_json(saved(tokenizer), eos_ids=[end], size=512)
    assert joined(vocabulary, tokenizer.encode(TEXT).ids) == TEXT.encode()
    assert (vocabulary.size, vocabulary.eos_ids) == (512, (end,))
    assert vocabulary.kind(call) == TokenKind.CONTROL
    assert vocabulary.kind(511) == TokenKind.FORBIDDEN
    # An added token is literal text, though its characters also write bytes.
    added = tokenizer.token_to_id("Ġliteral ġ")
    assert vocabulary.token_bytes(added) == "Ġliteral ġ".encode()
    assert vocabulary.kind(added) == TokenKind.ORDINARY


@pytest.mark.parametrize("unigram", [False, True], ids=["bpe", "unigram"])
def test_sentencepiece(saved: Callable[[Any], Path], unigram: bool) -> None:
    tokenizer = sentencepiece_tokenizer(unigram)
    text = TEXT.replace("\u2581", "").replace("<0x41>", "")  # which this convention cannot write
    vocabulary = Vocabulary.from_tokenizer_json(saved(tokenizer), eos_ids=[tokenizer.token_to_id("</s>")])
    assert joined(vocabulary, tokenizer.encode(text).ids) == text.encode()
    assert vocabulary.kind(tokenizer.token_to_id("<unk>")) == TokenKind.CONTROL
    assert vocabulary.kind(tokenizer.token_to_id("<s>")) == TokenKind.CONTROL
    assert vocabulary.token_bytes(tokenizer.token_to_id("<0xFF>")) == b"\xff"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"generation_config.json": {"eos_token_id": [1, 0]}, "config.json": {"eos_token_id": 3}}, (0, 1)),
        ({"generation_config.json": {}, "config.json": {"eos_token_id": 3}}, (3,)),
        ({"config.json": {"text_config": {"eos_token_id": 1}}}, (1,)),
        ({"tokenizer_config.json": {"eos_token": "<|end|>"}}, (0,)),
        ({"tokenizer_config.json": {"eos_token": {"content": "<|call|>"}}}, (1,)),
    ],
)
def test_eos_is_found_in_the_files_beside(
    saved: Callable[[Any], Path], files: dict[str, Any], expected: tuple[int, ...]
) -> None:
    path = saved(byte_level_tokenizer())
    for name, content in files.items():
        (path.parent / name).write_text(json.dumps(content))
    assert Vocabulary.from_tokenizer_json(path).eos_ids == expected


def test_tokenizer_objects() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = byte_level_tokenizer()
    end = tokenizer.token_to_id("<|end|>")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    for vocabulary in (
        Vocabulary.from_huggingface(fast, size=512),
        Vocabulary.from_huggingface(tokenizer, eos_ids=[end], size=512),
    ):
        assert joined(vocabulary, fast.encode(TEXT)) == TEXT.encode()
        assert (vocabulary.size, vocabulary.eos_ids) == (512, (end,))
        assert vocabulary.kind(tokenizer.token_to_id("<|call|>")) == TokenKind.CONTROL
        assert vocabulary.kind(511) == TokenKind.FORBIDDEN
    with pytest.raises(VocabularyError, match="pass eos_ids"):
        Vocabulary.from_huggingface(tokenizer)
    with pytest.raises(VocabularyError, match="not a fast tokenizer"):
        Vocabulary.from_huggingface(object())


def test_eos_is_never_guessed(saved: Callable[[Any], Path]) -> None:
    with pytest.raises(VocabularyError, match="pass eos_ids"):
        Vocabulary.from_tokenizer_json(saved(byte_level_tokenizer()))


BPE = {"type": "BPE", "vocab": {"a": 0}, "merges": []}
BYTE_LEVEL = {"type": "ByteLevel"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be an object"),
        ({}, "model must be an object"),
        ({"model": {"type": "WordPiece", "vocab": {}}, "decoder": BYTE_LEVEL}, "model.type 'WordPiece'"),
        ({"model": {"type": "BPE", "vocab": []}, "decoder": BYTE_LEVEL}, "model.vocab must be an object"),
        ({"model": {"type": "BPE", "vocab": {}}, "decoder": BYTE_LEVEL}, "there are no tokens"),
        ({"model": BPE | {"vocab": {"a": -1}}, "decoder": BYTE_LEVEL}, r"vocab\['a'\]: -1 is not a token id"),
        ({"model": BPE | {"vocab": {"a": 1, "b": 1}}, "decoder": BYTE_LEVEL}, "id 1 is given twice"),
        ({"model": BPE | {"vocab": {"a": 1}}, "decoder": {"type": []}}, "decoder.type must be"),
        ({"model": BPE | {"vocab": {"a": 1 << 40}}, "decoder": BYTE_LEVEL}, "most of the vocabulary empty"),
        ({"model": BPE}, "does not say how pieces turn into bytes"),
        ({"model": BPE, "decoder": {"type": "BPEDecoder"}}, "decoder type 'BPEDecoder'"),
        ({"model": {"type": "Unigram", "vocab": [[]]}, "decoder": BYTE_LEVEL}, r"model.vocab\[0\] must be a"),
        ({"model": BPE, "decoder": BYTE_LEVEL, "added_tokens": {}}, "added_tokens must be an array"),
        ({"model": BPE, "decoder": BYTE_LEVEL, "added_tokens": [3]}, r"added_tokens\[0\] must be an object"),
        (
            {"model": BPE, "decoder": BYTE_LEVEL, "added_tokens": [{"id": 3}]},
            r"\[0\].content must be a string",
        ),
    ],
)
def test_bad_tokenizer_json(tmp_path: Path, document: object, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    with pytest.raises(VocabularyError, match=message) as error:
        Vocabulary.from_tokenizer_json(path, eos_ids=[])
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b'{"a":\n ]', b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"], ids=range(5)
)
def test_what_is_not_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match="not JSON"):
        Vocabulary.from_tokenizer_json(path, eos_ids=[])


# --- tiktoken


def test_tiktoken(tmp_path: Path) -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"\xe6\x9d", b" the"]
    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    path = tmp_path / "ranks.tiktoken"
    path.write_text("\n".join(lines) + "\n\n")
    vocabulary = Vocabulary.from_tiktoken(path, special={"<end>": 260, "<call>": 262}, eos_ids=[260], size=264)
    assert [vocabulary.token_bytes(i) for i in range(259)] == tokens
    assert [vocabulary.kind(i).name for i in range(259, 264)] == [
        "FORBIDDEN",  # a gap
        "EOS",
        "FORBIDDEN",
        "CONTROL",
        "FORBIDDEN",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("YQ== 0\nYg==\n", "line 2: expected a base64 token"),
        ("YQ== 0\n!!!! 1\n", "line 2"),
        ("YQ== zero\n", "line 1"),
        ("YQ== 0 1\n", "line 1"),
        ("YQ== 0\n\nYg== 0\n", "line 3: id 0 is given twice"),
        ("YQ== -3\n", "line 1: -3 is not a token id"),
        ("YQ== 5\n", "special token '<end>': id 5 is given twice"),
        ("", "eos_ids has id 9"),
    ],
)
def test_bad_tiktoken(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_text(content)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tiktoken(path, special={"<end>": 5}, eos_ids=[9])


def test_a_missing_file(tmp_path: Path) -> None:
    for load in (Vocabulary.from_tokenizer_json, Vocabulary.from_gguf):
        with pytest.raises(VocabularyError, match=r"cannot read .*absent"):
            load(tmp_path / "absent", eos_ids=[])
    with pytest.raises(VocabularyError, match=r"cannot read .*absent"):
        Vocabulary.from_tiktoken(tmp_path / "absent", special={}, eos_ids=[])


# --- GGUF


def write_gguf(path: Path, model: str, tokens: list[str], types: list[int], **ids: int) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("some.numbers", [1.5, 2.5])
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b", "c d"])
    writer.add_token_types(types)
    for name, token_id in ids.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token_id)
    writer.add_tensor("weights", np.zeros(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def test_gguf_byte_level(tmp_path: Path) -> None:
    tokens = ["a", "Ġb", "é", "<end>", "<turn>", "Ġx", "unused"]
    types = [NORMAL, NORMAL, NORMAL, CONTROL, CONTROL, USER_DEFINED, UNUSED]
    path = write_gguf(tmp_path / "model.gguf", "gpt2", tokens, types, eos=3, eot=4)
    vocabulary = Vocabulary.from_gguf(path)
    # é is the character for byte 0xE9, half of a character; the user-defined token is literal.
    assert [vocabulary.token_bytes(i) for i in range(6)] == [
        b"a",
        b" b",
        b"\xe9",
        b"<end>",
        b"<turn>",
        "Ġx".encode(),
    ]
    assert vocabulary.eos_ids == (3, 4)
    assert vocabulary.kind(6) == TokenKind.FORBIDDEN
    other = Vocabulary.from_gguf(path, eos_ids=[3], size=10)
    assert (other.kind(4), other.size) == (TokenKind.CONTROL, 10)


def test_gguf_sentencepiece(tmp_path: Path) -> None:
    tokens = ["<unk>", "</s>", "<0x0A>", "\u2581the", "é", "\u2581raw"]
    types = [UNKNOWN, CONTROL, BYTE, NORMAL, NORMAL, USER_DEFINED]
    vocabulary = Vocabulary.from_gguf(write_gguf(tmp_path / "model.gguf", "llama", tokens, types, eos=1))
    assert [vocabulary.token_bytes(i) for i in range(2, 6)] == [
        b"\n",
        b" the",
        "é".encode(),
        "\u2581raw".encode(),
    ]
    assert [vocabulary.kind(i).name for i in range(3)] == ["CONTROL", "EOS", "ORDINARY"]


def test_gguf_equals_the_package_reader(tmp_path: Path) -> None:
    """Every tokenizer field, read by us and by the `gguf` package."""
    from infernix.matcher.gguf_metadata import read_metadata

    path = write_gguf(tmp_path / "model.gguf", "gpt2", ["a", "東"], [NORMAL, CONTROL], eos=1)
    ours = read_metadata(path, lambda key: True)
    theirs = {key: field.contents() for key, field in gguf.GGUFReader(path).fields.items() if "." in key}
    theirs = {key: value for key, value in theirs.items() if not key.startswith("GGUF.")}

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return [text(item) for item in value]
        return value.decode() if isinstance(value, bytes) else value

    assert {key: text(value) for key, value in ours.items()} == theirs
    assert read_metadata(path, lambda key: key == "some.numbers") == {"some.numbers": [1.5, 2.5]}


def test_bad_gguf(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    good = write_gguf(path, "gpt2", ["a", "b"], [NORMAL, NORMAL], eos=1).read_bytes()
    end_of_metadata = good.index(b"weights") - 8  # less the length of that name
    for length in range(0, end_of_metadata, 3):
        path.write_bytes(good[:length])
        with pytest.raises(VocabularyError):
            Vocabulary.from_gguf(path)
    path.write_bytes(b"GGML" + good[4:])
    with pytest.raises(VocabularyError, match="not a GGUF file"):
        Vocabulary.from_gguf(path)
    path.write_bytes(good[:4] + b"\x01" + good[5:])
    with pytest.raises(VocabularyError, match="GGUF version 1"):
        Vocabulary.from_gguf(path)


@pytest.mark.parametrize(
    ("model", "types", "ids", "message"),
    [
        ("bert", [NORMAL, NORMAL], {"eos": 1}, "model b'bert' is not supported"),
        ("gpt2", [NORMAL], {"eos": 1}, "token_type has 1 entries for 2 tokens"),
        ("gpt2", [NORMAL, NORMAL], {}, "eos_token_id is missing"),
        ("gpt2", [NORMAL, NORMAL], {"eos": 7}, "eos_ids has id 7"),
    ],
)
def test_unusable_gguf(tmp_path: Path, model: str, types: list[int], ids: dict[str, int], message: str) -> None:
    path = write_gguf(tmp_path / "model.gguf", model, ["a", "b"], types, **ids)
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_gguf(path)
