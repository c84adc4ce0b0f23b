"""How commands speak: text on stdout, everything else on stderr, and one exit code per outcome.

0    done                        3    check: the text is not in the language
1    an unfinished text          130  interrupted by Ctrl-C
2    an error                    141  nobody reads the output any more
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from infernix.gbnf.errors import GrammarError, RegexError, RequestError

__all__ = ["CommandError", "ExitCode", "busy", "counted", "located", "note", "reporting", "write_text"]

DEBUG_VARIABLE = "INFERNIX_DEBUG"

Command = TypeVar("Command", bound=Callable[..., Any])


class ExitCode:
    """Exit codes of the process; see the module text."""

    DONE = 0
    UNFINISHED = 1
    ERROR = 2
    REJECTED = 3
    INTERNAL = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # 128 + SIGINT
    CLOSED_OUTPUT = 141  # 128 + SIGPIPE


class CommandError(Exception):
    """A message that is ready to be printed: one line, perhaps an excerpt below it."""


@contextmanager
def located(origin: str) -> Iterator[None]:
    """Put the file or option that a request error is about in front of its message."""
    try:
        yield
    except RequestError as error:
        raise CommandError(describe(error, origin)) from None


def describe(error: RequestError, origin: str | None = None) -> str:
    """One line for an error, and the offending source with a caret where there is one."""
    if isinstance(error, GrammarError) and error.line is not None and origin:
        headline = f"{origin}:{error}"  # file:line:column, which editors understand
    else:
        headline = f"{origin}: {error}" if origin else str(error)
    excerpt = ""
    if isinstance(error, GrammarError):
        excerpt = error.excerpt()
    elif isinstance(error, RegexError) and error.pattern and "\n" not in error.pattern:
        excerpt = GrammarError("", 1, error.position + 1, error.pattern).excerpt()
    return "\n".join([headline, *("  " + line for line in excerpt.splitlines())])


def reporting(command: Command) -> Command:
    """Run a command so that every foreseeable end becomes a short message and an exit code."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        try:
            result = command(*arguments, **options)
            sys.stdout.flush()
            return result
        except CommandError as error:
            fail(str(error))
        except RequestError as error:
            fail(describe(error))
        except BrokenPipeError:
            close_output()
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] == "infernix":
                raise
            hint = "install the extra `engine`: pip install '.[engine]' in the checkout"
            fail(f"this needs the package {error.name}; {hint}")
        except MemoryError:
            fail("out of memory")
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        except (typer.Exit, typer.BadParameter):
            raise
        except Exception as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            note(f"internal error: {type(error).__name__}: {error} ({DEBUG_VARIABLE}=1 shows more)")
            raise typer.Exit(ExitCode.INTERNAL) from None

    return wrapped  # type: ignore[return-value]


def fail(message: str) -> None:
    """Print an error and leave with the error code."""
    note(f"error: {message}")
    raise typer.Exit(ExitCode.ERROR) from None


def note(message: str) -> None:
    """A line on stderr; nobody reading it is no reason to stop."""
    try:
        print(message, file=sys.stderr, flush=True)
    except (BrokenPipeError, ValueError):
        return


@contextmanager
def busy(message: str) -> Iterator[None]:
    """Show on a terminal that something takes a while; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(file=sys.stderr).status(message):
        yield


def counted(count: int, one: str, many: str = "") -> str:
    """A number and a noun: "1 rule", "2 rules"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def write_text(text: str) -> None:
    """Text on stdout, as UTF-8 whatever the locale says, and at once."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", errors="replace"))
    sys.stdout.buffer.flush()


def close_output() -> None:
    """Leave quietly: the reader of our output has gone, so the final flush must go nowhere."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 -- a device, not a path
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    raise typer.Exit(ExitCode.CLOSED_OUTPUT) from None
