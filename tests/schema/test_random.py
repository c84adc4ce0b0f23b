"""Random schemas: the grammar accepts exactly what an independent validator calls valid.

Over all small values, in any order of their keys; and what the matcher writes on a random
walk parses and validates. A schema that is refused says nothing, but most are not.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import jsonschema
from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.schema.recogniser import Recogniser, dumps, for_schema, reorderings
from tests.schema.strategies import VALUES, schemas

from infernix.gbnf.errors import InvalidSchema, SchemaError, UnsatisfiableSchema, UnsupportedSchema
from infernix.schema import schema_grammar

OUTCOMES: Counter[str] = Counter()
SEEDS = st.integers(0, 2**32 - 1)


def validator(schema: Any) -> Any:
    """The independent judge."""
    return jsonschema.Draft202012Validator(schema)


def judged(schema: Any, value: Any) -> bool:
    """Whether the value is valid. The judge recurses without end on some cycles of references."""
    try:
        return bool(validator(schema).is_valid(value))
    except RecursionError:
        assume(False)
        raise


def language_of(schema: Any) -> Recogniser | None:
    """The schema's language; None if nothing is in it. Discards the example if it is refused."""
    try:
        language = for_schema(schema)
    except UnsatisfiableSchema:
        OUTCOMES["unsatisfiable"] += 1
        return None
    except UnsupportedSchema:
        OUTCOMES["refused"] += 1
        assume(False)
    except InvalidSchema as error:
        assume("cycle" not in error.message)  # the only invalid schemas that are drawn
        raise
    OUTCOMES["compiled"] += 1
    return language


@given(schemas(), SEEDS)
def test_exactly_the_valid_values_are_accepted(schema: dict[str, Any], seed: int) -> None:
    language = language_of(schema)
    for value in random.Random(seed).sample(VALUES, 60):
        valid = judged(schema, value)
        accepted = language is not None and any(language.accepts(dumps(variant)) for variant in reorderings(value))
        if accepted != valid:
            note(f"{dumps(value)} is {'valid' if valid else 'invalid'}")
        assert accepted == valid


@given(schemas(), SEEDS, st.sampled_from(["free", "compact", "spaced"]))
def test_what_is_written_is_valid(schema: dict[str, Any], seed: int, layout: Any) -> None:
    try:
        language = Recogniser(schema_grammar(schema, layout=layout))
    except SchemaError:
        assume(False)
    choose = random.Random(seed)
    for _ in range(3):
        text = language.walk(choose, 30)
        if text is None:
            continue
        note(text)
        assert judged(schema, json.loads(text))


def test_most_random_schemas_are_not_refused() -> None:
    total = sum(OUTCOMES.values())
    if total >= 50:
        assert OUTCOMES["refused"] < 0.5 * total, OUTCOMES
