"""The processor inside `transformers.generate`, with a tiny random model."""

from __future__ import annotations

import pytest

from infernix.gbnf.errors import ConstraintDeadEnd
from infernix.sampling.params import ParameterError

from .matchers import ChoiceMatcher

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

STOP, SIZE, WIDTH = 2, 60, 64
CHOICES = [(10, 11, 12), (10, 20), (30,), (40, 41, 42, 43)]


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WIDTH, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=64, bos_token_id=1, eos_token_id=STOP, pad_token_id=0,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def processor(count=1, choices=CHOICES):
    from infernix.sampling.logits_processor import GrammarLogitsProcessor

    return GrammarLogitsProcessor([ChoiceMatcher(choices, STOP, SIZE) for _ in range(count)], SIZE)


def answers(model, prompts, one, **options):
    out = model.generate(
        torch.tensor(prompts), attention_mask=torch.ones((len(prompts), len(prompts[0]))).long(),
        max_new_tokens=8, logits_processor=[one], **options,
    )  # fmt: skip
    texts = [row[len(prompts[0]) :].tolist() for row in out]
    return [tuple(text[: text.index(STOP)]) for text in texts]


def test_greedy_generation_ends_inside_the_language(model):
    free = model.generate(torch.tensor([[1, 5, 6]]), max_new_tokens=8, do_sample=False)[0, 3:].tolist()
    assert free[0] not in {10, 30, 40}, "the model must not follow the grammar by itself"
    assert answers(model, [[1, 5, 6]], processor(), do_sample=False)[0] in CHOICES


def test_a_batch_of_prompts_with_a_matcher_each_and_uneven_ends(model):
    torch.manual_seed(1)
    for _ in range(5):
        texts = answers(model, [[1, 5], [1, 9], [1, 7]], processor(3), do_sample=True, temperature=5.0)
        assert all(text in CHOICES for text in texts)


def test_several_samples_and_beams_share_one_matcher(model):
    torch.manual_seed(2)
    texts = answers(model, [[1, 5]], processor(), do_sample=True, num_return_sequences=12, temperature=9.0, top_k=0)
    assert len(texts) == 12
    assert set(texts) <= set(CHOICES)
    assert len(set(texts)) > 1
    beams = answers(model, [[1, 5], [1, 8]], processor(2), num_beams=3, num_return_sequences=3)
    assert len(beams) == 6
    assert set(beams) <= set(CHOICES)


def test_ids_beyond_the_masks_are_never_allowed():
    one = processor(choices=[tuple(range(10, 20))])
    scores = one(torch.tensor([[1, 5]]), torch.zeros((1, WIDTH)))
    assert torch.isfinite(scores[0]).nonzero().flatten().tolist() == [10]
    assert scores.shape == (1, WIDTH)


@pytest.mark.parametrize("size", [58, WIDTH, WIDTH + 6], ids=["narrower", "equal", "wider"])
def test_the_width_of_the_masks_is_the_vocabularys(model, size):
    import infernix
    from infernix.sampling.logits_processor import GrammarLogitsProcessor

    letters = [bytes([ord("a") + i % 26]) for i in range(size - 3)]
    vocabulary = infernix.Vocabulary([b"", b"", b"", *letters], eos_ids=[STOP], control_ids=[0, 1])
    compiled = infernix.compile_choice(["abba", "bad"], vocabulary)
    one = GrammarLogitsProcessor(infernix.Matcher(compiled))
    (tokens,) = answers(model, [[1, 5, 6]], one, do_sample=False)
    assert b"".join(vocabulary.token_bytes(token) for token in tokens) in {b"abba", b"bad"}
    one.reset()
    scores = one(torch.tensor([[1, 5]]), torch.zeros((1, WIDTH)))
    assert scores.shape == (1, WIDTH)
    legal = [token for token in range(3, min(size, WIDTH)) if letters[token - 3] in (b"a", b"b")]
    assert torch.isfinite(scores[0]).nonzero().flatten().tolist() == legal


def test_a_processor_can_serve_again_after_reset(model):
    one = processor()
    first = answers(model, [[1, 5, 6]], one, do_sample=False)
    with pytest.raises(ParameterError, match="reset"):
        one(torch.tensor([[1, 5, 6, 7, 8]]), torch.zeros((1, WIDTH)))
    one.reset()
    assert answers(model, [[1, 5, 6]], one, do_sample=False) == first


def test_errors():
    dead = ChoiceMatcher([(10,)], STOP, SIZE)
    dead.text = (99,)  # no choice continues it
    from infernix.sampling.logits_processor import GrammarLogitsProcessor

    with pytest.raises(ConstraintDeadEnd, match="sequence 0"):
        GrammarLogitsProcessor(dead, SIZE)(torch.tensor([[1]]), torch.zeros((1, WIDTH)))
    with pytest.raises(ParameterError, match="3 rows for 2 matchers"):
        processor(2)(torch.ones((3, 1), dtype=torch.long), torch.zeros((3, WIDTH)))
    with pytest.raises(ParameterError, match="at least one"):
        GrammarLogitsProcessor([])


def test_a_matcher_for_each_beam_is_one_too_many():
    one = processor(2)  # for a single prompt, of which the two rows are beams
    prompt = [1, 5]
    one(torch.tensor([prompt, prompt]), torch.zeros((2, WIDTH)))
    one(torch.tensor([[*prompt, 10], [*prompt, 40]]), torch.zeros((2, WIDTH)))
    with pytest.raises(ParameterError, match="2 matchers are too many: give one for each prompt"):
        one(torch.tensor([[*prompt, 40, 41], [*prompt, 10, 11]]), torch.zeros((2, WIDTH)))


def test_two_matchers_for_two_beams_of_one_prompt(model):
    def until_the_beams_cross():
        for length in range(3, 20):
            answers(model, [list(range(1, length))], processor(2), num_beams=2)

    with pytest.raises(ParameterError, match="2 matchers are too many"):
        until_the_beams_cross()


def test_generating_leaves_the_matcher_where_it_was(model):
    import infernix
    from infernix.sampling.logits_processor import GrammarLogitsProcessor

    letters = [bytes([ord("a") + i % 26]) for i in range(SIZE - 3)]
    vocabulary = infernix.Vocabulary([b"", b"", b"", *letters], eos_ids=[STOP], control_ids=[0, 1])
    matcher = infernix.Matcher(infernix.compile_choice(["abba"], vocabulary))
    answers(model, [[1, 5, 6]], GrammarLogitsProcessor(matcher), do_sample=False)
    assert matcher.allowed_token_ids() == [3, 29, 55]  # "a"


def test_rows_cannot_share_a_matcher_that_cannot_fork():
    from infernix.sampling.logits_processor import GrammarLogitsProcessor

    class Lone:
        def __init__(self):
            self.inner = ChoiceMatcher(CHOICES, STOP, SIZE)
            self.fill_mask, self.accept_token = self.inner.fill_mask, self.inner.accept_token
            self.is_terminated = self.inner.is_terminated

    one = GrammarLogitsProcessor(Lone(), SIZE)
    one(torch.ones((2, 1), dtype=torch.long), torch.zeros((2, WIDTH)))
    with pytest.raises(ParameterError, match="cannot fork"):
        one(torch.tensor([[1, 10], [1, 30]]), torch.zeros((2, WIDTH)))
    alone = GrammarLogitsProcessor(Lone(), SIZE)
    alone(torch.ones((1, 1), dtype=torch.long), torch.zeros((1, WIDTH)))
    scores = alone(torch.tensor([[1, 10]]), torch.zeros((1, WIDTH)))
    assert torch.isfinite(scores[0]).nonzero().flatten().tolist() == [11, 20]
