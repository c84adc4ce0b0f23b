"""The byte trie of a vocabulary, as flat arrays in preorder.

A mask asks of every token at once: "can these bytes come next?" Tokens share prefixes,
so the question is asked of the trie's nodes instead, once for each distinct prefix.
Preorder makes the depth-first walk a forward scan: the first child of node `n`, if it
has one, is `n + 1`; and a dead node's whole subtree is skipped by jumping to
`nodes[n]["end"]`, which is also the next sibling if `n` has one.

Tokens are sorted by their bytes, so preorder visits them in that same order. One array
of offsets therefore answers two questions:

    token_ids[first_token of n : first_token of n + 1]            the tokens spelled exactly like n
    token_ids[first_token of n : first_token of n's end]          all tokens that begin with n

Several ids may have equal bytes; all of them are in the first range, so none is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .characters import INSIDE, byte_kinds, read_characters
from .jit import entry
from .memory import zeros

__all__ = ["CHILD", "NODE", "NO_TOKEN", "SUBTREE", "Trie", "build_trie"]

NO_TOKEN = -1
"""The `token` of a node that no token ends at."""

_DIGIT_BYTES = 7
"""Bytes of a token compared at once: they and their number fit into 64 bits."""

_ONE_BYTE = np.uint64(8)


NODE = np.dtype(
    [
        ("first_child", "i4"),  # where its children begin in `child_bytes` and `children`
        ("first_token", "i4"),  # where its tokens begin in `token_ids`
        ("end", "i4"),  # the index just past its last descendant
        ("begun", "i4"),  # how many characters begin on the way from the root to it, stray bytes included
        ("most", "i4"),  # how many more begin on the way to one of its descendants, at most
        ("way", "i4"),  # how the character that it is inside of may go on, 4 * `span` + bytes; 0 if it is inside none
        ("kinds", "i8"),  # the kinds of all characters that begin below it, as bits (`matcher.characters`)
    ]
)
"""What is known about a node: half a line of a processor's cache."""

CHILD = np.dtype(
    [
        ("node", "i4"),
        ("end", "i4"),  # the index just past its last descendant
        ("first_token", "i4"),  # where the tokens that begin with it begin in `token_ids`
        ("end_own", "i4"),  # where those end that are spelled exactly like it
        ("end_token", "i4"),  # where all of them end
        ("begun", "i4"),  # these three as in NODE
        ("most", "i4"),
        ("way", "i4"),
    ]
)
"""What a walk asks of a child. Siblings lie side by side, while in preorder their subtrees are between them."""

SUBTREE = np.dtype(
    [
        ("kinds", "i8"),  # the kinds of all characters that begin below it, and INSIDE if it is inside a character
        ("first", "i4"),  # where its children begin in the list of children, and where they end
        ("end", "i4"),
    ]
)
"""What a walk asks of a child first: it may be all that it asks (`matcher.skim`)."""


class Trie(NamedTuple):
    """`N` nodes in preorder over `T` tokens. Node 0 is the root: depth 0, no byte (stored as 0)."""

    nodes: NDArray[np.void]
    """[N + 1] of NODE; the last one only says where the lists end."""
    byte: NDArray[np.uint8]
    """[N] the byte on the edge into the node."""
    depth: NDArray[np.int32]
    """[N] how many bytes lead from the root to the node."""
    token: NDArray[np.int32]
    """[N] the lowest id spelled exactly like the node, or NO_TOKEN."""
    token_ids: NDArray[np.int32]
    """[T] the token ids in order of their bytes, equal ones by id."""
    child_bytes: NDArray[np.uint8]
    """[N - 1] the bytes of the children of each node, ascending: side by side, unlike in preorder."""
    subtrees: NDArray[np.void]
    """[N - 1] of SUBTREE: what is below those children."""
    children: NDArray[np.void]
    """[N - 1] of CHILD: those children."""
    parent: NDArray[np.int32]
    """[N] the node above; the root is its own."""
    nodes_of_byte: NDArray[np.int32]
    """[N - 1] the nodes below the root by byte, ascending for each byte."""
    byte_begin: NDArray[np.int32]
    """[257] where each byte's begin in `nodes_of_byte`."""


def build_trie(tokens: Sequence[bytes], ids: Sequence[int]) -> Trie:
    """The trie of `tokens`, where `ids[i]` is the id of `tokens[i]`; equal and empty tokens may occur."""
    if len(tokens) != len(ids):
        raise ValueError(f"{len(tokens)} tokens but {len(ids)} ids")
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    return trie_of_lengths(data, lengths, np.asarray(ids, dtype=np.int32))


def trie_of_lengths(data: NDArray[np.uint8], lengths: NDArray[np.int64], ids: NDArray[np.int32]) -> Trie:
    """The trie of the tokens that lie end to end in `data`: token i has `lengths[i]` bytes and id `ids[i]`.

    Time: one sort of the tokens, then linear in their total length.
    """
    ends = np.cumsum(lengths)
    # byte_order is stable, so equal tokens end up in order of their ids.
    by_id = np.argsort(ids, kind="stable")
    order = by_id[byte_order(data, (ends - lengths)[by_id], lengths[by_id])]
    starts, lengths = (ends - lengths)[order], lengths[order]

    shared = np.zeros(len(order), dtype=np.int32)
    nodes = 1 + common_prefixes(data, starts, lengths, shared)
    trie = Trie(
        nodes=zeros((nodes + 1,), NODE),
        byte=zeros((nodes,), np.uint8),
        depth=zeros((nodes,), np.int32),
        token=zeros((nodes,), np.int32),
        token_ids=ids[order],
        child_bytes=zeros((nodes - 1,), np.uint8),
        subtrees=zeros((nodes - 1,), SUBTREE),
        children=zeros((nodes - 1,), CHILD),
        parent=zeros((nodes,), np.int32),
        nodes_of_byte=zeros((nodes - 1,), np.int32),
        byte_begin=zeros((257,), np.int32),
    )
    trie.nodes["end"] = nodes
    trie.token[:] = NO_TOKEN
    open_nodes = np.zeros(int(lengths.max(initial=0)) + 1, dtype=np.int32)
    lay_out_nodes(trie, data, starts, lengths, shared, open_nodes)
    read_characters(trie.byte, trie.parent, byte_kinds(), trie.nodes)
    list_children(trie)
    trie.nodes_of_byte[:] = 1 + np.argsort(trie.byte[1:], kind="stable")
    np.cumsum(np.bincount(trie.byte[1:], minlength=256), out=trie.byte_begin[1:])
    for array in trie:
        array.flags.writeable = False
    return trie


def byte_order(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The stable order of the tokens `data[starts[i] : starts[i] + lengths[i]]` by their bytes.

    A radix sort with wide digits: sort all tokens by their first seven bytes as one number,
    then whatever is still equal by the next seven, and so on. Four times as fast as
    sorting 250,000 Python bytes objects.
    """
    order = np.arange(len(starts), dtype=np.int64)
    tied = order.copy()  # the places in `order` that are not settled yet
    run = np.zeros(len(starts), dtype=np.int64)  # the run of equal tokens that each tied place is in
    offset = 0
    while tied.size:
        tokens = order[tied]
        digits = _digits(data, starts[tokens] + offset, lengths[tokens] - offset)
        sorting = np.lexsort((digits, run))
        order[tied] = tokens[sorting]
        digits, run = digits[sorting], run[sorting]
        # A token equals its neighbour so far, and may differ later, if the digit is a full one.
        same = (digits[1:] == digits[:-1]) & (run[1:] == run[:-1]) & (digits[1:] & 0xFF == _DIGIT_BYTES)
        starts_run = np.concatenate(([True], ~same))
        in_a_run = ~starts_run | np.concatenate((same, [False]))
        tied, run = tied[in_a_run], np.cumsum(starts_run)[in_a_run]
        offset += _DIGIT_BYTES
    return order


def _digits(data: NDArray[np.uint8], starts: NDArray[np.int64], remaining: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The next seven bytes of each token as a big-endian number, followed by how many there are.

    Missing bytes are zeros; the count in the lowest byte puts b"a" before b"a\\0".
    """
    counts = np.clip(remaining, 0, _DIGIT_BYTES)
    padded = np.concatenate((data, np.zeros(_DIGIT_BYTES, dtype=np.uint8)))
    starts = np.minimum(starts, len(data))
    digits = np.zeros(len(starts), dtype=np.uint64)
    for place in range(_DIGIT_BYTES):
        digits = (digits << np.uint64(8)) | np.where(place < counts, padded[starts + place], 0).astype(np.uint64)
    return (digits << np.uint64(8)) | counts.astype(np.uint64)


@entry
def common_prefixes(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], shared: NDArray[np.int32]
) -> int:
    """Set `shared[i]` to the length of the longest common prefix of the sorted tokens i - 1 and i.

    `shared[0]` stays 0. Returns how many bytes are not shared in all, which is the number
    of nodes below the root.
    """
    fresh = 0
    for i in range(len(shared)):
        if i > 0:
            limit = min(lengths[i - 1], lengths[i])
            common = 0
            while common < limit and data[starts[i - 1] + common] == data[starts[i] + common]:
                common += 1
            shared[i] = common
        fresh += lengths[i] - shared[i]
    return fresh


@entry
def lay_out_nodes(
    trie: Trie,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    shared: NDArray[np.int32],
    open_nodes: NDArray[np.int32],
) -> None:
    """Fill `trie` from the sorted tokens and their common prefixes.

    `open_nodes[d]` is the node at depth d on the path of the latest token. A new token
    keeps the path down to what it shares, closes everything below that, and opens one
    node for each further byte.
    """
    node = 0
    deepest = 0
    for i in range(len(shared)):
        kept = shared[i]
        for depth in range(kept + 1, deepest + 1):
            trie.nodes[open_nodes[depth]]["end"] = node + 1
        deepest = lengths[i]
        for depth in range(kept + 1, deepest + 1):
            node += 1
            open_nodes[depth] = node
            trie.byte[node] = data[starts[i] + depth - 1]
            trie.depth[node] = depth
            trie.parent[node] = open_nodes[depth - 1]
            trie.nodes[node]["first_token"] = i
        # Equal tokens follow one another by id, so the first one at a node is the lowest.
        if trie.token[open_nodes[deepest]] == NO_TOKEN:
            trie.token[open_nodes[deepest]] = trie.token_ids[i]
    trie.nodes[len(trie.byte)]["first_token"] = len(shared)


@entry
def list_children(trie: Trie) -> None:
    """Fill `first_child`, `child_bytes`, `subtrees` and `children` from the parents (counting sort)."""
    nodes = trie.nodes
    last = len(trie.byte)
    for node in range(1, last):
        nodes[trie.parent[node]]["first_child"] += 1
    total = 0
    for node in range(last):
        count = nodes[node]["first_child"]
        nodes[node]["first_child"] = total
        total += count
    for node in range(1, last):
        above = nodes[trie.parent[node]]
        at = above["first_child"]
        trie.child_bytes[at] = trie.byte[node]
        trie.children[at]["node"] = node
        above["first_child"] = at + 1
    for node in range(last, 0, -1):
        nodes[node]["first_child"] = nodes[node - 1]["first_child"]  # each start has become the next one
    nodes[0]["first_child"] = 0
    for at in range(len(trie.children)):
        child = trie.children[at]
        node = child["node"]
        child["end"] = nodes[node]["end"]
        child["first_token"] = nodes[node]["first_token"]
        child["end_own"] = nodes[node + 1]["first_token"]
        child["end_token"] = nodes[nodes[node]["end"]]["first_token"]
        child["begun"] = nodes[node]["begun"]
        child["most"] = nodes[node]["most"]
        child["way"] = nodes[node]["way"]
        subtree = trie.subtrees[at]
        subtree["kinds"] = nodes[node]["kinds"]
        if nodes[node]["way"] != 0:
            subtree["kinds"] |= INSIDE
        subtree["first"] = nodes[node]["first_child"]
        subtree["end"] = nodes[node + 1]["first_child"]
