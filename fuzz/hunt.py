"""The hunt: look for the first difference between the matcher and the reference, inside this process.

A campaign in small, for code that may well be broken but is not expected to crash: no process for each engine, no
shrinking. It stops at the first difference. `fuzz.mutants` runs it on copies of the package with a
fault, where `NUMBA_DISABLE_JIT=1` spares the compilation of kernels:

    python -m infernix.fuzz.hunt --seconds 60

One line of JSON says what came of it (`Quarry`).
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import infernix
from infernix.gbnf.grammar import Grammar
from infernix.gbnf.printer import print_grammar
from infernix.matcher.compile import compile_grammar
from infernix.matcher.reference import ReferenceMatcher
from infernix.matcher.tables import SMALL_LIMITS
from infernix.matcher.vocabulary import Vocabulary

from .case import Case, Problem, VocabularySpec
from .choices import seeded
from .engines import Infernix, Reference, grammar_of, refusing
from .generate import case_of, random_case
from .host import Local
from .names import SYNTHETIC
from .session import Session

__all__ = ["Quarry", "hunt"]

KINDS = ("gbnf", "value", "schema", "value", "regex", "value")
"""A value is a grammar that was never a text, so that it has automata, and may name control tokens. Choices reach
nothing that grammars do not."""
SECONDS_PER_CASE = 3.0
"""A case in which the reference is lost is given up."""


@dataclass(frozen=True, slots=True)
class Quarry:
    """What came of a hunt."""

    package: str
    """The folder of the package that was hunted in."""
    difference: str
    """The first difference, or nothing."""
    cases: int
    seconds: float
    """Processor time of the process, imports included."""


class OutOfTime(BaseException):
    """Not an `Exception`: that would be taken for a fault of the engine."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime inside after so much processor time."""

    def ring(_signal: int, _frame: Any) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


class ValueReference(Reference):
    """The reference, which also takes a grammar that is there already as a value."""

    def __init__(self, values: dict[str, Grammar]) -> None:
        self.values = values

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`."""
        if source in self.values:
            return ReferenceMatcher(self.values[source], vocabulary)
        return super().compile(kind, source, vocabulary)


class ValueInfernix(Infernix):
    """The same for the matcher, with any of its optimisations off."""

    def __init__(self, values: dict[str, Grammar], name: str, features: int) -> None:
        self.values, self.name, self.features = values, name, features

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`."""
        with refusing():
            grammar = self.values.get(source) or grammar_of(kind, source, vocabulary)
            return compile_grammar(grammar, vocabulary, allow_control=True, features=self.features)


def case_for(kind: str, seed: int, number: int, values: dict[str, Grammar]) -> Case:
    """A case of the kind; the grammars of values are noted under their texts."""
    if kind != "value":
        return case_of(kind, SYNTHETIC, seed, number)
    grammar, vocabulary = random_case(seeded(seed, kind, number))
    source = print_grammar(grammar)
    values[source] = grammar
    return Case(VocabularySpec.of(vocabulary), (Problem("gbnf", source),))


def hunt(seconds: float, seed: int = 1, most_cases: int = 1 << 30) -> Quarry:
    """Work through the cases of a seed until something differs, the processor time is spent, or there are enough.

    A text's verdict does not count, since both matchers share what reads the sources.
    """
    values: dict[str, Grammar] = {}
    engines = [ValueInfernix(values, "infernix", 0), ValueInfernix(values, "infernix-small", SMALL_LIMITS)]
    session = Session([Local(engine) for engine in (ValueReference(values), *engines)])
    difference, cases = "", 0
    while not difference and cases < most_cases and (left := seconds - time.process_time()) > 0:
        try:
            with limited(min(left, SECONDS_PER_CASE)):
                case = case_for(KINDS[cases % len(KINDS)], seed, cases, values)
                found = [f.difference for f in session.examine(case, f"{seed}/{cases}")]
                difference = next((str(d) for d in found if d.check != "verdict"), "")
        except OutOfTime:
            pass
        cases += 1
    home = Path(infernix.__file__).resolve().parent
    return Quarry(str(home), difference, cases, time.process_time())


def main(
    seconds: Annotated[float, typer.Option(help="Processor time.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Determines all cases.")] = 1,
    most_cases: Annotated[int, typer.Option(help="Stop after so many cases.")] = 1 << 30,
) -> None:
    """Hunt, and print what came of it."""
    print(json.dumps(asdict(hunt(seconds, seed, most_cases))))


if __name__ == "__main__":
    typer.run(main)
