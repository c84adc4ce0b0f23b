"""Ordinary grammars of every source language: JSON, objects, references, choices, GBNF, a regex."""

from __future__ import annotations

from .case_table import run_case_table
from .made_cases import grammar_cases


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    run_case_table("grammars", __doc__, grammar_cases, arguments)


if __name__ == "__main__":
    main()
