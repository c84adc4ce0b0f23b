"""Saying that kernels are being compiled: it takes one to three minutes, once, and looks like a hang.

The line goes to the logger "infernix.kernels", which writes warnings to standard error unless a program has
set up its own logging.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["LOGGER", "announce_compilation"]

LOGGER = logging.getLogger("infernix.kernels")


@cache  # once in a process
def announce_compilation(entry: Any) -> None:
    """Warn, if nothing is kept on disk beside an entry (see `jit`), so that it and all others must be compiled."""
    if hasattr(entry, "stats") and not any(Path(entry.stats.cache_path).glob("*.nbi")):  # a function without JIT
        LOGGER.warning("infernix: compiling machine code, once, one to three minutes (`infernix warmup` does it ahead)")
