"""Every error a caller can cause, each with the place where the input went wrong.

Two trees, never mixed: a `RequestError` is the caller's to fix and always says
where; an `IntegrityError` is ours, and no input should ever raise it.

    Exception
    ├── RequestError                 code, message
    │   ├── GrammarError             line, column, the offending line and a caret
    │   ├── RegexError               position in the pattern
    │   │   └── RegexSyntaxError     not a regular expression in any dialect
    │   ├── ChoiceError              index of the choice
    │   ├── SchemaError              JSON Pointer
    │   │   ├── InvalidSchema        not a schema of its dialect
    │   │   ├── UnsupportedSchema    a schema, but one that cannot be enforced exactly
    │   │   └── UnsatisfiableSchema  a schema that no value satisfies
    │   ├── VocabularyError          not a usable vocabulary, or a token id outside it
    │   ├── LimitError               a stated limit was exceeded (time, memory, size)
    │   ├── ConstraintDeadEnd        no token can continue
    │   └── TokenRejected            the constraint does not allow this token or byte
    └── IntegrityError
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ChoiceError",
    "ConstraintDeadEnd",
    "GrammarError",
    "IntegrityError",
    "InvalidSchema",
    "LimitError",
    "RegexError",
    "RegexSyntaxError",
    "RequestError",
    "SchemaError",
    "TokenRejected",
    "UnsatisfiableSchema",
    "UnsupportedSchema",
    "VocabularyError",
]


class RequestError(Exception):
    """The caller's input is at fault. `code` is the stable, protocol-visible name of the kind."""

    code = "invalid_request"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class GrammarError(RequestError):
    """A GBNF text or grammar that cannot be used.

    `line` and `column` are 1-based and count code points; both are None when the
    grammar did not come from text. `source_line` is the offending line.
    """

    code = "invalid_grammar"

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, source_line: str | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.source_line = source_line

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"{self.line}:{self.column}: {self.message}"

    def excerpt(self) -> str:
        """The offending line with a caret under the column, or an empty string."""
        if self.source_line is None or self.column is None:
            return ""
        # A long line is cut to a window around the column; tabs keep the caret aligned.
        start = max(0, self.column - 61)
        window = self.source_line[start : start + 100]
        before = window[: self.column - 1 - start]
        pad = "".join("\t" if char == "\t" else " " for char in before)
        return f"{window}\n{pad}^"


class RegexError(RequestError):
    """A regular expression outside the supported dialect; `position` is a 0-based code point index."""

    code = "invalid_regex"

    def __init__(self, message: str, position: int, pattern: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.pattern = pattern

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.position, self.pattern)

    def __str__(self) -> str:
        return f"at position {self.position}: {self.message}"


class RegexSyntaxError(RegexError):
    """Not a regular expression at all: unbalanced, cut off, or with nothing to repeat."""


class ChoiceError(RequestError):
    """A list of choices that cannot be used; `index` is the offending choice, if there is one."""

    code = "invalid_choice"

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


class SchemaError(RequestError):
    """A JSON Schema that cannot be used; `pointer` is an RFC 6901 JSON Pointer into the source."""

    code = "invalid_json_schema"

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer

    def __str__(self) -> str:
        return f"at {self.pointer or '/'}: {self.message}" if self.pointer else f"at the root: {self.message}"


class InvalidSchema(SchemaError):
    """The document is not JSON, or not a schema of its dialect."""

    code = "invalid_json_schema"


class UnsupportedSchema(SchemaError):
    """The schema is legal, but it cannot be enforced exactly, so it is refused instead of weakened."""

    code = "unsupported_json_schema"


class UnsatisfiableSchema(SchemaError):
    """No value satisfies the schema."""

    code = "unsatisfiable_json_schema"


class VocabularyError(RequestError):
    """A vocabulary that cannot be used, or a token id that it does not have."""

    code = "invalid_vocabulary"


class LimitError(RequestError):
    """The input is legal but exceeds a stated limit of time, memory or size."""

    code = "limit_exceeded"


class ConstraintDeadEnd(RequestError):
    """The constraint allows no next token, or a given prefix cannot be continued."""

    code = "constraint_dead_end"


class TokenRejected(RequestError):
    """The constraint does not allow this token or byte here; the matcher is unchanged.

    `token` is the refused token id, or None for bytes; `offset` is how many of the
    given bytes were legal.
    """

    code = "token_rejected"

    def __init__(self, message: str, token: int | None = None, offset: int = 0) -> None:
        super().__init__(message)
        self.token = token
        self.offset = offset


class IntegrityError(Exception):
    """An internal invariant does not hold. Never the caller's fault, never wrapped as such."""
