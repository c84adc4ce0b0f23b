"""A matcher for tests: a finite set of token strings, ended by a stop token. Plain sets, no infernix."""

from __future__ import annotations

import numpy as np


class ChoiceMatcher:
    """Allows the tokens that continue one of the choices; the stop token where one is complete."""

    def __init__(self, choices, stop, size):
        self.choices = [tuple(choice) for choice in choices]
        self.stop, self.size = stop, size
        self.text = ()

    def legal(self):
        if self.is_terminated():
            return set()
        n = len(self.text)
        rest = [c for c in self.choices if c[:n] == self.text]
        return {c[n] for c in rest if len(c) > n} | {self.stop for c in rest if len(c) == n}

    def fill_mask(self, row):
        row[:] = 0
        for token in self.legal():
            row[token // 32] |= np.uint32(1 << token % 32)

    def accept_token(self, token):
        if token not in self.legal():
            raise ValueError(f"{token} is not legal after {self.text}")
        self.text += (token,)

    def is_terminated(self):
        return bool(self.text) and self.text[-1] == self.stop

    def mark(self):
        return self.text

    def rollback(self, mark):
        self.text = mark

    def fork(self):
        other = ChoiceMatcher(self.choices, self.stop, self.size)
        other.text = self.text
        return other
