"""The generation loop on a tiny random model: whatever it writes, the constraint holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.engine.checkpoints import save_checkpoint

import infernix
from infernix.engine.errors import InputError, ModelError
from infernix.engine.generate import FinishReason, Generation, Result
from infernix.engine.models.load import LanguageModel, load_model
from infernix.sampling.params import SamplingParams

EOS = 256


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    folder = tmp_path_factory.mktemp("model")
    save_checkpoint(folder, "qwen3", seed=5)
    return load_model(str(folder))


def run(
    model: LanguageModel,
    compiled: infernix.CompiledGrammar | None,
    seed: int = 0,
    max_tokens: int = 200,
    **params: float,
) -> Result:
    matcher = infernix.Matcher(compiled) if compiled else None
    chosen = SamplingParams(seed=seed, **({"temperature": 1.0} | params))  # type: ignore[arg-type]
    prompt = model.tokenizer.encode("hello")
    return Generation(model, prompt, matcher=matcher, params=chosen, max_tokens=max_tokens).run()


PATTERN = r"(hello|[a-f]{2,4}é)+, \d\d?!"


def test_constrained_text_matches_whatever_the_seed(model: LanguageModel) -> None:
    compiled = infernix.compile_regex(PATTERN, model.vocabulary)
    texts = set()
    for seed in range(12):
        result = run(model, compiled, seed)
        texts.add(result.text)
        if result.terminated:
            assert re.fullmatch(PATTERN, result.text)
            assert result.complete
            assert result.finish_reason == FinishReason.STOP
            assert result.token_ids[-1] == EOS
        else:
            assert result.finish_reason == FinishReason.LENGTH
    assert len(texts) > 6  # seeds matter


def test_equal_seeds_give_equal_texts_and_greedy_ignores_them(model: LanguageModel) -> None:
    compiled = infernix.compile_regex("[a-z]{30}", model.vocabulary)
    assert run(model, compiled, 7).text == run(model, compiled, 7).text
    greedy = {run(model, compiled, seed, temperature=0.0).text for seed in range(3)}
    assert len(greedy) == 1


def test_pieces_are_whole_characters_and_join_to_the_text(model: LanguageModel) -> None:
    compiled = infernix.compile_regex("[é€😀]{12}", model.vocabulary)
    generation = Generation(model, [104], matcher=infernix.Matcher(compiled), params=SamplingParams(), max_tokens=100)
    pieces = list(generation)
    assert all(set(piece) <= set("é€😀") for piece in pieces)
    assert "".join(pieces) == generation.result.text
    assert len(generation.result.text) == 12
    assert list(generation) == []  # it does not run twice


def test_a_budget_that_ends_inside_a_character_is_reported_as_incomplete(model: LanguageModel) -> None:
    compiled = infernix.compile_regex("😀", model.vocabulary)
    result = run(model, compiled, max_tokens=2)
    assert result.text == "\ufffd"
    assert (result.complete, result.terminated) == (False, False)
    assert result.finish_reason == FinishReason.LENGTH


def test_complete_and_terminated_are_different_things(model: LanguageModel) -> None:
    compiled = infernix.compile_regex("[0-9]+", model.vocabulary)
    for seed in range(8):
        result = run(model, compiled, seed, max_tokens=1)
        assert result.text.isdigit()
        assert (result.complete, result.terminated) == (True, False)
        assert result.finish_reason == FinishReason.LENGTH


def test_the_empty_text_may_be_the_whole_answer(model: LanguageModel) -> None:
    result = run(model, infernix.compile_regex("", model.vocabulary))
    assert result.text == ""
    assert result.token_ids == [EOS]
    assert result.terminated


def test_no_budget_is_no_answer(model: LanguageModel) -> None:
    result = run(model, infernix.compile_regex("a", model.vocabulary), max_tokens=0)
    assert (result.token_ids, result.complete, result.terminated) == ([], False, False)
    assert result.finish_reason == FinishReason.LENGTH


def test_without_a_constraint_nothing_is_claimed(model: LanguageModel) -> None:
    result = run(model, None, max_tokens=5)
    assert (result.complete, result.terminated) == (None, None)
    assert len(result.token_ids) <= 5


def test_a_presence_penalty_spreads_the_tokens(model: LanguageModel) -> None:
    compiled = infernix.compile_regex("[a-z]{20}", model.vocabulary)
    plain = run(model, compiled, temperature=0.0)
    spread = run(model, compiled, temperature=0.0, presence_penalty=2.0, frequency_penalty=2.0)
    assert plain.text != spread.text


def test_a_dead_end_is_an_error(model: LanguageModel) -> None:
    # After "a" only "c" would be legal, which this vocabulary cannot spell.
    vocabulary = infernix.Vocabulary([b"a", b"b", b""], eos_ids=[2])
    compiled = infernix.compile_gbnf('root ::= "a" "c"', vocabulary)
    matcher = infernix.Matcher(compiled)
    fake = _WithVocabulary(model, vocabulary)
    with pytest.raises(infernix.ConstraintDeadEnd):
        Generation(fake, [1], matcher=matcher, params=SamplingParams(), max_tokens=5).run()  # type: ignore[arg-type]


class _WithVocabulary:
    """A model whose logits are cut to a smaller vocabulary."""

    def __init__(self, model: LanguageModel, vocabulary: infernix.Vocabulary) -> None:
        self.vocabulary, self.config, self.tokenizer = vocabulary, model.config, model.tokenizer
        self._decoder = model.decoder
        self.decoder = self

    def new_cache(self) -> object:
        return self._decoder.new_cache()

    def __call__(self, tokens: object, cache: object) -> object:
        return self._decoder(tokens, cache)[: self.vocabulary.size]


def test_prompts_that_cannot_be_answered_are_refused(model: LanguageModel) -> None:
    with pytest.raises(InputError, match="empty"):
        Generation(model, [])
    with pytest.raises(InputError, match="512"):
        Generation(model, [1] * 512)
    assert Generation(model, [1] * 511, max_tokens=100).run().finish_reason is not None


def test_json_schema_end_to_end(model: LanguageModel) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "boolean"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    compiled = infernix.compile_json_schema(schema, model.vocabulary, layout="compact")
    for seed in range(4):
        result = run(model, compiled, seed)
        value = json.loads(result.text)
        assert value["a"] in ("x", "y")
        assert isinstance(value["b"], bool)


def test_chat_prompt(model: LanguageModel) -> None:
    tokens = model.chat_tokens([{"role": "user", "content": "hello é"}])
    text = b"".join(model.tokenizer.bytes_of(token) for token in tokens).decode()
    assert text == "user\nhello é\nassistant\n"
    assert tokens[0] == 257
    assert tokens.count(256) == 1


def test_a_model_without_a_chat_template_says_so(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, "llama")
    (tmp_path / "tokenizer_config.json").unlink()
    bare = load_model(str(tmp_path))
    with pytest.raises(ModelError, match="no chat template"):
        bare.chat_tokens([{"role": "user", "content": "hi"}])
