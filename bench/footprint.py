"""Resident memory of this process, and its peak since a moment.

Linux keeps a high-water mark that can be reset (`/proc/self/clear_refs`, value 5); where that
is not possible the peak is not known and given as 0.
"""

from __future__ import annotations

from pathlib import Path

import psutil  # type: ignore[import-untyped]

__all__ = ["MIB", "Footprint", "resident_bytes"]

MIB = 1 << 20
KIB = 1 << 10
RESET_PEAK = "5"

_process = psutil.Process()


def resident_bytes() -> int:
    """The resident set size of this process."""
    return int(_process.memory_info().rss)


class Footprint:
    """Memory growth since the object was made."""

    def __init__(self) -> None:
        self.resettable = _reset_peak()
        self.start = resident_bytes()

    def growth(self) -> tuple[int, int]:
        """How much larger the resident set is now, and was at most, than at the start."""
        now = resident_bytes()
        peak = max(0, _peak_bytes() - self.start) if self.resettable else 0
        return now - self.start, peak


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return False
    return True


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * KIB
    return 0
