"""Mutants: faults put into copies of the matcher on purpose, to see whether fuzzing finds them.

Each mutation changes one line of a kernel, the way a slip of the hand would. It is applied to a copy of the
package in a temporary folder, in which a process of its own hunts (`fuzz.hunt`): random sources, vocabularies and
walks, the matcher against the reference. A mutant that is not caught within a minute of processor time says that
the generators or the checks are too weak.

At the end the same hunt goes through the unchanged package, as far as the slowest catch took: it must find nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import infernix
from infernix.gbnf.errors import RequestError

from .hunt import Quarry

__all__ = ["MUTATIONS", "Mutation", "hunt_in", "mutated_line", "mutated_package"]

SECONDS = 60.0
"""Processor time within which a mutant must be caught."""
WALL_FACTOR = 20
"""How much longer that may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A fault of one line. `old` and `new` are without the indentation."""

    name: str
    file: str
    old: str
    new: str
    why: str


MUTATIONS = (
    Mutation(
        "forgotten-completion",
        "matcher/earley.py",
        'for w in range(record["wait_first"], record["wait_first"] + record["wait_size"]):',
        'for w in range(record["wait_first"], record["wait_first"] + record["wait_size"] - 1):',
        "completing a rule does not advance the last item that waits for it",
    ),
    Mutation(
        "fallback-takes-all",
        "matcher/earley.py",
        'elif edge["kind"] == FALLBACK and not taken:',
        'elif edge["kind"] == FALLBACK:',
        "the fallback of a state also takes bytes that the state's own edges take",
    ),
    Mutation(
        "one-unit-too-many",
        "matcher/worklist.py",
        "return maximum < 0 or count < maximum",
        "return maximum < 0 or count <= maximum",
        "a loop may be entered once more at its maximum",
    ),
    Mutation(
        "dominated-too-early",
        "matcher/sets.py",
        'return bool(a["count"] >= counters(h)[counter]["minimum"])',
        'return bool(a["count"] + 2 >= counters(h)[counter]["minimum"])',
        "an item is dropped for one with fewer units, which is still two units short of leaving its loop",
    ),
    Mutation(
        "stale-move",
        "matcher/moves.py",
        "narrow(h)[number, NARROW + i] = after",
        "narrow(h)[number, NARROW] = after",
        "where a byte leads is remembered for the set's first byte",
    ),
    Mutation(
        "wrong-exit",
        "matcher/ranges.py",
        'out[size, 2] = -1 - item["origin"]',
        "out[size, 2] = 0",
        "whichever frame is completed, the text goes on after the first one",
    ),
    Mutation(
        "pivot-clears-nothing",
        "matcher/scan.py",
        "n_cleared += 1",
        "n_cleared += 0",
        "a mask that is derived from a pivot's keeps what does not hold for it",
    ),
    Mutation(
        "broken-characters-loop",
        "matcher/loops.py",
        "for kind in range(BROKEN + 1):",
        "for kind in range(BROKEN):",
        "a subtree is taken as a whole although some of it is no characters",
    ),
    Mutation(
        "covered-by-half",
        "matcher/scan.py",
        'return bool(arena(h)[range_] <= child["first_token"] and child["end_token"] <= arena(h)[range_ + 1])',
        'return bool(arena(h)[range_] <= child["first_token"])',
        "a subtree is left to a cover that has its first tokens only",
    ),
    Mutation(
        "need-one-short",
        "matcher/needs.py",
        "return int64(count) - SYMBOLIC + 1",
        "return int64(count) - SYMBOLIC",
        "an item inside the body of a loop does not count the unit that it has begun",
    ),
    Mutation(
        "mask-without-budget",
        "matcher/describe.py",
        "write_key(h, budget_of(h, shape, most))",
        "write_key(h, NO_BUDGET)",
        "a mask is found again although another number of units is left",
    ),
    Mutation(
        "wrong-twin",
        "matcher/compile.py",
        "content = (automaton.states, bytes(automaton.literals), edges.tobytes())",
        "content = (automaton.states, bytes(automaton.literals), len(edges))",
        "counted bodies of equal size share their shapes, whatever they read",
    ),
    Mutation(
        "rollback-one-short",
        "matcher/matcher.py",
        'kept = as_integer(mark, "a position") - self._forgotten',
        'kept = min(as_integer(mark, "a position") - self._forgotten + 1, len(self._history))',
        "one token too few is taken back",
    ),
)


def mutated_line(text: str, mutation: Mutation) -> str:
    """The source text with the mutation. Raises RequestError unless its old line occurs exactly once."""
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == mutation.old]
    if len(places) != 1:
        raise RequestError(f"{mutation.name}: {mutation.file} has its line {len(places)} times, not once")
    lines[places[0]] = lines[places[0]].replace(mutation.old, mutation.new)
    return "".join(lines)


@contextmanager
def mutated_package(mutation: Mutation | None) -> Iterator[Path]:
    """A folder with a copy of the package `infernix`, changed by a mutation. Raises RequestError."""
    with tempfile.TemporaryDirectory(prefix="infernix-mutant-") as folder:
        package = Path(folder) / "infernix"
        # The folders of a checkout are links: they are followed, so that nothing leads back to the original.
        shutil.copytree(Path(infernix.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            file = package / mutation.file
            file.write_text(mutated_line(file.read_text(encoding="utf-8"), mutation), encoding="utf-8")
        yield Path(folder)


def hunt_in(
    mutation: Mutation | None, seconds: float = SECONDS, most_cases: int | None = None, seed: int = 1
) -> Quarry:
    """Hunt in a copy with a mutation, or in an unchanged one. Raises RequestError if that cannot be done."""
    with mutated_package(mutation) as folder:
        command = [sys.executable, "-m", "infernix.fuzz.hunt", "--seconds", str(seconds), "--seed", str(seed)]
        command += [] if most_cases is None else ["--most-cases", str(most_cases)]
        outcome = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1", "INFERNIX_CACHE": str(folder)},
            capture_output=True,
            text=True,
            timeout=WALL_FACTOR * seconds,
        )
        name = mutation.name if mutation else "unchanged"
        if outcome.returncode != 0:
            raise RequestError(f"{name}: the hunt ended with exit code {outcome.returncode}: {outcome.stderr[-2000:]}")
        quarry = Quarry(**json.loads(outcome.stdout))
        if Path(quarry.package) != (folder / "infernix").resolve():
            raise RequestError(f"{name}: the hunt took place in {quarry.package}, not in the copy")
        return quarry
