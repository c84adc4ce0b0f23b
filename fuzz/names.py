"""The names that commands and files use, in a module that costs nothing to import."""

from __future__ import annotations

__all__ = ["ENGINE_NAMES", "KINDS", "SYNTHETIC"]

KINDS = ("gbnf", "regex", "schema", "choice")
"""Source languages."""
ENGINE_NAMES = ("infernix", "infernix-nojit", "reference", "xgrammar", "llguidance")
"""Engines, those of this project first."""
SYNTHETIC = "synthetic"
"""Vocabularies that are made up, a new one for each case."""
