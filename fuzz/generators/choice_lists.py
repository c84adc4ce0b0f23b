"""Random lists of choices: shared beginnings, empty texts, duplicates, everything that needs quoting."""

from __future__ import annotations

from collections.abc import Sequence

from ..choices import Choose, chance, one_of, text
from .regexes import mutated

__all__ = ["PIECES", "random_choices"]

PIECES = [
    "a",
    "b",
    "ab",
    "yes",
    "no",
    " ",
    "not sure",
    "é",
    "è",
    "😀",
    '"',
    "\\",
    "\n",
    "\t",
    "\\n",
    "]",
    "0",
    "\u2028",
    "<x>",
]


def random_choices(choose: Choose, most: int = 6, pieces: Sequence[str] = PIECES) -> tuple[list[str], list[str]]:
    """A list of choices made of pieces, and texts to try: members, beginnings of members, near misses."""
    choices: list[str] = []
    for _ in range(1 + choose(most)):
        grown = one_of(choose, choices) if choices and chance(choose, 3) else ""
        choices.append("" if chance(choose, 16) else grown + text(choose, pieces, 4))
    if chance(choose, 8):
        choices.append(one_of(choose, choices))
    tried = [one_of(choose, choices) for _ in range(2)]
    return choices, tried + [mutated(choose, one_of(choose, choices)) for _ in range(3)]
