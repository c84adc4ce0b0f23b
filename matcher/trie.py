"""The byte trie of a vocabulary, as flat arrays in preorder.

A mask asks of every token at once: "can these bytes come next?" Tokens share prefixes,
so the question is asked of the trie's nodes instead, once for each distinct prefix.
Preorder makes the depth-first walk a forward scan: the first child of node `n`, if it
has one, is `n + 1`; and a dead node's whole subtree is skipped by jumping to
`subtree_end[n]`, which is also the next sibling if `n` has one.

Tokens are sorted by their bytes, so preorder visits them in that same order. One array
of offsets therefore answers two questions:

    token_ids[token_begin[n] : token_begin[n + 1]]                the tokens spelled exactly like n
    token_ids[token_begin[n] : token_begin[subtree_end[n]]]       all tokens that begin with n

Several ids may have equal bytes; all of them are in the first range, so none is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["NO_TOKEN", "Trie", "build_trie"]

NO_TOKEN = -1
"""The `token` of a node that no token ends at."""


class Trie(NamedTuple):
    """`N` nodes in preorder over `T` tokens. Node 0 is the root: depth 0, no byte (stored as 0)."""

    byte: NDArray[np.uint8]
    """[N] the byte on the edge into the node."""
    depth: NDArray[np.int32]
    """[N] how many bytes lead from the root to the node."""
    subtree_end: NDArray[np.int32]
    """[N] the index just past the node's last descendant."""
    token: NDArray[np.int32]
    """[N] the lowest id spelled exactly like the node, or NO_TOKEN."""
    token_begin: NDArray[np.int32]
    """[N + 1] where the node's tokens begin in `token_ids`; the last entry is T."""
    token_ids: NDArray[np.int32]
    """[T] the token ids in order of their bytes, equal ones by id."""


def build_trie(tokens: Sequence[bytes], ids: Sequence[int]) -> Trie:
    """The trie of `tokens`, where `ids[i]` is the id of `tokens[i]`.

    Equal tokens may occur. Empty tokens end at the root. Time: one sort of the tokens,
    then linear in their total length.
    """
    if len(tokens) != len(ids):
        raise ValueError(f"{len(tokens)} tokens but {len(ids)} ids")
    # Sorting is stable: by id first, then by bytes. A key of plain bytes sorts three times
    # as fast as pairs do, and the first sort costs nothing where the ids already ascend.
    order = sorted(range(len(ids)), key=ids.__getitem__)
    order.sort(key=tokens.__getitem__)
    spelled = [tokens[i] for i in order]
    data = np.frombuffer(b"".join(spelled), dtype=np.uint8)
    offsets = np.zeros(len(spelled) + 1, dtype=np.int64)
    lengths = np.fromiter(map(len, spelled), dtype=np.int64, count=len(spelled))
    np.cumsum(lengths, out=offsets[1:])
    token_ids = np.asarray(ids, dtype=np.int32)[order]

    shared = np.zeros(len(spelled), dtype=np.int32)
    nodes = 1 + common_prefixes(data, offsets, shared)
    trie = Trie(
        byte=np.zeros(nodes, dtype=np.uint8),
        depth=np.zeros(nodes, dtype=np.int32),
        subtree_end=np.full(nodes, nodes, dtype=np.int32),
        token=np.full(nodes, NO_TOKEN, dtype=np.int32),
        token_begin=np.zeros(nodes + 1, dtype=np.int32),
        token_ids=token_ids,
    )
    open_nodes = np.zeros(int(lengths.max(initial=0)) + 1, dtype=np.int32)
    lay_out_nodes(trie, data, offsets, shared, open_nodes)
    for array in trie:
        array.flags.writeable = False
    return trie


@njit(cache=True, nogil=True)
def common_prefixes(data: NDArray[np.uint8], offsets: NDArray[np.int64], shared: NDArray[np.int32]) -> int:
    """Set `shared[i]` to the length of the longest common prefix of the sorted tokens i - 1 and i.

    Token i is `data[offsets[i]:offsets[i + 1]]`; `shared[0]` stays 0. Returns how many
    bytes are not shared in all, which is the number of nodes below the root.
    """
    fresh = 0
    for i in range(len(shared)):
        length = offsets[i + 1] - offsets[i]
        if i > 0:
            limit = min(length, offsets[i] - offsets[i - 1])
            common = 0
            while common < limit and data[offsets[i - 1] + common] == data[offsets[i] + common]:
                common += 1
            shared[i] = common
        fresh += length - shared[i]
    return fresh


@njit(cache=True, nogil=True)
def lay_out_nodes(
    trie: Trie,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
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
            trie.subtree_end[open_nodes[depth]] = node + 1
        deepest = offsets[i + 1] - offsets[i]
        for depth in range(kept + 1, deepest + 1):
            node += 1
            open_nodes[depth] = node
            trie.byte[node] = data[offsets[i] + depth - 1]
            trie.depth[node] = depth
            trie.token_begin[node] = i
        # Equal tokens follow one another by id, so the first one at a node is the lowest.
        if trie.token[open_nodes[deepest]] == NO_TOKEN:
            trie.token[open_nodes[deepest]] = trie.token_ids[i]
    trie.token_begin[len(trie.byte)] = len(shared)
