"""Where an error says that it is: a place that is really in the source.

Every error of ours about a source text has a place, in the terms of its language: line and column, position, JSON
Pointer. Which place is right is for the tests of the front ends to say; that there is one holds for any input.
"""

from __future__ import annotations

import json
import re
from typing import Any

from infernix.gbnf.errors import GrammarError, RegexError, SchemaError

__all__ = ["misplaced"]

_LINE_END = re.compile(r"\r\n?|\n")
_BAD_ESCAPE = re.compile(r"~(?![01])")


def misplaced(source: str, error: BaseException | None) -> str | None:
    """What is wrong with the place of an error about the source; None if nothing is, or if it has none to give."""
    match error:
        case GrammarError():
            return _misplaced_line(_LINE_END.split(source), error)
        case RegexError():
            return None if 0 <= error.position <= len(source) else f"position {error.position} of {len(source)}"
        case SchemaError():
            return None if _leads_somewhere(error.pointer, source) else f"no {error.pointer!r} in the document"
        case _:
            return None


def _misplaced_line(lines: list[str], error: GrammarError) -> str | None:
    if error.line is None or error.column is None:
        return f"no line and column: {error}"
    if not 1 <= error.line <= len(lines):
        return f"line {error.line} of {len(lines)}"
    line = lines[error.line - 1]
    if not 1 <= error.column <= len(line) + 1:
        return f"column {error.column} of a line of {len(line)}"
    return None if error.source_line == line else f"another line is shown than line {error.line}"


def _leads_somewhere(pointer: str, source: str) -> bool:
    """Whether an RFC 6901 pointer names a value of the document."""
    try:
        value: Any = json.loads(source)
    except ValueError:
        return pointer == ""
    if pointer and not pointer.startswith("/"):
        return False
    for part in pointer.split("/")[1:]:
        if _BAD_ESCAPE.search(part):
            return False
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False
    return True
