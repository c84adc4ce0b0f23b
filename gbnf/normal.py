"""The normal form of a nested expression, in linear time and without recursion.

The helpers of `grammar` flatten one level: `sequence([sequence([a, b]), c])` copies the
inner items. Building a thousand nested groups that way would copy the innermost items a
thousand times, so the parser first builds the tree as it is written, and this pass
flattens it in one go: a sequence directly inside a sequence adds its items to the *same*
list as its parent, and so does an alternative inside an alternative.

It is linear if nothing that disappears later (the empty string, a group of one) stands
between two nodes of the same kind; the constructors `raw_*` see to that.
"""

from __future__ import annotations

from collections.abc import Iterator

from .grammar import (
    EMPTY,
    Alternatives,
    Expression,
    Repeat,
    Sequence,
    alternatives,
    children,
    repeat,
    sequence,
)

__all__ = ["normal_form", "raw_alternatives", "raw_sequence"]


def raw_sequence(items: list[Expression]) -> Expression:
    """A concatenation, not flattened; empty items are dropped."""
    kept = tuple(item for item in items if item != EMPTY)
    if len(kept) > 1:
        return Sequence(kept)
    return kept[0] if kept else EMPTY


def raw_alternatives(choices: list[Expression]) -> Expression:
    """A union of at least one choice, not flattened."""
    if len(choices) == 1 or all(choice == EMPTY for choice in choices):
        return choices[0]
    return Alternatives(tuple(choices))


class _Frame:
    """A node being visited: the children still to come, and where finished parts go."""

    __slots__ = ("node", "parts", "pending", "shared")

    def __init__(self, node: Expression, parts: list[Expression], shared: bool) -> None:
        self.node = node
        self.pending: Iterator[Expression] = iter(children(node))
        self.parts = parts
        self.shared = shared  # `parts` is the parent's own list


def normal_form(expression: Expression) -> Expression:
    """A parser's expression, without `Joined`, as `sequence`, `alternatives` and `repeat` would have built it."""
    result: list[Expression] = []
    frames: list[_Frame] = []
    if not _open(expression, result, frames):
        return expression
    while frames:
        frame = frames[-1]
        for child in frame.pending:
            if _open(child, frame.parts, frames):
                break
        else:
            frames.pop()
            if not frame.shared:
                (frames[-1].parts if frames else result).append(_close(frame))
    return result[0]


def _open(node: Expression, parts: list[Expression], frames: list[_Frame]) -> bool:
    """Enter an inner node; a leaf is finished at once."""
    if not isinstance(node, Sequence | Alternatives | Repeat):
        parts.append(node)
        return False
    shared = bool(frames) and type(node) is type(frames[-1].node) and not isinstance(node, Repeat)
    frames.append(_Frame(node, parts if shared else [], shared))
    return True


def _close(frame: _Frame) -> Expression:
    match frame.node:
        case Repeat(minimum=minimum, maximum=maximum):
            return repeat(frame.parts[0], minimum, maximum)
        case Sequence():
            return sequence(frame.parts)
        case _:
            return alternatives(frame.parts)
