"""The last steps of sampling, on at most 20 candidates: weigh, cut, draw, accept, subtract.

Each function is a *leaf*, it calls no other function of ours, and is written in the
subset that numba compiles for the CPU and for CUDA alike. `cpu.py` and `kernels/` compile
the same text, so the two paths cannot drift apart; `contract.py` shares nothing with it.

All of it is float64: in float32 exact boundaries move (20 equal weights at top_p 0.8 must
keep 16). Candidates come best first; weights beyond the kept ones are never read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["accepts", "draw", "find", "is_distribution", "subtract_proposal", "total", "truncate", "weigh"]


def weigh(values: Any, count: Any, temperature: Any, weights: Any) -> Any:
    """w_j = exp((z_j - z_0) / T), so that w_0 = 1 and nothing overflows."""
    top = np.float64(values[0])
    for j in range(count):
        weights[j] = math.exp((np.float64(values[j]) - top) / temperature)


def total(weights: Any, count: Any) -> Any:
    """The sum of the first `count` weights, in order."""
    mass = 0.0
    for j in range(count):
        mass += weights[j]
    return mass


def truncate(weights: Any, count: Any, top_p: Any, min_p: Any) -> Any:
    """How many candidates min-p and top-p keep, in one walk; at least one.

    Stop before j if w_j < min_p * w_0; stop after j once the cumulative weight
    reaches top_p times the weight of *all* candidates.
    """
    everything = 0.0
    for j in range(count):
        everything += weights[j]
    cumulative = 0.0
    for j in range(count):
        if min_p > 0.0 and weights[j] < min_p * weights[0]:
            return j
        cumulative += weights[j]
        if top_p < 1.0 and cumulative >= top_p * everything:
            return j + 1
    return count


def draw(weights: Any, count: Any, u: Any) -> Any:
    """Inverse CDF: the first j with u * mass < w_0 + ... + w_j.

    The comparison is strict, so a weight of zero is never drawn, not even at u = 0. As
    the mass is the last cumulative weight and u < 1, the walk ends inside the
    support; if there is no mass at all, the first candidate is taken.
    """
    mass = 0.0
    for j in range(count):
        mass += weights[j]
    cumulative = 0.0
    for j in range(count):
        cumulative += weights[j]
        if u * mass < cumulative:
            return j
    return 0


def find(ids: Any, count: Any, token: Any) -> Any:
    """The place of `token` among the first `count` ids, or -1. Any integer may be asked for."""
    for j in range(count):
        if ids[j] == token:
            return j
    return -1


def accepts(chance: Any, share: Any, u: Any) -> Any:
    """Accept a draft of target probability `chance` and draft probability `share` (1 for one-hot).

    With probability min(1, p/q). p > 0 is asked for explicitly: an illegal draft is
    rejected also at u = 0, and where q was (wrongly) 0.
    """
    return chance > 0.0 and (chance >= share or u * share < chance)


def is_distribution(shares: Any, count: Any) -> Any:
    """Whether every q_j is finite and not negative (a NaN fails every comparison)."""
    for j in range(count):
        if not (shares[j] >= 0.0 and shares[j] < math.inf):
            return False
    return True


def subtract_proposal(weights: Any, ids: Any, count: Any, q_ids: Any, q_shares: Any) -> Any:
    """Turn weights into the residual (p - q)+ over the support of p; q is 0 outside its candidates.

    q's candidates are distinct and in no particular order.
    """
    mass = 0.0
    for j in range(count):
        mass += weights[j]
    for j in range(count):
        rest = weights[j] / mass
        for i in range(len(q_ids)):
            if q_ids[i] == ids[j]:
                rest -= np.float64(q_shares[i])
        weights[j] = rest if rest > 0.0 else 0.0
