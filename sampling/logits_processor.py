"""Constrained decoding inside Hugging Face `transformers`: a logits processor built on matchers.

    processor = GrammarLogitsProcessor(infernix.Matcher(compiled))
    model.generate(**inputs, logits_processor=[processor])

`generate` hands over the tokens so far and the next scores; the processor advances a matcher
by what is new and sets the scores of illegal tokens to -inf. It follows sequences by
their generated tokens, not by their row, so beam search and reordering work as long as
the matcher can `fork`. Warpers of `generate` (top-k, temperature) come after it, so they see
legal tokens only. One processor serves one call of `generate`; `reset` prepares it for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from infernix.gbnf.errors import ConstraintDeadEnd

from .layout import words_for
from .params import ParameterError

__all__ = ["GrammarLogitsProcessor"]


class GrammarLogitsProcessor:
    """Masks scores by grammar; a callable that `generate` accepts.

    matchers  one matcher for every prompt of the batch (a single one for a batch of one), at the
              state where generation starts; each needs `fill_mask`, `accept_token`,
              `is_terminated`, and `fork` if it must serve several rows (beams, samples). Those that
              can fork stay where they are
    vocab_size  the tokens the masks cover, by default the matchers' own vocabulary; ids beyond it (a
              model's logits are often wider, to a round number) are never allowed

    Raises `ConstraintDeadEnd` if a sequence cannot go on, `ParameterError` if the rows do not fit.
    """

    supports_continuous_batching = False

    def __init__(self, matchers: Any | Sequence[Any], vocab_size: int | None = None) -> None:
        self._starts = list(matchers) if isinstance(matchers, Sequence) else [matchers]
        if not self._starts:
            raise ParameterError("at least one matcher is needed", "matchers")
        self._vocab_size = _size_of(self._starts[0]) if vocab_size is None else vocab_size
        self._prompt_length: int | None = None
        # (prompt, generated tokens) -> the matcher that has accepted them
        self._states: dict[tuple[int, tuple[int, ...]], Any] = {}

    def reset(self) -> None:
        """Forget the sequences; matchers that can fork start again where they were given."""
        self._prompt_length = None
        self._states = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores with -inf at illegal tokens. input_ids int[rows, length], scores float[rows, W]."""
        rows, length = input_ids.shape
        if rows % len(self._starts):
            raise ParameterError(f"{rows} rows for {len(self._starts)} matchers", "matchers")
        if self._prompt_length is None:
            self._prompt_length = length
        generated = input_ids[:, self._prompt_length :].tolist()
        matchers = self._advance([tuple(tokens) for tokens in generated])
        legal = torch.from_numpy(self._legal(matchers, scores.shape[1])).to(scores.device)
        return scores.masked_fill(~legal, -torch.inf)

    def _advance(self, sequences: list[tuple[int, ...]]) -> list[Any]:
        """The matcher of every row, each advanced by the row's last token."""
        rows_each = len(sequences) // len(self._starts)
        keys = [(row // rows_each, tokens) for row, tokens in enumerate(sequences)]
        if not sequences[0]:
            self._states = {(prompt, ()): self._copy(start) for prompt, start in enumerate(self._starts)}
        else:
            heirs = {key: (key[0], key[1][:-1]) for key in dict.fromkeys(keys)}
            waiting = list(heirs.values())
            following: dict[tuple[int, tuple[int, ...]], Any] = {}
            for key, parent in heirs.items():
                if parent not in self._states:
                    raise self._unknown(parent)
                waiting.remove(parent)
                matcher = self._states[parent]
                if parent in waiting:  # someone else goes on from here too
                    matcher = self._fork(matcher)
                if not matcher.is_terminated():  # a finished sequence is padded with anything
                    matcher.accept_token(key[1][-1])
                following[key] = matcher
            self._states = following
        return [self._states[key] for key in keys]

    def _unknown(self, sequence: tuple[int, tuple[int, ...]]) -> ParameterError:
        """Why nothing is known of a sequence. Rows of different prompts never go on from each other."""
        prompt, tokens = sequence
        if any((other, tokens) in self._states for other in range(len(self._starts)) if other != prompt):
            reason = f"{len(self._starts)} matchers are too many: give one for each prompt, which its beams share"
            return ParameterError(reason, "matchers")
        return ParameterError("a sequence changed that was seen before; call reset()", "input_ids")

    @staticmethod
    def _fork(matcher: Any) -> Any:
        if not hasattr(matcher, "fork"):
            raise ParameterError("several rows share a matcher that cannot fork", "matchers")
        return matcher.fork()

    @staticmethod
    def _copy(matcher: Any) -> Any:
        return matcher.fork() if hasattr(matcher, "fork") else matcher

    def _legal(self, matchers: list[Any], width: int) -> np.ndarray:
        """bool[rows, W]; a finished row is left as it is, since nothing of it is used."""
        size = width if self._vocab_size is None else self._vocab_size
        legal = np.zeros((len(matchers), width), np.bool_)
        row = np.zeros(words_for(size), np.uint32)
        for number, matcher in enumerate(matchers):
            if matcher.is_terminated():
                legal[number] = True
                continue
            matcher.fill_mask(row)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:size]
            if not bits.any():
                raise ConstraintDeadEnd(f"no token can continue sequence {number}")
            legal[number, :size] = bits[:width]
        return legal


def _size_of(matcher: Any) -> int | None:
    """How many ids the masks of a matcher cover, if it says so."""
    vocabulary = getattr(getattr(matcher, "compiled", None), "vocabulary", None)
    return None if vocabulary is None else int(vocabulary.size)
