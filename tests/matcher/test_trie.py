"""The byte trie against a plain dictionary of prefixes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.vocabularies import qwen35

from infernix.matcher.characters import INSIDE
from infernix.matcher.trie import CHILD, NO_TOKEN, NODE, SUBTREE, Trie, build_trie, byte_order

# Few letters and lengths around the seven bytes that are compared at once; a zero byte must not
# be mistaken for the padding of a short token.
TOKENS = st.lists(
    st.one_of(
        st.binary(max_size=3),
        st.text("ab\0", min_size=5, max_size=16).map(str.encode),
        st.sampled_from([b"", b"a", b"a\0", b"aaaaaaa", b"aaaaaaaa", b"a" * 14, b"a" * 15, b"\xff" * 8]),
    ),
    max_size=30,
)


def paths(trie: Trie) -> list[bytes]:
    """The bytes that lead to each node, read off the depth-first order."""
    result: list[bytes] = []
    for node in range(len(trie.byte)):
        depth = int(trie.depth[node])
        parent = result[-1][: depth - 1] if depth else b""
        result.append(parent + bytes([trie.byte[node]]) if depth else b"")
        assert len(result[-1]) == depth
    return result


@given(TOKENS, st.randoms(use_true_random=False))
def test_trie_equals_a_dictionary_of_prefixes(tokens: list[bytes], random: object) -> None:
    ids = [3 * i + 1 for i in range(len(tokens))]
    random.shuffle(ids)  # type: ignore[attr-defined]
    trie = build_trie(tokens, ids)
    nodes = paths(trie)
    assert nodes == sorted({token[:n] for token in tokens for n in range(len(token) + 1)} | {b""})
    first = trie.nodes["first_token"]
    assert first[-1] == len(trie.token_ids) == len(tokens)
    for node, path in enumerate(nodes):
        exact = sorted(i for token, i in zip(tokens, ids, strict=True) if token == path)
        below = sorted(i for token, i in zip(tokens, ids, strict=True) if token.startswith(path))
        end = trie.nodes["end"][node]
        assert trie.token_ids[first[node] : first[node + 1]].tolist() == exact
        assert sorted(trie.token_ids[first[node] : first[end]].tolist()) == below
        assert trie.token[node] == (exact[0] if exact else NO_TOKEN)
        assert nodes[node:end] == [other for other in nodes if other.startswith(path)]


@given(TOKENS)
def test_byte_order_is_a_stable_sort(tokens: list[bytes]) -> None:
    lengths = np.array([len(token) for token in tokens], dtype=np.int64)
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    order = byte_order(data, np.cumsum(lengths) - lengths, lengths)
    assert order.tolist() == sorted(range(len(tokens)), key=tokens.__getitem__)


@given(TOKENS)
def test_the_other_views_of_the_tree(tokens: list[bytes]) -> None:
    """Parents, children and nodes by byte, from the strings that the nodes stand for."""
    trie = build_trie(tokens, range(len(tokens)))
    prefixes = sorted({token[:n] for token in tokens for n in range(len(token) + 1)} | {b""})
    number = {prefix: node for node, prefix in enumerate(prefixes)}
    assert trie.parent.tolist() == [number[prefix[:-1]] for prefix in prefixes]
    for prefix, node in number.items():
        below = [p for p in prefixes if p[: len(prefix)] == prefix and p != prefix]
        children = [p for p in below if len(p) == len(prefix) + 1]
        places = slice(trie.nodes["first_child"][node], trie.nodes["first_child"][node + 1])
        assert trie.children["node"][places].tolist() == [number[p] for p in children]
        for name in ("end", "begun", "most", "way", "first_token"):
            assert trie.children[name][places].tolist() == [int(trie.nodes[name][number[p]]) for p in children]
        assert trie.children["end_own"][places].tolist() == [sum(t <= p for t in tokens) for p in children]
        starts = [sum(t <= p or t.startswith(p) for t in tokens) for p in children]
        assert trie.children["end_token"][places].tolist() == starts
        for subtree, child in zip(trie.subtrees[places], map(number.__getitem__, children), strict=True):
            inside = INSIDE if trie.nodes["way"][child] else 0
            assert subtree["kinds"] == trie.nodes["kinds"][child] | inside
            assert [subtree["first"], subtree["end"]] == trie.nodes["first_child"][child : child + 2].tolist()
        assert bytes(trie.child_bytes[places]) == b"".join(p[-1:] for p in children)
    for byte in range(256):
        places = slice(trie.byte_begin[byte], trie.byte_begin[byte + 1])
        assert trie.nodes_of_byte[places].tolist() == [n for p, n in number.items() if p[-1:] == bytes([byte])]


def test_nothing_but_a_root() -> None:
    trie = build_trie([], [])
    assert len(trie.byte) == 1
    assert trie.nodes["end"].tolist() == [1, 1]
    assert trie.nodes["first_token"].tolist() == [0, 0]


def test_arrays_have_their_stated_types_and_cannot_be_written() -> None:
    trie = build_trie([b"ab", b"b"], [5, 7])
    types = {name: str(array.dtype) for name, array in trie._asdict().items() if array.dtype.names is None}
    assert trie.nodes.dtype == NODE
    assert trie.children.dtype == CHILD
    assert trie.subtrees.dtype == SUBTREE
    assert NODE.itemsize == 32, "two nodes to a line of a cache"
    assert types == {
        "byte": "uint8",
        "depth": "int32",
        "token": "int32",
        "token_ids": "int32",
        "child_bytes": "uint8",
        "parent": "int32",
        "nodes_of_byte": "int32",
        "byte_begin": "int32",
    }
    for array in trie:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_one_id_for_each_token() -> None:
    with pytest.raises(ValueError, match="2 tokens but 1 ids"):
        build_trie([b"a", b"b"], [1])


@pytest.mark.slow
def test_a_real_vocabulary_is_indexed_quickly() -> None:
    """248,044 tokens in under half a second of processor time, once the kernels are compiled."""
    vocabulary = qwen35()
    tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size) if vocabulary.kind(i) == 0]
    build_trie(tokens[:100], range(100))
    start = time.process_time()
    trie = build_trie(tokens, range(len(tokens)))
    seconds = time.process_time() - start
    assert len(trie.byte) == 591_554
    assert seconds < 0.5
