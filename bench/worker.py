"""The measuring process: makes engines, warms them, and takes one turn for each order it gets.

It answers READY first, then a `CaseResult` for each `(case, engine name, limit)`. If the
benchmark itself is at fault, its last message is a `Failure`.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from .cases import Case, Source
from .engines import make_engine, one_thread
from .vocabularies import load_vocabulary
from .walk import measure

__all__ = ["READY", "WARM_UP_SCHEMA", "WARM_UP_TEXT", "Failure", "warm_up_case", "work"]

READY = "ready"
STDERR = 2

WARM_UP_SCHEMA = (
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},'
    ' "required": ["name", "age"], "additionalProperties": false}'
)
WARM_UP_TEXT = '{"name": "Ada", "age": 36}'
WARM_UP_SOURCES = (Source("gbnf", 'root ::= "a"'), Source("regex", "a"), Source("choice", '["a"]'), Source("json", ""))
"""The other languages: some engines build a parser when one is first used. An engine need not take them all."""


@dataclass(frozen=True)
class Failure:
    """Why the process had to give up."""

    traceback: str


def warm_up_case(encode: Callable[[str], list[int]]) -> Case:
    """The tiny schema that every engine sees before it is measured."""
    return Case("warm-up", Source("schema", WARM_UP_SCHEMA), [encode(WARM_UP_TEXT)])


def work(engines: Sequence[str], vocabulary: str, pipe: Connection) -> None:
    """The main function of the process; it ends when the other end of the pipe is closed."""
    one_thread()
    gc.disable()
    _silence()
    try:
        _take_turns(engines, vocabulary, pipe)
    except EOFError:
        pass
    except Exception:
        pipe.send(Failure(traceback.format_exc()))
    pipe.close()


def _silence() -> None:
    """Drop what engines print about grammars from their own code, but not where one crashes."""
    faulthandler.enable(os.fdopen(os.dup(STDERR), "w"))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDERR)


def _take_turns(names: Sequence[str], vocabulary_name: str, pipe: Connection) -> None:
    vocabulary = load_vocabulary(vocabulary_name)
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.uint32)
    engines = {name: make_engine(name, vocabulary) for name in names}
    warm_up = warm_up_case(vocabulary.encode)
    for name, engine in engines.items():
        result = measure(name, engine, warm_up, row, float("inf"))
        if result.status != "compiled" or result.valid[0].stopped:
            raise RuntimeError(f"{name} fails at the warm-up: {result}")
        for source in WARM_UP_SOURCES:
            measure(name, engine, Case("warm-up", source, []), row, float("inf"))
    gc.freeze()
    pipe.send(READY)
    while True:
        case, name, limit_s = pipe.recv()
        pipe.send(measure(name, engines[name], case, row, limit_s))
