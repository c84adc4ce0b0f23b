"""The text of a grammar: decoding, line ends, and errors that show their line.

Everything behind this module sees well-formed Unicode whose lines end in `\\n` alone, so
that positions mean the same in every file. XGrammar reads `\\n`, `\\r` and `\\r\\n` as line ends.
"""

from __future__ import annotations

import re

from .errors import GrammarError, LimitError

__all__ = ["MAX_TEXT_BYTES", "Source", "clip"]

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Longer texts are refused unread."""
_QUOTED_LENGTH = 40
_LINE_END = re.compile(r"\r\n?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class Source:
    """A decoded text with unified line ends; raises `GrammarError` or `LimitError` if there is none."""

    def __init__(self, text: str | bytes) -> None:
        if len(text) > MAX_TEXT_BYTES:
            raise LimitError(f"a grammar text may have {MAX_TEXT_BYTES:,} bytes, this one has {len(text):,}")
        if isinstance(text, bytes):
            text = _decoded(text)
        self.text = _unified(text)
        surrogate = _SURROGATE.search(self.text)
        if surrogate:
            raise self.error_at(surrogate.start(), "a lone surrogate is not a character")

    def error(self, message: str, line: int, column: int) -> GrammarError:
        """An error at a 1-based position, with its line."""
        lines = self.text.split("\n", line)
        return GrammarError(message, line, column, lines[line - 1] if line <= len(lines) else "")

    def error_at(self, offset: int, message: str) -> GrammarError:
        """An error at a 0-based offset into the text."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.error(message, self.text.count("\n", 0, offset) + 1, offset - line_start + 1)

    def locate(self, error: GrammarError) -> GrammarError:
        """The same error with the line it points to."""
        if error.source_line is None and error.line is not None and error.column is not None:
            error.source_line = self.error("", error.line, error.column).source_line
        return error


def clip(text: str) -> str:
    """A piece of the user's text, printable and short enough to quote."""
    shown = text if len(text) <= _QUOTED_LENGTH else text[: _QUOTED_LENGTH - 1] + "…"
    return "".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in shown)


def _unified(text: str) -> str:
    return _LINE_END.sub("\n", text) if "\r" in text else text


def _decoded(data: bytes) -> str:
    """The text of UTF-8 bytes; the error counts columns in code points, like all others."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _unified(data[: error.start].decode("utf-8"))
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        shown = _unified(data.decode("utf-8", errors="replace")).split("\n", line)[line - 1]
        message = f"the text is not UTF-8: byte 0x{data[error.start]:02X} at byte offset {error.start}"
        raise GrammarError(message, line, column, shown) from None
