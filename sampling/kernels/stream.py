"""Reading a row of logits once, as fast as memory gives it, and offering what looks good.

The unit is a *vector*: the 16 bytes of logits that a thread loads at once (4 or 8 tokens),
with as many mask bits. The unit of a block is a *tile*: one vector a thread. Four tiles
are in flight at a time: their mask words are read one round ahead, so that a load can be
left out where no token is legal without waiting to find that out.

A vector is looked at closely only if its largest number is above a *bar*. The largest of
eight numbers costs three instructions, and the bar is near the top, so nearly all of the
vocabulary takes this short way.

Because a tile's tokens are a multiple of 32, a thread's place in its mask word never changes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..layout import UNCONSTRAINED, WORD_BITS
from .column import legal_bits, penalised_value
from .device import FORMATS, MINUS_INFINITY, SIMULATED, VECTORS, cuda, key_of, load_vectors, load_words, sync_warp

__all__ = ["PEAKS", "THREADS", "Stream", "build", "group_floor"]

THREADS = 32 if SIMULATED else 256
_GROUPS = 32
PEAKS = max(THREADS, _GROUPS + 1)
"""Float32 values of shared memory that `group_floor` needs."""
_LANES = 4  # registers of a vector
_VECTOR_BYTES = 16
_WORD_BYTES = 4


class Stream(NamedTuple):
    """Device functions over one number format, for one way of collecting keys.

    vector       tokens of a vector;  tile_tokens  of a tile
    first_vector(inputs, base, segment, tid) -> loaded
                 start loading a thread's vector of the first tile; needs nothing but its place
    top_of(inputs, column, segment, loaded, tid) -> (bits, top)
                 its legal bits and its largest legal value
    offer_one(inputs, column, state, loaded, bits, token, bar, floor)
                 collect the keys above `floor` of a vector's legal tokens whose z is above `bar`
    offer_token(inputs, column, state, token, stop, floor)
                 the same for one token, loaded by itself
    run(inputs, column, state, begin, stop, tid, bar, floor) -> seen
                 offer every vector of whole tiles from `begin`; returns whether a legal token was seen
    """

    vector: int
    tile_tokens: int
    first_vector: Any
    top_of: Any
    offer_one: Any
    offer_token: Any
    run: Any


@cuda.jit(device=True)
def group_floor(peaks, top, wanted_rank, tid):  # type: ignore[no-untyped-def]
    """The value of a rank (0 is the largest) among 32 group maxima of the threads' tops.

    At least wanted_rank + 1 threads have a top that reaches it. -inf if fewer groups have a value.
    """
    peaks[tid] = top
    cuda.syncthreads()
    if tid < _GROUPS:
        for group in range(1, THREADS // _GROUPS):
            top = max(top, peaks[np.uint32(tid + group * _GROUPS)])
        sync_warp()
        peaks[tid] = top
        sync_warp()
        rank = np.int32(0)
        for other in range(_GROUPS):
            peak = peaks[other]
            if peak > top or (peak == top and other < tid):
                rank = np.int32(rank + 1)
        if rank == wanted_rank:
            peaks[_GROUPS] = top
    cuda.syncthreads()
    return peaks[_GROUPS]


@cache
def build(kind: str, collect: Any) -> Stream:
    """The functions for one format; `collect(state, key, floor)` takes a key that may be above the floor."""
    vector, per_word, peak_of, above_of, value_of = FORMATS[kind]
    tile_tokens = THREADS * vector
    round_tokens = VECTORS * tile_tokens
    all_bits = (1 << vector) - 1
    load_four = load_vectors(THREADS * _VECTOR_BYTES)
    load_masks = load_words(tile_tokens // WORD_BITS * _WORD_BYTES)

    @cuda.jit(device=True)
    def value(inputs, column, loaded, token, place):  # type: ignore[no-untyped-def]
        register = loaded[0]
        if place >= per_word:
            register = loaded[1]
        if place >= 2 * per_word:
            register = loaded[2]
        if place >= 3 * per_word:
            register = loaded[3]
        number = value_of(register, np.int32(place & (per_word - 1)))
        if column.penalised:
            return penalised_value(inputs, column, np.int32(token + place), number)
        return number

    @cuda.jit(device=True)
    def offer_one(inputs, column, state, loaded, bits, token, bar, floor):  # type: ignore[no-untyped-def]
        raw_bar = MINUS_INFINITY if column.lifts else bar
        rest = np.int32(bits & above_of(loaded[0], loaded[1], loaded[2], loaded[3], raw_bar))
        while rest != 0:  # a loop over set bits, which the compiler does not unroll
            place = np.int32(cuda.ffs(rest) - 1)
            rest = np.int32(rest & (rest - 1))
            z = value(inputs, column, loaded, token, place)
            if z > bar:
                collect(state, key_of(z, np.int32(token + place)), floor)

    @cuda.jit(device=True)
    def offer_token(inputs, column, state, token, stop, floor):  # type: ignore[no-untyped-def]
        place = np.int32(np.uint32(token) % np.uint32(vector))
        first = np.int32(token - place)
        bits = np.int32(legal_bits(inputs, column, token, stop, 1) << place)
        none = np.int32(0)
        loaded = load_four(
            inputs.logits,
            column.base + np.int64(np.uint32(first) // np.uint32(per_word)),
            bits,
            none,
            none,
            none,
        )[0:4]
        offer_one(inputs, column, state, loaded, bits, first, MINUS_INFINITY, floor)

    @cuda.jit(device=True)
    def pick(loaded, number):  # type: ignore[no-untyped-def]
        """Registers of the vector with this number; a chain of selects, no memory."""
        if number == 0:
            return loaded[0:4]
        if number == 1:
            return loaded[4:8]
        if number == 2:
            return loaded[8:12]
        return loaded[12:16]

    @cuda.jit(device=True)
    def peak(loaded):  # type: ignore[no-untyped-def]
        return peak_of(loaded[0], loaded[1], loaded[2], loaded[3])

    @cuda.jit(device=True)
    def offer_four(inputs, column, state, loaded, bits, token, bar, floor):  # type: ignore[no-untyped-def]
        """One test for each vector, and one copy of the code for the few that pass it."""
        raw_bar = MINUS_INFINITY if column.lifts else bar
        hits = np.int32(0)
        if bits[0] != 0 and peak(loaded[0:4]) > raw_bar:
            hits |= 1
        if bits[1] != 0 and peak(loaded[4:8]) > raw_bar:
            hits |= 2
        if bits[2] != 0 and peak(loaded[8:12]) > raw_bar:
            hits |= 4
        if bits[3] != 0 and peak(loaded[12:16]) > raw_bar:
            hits |= 8
        while hits != 0:
            number = np.int32(cuda.ffs(hits) - 1)
            hits = np.int32(hits & (hits - 1))
            legal = bits[0]
            if number == 1:
                legal = bits[1]
            if number == 2:
                legal = bits[2]
            if number == 3:
                legal = bits[3]
            first = np.int32(token + number * np.int32(tile_tokens))
            offer_one(inputs, column, state, pick(loaded, number), legal, first, bar, floor)

    @cuda.jit(device=True)
    def first_vector(inputs, base, segment, tid):  # type: ignore[no-untyped-def]
        token = np.int32(segment.start + tid * np.int32(vector))
        offset = base + np.int64(np.uint32(token) // np.uint32(per_word))
        wanted = np.int32(token < min(segment.start + np.int32(tile_tokens), segment.stop))
        none = np.int32(0)
        return load_four(inputs.logits, offset, wanted, none, none, none)[0:4]

    @cuda.jit(device=True)
    def top_of(inputs, column, segment, loaded, tid):  # type: ignore[no-untyped-def]
        token = np.int32(segment.start + tid * np.int32(vector))
        stop = np.int32(min(segment.start + np.int32(tile_tokens), segment.stop))
        bits = legal_bits(inputs, column, token, stop, vector)
        top = MINUS_INFINITY
        if bits == all_bits and not column.penalised:
            largest = peak(loaded)
            if largest > top:
                top = largest
        else:
            rest = bits
            while rest != 0:
                place = np.int32(cuda.ffs(rest) - 1)
                rest = np.int32(rest & (rest - 1))
                z = value(inputs, column, loaded, token, place)
                if z > top:
                    top = z
        return bits, top

    @cuda.jit(device=True)
    def run(inputs, column, state, begin, stop, tid, bar, floor):  # type: ignore[no-untyped-def]
        token = np.int32(begin + tid * np.int32(vector))
        offset = column.base + np.int64(np.uint32(token) // np.uint32(per_word))
        shift = np.int32(np.uint32(token) % np.uint32(WORD_BITS))
        constrained = column.mask_row != UNCONSTRAINED
        word = np.int64(np.uint32(token) // np.uint32(WORD_BITS))
        words_at = np.int64(column.mask_row) * inputs.mask_words.shape[1] + word
        seen = np.int32(0)
        ones = np.int32(-1)
        words = (ones, ones, ones, ones)
        # Whole rounds, then perhaps one that the segment's end cuts short.
        length = np.uint32(stop - begin)
        whole = np.int32(length // np.uint32(round_tokens))
        rounds = np.int32((length + np.uint32(round_tokens - 1)) // np.uint32(round_tokens))
        if constrained and whole > 0:
            words = load_masks(inputs.mask_words, words_at)
        number = np.int32(0)
        while number < rounds:
            if number < whole:
                bits = (
                    np.int32((words[0] >> shift) & all_bits),
                    np.int32((words[1] >> shift) & all_bits),
                    np.int32((words[2] >> shift) & all_bits),
                    np.int32((words[3] >> shift) & all_bits),
                )
            else:
                bits = (
                    legal_bits(inputs, column, token, stop, vector),
                    legal_bits(inputs, column, np.int32(token + tile_tokens), stop, vector),
                    legal_bits(inputs, column, np.int32(token + 2 * tile_tokens), stop, vector),
                    legal_bits(inputs, column, np.int32(token + 3 * tile_tokens), stop, vector),
                )
            loaded = load_four(inputs.logits, offset, bits[0], bits[1], bits[2], bits[3])
            if constrained and number + 1 < whole:
                words_at += round_tokens // WORD_BITS
                words = load_masks(inputs.mask_words, words_at)
            seen |= bits[0] | bits[1] | bits[2] | bits[3]
            offer_four(inputs, column, state, loaded, bits, token, bar, floor)
            token = np.int32(token + round_tokens)
            offset += round_tokens // per_word
            number = np.int32(number + 1)
        return seen

    return Stream(vector, tile_tokens, first_vector, top_of, offer_one, offer_token, run)
