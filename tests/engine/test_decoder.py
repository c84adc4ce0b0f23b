"""The decoder against transformers: the same checkpoint must give the same logits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.engine.checkpoints import save_checkpoint, save_gguf

from infernix.engine.errors import ModelError
from infernix.engine.models.load import load_model

TOLERANCE = 2e-4  # absolute, in logits of size 10; both sides compute in float32

LLAMA3_SCALING = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
VARIANTS = {
    "llama": ("llama", {}),
    "llama, tied, one key head": ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    "llama, no grouping, biases": ("llama", {"num_key_value_heads": 4, "attention_bias": True}),
    "llama 3 positions": ("llama", {"rope_parameters": LLAMA3_SCALING}),
    "qwen3": ("qwen3", {"head_dim": 16}),
    "qwen3, tied, other base": (
        "qwen3",
        {
            "head_dim": 8,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
        },
    ),
}


def expected_logits(model: object, tokens: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(tokens[None]).logits[0]  # type: ignore[operator]


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(0, 300, (90,), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_folder_gives_the_logits_of_transformers(variant: str, tmp_path: Path, tokens: torch.Tensor) -> None:
    family, changes = VARIANTS[variant]
    reference = save_checkpoint(tmp_path, family, **changes)
    decoder = load_model(str(tmp_path)).decoder
    ours = decoder(tokens, decoder.new_cache(), every_position=True)
    theirs = expected_logits(reference, tokens)
    assert theirs.abs().max() > 1.0  # else closeness would say nothing
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_gguf_gives_the_logits_of_transformers(family: str, tmp_path: Path, tokens: torch.Tensor) -> None:
    reference = save_checkpoint(tmp_path, family, head_dim=8)
    save_gguf(tmp_path / "tiny.gguf", reference, family)
    decoder = load_model(str(tmp_path / "tiny.gguf")).decoder
    ours = decoder(tokens, decoder.new_cache(), every_position=True)
    torch.testing.assert_close(ours, expected_logits(reference, tokens), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("chunks", [[1] * 90, [7, 1, 1, 80, 1], [89, 1], [40, 50]])
def test_the_cache_does_not_change_logits(chunks: list[int], tmp_path: Path, tokens: torch.Tensor) -> None:
    reference = save_checkpoint(tmp_path, "qwen3")
    decoder, expected = load_model(str(tmp_path)).decoder, expected_logits(reference, tokens)
    cache, start = decoder.new_cache(), 0
    for size in chunks:
        logits = decoder(tokens[start : start + size], cache)
        start += size
        torch.testing.assert_close(logits, expected[start - 1], atol=TOLERANCE, rtol=0)
    assert cache.length == len(tokens)


def test_a_checkpoint_in_several_files(tmp_path: Path, tokens: torch.Tensor) -> None:
    reference = save_checkpoint(tmp_path, "llama")
    (tmp_path / "model.safetensors").unlink()
    reference.save_pretrained(tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    decoder = load_model(str(tmp_path)).decoder
    torch.testing.assert_close(
        decoder(tokens, decoder.new_cache()), expected_logits(reference, tokens)[-1], atol=TOLERANCE, rtol=0
    )
    next(iter(tmp_path.glob("*.safetensors"))).unlink()
    with pytest.raises(ModelError, match="is missing"):
        _ = load_model(str(tmp_path)).decoder


def test_truncating_the_cache_takes_tokens_back(tmp_path: Path, tokens: torch.Tensor) -> None:
    reference = save_checkpoint(tmp_path, "llama")
    decoder, expected = load_model(str(tmp_path)).decoder, expected_logits(reference, tokens)
    cache = decoder.new_cache()
    decoder(tokens[:60], cache)
    decoder(tokens[:30], cache)  # a continuation that is given up
    cache.truncate(60)
    ours = decoder(tokens[60:], cache, every_position=True)
    torch.testing.assert_close(ours, expected[60:], atol=TOLERANCE, rtol=0)
    with pytest.raises(ValueError, match="truncate"):
        cache.truncate(91)


def test_the_cache_grows_past_its_first_capacity(tmp_path: Path) -> None:
    reference = save_checkpoint(tmp_path, "llama")
    tokens = torch.randint(0, 300, (400,), generator=torch.Generator().manual_seed(2))
    decoder, cache = (model := load_model(str(tmp_path))).decoder, model.decoder.new_cache()
    for start in range(0, 400, 50):
        logits = decoder(tokens[start : start + 50], cache)
    torch.testing.assert_close(logits, expected_logits(reference, tokens)[-1], atol=TOLERANCE, rtol=0)


REFUSED = {
    "another family": ({"model_type": "mamba"}, "model_type 'mamba'"),
    "another activation": ({"hidden_act": "gelu"}, "hidden_act"),
    "sliding window": ({"use_sliding_window": True}, "use_sliding_window"),
    "quantised": ({"quantization_config": {"bits": 4}}, "quantization_config"),
    "other rotary scaling": ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "yarn"),
    "incomplete rotary scaling": (
        {"rope_parameters": {"rope_type": "llama3", "factor": 2.0}},
        "low_freq_factor",
    ),
    "heads that do not divide": ({"num_key_value_heads": 3}, "cannot share"),
    "no layers": ({"num_hidden_layers": 0}, "layers"),
    "text for a number": ({"hidden_size": "32"}, "hidden"),
    "more layers than weights": ({"num_hidden_layers": 4}, "layers.3.* is missing"),
    "fewer layers than weights": ({"num_hidden_layers": 2}, "layers.2.* is not part"),
    "another shape": ({"intermediate_size": 40}, "has shape"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_decoder_does_not_compute_is_refused(case: str, tmp_path: Path) -> None:
    changes, message = REFUSED[case]
    save_checkpoint(tmp_path, "llama")
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(ModelError, match=message):
        _ = load_model(str(tmp_path)).decoder


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_or_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    from infernix.gbnf.errors import RequestError

    save_checkpoint(tmp_path, "llama")
    for damage in (lambda path: path.write_bytes(b"{\x00garbage"), lambda path: path.unlink()):
        damage(tmp_path / name)
        with pytest.raises(RequestError, match=name.replace(".", r"\.")):
            _ = load_model(str(tmp_path)).decoder
