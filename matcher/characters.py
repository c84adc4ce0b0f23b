"""Kinds of characters: what a text usually takes, or does not take, together.

A walk may take a whole subtree of the trie at once if it is made of characters that all lead from a set
back to itself (`matcher.scan`). Which characters there are below a node is kept as a set of *kinds*, one
bit each, of those that begin there: below a node inside a character, what is left of that one has no kind. Where
the bytes are no UTF-8, there is the kind BROKEN, which no set takes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .jit import entry, int64, kernel

__all__ = ["BROKEN", "INSIDE", "KINDS", "byte_kinds", "first_tail", "kind_chains", "read_characters", "span"]

BROKEN = 62
"""The kind of what is no character."""
KINDS = BROKEN + 1
"""How many kinds there are, at most."""
INSIDE = -(1 << 63)
"""The kind of the bytes that a node inside a character lacks: one that no set takes."""
TAIL = 0x80
"""Continuation bytes are 0x80 to 0xBF."""
NO_UTF8 = 255
"""The kind of bytes that begin no character."""


def byte_kinds() -> NDArray[np.uint8]:
    """The kind of the characters that begin with each byte, NO_UTF8 if there are none.

    Every punctuation mark and white space character is a kind of its own. Some letters are one each, since a pattern
    may be about a single letter, or about hexadecimal digits. Other characters are divided so that the white space
    among them is in small kinds.
    """
    groups = [*map(bytes, ([9], [10], [13], range(0x30, 0x3A)))]
    groups += b"ABC DEF GHIJKL MNOPQ RSTUV WXYZ".split()
    groups += b"abc def ghi jkl mno pqr stu vwx yz".split()
    groups += [bytes([c]) for c in range(0x20, 0x7F) if not chr(c).isalnum()]
    groups += [b"\xc2", bytes(range(0xC3, 0xE0)), b"\xe0", b"\xe1", b"\xe2", b"\xe3"]
    groups += [bytes(range(0xE4, 0xEF)), b"\xef", bytes(range(0xF0, 0xF5))]
    kinds = np.full(256, NO_UTF8, dtype=np.uint8)
    kinds[:0x80] = 0  # the other controls
    assert len(groups) < BROKEN
    for kind, group in enumerate(groups, start=1):
        kinds[list(group)] = kind
    return kinds


def kind_chains() -> NDArray[np.int16]:
    """The bytes of each kind as a chain that ends with -1.

    The first one is at the kind's place; the one after a byte is at KINDS and the byte.
    """
    chains = np.full(KINDS + 256, -1, dtype=np.int16)
    last = {kind: kind for kind in range(KINDS)}  # where in the chains the next byte of a kind goes
    for byte, kind in enumerate(byte_kinds().tolist()):
        if kind != NO_UTF8:
            chains[last[kind]] = byte
            last[kind] = KINDS + byte
    return chains


@kernel
def first_tail(lead: int) -> tuple[int, int, int]:
    """The lowest and the highest second byte after the first byte of a character, and how many bytes follow it."""
    if lead < 0x80:
        return 0, 0, 0
    if lead < 0xE0:
        return 0x80, 0xBF, 1
    if lead < 0xF0:
        return (0xA0 if lead == 0xE0 else 0x80), (0x9F if lead == 0xED else 0xBF), 2
    return (0x90 if lead == 0xF0 else 0x80), (0x8F if lead == 0xF4 else 0xBF), 3


@kernel
def span(low: int, high: int) -> int:
    """The bytes from `low` to `high` as one number: a linked kernel has at most five arguments."""
    return low << 8 | high


@entry
def read_characters(
    byte: NDArray[np.uint8],
    parent: NDArray[np.int32],
    kind_of: NDArray[np.uint8],
    nodes: NDArray[np.void],
) -> None:
    """Fill the trie's `kinds`, `begun`, `most` and `way` from the bytes and parents of its nodes."""
    size = len(byte)
    missing = np.zeros(size, dtype=np.int32)  # bytes that the character at a node still wants
    low = np.zeros(size, dtype=np.int32)  # what the next of them may be
    high = np.zeros(size, dtype=np.int32)
    kind = np.zeros(size, dtype=np.int32)  # what the byte adds to the kinds of the nodes above; -1: nothing
    for node in range(1, size):
        above = parent[node]
        value = int64(byte[node])
        nodes[node]["begun"] = nodes[above]["begun"]
        if missing[above] > 0 and low[above] <= value <= high[above]:
            missing[node] = missing[above] - 1
            low[node] = 0x80
            high[node] = 0xBF
            kind[node] = -1
        else:
            nodes[node]["begun"] += 1
            known = kind_of[value]
            if missing[above] > 0 or known == NO_UTF8:
                kind[node] = BROKEN
            else:
                kind[node] = known
            if known != NO_UTF8:
                low[node], high[node], missing[node] = first_tail(int64(value))
        if missing[node] > 0:
            nodes[node]["way"] = span(low[node], high[node]) * 4 + missing[node]
    for node in range(size - 1, 0, -1):
        above = nodes[parent[node]]
        above["kinds"] |= nodes[node]["kinds"]
        if kind[node] >= 0:
            above["kinds"] |= int64(1) << int64(kind[node])
        above["most"] = max(above["most"], nodes[node]["most"] + nodes[node]["begun"] - above["begun"])
