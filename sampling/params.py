"""Sampling parameters: ranges checked once, presets, and the rule for constrained requests.

Three layers, each plain data:

    preset  (what the model's authors recommend)         PRESETS["qwen3.5-thinking"]
    overrides (what this caller asked for, or None)      SamplingOverrides(temperature=0.2)
    params  (what is executed, every field decided)      resolve(preset, overrides, constrained=True)

A constrained request drops the *preset's* penalties: a grammar repeats its structural
tokens by construction, and a presence penalty on `"` and `,` pushes the model into odd
but legal merged tokens. Penalties that the caller asked for still apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np

from infernix.gbnf.errors import RequestError

from .layout import MAX_CANDIDATES, ROW, Purpose

__all__ = ["PRESETS", "ParameterError", "SamplingOverrides", "SamplingParams", "pack_rows", "resolve"]

_RANGES = {
    "temperature": (0.0, 2.0),
    "top_p": (0.0, 1.0),
    "min_p": (0.0, 1.0),
    "presence_penalty": (-2.0, 2.0),
    "frequency_penalty": (-2.0, 2.0),
}
_SEED_LIMIT = 1 << 64


class ParameterError(RequestError):
    """A sampling parameter that is not a number of its range; `field` names it."""

    code = "invalid_sampling_parameter"

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def _checked_float(field: str, value: object) -> float:
    low, high = _RANGES[field]
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ParameterError(f"expected a number, got {type(value).__name__}", field)
    if not math.isfinite(value) or not low <= value <= high:
        raise ParameterError(f"must lie in [{low:g}, {high:g}], got {value}", field)
    return float(value)


def _checked_int(field: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ParameterError(f"expected an integer, got {type(value).__name__}", field)
    if not low <= value <= high:
        raise ParameterError(f"must lie in [{low}, {high}], got {value}", field)
    return int(value)


def _check_fields(owner: object) -> None:
    """Check every field that is set, and store it as a plain Python number."""
    for field in fields(owner):  # type: ignore[arg-type]
        value = getattr(owner, field.name)
        if value is None:
            continue
        if field.name in _RANGES:
            checked: float | int = _checked_float(field.name, value)
        elif field.name == "top_k":
            checked = _checked_int("top_k", value, 0, MAX_CANDIDATES)
        else:
            checked = _checked_int("seed", value, 0, _SEED_LIMIT - 1)
        object.__setattr__(owner, field.name, checked)


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """The parameters of one request, all decided.

    temperature        0 to 2; 0 is greedy: the largest penalised logit, no filter, no randomness
    top_k              0 to 20; 0 means 20, the most that is ever considered
    top_p, min_p       0 to 1; 1 and 0 switch them off
    presence_penalty,
    frequency_penalty  -2 to 2; subtracted from the logits of tokens generated before
    seed               64 unsigned bits; equal seeds give equal draws

    Raises `ParameterError` for anything else.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check_fields(self)

    @property
    def greedy(self) -> bool:
        """Whether the best token is taken instead of a draw."""
        return self.temperature <= 0

    @property
    def penalised(self) -> bool:
        """Whether token counts matter to this request."""
        return self.presence_penalty != 0 or self.frequency_penalty != 0

    @property
    def candidates(self) -> int:
        """How many of the best tokens are considered: top_k, where 0 and 20 both mean 20."""
        return self.top_k if 0 < self.top_k < MAX_CANDIDATES else MAX_CANDIDATES


@dataclass(frozen=True, slots=True)
class SamplingOverrides:
    """What a caller asked for; None where the caller said nothing. Ranges as in `SamplingParams`."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        _check_fields(self)


PRESETS = MappingProxyType(
    {
        "greedy": SamplingParams(temperature=0.0),
        "plain": SamplingParams(),
        # The recommendations of the Qwen3 and Qwen3.5 model cards.
        "qwen3-thinking": SamplingParams(temperature=0.6, top_k=20, top_p=0.95),
        "qwen3-instruct": SamplingParams(temperature=0.7, top_k=20, top_p=0.8),
        "qwen3.5-thinking": SamplingParams(temperature=1.0, top_k=20, top_p=0.95, presence_penalty=1.5),
        "qwen3.5-coding": SamplingParams(temperature=0.6, top_k=20, top_p=0.95),
        "qwen3.5-instruct": SamplingParams(temperature=0.7, top_k=20, top_p=0.8, presence_penalty=1.5),
    }
)
"""Named starting points, by model family and mode."""


def resolve(
    preset: SamplingParams | str = "plain",
    overrides: SamplingOverrides | None = None,
    *,
    constrained: bool = False,
) -> SamplingParams:
    """Decide every parameter of a request: the caller's where given, else the preset's.

    For a constrained request the preset's penalties are dropped, the caller's are kept.
    Raises `ParameterError` if there is no preset of that name.
    """
    if isinstance(preset, str):
        if preset not in PRESETS:
            raise ParameterError(f"no preset {preset!r}; there are {', '.join(PRESETS)}", "preset")
        preset = PRESETS[preset]
    if constrained:
        preset = replace(preset, presence_penalty=0.0, frequency_penalty=0.0)
    if overrides is None:
        return preset
    given = {field.name: getattr(overrides, field.name) for field in fields(overrides)}
    return replace(preset, **{name: value for name, value in given.items() if value is not None})


def pack_rows(params: Sequence[SamplingParams], out: np.ndarray | None = None) -> np.ndarray:
    """The parameters as `ROW` records, one a row; positions, extents and dead ends are zeroed.

    `out`, if given, is a ROW array of at least that many records and is filled in place.
    """
    rows = np.zeros(len(params), ROW) if out is None else out[: len(params)]
    for row, one in zip(rows, params, strict=True):
        row["temperature"] = one.temperature
        row["top_p"] = one.top_p
        row["min_p"] = one.min_p
        row["seed"] = one.seed
        row["dead_ends"] = 0
        row["presence_penalty"] = one.presence_penalty
        row["frequency_penalty"] = one.frequency_penalty
        row["top_k"] = one.candidates
        row["position"] = 0
        row["extent"] = 0
        row["purpose"] = Purpose.DECODE
    return rows
