"""Bounds, counts and sizes that make engines slow: maxLength, counted patterns, many strings, many tools.

An engine without cliffs has the same masks for maxLength 10 and 100,000, and none above 100 us at p99.
"""

from __future__ import annotations

from .case_table import run_case_table
from .made_cases import cliff_cases


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    run_case_table("cliffs", __doc__, cliff_cases, arguments)


if __name__ == "__main__":
    main()
