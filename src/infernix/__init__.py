"""Infernix: constrained decoding that can be read.

The public names; each is imported on first use, so that `import infernix` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infernix.gbnf.errors import (
        ChoiceError,
        ConstraintDeadEnd,
        GrammarError,
        IntegrityError,
        InvalidSchema,
        LimitError,
        RegexError,
        RequestError,
        SchemaError,
        TokenRejected,
        UnsatisfiableSchema,
        UnsupportedSchema,
        VocabularyError,
    )
    from infernix.matcher.compile import CompiledGrammar, compile_grammar
    from infernix.matcher.cache import GrammarCompiler
    from infernix.matcher.lookahead import lookahead_masks
    from infernix.matcher.matcher import Matcher
    from infernix.matcher.sources import (
        compile_choice,
        compile_gbnf,
        compile_json_object,
        compile_json_schema,
        compile_regex,
    )
    from infernix.matcher.vocabulary import Vocabulary
    from infernix.matcher.warm_up import warm_up

_HOME = {
    "infernix.gbnf.errors": (
        "ChoiceError",
        "ConstraintDeadEnd",
        "GrammarError",
        "IntegrityError",
        "InvalidSchema",
        "LimitError",
        "RegexError",
        "RequestError",
        "SchemaError",
        "TokenRejected",
        "UnsatisfiableSchema",
        "UnsupportedSchema",
        "VocabularyError",
    ),
    "infernix.matcher.compile": ("CompiledGrammar", "compile_grammar"),
    "infernix.matcher.cache": ("GrammarCompiler",),
    "infernix.matcher.lookahead": ("lookahead_masks",),
    "infernix.matcher.matcher": ("Matcher",),
    "infernix.matcher.sources": (
        "compile_choice",
        "compile_gbnf",
        "compile_json_object",
        "compile_json_schema",
        "compile_regex",
    ),
    "infernix.matcher.vocabulary": ("Vocabulary",),
    "infernix.matcher.warm_up": ("warm_up",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "ChoiceError",
    "CompiledGrammar",
    "ConstraintDeadEnd",
    "GrammarCompiler",
    "GrammarError",
    "IntegrityError",
    "InvalidSchema",
    "LimitError",
    "Matcher",
    "RegexError",
    "RequestError",
    "SchemaError",
    "TokenRejected",
    "UnsatisfiableSchema",
    "UnsupportedSchema",
    "Vocabulary",
    "VocabularyError",
    "compile_choice",
    "compile_gbnf",
    "compile_grammar",
    "compile_json_object",
    "compile_json_schema",
    "compile_regex",
    "lookahead_masks",
    "warm_up",
]


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'infernix' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value
