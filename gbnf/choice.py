"""A finite set of strings as a grammar.

The output is exactly one of the given strings: case, white space and Unicode are kept,
the empty string is allowed, and where a short string begins a longer one both are
possible endings. Order carries no weight, so `normalize_choices` is the identity under
which a compiled choice is cached.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import ChoiceError
from .grammar import Grammar, Rule, alternatives, literal
from .time_limit import check_time

__all__ = ["choice_grammar", "normalize_choices"]


def normalize_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """The distinct choices in the order of their first appearance.

    Raises `ChoiceError` for an empty list, and with the index for an element that is not
    a string or that contains surrogate code points, which UTF-8 cannot express.
    """
    if isinstance(choices, str | bytes):
        raise ChoiceError("choices must be a list of strings, not one string")
    for index, choice in enumerate(choices):
        check_time()
        if not isinstance(choice, str):
            raise ChoiceError(f"choice {index} is not a string but {type(choice).__name__}", index)
        if any("\ud800" <= char <= "\udfff" for char in choice):
            raise ChoiceError(f"choice {index} contains a surrogate code point", index)
    if not choices:
        raise ChoiceError("the list of choices is empty")
    return tuple(dict.fromkeys(choices))


def choice_grammar(choices: Sequence[str]) -> Grammar:
    """The grammar whose only strings are `choices`. Raises `ChoiceError` as `normalize_choices`."""
    return Grammar((Rule("root", alternatives(map(literal, normalize_choices(choices)))),))
