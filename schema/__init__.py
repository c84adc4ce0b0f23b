"""JSON Schema: from a schema to the grammar of the JSON texts that satisfy it."""

from .compile import Verdict, analyse, json_object_grammar, schema_grammar

__all__ = ["Verdict", "analyse", "json_object_grammar", "schema_grammar"]
