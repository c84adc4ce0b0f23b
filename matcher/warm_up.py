"""Compiling the matcher's machine code ahead, with no more than the core of Infernix.

Kernels are compiled when they are first called, and kept in the user's cache folder (`kernel_cache`). So warming up is
to call each operation once, on grammars that have one of everything. `infernix warmup` of the extra `engine` takes the
same steps visibly, when several cores have compiled most of the kernels, and warms the sampler up too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .matcher import Matcher

__all__ = ["ONE_OF_EVERYTHING", "TEXT", "warm_up", "warm_up_steps"]

ONE_OF_EVERYTHING = r"""
root    ::= item ("," item)* "!"
item    ::= [a-zé]{2,5} | "(" root ")" | "" | Token(65, 66) | ExcludeToken(67)
"""
TEXT = b"ab,(cd!),e"
ANY_KEY_BUT_THESE = '{"properties": {"id": {"const": 1}}}'
"""Keys that are not declared make automata with fallbacks, which GBNF cannot write."""
OBJECT = b'{"id": 1, "k": 2}'

Step = tuple[str, Callable[[], Any]]


def warm_up() -> None:
    """Compile the matcher's machine code, unless it is kept from before.

    One to three minutes the first time, a few seconds after that.
    """
    for _, run in warm_up_steps():
        run()


def warm_up_steps() -> Iterator[Step]:
    """Named pieces of work, in the order in which they must run."""
    from .matcher import Matcher
    from .sources import compile_gbnf, compile_json_schema
    from .vocabulary import Vocabulary

    vocabulary = Vocabulary.byte_level()
    row = np.zeros(vocabulary.words, dtype=np.uint32)
    begun: list[Matcher] = []

    def start() -> None:
        begun.append(Matcher(compile_gbnf(ONE_OF_EVERYTHING, vocabulary)))

    def accept(matcher: Matcher, text: bytes) -> None:
        for byte in text:
            matcher.mask_row()
            matcher.fill_mask(row)
            matcher.accept_token(byte)

    def accept_object() -> None:
        matcher = Matcher(compile_json_schema(ANY_KEY_BUT_THESE, vocabulary))
        for _ in range(2):  # the second time masks are known, and only the words that differ are written
            accept(matcher, OBJECT)
            matcher.reset()

    def move() -> None:
        # As when the heap is full: the matcher carries its sets over to a new one.
        begun[0].compiled.store.retire(begun[0].live_sets(), fresh_masks=False)
        begun[0].find_forced_bytes()

    yield "compiling a grammar", start
    yield "first mask", lambda: begun[0].fill_mask(row)
    yield "tokens", lambda: accept(begun[0], TEXT)
    yield "forced bytes", lambda: begun[0].find_forced_bytes()
    yield "bytes", lambda: begun[0].fork().accept_bytes(b"x!")
    yield "JSON Schema", accept_object
    yield "a new heap", move
