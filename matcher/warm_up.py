"""Compiling the matcher's machine code ahead, with no more than the core of Infernix.

Kernels are compiled when they are first called, and kept in the user's cache folder (`kernel_cache`). So warming up is
to call each operation once, on grammars that have one of everything. `infernix warmup` of the extra `engine` does the
same visibly, on several cores, and compiles the sampler too.
"""

from __future__ import annotations

import numpy as np

__all__ = ["warm_up"]

ONE_OF_EVERYTHING = r"""
root    ::= item ("," item)* "!"
item    ::= [a-zé]{2,5} | "(" root ")" | "" | Token(65, 66) | ExcludeToken(67)
"""
TEXT = b"ab,(cd!),e"
ANY_KEY_BUT_THESE = '{"properties": {"id": {"const": 1}}}'
OBJECT = b'{"id": 1, "k": 2}'


def warm_up() -> None:
    """Compile the matcher's machine code, unless it is kept from before.

    One to three minutes the first time, a few seconds after that.
    """
    from .matcher import Matcher
    from .sources import compile_gbnf, compile_json_schema
    from .vocabulary import Vocabulary

    vocabulary = Vocabulary.byte_level()
    row = np.zeros(vocabulary.words, dtype=np.uint32)
    compiled = compile_gbnf(ONE_OF_EVERYTHING, vocabulary)
    matcher = Matcher(compiled)
    matcher.fill_mask(row)
    for byte in TEXT:
        matcher.accept_token(byte)
        matcher.fill_mask(row)
    matcher.find_forced_bytes()
    matcher.fork().accept_bytes(b"x!")

    of_objects = Matcher(compile_json_schema(ANY_KEY_BUT_THESE, vocabulary))
    for _ in range(2):  # the second time masks are known, and only the words that differ are written
        for byte in OBJECT:
            of_objects.mask_row()
            of_objects.fill_mask(row)
            of_objects.accept_token(byte)
        of_objects.reset()

    # As when the heap is full: the matcher carries its sets over to a new one.
    compiled.store.retire(matcher.live_sets(), fresh_masks=False)
    matcher.find_forced_bytes()
