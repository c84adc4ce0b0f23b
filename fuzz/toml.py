"""Writing TOML: the little of it that findings need. The standard library only reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["table", "value"]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
LINE_LENGTH = 110


def table(name: str, entries: Mapping[str, Any], repeated: bool = False) -> str:
    """A table with its header; entries that are None are left out."""
    header = f"[[{name}]]" if repeated else f"[{name}]"
    lines = [f"{key} = {value(entry)}" for key, entry in entries.items() if entry is not None]
    return "\n".join([header, *lines, ""])


def value(entry: Any) -> str:
    """A value: a string, a number, a truth value, or a list of these."""
    if isinstance(entry, bool):
        return "true" if entry else "false"
    if isinstance(entry, int | float):
        return repr(entry)
    if isinstance(entry, str):
        return string(entry)
    if isinstance(entry, Sequence):
        parts = [value(part) for part in entry]
        line = f"[{', '.join(parts)}]"
        return line if len(line) < LINE_LENGTH else "[\n" + "".join(f"  {part},\n" for part in parts) + "]"
    raise TypeError(f"no TOML for {type(entry).__name__}")


def string(text: str) -> str:
    """A basic string. Surrogates, which TOML has not, must have been dealt with by the caller."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char < " " or "\x7f" <= char <= "\x9f" or char in "\u2028\u2029\ufeff":
        return f"\\u{ord(char):04x}"
    return char
