"""Rendering a model's chat template: the conversation as the one text the model was trained on.

Templates are Jinja programs that come with a checkpoint, so with somebody else's code:
they run in Jinja's immutable sandbox, which has no way to files, imports or attributes
that start with an underscore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ..errors import ModelError

__all__ = ["ChatTemplate", "Message"]

Message = Mapping[str, Any]
"""At least `role` ("system", "user", "assistant") and `content`."""


class ChatTemplate:
    """A compiled template and the special tokens it may name."""

    def __init__(self, source: str, special_tokens: Mapping[str, str] | None = None) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = _strftime_now
        self._special_tokens = dict(special_tokens or {})
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(f"the chat template does not compile: {error}") from None

    def render(self, messages: Sequence[Message], **options: Any) -> str:
        """The text of `messages`, ready for the assistant's next words.

        `options` are further variables of the template, such as `enable_thinking`. Raises
        ModelError if the template refuses the conversation or fails.
        """
        try:
            return self._template.render(
                messages=list(messages), add_generation_prompt=True, **self._special_tokens, **options
            )
        except Exception as error:  # a template is somebody else's program: it may fail in any way
            raise ModelError(f"the chat template refuses this conversation: {error}") from None


def _to_json(value: Any, indent: int | None = None) -> str:
    """JSON without the HTML escapes of Jinja's own filter, as templates expect."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(layout: str) -> str:
    return datetime.now().strftime(layout)
