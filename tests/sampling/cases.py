"""Sampling cases for every path, and what the FP64 oracle says about them.

A backend is a function with the signature of `sampling.sample` or `sampling.accept` that takes
and returns numpy arrays; the CPU tests, the simulator tests and the GPU tests all call
`check_sample` and `check_accept` with theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from infernix.sampling import contract, rng
from infernix.sampling.border import Proposals
from infernix.sampling.layout import PROPOSAL_WIDTH, Purpose, words_for
from infernix.sampling.params import SamplingParams

Backend = Callable[..., Any]


def pack(legal: np.ndarray) -> np.ndarray:
    """Booleans [..., V] as mask words; an independent definition: bit t of word t // 32."""
    vocab_size = legal.shape[-1]
    words = np.zeros((*legal.shape[:-1], words_for(vocab_size)), np.uint32)
    for token in range(vocab_size):
        words[..., token // 32] |= legal[..., token].astype(np.uint32) << np.uint32(token % 32)
    return words


@dataclass
class SampleCase:
    """One batch: `words` rows of None are unconstrained."""

    name: str
    logits: np.ndarray
    params: list[SamplingParams]
    words: list[np.ndarray | None]
    vocab_size: int
    counts: np.ndarray | None = None
    positions: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def places(self) -> np.ndarray:
        """The logical position of each row's token."""
        return self.positions if self.positions.size else np.arange(len(self.logits))

    @cached_property
    def answers(self) -> list[contract.Sampled]:
        """The oracle's, computed once."""
        found = []
        for row, params in enumerate(self.params):
            u = rng.uniform(params.seed, int(self.places[row]), Purpose.DECODE)
            counts = None if self.counts is None else self.counts[row]
            found.append(
                contract.sample_row(self.logits[row], self.words[row], params, self.vocab_size, u, counts=counts)
            )
        return found


def sampling_mask(words: list[Any], vocab_size: int, positions: int) -> Any:
    """The `SamplingMask` of a batch whose rows are None, or words of one or of P positions."""
    from infernix.sampling.masks import SamplingMask

    mask = SamplingMask(len(words), vocab_size, positions)
    for row, one in enumerate(words):
        if one is not None:
            mask.row_words(row)[:] = one
            mask.enable(row)
    return mask


def check_sample(sample: Backend, case: SampleCase) -> None:
    """Every row of the batch has the oracle's token and flags."""
    mask = sampling_mask(case.words, case.vocab_size, 1)
    got = sample(case.logits, mask, case.params, positions=case.places, counts=case.counts, vocab_size=case.vocab_size)
    for row, want in enumerate(case.answers):
        found = (int(got.tokens[row]), int(got.flags[row]))
        assert found == (want.token, int(want.flags)), f"{case.name}, row {row}: {case.params[row]}"


PARAMETER_SETS = [
    SamplingParams(temperature=0.0),
    SamplingParams(),
    SamplingParams(temperature=1e-3),
    SamplingParams(temperature=2.0, top_k=3),
    SamplingParams(temperature=0.7, top_p=0.8),
    SamplingParams(temperature=1.3, min_p=0.2),
    SamplingParams(temperature=0.9, top_k=7, top_p=0.5, min_p=0.05),
    SamplingParams(top_p=0.0),
    SamplingParams(min_p=1.0),
    SamplingParams(top_k=1),
    SamplingParams(temperature=0.8, presence_penalty=1.5, frequency_penalty=0.3),
    SamplingParams(temperature=0.8, presence_penalty=-1.1, frequency_penalty=-0.7),
    SamplingParams(temperature=0.0, presence_penalty=2.0, frequency_penalty=2.0),
]

NASTY = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45, 88.0], np.float32)


def batch_of(name: str, logits: np.ndarray, legal: np.ndarray | None, vocab_size: int, seed: int) -> SampleCase:
    """One batch with every parameter set; `legal` is bool[rows, V] or None."""
    random = np.random.default_rng(seed)
    rows = len(logits)
    chosen = [replace(PARAMETER_SETS[i % len(PARAMETER_SETS)], seed=int(random.integers(2**63))) for i in range(rows)]
    words: list[np.ndarray | None] = [None] * rows if legal is None else list(pack(legal))
    counts = random.integers(0, 4, (rows, vocab_size)) * (random.random((rows, vocab_size)) < 0.3)
    return SampleCase(name, logits, chosen, words, vocab_size, counts.astype(np.int32), random.integers(0, 2**31, rows))


def adversarial(vocab_size: int = 100, width: int = 128, rows: int = 26) -> Iterator[SampleCase]:
    """Ties, signed zeros, infinities, NaN, and masks with none, one, few and far-off legal tokens."""
    random = np.random.default_rng(vocab_size)
    shape = (rows, width)
    build = partial(batch_of, vocab_size=vocab_size)
    plain = random.normal(0, 4, shape).astype(np.float32)
    nobody = np.zeros((rows, vocab_size), bool)
    one = nobody.copy()
    one[np.arange(rows), random.integers(0, vocab_size, rows)] = True
    yield build("plain", plain, None, seed=1)
    yield build("half legal", plain, random.random((rows, vocab_size)) < 0.5, seed=2)
    yield build("few legal", plain, random.random((rows, vocab_size)) < 0.05, seed=3)
    yield build("one legal", plain, one, seed=4)
    yield build("none legal", plain, nobody, seed=5)
    yield build("all equal", np.full(shape, 1.5, np.float32), None, seed=6)
    yield build(
        "ties",
        random.integers(-2, 3, shape).astype(np.float32),
        random.random((rows, vocab_size)) < 0.7,
        seed=7,
    )
    yield build("signed zeros", np.where(random.random(shape) < 0.5, 0.0, -0.0).astype(np.float32), None, seed=8)
    for value in (np.nan, np.inf, -np.inf):
        yield build(f"all {value}", np.full(shape, value, np.float32), None, seed=9)
        some = np.where(random.random(shape) < 0.3, np.float32(value), plain)
        yield build(f"some {value}", some, random.random((rows, vocab_size)) < 0.5, seed=10)
    yield build("nasty", random.choice(NASTY, shape), random.random((rows, vocab_size)) < 0.5, seed=11)
    # The padding columns hold the largest values and must not be seen.
    padded = plain.copy()
    padded[:, vocab_size:] = 1e30
    yield build("padding is large", padded, None, seed=12)
    # Every legal token ranks below the unconstrained top 20.
    order = np.argsort(-plain[:, :vocab_size], axis=1)
    far = nobody.copy()
    np.put_along_axis(far, order[:, min(30, vocab_size - 1) : 60], True, axis=1)
    yield build("beyond the top 20", plain, far, seed=13)
    # Exact boundaries: equal weights and weights of one half.
    yield build(
        "halves",
        (np.arange(width, dtype=np.float32) * -np.float32(np.log(2)))[None].repeat(rows, 0),
        None,
        seed=14,
    )


def mixture(cases: list[SampleCase], rows_each: int = 1) -> SampleCase:
    """A few rows of every case as one batch: constrained and free, good and bad rows side by side."""
    rows = [
        (case, (number * 5 + i * 3) % len(case.logits)) for number, case in enumerate(cases) for i in range(rows_each)
    ]
    return SampleCase(
        "mixture",
        np.stack([case.logits[row] for case, row in rows]),
        [case.params[row] for case, row in rows],
        [case.words[row] for case, row in rows],
        cases[0].vocab_size,
        np.stack([case.counts[row] for case, row in rows if case.counts is not None]),
        np.array([case.positions[row] for case, row in rows]),
    )


def greedily(case: Any) -> Any:
    """The same case with every temperature 0."""
    return replace(case, params=[replace(params, temperature=0.0) for params in case.params])


@dataclass
class AcceptCase:
    """One round for a batch; `words[row]` is uint32[K + 1, W] or None."""

    name: str
    logits: np.ndarray
    drafts: np.ndarray
    params: list[SamplingParams]
    words: list[np.ndarray | None]
    vocab_size: int
    lengths: np.ndarray
    extents: np.ndarray
    dead_ends: list[int]
    counts: np.ndarray | None = None
    q_ids: np.ndarray | None = None
    q_shares: np.ndarray | None = None


def expected_round(case: AcceptCase, row: int) -> contract.Accepted:
    """The oracle's answer for one row."""
    params, extent = case.params[row], int(case.extents[row])
    words = case.words[row]
    columns = []
    for i in range(extent + 1):
        q = None
        if case.q_ids is not None and case.q_shares is not None and i < extent:
            q = {int(t): float(s) for t, s in zip(case.q_ids[row, i], case.q_shares[row, i], strict=True)}
        columns.append(contract.Column(case.logits[row, i], None if words is None else words[i], q))
    return contract.accept_row(
        columns,
        [int(t) for t in case.drafts[row, :extent]],
        params,
        case.vocab_size,
        int(case.lengths[row]),
        lambda purpose, position: rng.uniform(params.seed, position, purpose),
        dead_ends=case.dead_ends[row],
        counts=None if case.counts is None else case.counts[row],
    )


def check_accept(accept: Backend, case: AcceptCase) -> None:
    """Every row of the round has the oracle's tokens, count and flags; unused slots are 0."""
    mask = sampling_mask(case.words, case.vocab_size, case.drafts.shape[1] + 1)
    mask.dead_ends[:] = case.dead_ends
    proposals = None if case.q_ids is None else Proposals(case.q_ids, case.q_shares)
    got = accept(
        case.logits, case.drafts, mask, case.params, lengths=case.lengths, extents=case.extents,
        counts=case.counts, proposals=proposals, vocab_size=case.vocab_size,
    )  # fmt: skip
    for row in range(len(case.drafts)):
        want = expected_round(case, row)
        padded = want.tokens + [0] * (case.drafts.shape[1] + 1 - len(want.tokens))
        found = ([int(t) for t in got.tokens[row]], int(got.counts[row]), int(got.flags[row]))
        assert found == (padded, len(want.tokens), int(want.flags)), f"{case.name}, row {row}: {case.params[row]}"


def proposal(random: np.random.Generator, logits: np.ndarray, vocab_size: int) -> tuple[np.ndarray, np.ndarray]:
    """A normalised q over 16 distinct tokens, unsorted, mostly likely ones. logits [..., W]."""
    noisy = logits[..., :vocab_size] + random.normal(0, 1, (*logits.shape[:-1], vocab_size))
    ids = np.argsort(-np.nan_to_num(noisy), axis=-1)[..., :PROPOSAL_WIDTH]
    ids = random.permuted(ids, axis=-1)
    weights = np.exp(np.take_along_axis(np.nan_to_num(noisy), ids, -1) / 4)
    return ids.astype(np.int32), (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def round_of(
    name: str, *, rows: int, drafts: int, vocab_size: int, width: int, seed: int, density: float | None = 0.5,
    sparse: bool = False, flat: float = 1.0,
) -> AcceptCase:  # fmt: skip
    """A random round. Drafts are the likely tokens, so that rounds end in every column; some are wild."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, flat, (rows, drafts + 1, width)).astype(np.float32)
    tokens = random.integers(0, vocab_size, (rows, drafts))
    peaks = np.arange(rows)[:, None], np.arange(drafts)[None, :], tokens
    logits[peaks] += random.choice([3.0, 9.0, 20.0], (rows, drafts)).astype(np.float32)
    wild = random.random(tokens.shape)
    tokens = np.where(wild < 0.03, -1, np.where(wild < 0.06, vocab_size + 5, tokens))
    words: list[np.ndarray | None] = [None] * rows
    if density is not None:
        legal = random.random((rows, drafts + 1, vocab_size)) < density
        legal[:, :, 1] = True
        keep = random.random((rows, drafts)) < 0.9  # most drafts are legal
        for row, column in zip(*np.nonzero(keep & (tokens >= 0) & (tokens < vocab_size)), strict=True):
            legal[row, column, tokens[row, column]] = True
        words = [None if row % 4 == 3 else pack(legal[row]) for row in range(rows)]
    q_ids, q_shares = proposal(random, logits[:, :drafts], vocab_size) if sparse else (None, None)
    if sparse:
        take = random.integers(0, PROPOSAL_WIDTH, (rows, drafts))
        swap = random.random((rows, drafts)) < 0.8
        tokens = np.where(swap, np.take_along_axis(q_ids, take[..., None], -1)[..., 0], tokens)
    chosen = [
        replace(PARAMETER_SETS[(i + seed) % len(PARAMETER_SETS)], seed=int(random.integers(2**63))) for i in range(rows)
    ]
    extents = np.where(random.random(rows) < 0.3, random.integers(0, drafts + 1, rows), drafts)
    dead = [1 << int(random.integers(0, drafts + 1)) if random.random() < 0.15 else 0 for _ in range(rows)]
    counts = random.integers(0, 3, (rows, vocab_size)).astype(np.int32)
    lengths = random.integers(0, 2**31 - 100, rows)
    return AcceptCase(
        name, logits, tokens.astype(np.int64), chosen, words, vocab_size, lengths,
        extents, dead, counts, q_ids, q_shares,
    )  # fmt: skip
