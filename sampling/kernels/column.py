"""Reading one row of logits at one position: which tokens are legal, and their penalised values."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..layout import UNCONSTRAINED, WORD_BITS
from .device import FORMATS, cuda, load_vector, penalise

__all__ = ["Column", "Reader", "column_at", "legal_bits", "reader"]

_ALL_BITS = np.uint32(0xFFFFFFFF)


class Column(NamedTuple):
    """Which row and position a block works on."""

    b: Any
    position: Any
    base: Any  # offset of the logits row, in int32
    mask_row: Any  # of mask_words, or UNCONSTRAINED
    penalised: Any
    lifts: Any  # whether a penalty is negative, so that a value may rise


class Reader(NamedTuple):
    """Device functions for one number format.

    vector                                       numbers that a thread loads at once
    load(inputs, column, token, wanted)          the vector that starts at a token
    peak(loaded)                                 its largest number, NaN ignored
    value(inputs, column, loaded, token, place)  z of its number `place`, whose token is token + place
    raw(loaded, place)                           the same without penalties
    """

    vector: int
    load: Any
    peak: Any
    value: Any
    raw: Any


@cuda.jit(device=True)
def column_at(inputs, b, position, row_number, pitch):  # type: ignore[no-untyped-def]
    """The column of a block; `row_number` counts rows of logits."""
    row = inputs.rows[b]
    presence, frequency = row["presence_penalty"], row["frequency_penalty"]
    return Column(
        b,
        position,
        np.int64(row_number) * pitch,
        inputs.mask_index[b, position],
        presence != 0 or frequency != 0,
        presence < 0 or frequency < 0,
    )


@cuda.jit(device=True)
def legal_bits(inputs, column, token, stop, vector):  # type: ignore[no-untyped-def]
    """One bit for each of `vector` tokens from `token`: legal, and below `stop`."""
    if token >= stop:
        return np.int32(0)
    word = _ALL_BITS
    if column.mask_row != UNCONSTRAINED:
        word = inputs.mask_words[column.mask_row, token // WORD_BITS]
        word = np.uint32(word >> np.uint32(token % WORD_BITS))
    width = min(vector, stop - token)
    return np.int32(word & ((np.uint32(1) << np.uint32(width)) - np.uint32(1)))


@cuda.jit(device=True)
def _penalised(inputs, column, token, value):  # type: ignore[no-untyped-def]
    """z of a token: its logit less the penalties for it, drafts[0:position] included in the count."""
    count = inputs.counts[column.b, token]
    for i in range(column.position):
        if inputs.drafts[column.b, i] == token:
            count += 1
    row = inputs.rows[column.b]
    return penalise(value, count, row["presence_penalty"], row["frequency_penalty"])


@cache
def reader(kind: str) -> Reader:
    """The device functions for logits of one format."""
    vector, per_word, peak_of, value_of = FORMATS[kind]

    @cuda.jit(device=True)
    def load(inputs, column, token, wanted):  # type: ignore[no-untyped-def]
        return load_vector(inputs.logits, column.base + np.int64(token // per_word), wanted)

    @cuda.jit(device=True)
    def peak(loaded):  # type: ignore[no-untyped-def]
        return peak_of(loaded[0], loaded[1], loaded[2], loaded[3])

    @cuda.jit(device=True)
    def raw(loaded, place):  # type: ignore[no-untyped-def]
        register = loaded[0]
        if place >= per_word:
            register = loaded[1]
        if place >= 2 * per_word:
            register = loaded[2]
        if place >= 3 * per_word:
            register = loaded[3]
        return value_of(register, place % per_word)

    @cuda.jit(device=True)
    def value(inputs, column, loaded, token, place):  # type: ignore[no-untyped-def]
        number = raw(loaded, place)
        if column.penalised:
            return _penalised(inputs, column, token + place, number)
        return number

    return Reader(vector, load, peak, value, raw)
