"""Saying that kernels are being compiled: it takes about a minute, once, and looks like a hang.

The line goes to the logger "infernix.kernels", which writes warnings to standard error unless a program has
set up its own logging.
"""

from __future__ import annotations

import logging
from functools import cache

from . import jit

__all__ = ["LOGGER", "announce_compilation"]

LOGGER = logging.getLogger("infernix.kernels")


@cache  # once in a process
def announce_compilation() -> None:
    """Warn, if no process has kept compiled kernels of this version yet."""
    if jit.JIT and not jit.KERNEL_FOLDER.exists():
        LOGGER.warning("infernix: compiling machine code, once, about a minute (`infernix warmup` does it ahead)")
