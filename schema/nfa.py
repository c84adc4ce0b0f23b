"""An expression as a nondeterministic automaton that is unfolded only where a text leads.

A state says what may still follow: a linked list of *cells* `(node, position, rest)`, where

* `node` is the part of the expression that is being read,
* `position` is how far it has been read: the offset in a literal, the index of the next
  item of a sequence, the completed rounds of a repetition, the state of an automaton,
* `rest` is the cell that continues when the node is done; cell 0 is the end of the text.

These are the partial derivatives of Antimirov (1996), with one number instead of a copied
expression for each counter: `a{1,100000}` costs nothing until a text makes it count. Cells
are interned, so equal continuations are equal integers.
"""

from __future__ import annotations

from bisect import bisect_right

from infernix.gbnf.errors import LimitError
from infernix.gbnf.grammar import (
    Alternatives,
    Automaton,
    CharClass,
    Expression,
    Literal,
    Ranges,
    Repeat,
    Sequence,
    fold,
    without_fallback,
)
from infernix.gbnf.regex import ANY_TEXT

__all__ = ["MAX_WORK", "LazyNfa", "accepts"]

END = 0
MAX_WORK = 2_000_000
"""Steps that one automaton may take before `LimitError`: a bound on time, about a second."""
MAX_KEPT = 20_000
"""So many cells are kept from one text to the next."""

Edge = tuple[Ranges, int]


class LazyNfa:
    """The cells of one expression over code points (no rule references, no token terminals).

    `work` is how many steps it may take. Steps, unlike seconds, are the same on every machine, so that whether
    an expression is too large is a property of the expression.
    """

    def __init__(self, expression: Expression, work: int = MAX_WORK) -> None:
        self._max_work = work
        self._nodes: list[Expression] = []
        self._children: list[list[int]] = []
        self._nullable: list[bool] = []
        self._cells: list[tuple[int, int, int]] = [(-1, -1, -1)]
        self._ids: dict[tuple[int, int, int], int] = {}
        self._expanded: dict[int, tuple[list[Edge], bool]] = {}
        self._work = 0
        self.is_productive = True
        """Whether every cell leads to an accepted text, as far as is known without looking."""
        self.universal: int | None = None
        """The cell after which every text is accepted, once it has been met."""
        self._top = fold(expression, self._add_node)
        self.start = self._cell(self._top, 0, END)

    def _add_node(self, node: Expression, children: list[int]) -> int:
        nullable = [self._nullable[child] for child in children]
        match node:
            case Literal(text):
                empty = not text
            case CharClass(ranges):
                empty = False
                self.is_productive = self.is_productive and bool(ranges)
            case Sequence():
                empty = all(nullable)
            case Alternatives():
                empty = any(nullable)
            case Repeat(minimum=minimum):
                empty = minimum == 0 or nullable[0]
            case Automaton(accepting=accepting):
                node = without_fallback(node)
                empty = 0 in accepting
                self.is_productive = False  # its states may lead nowhere
            case _:
                raise TypeError(f"no expression over code points: {node}")
        self._nodes.append(node)
        self._children.append(children)
        self._nullable.append(empty)
        return len(self._nodes) - 1

    def _cell(self, node: int, position: int, rest: int) -> int:
        key = (node, position, rest)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._cells)
            self._cells.append(key)
            if rest == END and self._nodes[node] == ANY_TEXT:
                self.universal = found
        return found

    def edges(self, cell: int) -> tuple[list[Edge], bool]:
        """The `(ranges, target cell)` pairs that read one character, and whether the text may end here."""
        found = self._expanded.get(cell)
        if found is None:
            found = self._expanded[cell] = self._expand(cell)
        return found

    def _expand(self, cell: int) -> tuple[list[Edge], bool]:
        edges: list[Edge] = []
        seen = {cell}
        pending = [cell]
        while pending:
            self.spend(1)
            current = pending.pop()
            if current == END:
                continue
            for following in self._visit(current, edges, seen):
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return edges, END in seen

    def accepts(self, text: str) -> bool:
        """Whether the whole `text` belongs to the expression, by following all cells at once.

        Raises `LimitError` if that takes more than `work` steps.
        """
        self._work = 0
        if len(self._cells) > MAX_KEPT:
            self._forget()
        cells = {self.start}
        for char in text:
            code = ord(char)
            self.spend(len(cells))
            cells = {target for cell in cells for ranges, target in self.edges(cell)[0] if _inside(ranges, code)}
            if not cells:
                return False
        return any(self.edges(cell)[1] for cell in cells)

    def _forget(self) -> None:
        """Begin anew: what has been unfolded for other texts is only a memory."""
        del self._cells[1:]
        self._ids.clear()
        self._expanded.clear()
        self.universal = None
        self.start = self._cell(self._top, 0, END)

    def spend(self, steps: int) -> None:
        """Count work against the limits. Raises `LimitError`."""
        self._work += steps
        if self._work > self._max_work:
            raise LimitError(f"the automaton of a string takes more than {self._max_work} steps to build")

    def _visit(self, cell: int, edges: list[Edge], seen: set[int]) -> list[int]:
        """Add the edges of one cell; return the cells that it reaches without reading."""
        index, position, rest = self._cells[cell]
        match self._nodes[index]:
            case Literal(text):
                if not text:
                    return [rest]
                last = position + 1 == len(text)
                target = rest if last else self._cell(index, position + 1, rest)
                code = ord(text[position])
                edges.append((((code, code),), target))
            case CharClass(ranges):
                edges.append((ranges, rest))
            case Sequence():
                items = self._children[index]
                last = position + 1 == len(items)
                return [self._cell(items[position], 0, rest if last else self._cell(index, position + 1, rest))]
            case Alternatives():
                return [self._cell(choice, 0, rest) for choice in self._children[index]]
            case Repeat(_, minimum, maximum):
                return self._visit_repeat(cell, minimum, maximum, seen)
            case Automaton(states, accepting):
                for low, high, target in states[position]:
                    edges.append((((low, high),), self._cell(index, target, rest)))
                return [rest] if position in accepting else []
        return []

    def _visit_repeat(self, cell: int, minimum: int, maximum: int | None, seen: set[int]) -> list[int]:
        index, rounds, rest = self._cells[cell]
        (item,) = self._children[index]
        if self._nullable[item]:
            minimum = 0  # empty rounds make up what is missing
        # Once the minimum is reached, a cell with fewer rounds can do all that this one can.
        if rounds > minimum and self._ids.get((index, rounds - 1, rest)) in seen:
            return []
        following = [rest] if rounds >= minimum else []
        if maximum is None or rounds < maximum:
            # Without a maximum, rounds beyond the minimum need not be told apart.
            completed = min(rounds + 1, minimum) if maximum is None else rounds + 1
            following.append(self._cell(item, 0, self._cell(index, completed, rest)))
        return following


def accepts(expression: Expression, text: str) -> bool:
    """Whether the whole `text` belongs to the expression."""
    return LazyNfa(expression).accepts(text)


def _inside(ranges: Ranges, code: int) -> bool:
    at = bisect_right(ranges, (code, 0x110000)) - 1
    return at >= 0 and code <= ranges[at][1]
