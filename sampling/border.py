"""The border: whatever a caller passes becomes arrays of exact type and shape, or a named error.

Every argument is checked once, here; behind it the kernels trust what they get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import cpu
from .layout import MAX_DRAFTS, PROPOSAL_WIDTH, UNCONSTRAINED, Purpose, words_for
from .masks import SamplingMask
from .params import ParameterError, SamplingParams, pack_rows
from .speculative import Drafts

__all__ = [
    "AcceptCall",
    "Params",
    "Proposals",
    "SampleCall",
    "accept_batch",
    "accept_rows",
    "as_tokens",
    "check_drafts",
    "mask_arrays",
    "needs_counts",
    "proposal_arrays",
    "sample_batch",
    "sample_rows",
    "vocabulary_width",
]

Params = SamplingParams | Sequence[SamplingParams]


class Proposals(NamedTuple):
    """A sparse draft distribution: ids int[B, K, 16], distinct; shares float32[B, K, 16], summing to 1."""

    ids: Any
    shares: Any


class SampleCall(NamedTuple):
    """The arguments of `api.sample`, as they came."""

    logits: Any
    masks: Any
    params: Params
    positions: npt.ArrayLike
    counts: Any
    purpose: Purpose
    vocab_size: int | None


class AcceptCall(NamedTuple):
    """The arguments of `api.accept`, as they came."""

    logits: Any
    drafts: Any
    masks: Any
    params: Params
    lengths: npt.ArrayLike
    extents: npt.ArrayLike | None
    counts: Any
    proposals: Proposals | None
    vocab_size: int | None


def _parameter_rows(params: Params, masks: Any, batch: int) -> npt.NDArray[np.void]:
    """The parameters and dead ends as `ROW` records, one a row."""
    many = [params] * batch if isinstance(params, SamplingParams) else list(params)
    if len(many) != batch:
        raise ParameterError(f"{len(many)} parameter sets for {batch} rows", "params")
    rows = pack_rows(many)
    if isinstance(masks, SamplingMask) and masks.batch == batch:
        rows["dead_ends"] = masks.dead_ends
    return rows


def _as_integers(field: str, values: npt.ArrayLike, batch: int) -> npt.NDArray[np.int64]:
    """One integer a row, from one integer or from B of them."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise ParameterError(f"expected integers, got {array.dtype}", field)
    if array.shape not in ((), (batch,)):
        raise ParameterError(f"expected one integer or {batch}, got shape {list(array.shape)}", field)
    return np.broadcast_to(array.astype(np.int64), (batch,))


def _as_position(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Positions as the random numbers use them: modulo 2**32."""
    return values.astype(np.uint64).astype(np.uint32).view(np.int32)


def vocabulary_width(vocab_size: int | None, masks: Any, width: int) -> int:
    """V: as given, else that of the mask, else the width of the logits; never more than that."""
    size = vocab_size
    if size is None:
        size = masks.vocab_size if isinstance(masks, SamplingMask) else width
    if not 1 <= size <= width:
        raise ParameterError(f"must lie in [1, {width}], the width of the logits; got {size}", "vocab_size")
    return size


def _logits(logits: Any, dimensions: int) -> npt.NDArray[np.float32]:
    array = np.asarray(logits)
    if array.ndim != dimensions or 0 in array.shape:
        raise ParameterError(f"expected {dimensions} dimensions, none empty, got {list(array.shape)}", "logits")
    if array.dtype.kind != "f":
        raise ParameterError(f"expected floating point numbers, got {array.dtype}", "logits")
    return np.ascontiguousarray(array, np.float32)


def mask_arrays(masks: Any, batch: int, positions: int, vocab_size: int) -> tuple[Any, Any]:
    """(mask_index, mask_words) from whatever the caller passed."""
    width = words_for(vocab_size)
    if masks is None:
        return np.full((batch, positions), UNCONSTRAINED, np.int32), np.zeros((1, width), np.uint32)
    if isinstance(masks, SamplingMask):
        index, words = masks.index, masks.words
    else:
        array = np.ascontiguousarray(masks)
        if array.dtype not in (np.uint32, np.int32):
            raise ParameterError(f"expected packed 32-bit words, got {array.dtype}", "masks")
        if array.shape not in ((batch, positions, array.shape[-1]), (batch * positions, array.shape[-1])):
            raise ParameterError(f"expected words for {batch} rows of {positions} positions, "
                                 f"got {list(array.shape)}", "masks")  # fmt: skip
        words = array.view(np.uint32).reshape(batch * positions, -1)
        index = np.arange(batch * positions, dtype=np.int32).reshape(batch, positions)
    if index.shape != (batch, positions):
        raise ParameterError(f"masks for {list(index.shape)} positions, logits for {[batch, positions]}", "masks")
    if words.shape[1] < width:
        raise ParameterError(f"{words.shape[1]} words are too few for {vocab_size} tokens", "masks")
    return index, words


def needs_counts(rows: npt.NDArray[np.void], counts: Any) -> bool:
    """Whether a row has penalties; then there must be counts."""
    needed = bool(np.any(rows["presence_penalty"]) or np.any(rows["frequency_penalty"]))
    if needed and counts is None:
        raise ParameterError("a row has penalties, so the token counts are needed", "counts")
    return needed


def _counts(counts: Any, rows: npt.NDArray[np.void], vocab_size: int) -> npt.NDArray[np.int32]:
    if not needs_counts(rows, counts):
        return np.zeros((len(rows), 0), np.int32)
    array = np.asarray(counts)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[0] != len(rows):
        raise ParameterError(f"expected int[{len(rows)}, V], got {array.dtype}{list(array.shape)}", "counts")
    if array.shape[1] < vocab_size:
        raise ParameterError(f"{array.shape[1]} counts a row for {vocab_size} tokens", "counts")
    return np.ascontiguousarray(array[:, :vocab_size], np.int32)


def sample_batch(call: SampleCall) -> cpu.Batch:
    """The arguments of `sample`, checked and cast for the CPU kernels."""
    logits = _logits(call.logits, 2)
    batch = len(logits)
    size = vocabulary_width(call.vocab_size, call.masks, logits.shape[1])
    rows = sample_rows(call, batch)
    index, words = mask_arrays(call.masks, batch, 1, size)
    return cpu.Batch(logits[:, None, :], _counts(call.counts, rows, size), index, words, rows, size)


def accept_batch(call: AcceptCall) -> tuple[cpu.Batch, Drafts]:
    """The arguments of `accept`, checked and cast for the CPU kernels."""
    logits = _logits(call.logits, 3)
    batch, positions, width = logits.shape
    size = vocabulary_width(call.vocab_size, call.masks, width)
    drafts = np.asarray(call.drafts)
    check_drafts(drafts.shape, drafts.dtype.kind in "iu", batch, positions)
    rows = accept_rows(call, batch, positions - 1)
    index, words = mask_arrays(call.masks, batch, positions, size)
    q_ids, q_shares = proposal_arrays(call.proposals, batch, positions - 1)
    table = cpu.Batch(logits, _counts(call.counts, rows, size), index, words, rows, size)
    return table, Drafts(as_tokens(drafts), q_ids, q_shares)


def sample_rows(call: SampleCall, batch: int) -> npt.NDArray[np.void]:
    """The `ROW` records of a sampling step."""
    rows = _parameter_rows(call.params, call.masks, batch)
    rows["position"] = _as_position(_as_integers("positions", call.positions, batch))
    rows["purpose"] = Purpose(call.purpose)
    return rows


def accept_rows(call: AcceptCall, batch: int, drafts: int) -> npt.NDArray[np.void]:
    """The `ROW` records of a verification of at most `drafts` drafts a row."""
    rows = _parameter_rows(call.params, call.masks, batch)
    rows["position"] = _as_position(_as_integers("lengths", call.lengths, batch))
    extents = drafts if call.extents is None else call.extents
    rows["extent"] = np.clip(_as_integers("extents", extents, batch), 0, drafts)
    return rows


def check_drafts(shape: Sequence[int], integral: bool, batch: int, positions: int) -> None:
    """Raise unless the drafts are int[B, K] with K + 1 columns of logits and K <= 63."""
    if not integral or tuple(shape) != (batch, positions - 1):
        raise ParameterError(f"expected int[{batch}, {positions - 1}] for logits of {positions} positions, "
                             f"got shape {list(shape)}", "drafts")  # fmt: skip
    if positions - 1 > MAX_DRAFTS:
        raise ParameterError(f"at most {MAX_DRAFTS} drafts a round, got {positions - 1}", "drafts")


def as_tokens(tokens: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Draft ids as int32. What does not fit is no token; -1 says so and is always rejected."""
    limits = np.iinfo(np.int32)
    return np.where((tokens < 0) | (tokens > limits.max), -1, tokens).astype(np.int32)


def proposal_arrays(proposals: Proposals | None, batch: int, drafts: int) -> tuple[Any, Any]:
    """(q_ids, q_shares), int32 and float32 [B, K, 16], or [B, K, 0] for one-hot drafts."""
    if proposals is None:
        return np.zeros((batch, drafts, 0), np.int32), np.zeros((batch, drafts, 0), np.float32)
    shape = (batch, drafts, PROPOSAL_WIDTH)
    ids, shares = np.asarray(proposals.ids), np.asarray(proposals.shares)
    if ids.shape != shape or shares.shape != shape:
        raise ParameterError(f"ids and shares must have shape {list(shape)}, got {list(ids.shape)} and "
                             f"{list(shares.shape)}", "proposals")  # fmt: skip
    if ids.dtype.kind not in "iu" or shares.dtype != np.float32:
        raise ParameterError(f"expected integers and float32, got {ids.dtype} and {shares.dtype}", "proposals")
    return as_tokens(ids), np.ascontiguousarray(shares)
