"""What a block works on: one row and position. Legality of its tokens, and their penalised values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..layout import UNCONSTRAINED, WORD_BITS
from .device import cuda, penalise

__all__ = ["Column", "Segment", "column_at", "legal_bits", "penalised_value", "segment_of"]

_ALL_BITS = np.uint32(0xFFFFFFFF)


class Column(NamedTuple):
    """One row and position."""

    b: Any
    position: Any
    base: Any  # offset of the logits row, in int32
    mask_row: Any  # of mask_words, or UNCONSTRAINED
    penalised: Any
    lifts: Any  # whether a penalty is negative, so that a value may rise


class Segment(NamedTuple):
    """The tokens of a block, `start` up to `stop`; whole tiles but for the row's end."""

    start: Any
    stop: Any


@cuda.jit(device=True)
def column_at(inputs, b, position, base):  # type: ignore[no-untyped-def]
    """The column of a block."""
    row = inputs.rows[b]
    presence, frequency = row["presence_penalty"], row["frequency_penalty"]
    return Column(
        b,
        position,
        base,
        inputs.mask_index[b, position],
        presence != 0 or frequency != 0,
        presence < 0 or frequency < 0,
    )


@cuda.jit(device=True)
def segment_of(shape):  # type: ignore[no-untyped-def]
    """The segment of this block, along the grid's first axis."""
    start = np.int32(np.int32(cuda.blockIdx.x) * shape.share)
    return Segment(start, np.int32(min(start + shape.share, shape.vocab_size)))


@cuda.jit(device=True)
def legal_bits(inputs, column, token, stop, vector):  # type: ignore[no-untyped-def]
    """One bit for each of `vector` tokens from `token`: legal, and below `stop`."""
    if token >= stop:
        return np.int32(0)
    word = _ALL_BITS
    if column.mask_row != UNCONSTRAINED:
        place = np.uint32(token)
        word = inputs.mask_words[np.uint32(column.mask_row), place // np.uint32(WORD_BITS)]
        word = np.uint32(word >> (place % np.uint32(WORD_BITS)))
    width = np.uint32(min(np.int32(vector), np.int32(stop - token)))
    return np.int32(word & ((np.uint32(1) << width) - np.uint32(1)))


@cuda.jit(device=True)
def penalised_value(inputs, column, token, value):  # type: ignore[no-untyped-def]
    """z of a token: its logit less the penalties for it, drafts[0:position] included in the count."""
    b = np.uint32(column.b)
    count = inputs.counts[b, np.uint32(token)]
    i, before = np.uint32(0), np.uint32(column.position)
    while i < before:
        if inputs.drafts[b, i] == token:
            count = np.int32(count + 1)
        i = np.uint32(i + np.uint32(1))
    row = inputs.rows[column.b]
    return penalise(value, count, row["presence_penalty"], row["frequency_penalty"])
