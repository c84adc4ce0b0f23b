"""The generation loop: read the prompt, then mask, sample, accept, and publish, token by token.

    prompt ─ decoder ─> logits ─┐
                matcher ─> mask ─┴─ sample ─> token ─┬─> matcher (accept)
                                                     ├─> text, as soon as characters are whole
                                                     └─> decoder ─> next logits

A `Generation` is an iterator over pieces of text; afterwards (and at any time) its `result`
says what has happened. Three facts are kept apart: whether the text so far is *complete*
(the language may end here), whether the sequence *terminated* (an end-of-sequence token
was accepted), and why generation stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

try:
    import torch
except ModuleNotFoundError as error:
    reason = "models need torch; install the extra `engine`: pip install '.[engine]' in the checkout"
    raise ModuleNotFoundError(reason, name=error.name) from None

from infernix.gbnf.errors import ConstraintDeadEnd
from infernix.sampling.layout import Purpose
from infernix.sampling.params import SamplingParams

from .errors import InputError
from .models.load import LanguageModel
from .models.tokenizer import TextStream
from .sampler import DEFAULT_PARAMS, sample_token

if TYPE_CHECKING:
    from infernix.matcher.matcher import Matcher

__all__ = ["DEFAULT_PARAMS", "FinishReason", "Generation", "Result", "Timings"]

PREFILL_CHUNK = 512  # tokens; bounds the attention mask's memory and the wait for Ctrl-C


class FinishReason(StrEnum):
    """Why a generation stopped."""

    STOP = "stop"  # an end-of-sequence token
    LENGTH = "length"  # the token budget or the context is used up


@dataclass(slots=True)
class Timings:
    """Wall-clock seconds by what they were spent on, and what the constraint took for each token."""

    prefill: float = 0.0
    decode: float = 0.0
    first_mask: float = 0.0  # pays for everything that is made on first use
    mask: float = 0.0  # all later masks
    sample: float = 0.0
    accept: float = 0.0
    constraint: list[float] = field(default_factory=list)
    """Mask and accept of each token; a few may pay for much, so that their median says more than the sums."""

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Add the time of the block to the field `name`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, name, getattr(self, name) + time.perf_counter() - start)

    @property
    def constrained(self) -> float:
        """What the constraint has cost."""
        return self.first_mask + self.mask + self.accept

    @property
    def total(self) -> float:
        """Everything but the prefill: what the generated tokens cost."""
        return self.decode + self.constrained + self.sample


@dataclass(slots=True)
class Result:
    """What a generation has produced so far.

    `complete` and `terminated` are None without a constraint. `finish_reason` is None while
    it goes on. `token_ids` include a final end-of-sequence token, `text` does not.
    """

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    complete: bool | None = None
    terminated: bool | None = None
    prompt_tokens: int = 0
    timings: Timings = field(default_factory=Timings)

    @property
    def tokens_per_second(self) -> float:
        """Generated tokens per second, prefill left out; 0 before the first token."""
        return len(self.token_ids) / self.timings.total if self.timings.total else 0.0


class Generation:
    """One answer of a model; iterate to run it. Not restartable.

    `matcher` constrains the new text; None leaves the model free. At most `max_tokens`
    are generated. Raises InputError if the prompt is empty or leaves no room in the context.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: list[int],
        *,
        matcher: Matcher | None = None,
        params: SamplingParams | None = None,
        max_tokens: int = 256,
    ) -> None:
        if not prompt:
            raise InputError("the prompt is empty")
        room = model.config.context_length - len(prompt)
        if room < 1:
            raise InputError(
                f"a prompt of {len(prompt)} tokens does not fit the context of {model.config.context_length}"
            )
        self.result = Result(prompt_tokens=len(prompt))
        self._model = model
        self._prompt = prompt
        self._matcher = matcher
        self._params = params or DEFAULT_PARAMS
        self._budget = min(max_tokens, room)
        self._cache = model.decoder.new_cache()
        self._stream = TextStream()
        self._mask = np.zeros(model.vocabulary.words, dtype=np.uint32)
        size = model.config.vocab_size
        self._counts = np.zeros(size, dtype=np.int32) if self._params.penalised else None

    def __iter__(self) -> Iterator[str]:
        """Generate; yield every piece of text as soon as it is whole characters."""
        result = self.result
        if result.finish_reason is not None:
            return
        self._observe()
        logits = self._prefill() if self._budget > 0 else None
        while logits is not None:
            before = result.timings.constrained
            token = self._choose(logits)
            spelling = self._accept(token)
            result.timings.constraint.append(result.timings.constrained - before)
            yield from self._publish(self._stream.push(spelling))
            if token in self._model.vocabulary.eos_ids:
                result.finish_reason = FinishReason.STOP
                break
            if len(result.token_ids) >= self._budget:
                break
            with result.timings.measure("decode"):
                logits = self._read([token])
        result.finish_reason = result.finish_reason or FinishReason.LENGTH
        yield from self._publish(self._stream.close())

    def run(self) -> Result:
        """Generate everything and return the result."""
        for _ in self:
            pass
        return self.result

    def _prefill(self) -> np.ndarray:
        """Read the prompt in chunks; the logits after it."""
        with self.result.timings.measure("prefill"):
            for start in range(0, len(self._prompt), PREFILL_CHUNK):
                logits = self._read(self._prompt[start : start + PREFILL_CHUNK])
        return logits

    def _read(self, tokens: list[int]) -> np.ndarray:
        """Feed tokens to the decoder; float32 logits of shape (vocab_size,)."""
        logits = self._model.decoder(torch.tensor(tokens), self._cache)
        array: np.ndarray = logits.to(torch.float32).numpy()
        return array

    def _choose(self, logits: np.ndarray) -> int:
        """Mask and sample. Raises ConstraintDeadEnd if no token is legal."""
        timings, mask = self.result.timings, None
        if self._matcher is not None:
            with timings.measure("mask" if self.result.token_ids else "first_mask"):
                mask = self._mask
                self._matcher.fill_mask(mask)
                dead = not mask.any()
            if dead:
                raise ConstraintDeadEnd("no token of this vocabulary can continue the text")
        position = len(self._prompt) + len(self.result.token_ids)
        purpose = Purpose.DECODE if self.result.token_ids else Purpose.PREFILL
        with timings.measure("sample"):
            return sample_token(logits, mask, self._counts, self._params, position, purpose)

    def _accept(self, token: int) -> bytes:
        """Move the matcher, the penalties and the result; the token's text bytes."""
        if self._matcher is not None:
            with self.result.timings.measure("accept"):
                self._matcher.accept_token(token)
        if self._counts is not None:
            self._counts[token] += 1
        self.result.token_ids.append(token)
        self._observe()
        return self._model.tokenizer.bytes_of(token)

    def _observe(self) -> None:
        if self._matcher is not None:
            self.result.terminated = self._matcher.is_terminated()
            self.result.complete = self.result.terminated or self._matcher.can_end()

    def _publish(self, text: str) -> Iterator[str]:
        if text:
            self.result.text += text
            yield text
