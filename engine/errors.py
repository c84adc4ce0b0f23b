"""What can go wrong around a model: the caller's faults, with the remedy in the message."""

from __future__ import annotations

from infernix.gbnf.errors import IntegrityError, RequestError

__all__ = ["InputError", "ModelError", "NonFiniteLogits"]


class InputError(RequestError):
    """A file or an option that cannot be used: missing, unreadable, not UTF-8, too large."""

    code = "invalid_input"


class ModelError(RequestError):
    """A model that is missing, damaged, or of a kind that this engine does not run."""

    code = "invalid_model"


class NonFiniteLogits(IntegrityError):
    """The model gave no legal token a finite logit. Never the grammar's fault."""
