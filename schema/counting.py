"""Arrays whose items are counted: `contains` and its bounds.

A *place* in such an array is how many items there are, and how many of them have been counted for each
`contains`, both only as far as they still matter. The next item is counted for some set of these
schemas, and each set has a node of its own: the items that satisfy the schemas of the set, and do not satisfy the
others as far as those have a maximum.

    at least 2 items, of which 1 or more are X      (0, 0) --X--> (1, 1) --any--> (2, 1) --any--> (2, 1)
    (items, counted)                                (0, 0) -any-> (1, 0) ---X---> (2, 1)

Without a maximum an item of X need not be counted, and once there are enough none is: what matters is whether
some way of counting fits the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nodes import Node

__all__ = ["MAX_COUNTED", "Count", "Place", "Steps"]

MAX_COUNTED = 3
"""At most so many schemas are counted in one array."""
MAX_PLACES = 4096
"""At most so many places of one array are told apart."""

Place = tuple[int, ...]
"""The number of items, then that of the items counted for each schema; each stops growing where it stops mattering."""
Steps = dict[Place, list[tuple["Node", Place]]]
"""For each place the nodes that the next item may be of, and where they lead."""


@dataclass(frozen=True, slots=True)
class Count:
    """Bounds (minimum, maximum or None) for the items of each of some schemas.

    `cells[position][chosen]` is the node of the items at a position that are counted for the schemas of the bit set
    `chosen`, None where there can be none; the last position stands for all that follow. `pointer` is that of
    one of the schemas.
    """

    bounds: tuple[tuple[int, int | None], ...]
    cells: tuple[tuple[Node | None, ...], ...]
    pointer: str

    def is_end(self, place: Place, minimum: int) -> bool:
        """Whether an array of at least `minimum` items may end at a place."""
        items, *counts = place
        enough = all(count >= least for count, (least, _) in zip(counts, self.bounds, strict=True))
        return enough and items >= minimum

    def steps(self, minimum: int, maximum: int | None) -> Steps | None:
        """The places of arrays of `minimum` to `maximum` items from which the end can be reached, with their steps.

        Only nodes that are known to be productive count. The first place is `start`; without it there is no such
        array. None if there are too many places.
        """
        last = len(self.cells) - 1
        longest = max(minimum, last, 1) if maximum is None else maximum  # 1: after an item there is a comma
        found: Steps = {}
        pending = [self.start]
        for place in pending:  # grows while it is walked
            if place in found:
                continue
            if len(found) >= MAX_PLACES:
                return None
            found[place] = []
            if maximum is not None and place[0] >= maximum:
                continue
            for chosen, node in enumerate(self.cells[min(place[0], last)]):
                counts = self._counted(place[1:], chosen)
                if node is not None and node.productive and counts is not None:
                    target = (min(place[0] + 1, longest), *counts)
                    found[place].append((node, target))
                    pending.append(target)
        return _alive(found, [place for place in found if self.is_end(place, minimum)])

    @property
    def start(self) -> Place:
        """The place before the first item."""
        return (0,) * (1 + len(self.bounds))

    def _counted(self, counts: Place, chosen: int) -> Place | None:
        """The counts after an item that is counted for `chosen`; None if it must not be."""
        after = []
        for bit, (count, (least, most)) in enumerate(zip(counts, self.bounds, strict=True)):
            if not chosen >> bit & 1:
                after.append(count)
            elif count < (least if most is None else most):
                after.append(count + 1)
            else:
                return None
        return tuple(after)


def _alive(steps: Steps, ends: list[Place]) -> Steps:
    """The places that lead to one of the ends."""
    sources: dict[Place, list[Place]] = {}
    for place, following in steps.items():
        for _, target in following:
            sources.setdefault(target, []).append(place)
    alive = dict.fromkeys(ends)
    for place in ends:  # grows while it is walked
        for source in sources.get(place, ()):
            if source not in alive:
                alive[source] = None
                ends.append(source)
    return {
        place: [step for step in following if step[1] in alive] for place, following in steps.items() if place in alive
    }
