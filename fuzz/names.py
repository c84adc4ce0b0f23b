"""The names that commands and files use, in a module that costs nothing to import."""

from __future__ import annotations

__all__ = ["ENGINE_NAMES", "KINDS", "OWN_ENGINES", "SYNTHETIC"]

KINDS = ("gbnf", "regex", "schema", "choice")
"""Source languages."""
OWN_ENGINES = ("infernix", "infernix-nojit", "infernix-small", "reference")
"""Those of this project."""
ENGINE_NAMES = (*OWN_ENGINES, "xgrammar", "llguidance")
"""All engines."""
SYNTHETIC = "synthetic"
"""Vocabularies that are made up, a new one for each case."""
