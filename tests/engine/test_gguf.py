"""GGUF files: the header against the library that writes them, the quantised formats against its oracle."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from tests.engine.checkpoints import save_checkpoint, save_gguf

from infernix.engine.errors import ModelError
from infernix.engine.models.gguf_file import read_gguf
from infernix.engine.models.load import load_model
from infernix.engine.models.quants import dequantize

ROWS, COLUMNS = 5, 512
BLOCK_FORMATS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K", "F16", "BF16", "F32"]


def write_tensor(path: Path, raw: np.ndarray, kind: gguf.GGMLQuantizationType) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("first", np.arange(3, dtype=np.float32))  # so that the second needs its offset
    writer.add_tensor("weights", raw, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_formats_unpack_as_the_gguf_package_says(name: str, tmp_path: Path) -> None:
    kind = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[kind]
    raw = np.random.default_rng(3).integers(0, 256, (ROWS, COLUMNS // block * size), dtype=np.uint8)
    if name in ("F16", "F32", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K"):
        raw[:, 1::2] &= 0x3F  # keep the float16 scales finite
    with np.errstate(all="ignore"):
        expected = gguf.dequantize(raw, kind)
    write_tensor(tmp_path / "t.gguf", raw, kind)
    file = read_gguf(tmp_path / "t.gguf")
    ours = dequantize(file, file.tensors["weights"])
    assert ours.shape == (ROWS, COLUMNS)
    assert ours.dtype == torch.float32
    np.testing.assert_array_equal(ours.numpy(), expected)
    np.testing.assert_array_equal(dequantize(file, file.tensors["first"]).numpy(), [0, 1, 2])


def test_metadata_of_every_type(tmp_path: Path) -> None:
    values = {
        "uint8": 200, "int8": -100, "uint16": 60_000, "int16": -30_000, "uint32": 4_000_000_000,
        "int32": -2_000_000_000, "uint64": 1 << 63, "int64": -(1 << 62), "float32": 0.5, "float64": 0.1,
        "bool": True, "string": "naïve\n",
    }  # fmt: skip
    path = tmp_path / "t.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for name, value in values.items():
        getattr(writer, f"add_{name}")(name, value)
    writer.add_array("numbers", [1, -2, 3])
    writer.add_array("texts", ["a", "", "ü"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    metadata = read_gguf(path).metadata
    assert {name: metadata[name] for name in values} == values
    assert metadata["numbers"] == [1, -2, 3]
    assert metadata["texts"] == ["a", "", "ü"]


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    reference = save_checkpoint(tmp_path, "llama", num_hidden_layers=1)
    whole = tmp_path / "whole.gguf"
    save_gguf(whole, reference, "llama")
    data = whole.read_bytes()
    cut = tmp_path / "cut.gguf"
    for size in [0, 3, 4, 10, 24, 60, 500, 3000, len(data) // 2, len(data) - 40]:
        cut.write_bytes(data[:size])
        with pytest.raises(ModelError, match=r"cut\.gguf"):
            _ = load_model(str(cut)).decoder


def test_hostile_lengths_are_refused_at_once(tmp_path: Path) -> None:
    header = b"GGUF" + (3).to_bytes(4, "little") + (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    key = (1).to_bytes(8, "little") + b"k"
    huge = (1 << 62).to_bytes(8, "little")
    nested = b"".join((9).to_bytes(4, "little") + (1).to_bytes(8, "little") for _ in range(100_000))
    for value in {
        "string": (8).to_bytes(4, "little") + huge,
        "array": (9).to_bytes(4, "little") + (4).to_bytes(4, "little") + huge,
        "nested arrays": (9).to_bytes(4, "little") + nested,
        "unknown type": (77).to_bytes(4, "little"),
    }.values():
        path = tmp_path / "hostile.gguf"
        path.write_bytes(header + key + value)
        with pytest.raises(ModelError, match=r"hostile\.gguf.* (ends early|type)"):
            read_gguf(path)


def test_other_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.gguf"
    writer = gguf.GGUFWriter(path, "gptneox")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelError, match="gptneox"):
        load_model(str(path))
    (tmp_path / "text.gguf").write_text("not a model")
    with pytest.raises(ModelError, match="not a GGUF file"):
        load_model(str(tmp_path / "text.gguf"))
