"""`infernix grammar` and `infernix schema`: what the front ends make of a source file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import located, note, reporting
from .constraint import Dialect, DialectOption
from .files import read_text

if TYPE_CHECKING:
    from infernix.gbnf.grammar import Grammar

__all__ = ["grammar", "schema"]
