"""The entry points: a schema in, a grammar or a verdict out.

schema_grammar(schema)        the grammar, or a located error
json_object_grammar()         any JSON object
analyse(schema)               what would happen and why, for people and the command line
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsatisfiableSchema, UnsupportedSchema
from infernix.gbnf.grammar import Grammar
from infernix.gbnf.time_limit import time_limit

from .document import read_source
from .keywords import Draft
from .layout import LAYOUTS, Layout
from .lower import lower
from .nodes import Node
from .reduce import Reduction, reduce_schema
from .report import reduced_data

__all__ = ["LayoutName", "Verdict", "analyse", "json_object_grammar", "schema_grammar"]

LayoutName = Literal["free", "compact", "spaced"]
READ_SECONDS = 4.5
"""Turning a schema into a grammar may take so long, of processor time."""


def schema_grammar(schema: object, *, layout: LayoutName = "free") -> Grammar:
    """The grammar, with entry rule `root`, of the JSON texts whose value satisfies the schema.

    `schema` is a `dict` or `bool`, JSON text (`str` or UTF-8 `bytes`), or a class with
    `model_json_schema` such as a Pydantic model. `layout` says where white space may stand:
    "free" (runs of at most 32 between tokens), "compact" (none) or "spaced" (exactly ", " and ": ").

    Properties are generated in the order of their declaration. Raises InvalidSchema,
    UnsupportedSchema or UnsatisfiableSchema with the JSON Pointer of the place at fault, LimitError
    past READ_SECONDS; no assertion is ever dropped or weakened.
    """
    return _compiled(schema, _layout(layout))[0]


def _compiled(schema: object, layout: Layout) -> tuple[Grammar, Node, Reduction]:
    """The grammar, the reduced root and the tables of the reduction."""
    try:
        with time_limit(READ_SECONDS):
            root, reduction = reduce_schema(read_source(schema))
            return lower(root, layout, reduction.draft > Draft.DRAFT4), root, reduction
    except RecursionError:
        raise UnsupportedSchema("the schema nests too deeply") from None


@lru_cache
def json_object_grammar(layout: LayoutName = "free") -> Grammar:
    """The grammar of any JSON object."""
    return schema_grammar({"type": "object"}, layout=layout)


def _layout(name: str) -> Layout:
    try:
        return LAYOUTS[name]
    except KeyError:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, not {name!r}") from None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a schema.

    `status` is "supported", "unsupported", "unsatisfiable" or "invalid"; the last three come
    with the `pointer` of the place and the `reason`. `unknown` are the pointers of members
    that are no keywords, and of formats that no draft defines: they are annotations and have no effect.
    `reduced` (JSON data) and `grammar` are there if the schema is supported.
    """

    status: str
    pointer: str = ""
    reason: str = ""
    draft: Draft | None = None
    unknown: tuple[str, ...] = ()
    reduced: Any = None
    grammar: Grammar | None = None

    def __str__(self) -> str:
        if self.status == "supported":
            return "supported"
        return f"{self.status} at {self.pointer or 'the root'}: {self.reason}"


def analyse(schema: object, *, layout: LayoutName = "free") -> Verdict:
    """Reduce and lower a schema and report the outcome; raises no SchemaError."""
    chosen = _layout(layout)
    try:
        grammar, root, reduction = _compiled(schema, chosen)
    except SchemaError as error:
        status = "unsupported"
        if isinstance(error, InvalidSchema | UnsatisfiableSchema):
            status = "invalid" if isinstance(error, InvalidSchema) else "unsatisfiable"
        return Verdict(status, error.pointer, error.message)
    return Verdict(
        "supported",
        draft=reduction.draft,
        unknown=tuple(reduction.unknown),
        reduced=reduced_data(root),
        grammar=grammar,
    )
