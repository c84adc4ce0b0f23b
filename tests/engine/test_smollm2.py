"""The demo model itself; skipped unless `infernix model get smollm2-135m` was run."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest
import torch

import infernix
from infernix.engine.generate import FinishReason, Generation
from infernix.engine.models.gguf_file import read_gguf
from infernix.engine.models.load import LanguageModel, load_model
from infernix.engine.models.registry import KNOWN_MODELS, is_present, model_path
from infernix.sampling.params import SamplingParams

KNOWN = KNOWN_MODELS["smollm2-135m"]
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
GREEDY = SamplingParams(temperature=0)
TOLERANCE = 2e-3  # absolute, in logits of size 20; both sides compute in float32

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not is_present(KNOWN), reason="run `infernix model get smollm2-135m` first"),
]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_model("smollm2-135m")


def ask(model: LanguageModel, question: str) -> list[int]:
    return model.chat_tokens([{"role": "user", "content": question}])


def test_a_model_is_called_what_it_was_asked_for_as(model: LanguageModel) -> None:
    assert model.name == "smollm2-135m"
    assert load_model(str(model_path(KNOWN))).name == "SmolLM2-135M-Instruct.Q4_1"


def test_tokens_and_template(model: LanguageModel) -> None:
    tokens = ask(model, "It's 1234 cafés\n\n  ok 😀")
    text = b"".join(
        b"<|im_start|>" if token == 1 else b"<|im_end|>" if token == 2 else model.tokenizer.bytes_of(token)
        for token in tokens
    ).decode()
    assert text == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nIt's 1234 cafés\n\n  ok 😀<|im_end|>\n<|im_start|>assistant\n"
    )
    # Digits stand alone in this tokenizer.
    assert [model.tokenizer.bytes_of(token) for token in model.tokenizer.encode("a 1234")][-4:] == [
        b"1", b"2", b"3", b"4",
    ]  # fmt: skip
    assert model.vocabulary.eos_ids == (2,)
    assert model.vocabulary.size == 49_152


def test_it_knows_something(model: LanguageModel) -> None:
    result = Generation(model, ask(model, "What is the capital of France?"), params=GREEDY, max_tokens=20).run()
    assert result.text == "The capital of France is Paris."
    assert result.finish_reason == FinishReason.STOP


def test_it_writes_inside_a_grammar(model: LanguageModel) -> None:
    prompt = ask(model, "Extract the person as JSON with name, age, city and likes: Bo is 7 and lives in Rome.")
    compiled = infernix.compile_gbnf((EXAMPLES / "person.gbnf").read_bytes(), model.vocabulary)
    result = Generation(model, prompt, matcher=infernix.Matcher(compiled), params=GREEDY, max_tokens=80).run()
    assert result.terminated
    value = json.loads(result.text)
    assert (value["name"], value["age"], value["city"]) == ("Bo", 7, "Rome")


def test_every_seed_stays_inside(model: LanguageModel) -> None:
    compiled = infernix.compile_gbnf((EXAMPLES / "dates.gbnf").read_bytes(), model.vocabulary, root="date")
    for seed in range(3):
        params = SamplingParams(temperature=1.5, seed=seed)
        prompt = ask(model, "Write a long story.")
        result = Generation(model, prompt, matcher=infernix.Matcher(compiled), params=params, max_tokens=20).run()
        assert result.terminated
        datetime.date.fromisoformat(result.text)


def test_token_terminals(model: LanguageModel) -> None:
    compiled = infernix.compile_gbnf((EXAMPLES / "tokens.gbnf").read_bytes(), model.vocabulary)
    prompt = ask(model, "Is the sky blue on a clear day? Answer yes or no and give a reason.")
    result = Generation(model, prompt, matcher=infernix.Matcher(compiled), params=GREEDY, max_tokens=30).run()
    assert result.terminated
    assert re.fullmatch(r"(Yes|No), because.+\.", result.text)
    assert result.token_ids[0] in (10539, 5230)
    assert not {28, 30, 198, 1116} & set(result.token_ids[3:-2])


@pytest.mark.slow
def test_logits_equal_transformers(model: LanguageModel) -> None:
    """The same weights in transformers' own Llama: from llama.cpp's file to logits, nothing is lost.

    The weights come out of the file by the `gguf` package, and are put in transformers'
    order of rows by the inverse of llama.cpp's documented permutation, so that neither
    the reader nor the reordering under test is used twice.
    """
    import gguf
    import numpy as np
    from tests.engine.checkpoints import GGUF_NAMES, neighbours
    from transformers import LlamaConfig, LlamaForCausalLM

    file = read_gguf(model_path(KNOWN))
    get = file.metadata.__getitem__
    config = LlamaConfig(
        vocab_size=49_152,
        hidden_size=get("llama.embedding_length"),
        intermediate_size=get("llama.feed_forward_length"),
        num_hidden_layers=get("llama.block_count"),
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100_000.0},
        tie_word_embeddings=True,
    )
    state = {}
    hugging_face = {value: key for key, value in GGUF_NAMES.items()}
    for tensor in gguf.GGUFReader(model_path(KNOWN)).tensors:
        stem, kind = tensor.name.rsplit(".", 1)
        weight = torch.from_numpy(np.array(gguf.dequantize(tensor.data, tensor.tensor_type)))
        layer = re.match(r"blk\.(\d+)\.(.*)", stem)
        if layer is None:
            state[f"{hugging_face[stem]}.{kind}"] = weight
            continue
        heads = {"attn_q": 9, "attn_k": 3}.get(layer[2])
        if heads:
            order = neighbours(torch.arange(weight.shape[0]), heads)
            weight = torch.empty_like(weight).index_copy_(0, order, weight)
        state[f"model.layers.{layer[1]}.{hugging_face[f'blk.{{}}.{layer[2]}']}.{kind}"] = weight
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    reference = LlamaForCausalLM(config).eval()
    reference.load_state_dict(state)
    tokens = torch.tensor(ask(model, "Tell me about the sea, in 3 sentences."))
    with torch.no_grad():
        theirs = reference(tokens[None]).logits[0]
    ours = model.decoder(tokens, model.decoder.new_cache(), every_position=True)
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)
