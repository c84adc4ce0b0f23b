"""The single source of decisions: everything random in this package is drawn from a `Choose`.

`Choose` is a function from n to an integer in range(n). A seed supplies one for campaigns
(`seeded`), hypothesis supplies one for property tests, which it can shrink: that is why every
list of options begins with the simplest. Nothing else may be random, so that a seed and a number
always give the same case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

__all__ = ["Choose", "chance", "one_of", "seeded", "some_of", "text"]

Choose = Callable[[int], int]
"""n -> an integer in range(n)."""

Option = TypeVar("Option")


def seeded(*names: int | str) -> Choose:
    """The choices that belong to a seed, such as a campaign's seed and a case's number."""
    draw = Random("/".join(map(str, names))).random
    return lambda count: int(draw() * count)


def one_of(choose: Choose, options: Sequence[Option]) -> Option:
    """One of the options; the first is the simplest."""
    return options[choose(len(options))]


def some_of(choose: Choose, options: Sequence[Option], most: int) -> list[Option]:
    """Up to `most` different options, in an order that is drawn too."""
    left = list(options)
    return [left.pop(choose(len(left))) for _ in range(min(choose(most + 1), len(left)))]


def chance(choose: Choose, one_in: int) -> bool:
    """True once in so many times."""
    return choose(one_in) == one_in - 1


def text(choose: Choose, alphabet: Sequence[str], longest: int) -> str:
    """A text of 1 to `longest` characters or pieces."""
    return "".join(one_of(choose, alphabet) for _ in range(1 + choose(longest)))
