"""Constrained sampling and speculative acceptance: an FP64 oracle, a CPU path, CUDA kernels."""

from .api import AcceptResult, SampleResult, accept, sample
from .border import Proposals
from .layout import MAX_CANDIDATES, MAX_DRAFTS, PROPOSAL_WIDTH, Flag, Purpose
from .masks import SamplingMask
from .params import PRESETS, ParameterError, SamplingOverrides, SamplingParams, resolve

__all__ = [
    "MAX_CANDIDATES",
    "MAX_DRAFTS",
    "PRESETS",
    "PROPOSAL_WIDTH",
    "AcceptResult",
    "Flag",
    "ParameterError",
    "Proposals",
    "Purpose",
    "SampleResult",
    "SamplingMask",
    "SamplingOverrides",
    "SamplingParams",
    "accept",
    "resolve",
    "sample",
]
