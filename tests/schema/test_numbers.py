"""Numbers: what is written is in the range, before and after a reader rounds it; and nothing less.

The oracle is `decimal` arithmetic and Python's own `float` and `repr`.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.schema.recogniser import Recogniser, for_schema

from infernix.gbnf.errors import UnsatisfiableSchema, UnsupportedSchema
from infernix.schema import schema_grammar

INT64 = range(-(2**63), 2**63)


def in_range(value: Decimal, schema: dict[str, Any]) -> bool:
    """The range of a schema, in exact decimals."""
    bounds = {key: Decimal(str(bound)) for key, bound in schema.items() if key not in ("type", "multipleOf")}
    return (
        ("minimum" not in bounds or value >= bounds["minimum"])
        and ("maximum" not in bounds or value <= bounds["maximum"])
        and ("exclusiveMinimum" not in bounds or value > bounds["exclusiveMinimum"])
        and ("exclusiveMaximum" not in bounds or value < bounds["exclusiveMaximum"])
    )


def expected(text: str, schema: dict[str, Any]) -> bool:
    """Whether a bounded number may be written as `text` (of at most 17 digits, or a 64-bit integer)."""
    value = Decimal(text)
    if text.lstrip("-").isdigit():
        return int(text) in INT64 and in_range(value, schema)
    read = float(text)
    return abs(read) != inf and in_range(value, schema) and in_range(Decimal(repr(read)), schema)


def spellings(number: float) -> list[str]:
    """Texts at and next to a binary64 number, in the layouts that are generated."""
    near = [number, nextafter(number, inf), nextafter(number, -inf)]
    exact = [f"{Decimal(value):.16e}" for value in near]
    short = [repr(value) for value in near] + [f"{value:.3e}" for value in near]
    texts = exact + short + [json.dumps(int(number))] if abs(number) < 2**62 else exact + short
    return [text for text in texts if "inf" not in text]


finite = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
common = st.one_of(
    st.integers(-1000, 1000),
    st.decimals(-1000, 1000, places=2).map(float),
    st.sampled_from([0, 1, 0.1, 0.3, 1e-7, 1e15, 1e16, 123456.789, 5e-324, 1.7976931348623157e308, 2**53]),
    finite.filter(lambda value: value == 0 or abs(value) > 1e-300),
)


@given(st.tuples(common, common), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_texts_around_the_bounds(
    bounds: tuple[float, float], open_low: bool, open_high: bool, choose: random.Random
) -> None:
    low, high = sorted(bounds)
    schema = {
        "type": "number",
        "exclusiveMinimum" if open_low else "minimum": low,
        "exclusiveMaximum" if open_high else "maximum": high,
    }
    try:
        language = for_schema(schema)
    except (UnsatisfiableSchema, UnsupportedSchema):
        candidates = spellings(float(low)) + spellings(float(high)) + ["0", "1.0"]
        assert not any(expected(text, schema) for text in candidates)
        return
    middle = choose.uniform(float(low), float(high)) if abs(low) < 1e300 and abs(high) < 1e300 else float(low)
    for text in spellings(float(low)) + spellings(float(high)) + spellings(middle):
        if 0 < abs(Decimal(text)) < Decimal("1e-320") or float(text) == 0 != Decimal(text):
            continue  # below the smallest number that is written at all
        if float(text) == 0 and "e" in text:
            continue  # zero is written without an exponent
        assert language.accepts(text) == expected(text, schema), (schema, text)


@given(st.integers(-(2**70), 2**70), st.integers(0, 2**66), st.randoms(use_true_random=False))
def test_integer_ranges(low: int, width: int, choose: random.Random) -> None:
    high = low + width
    if not (INT64.start <= low <= 2**64 - 1 and INT64.start <= high <= 2**64 - 1):
        return
    schema = {"type": "integer", "minimum": low, "maximum": high}
    try:
        language = for_schema(schema)
    except UnsupportedSchema:
        assert low >= 2**63
        return
    inside = [choose.randint(low, high) for _ in range(5)]
    for value in [low - 1, low, low + 1, high - 1, high, high + 1, 0, -low, *inside]:
        right = low <= value <= high and value in INT64
        assert language.accepts(str(value)) == right
        assert language.accepts(f"{value}.0") == (right and abs(value) < 10**15)  # binary64 keeps these
        assert not language.accepts(f"{value}.5")
        assert not language.accepts(f"0{value}")


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        ({"type": "integer"}, ["0", "-0", "7", "1.0", str(2**63 - 1), str(-(2**63))], ["1.5", "01", "+1", str(2**63)]),
        ({"type": "number"}, ["0", "-0", "-0.0", "1e5", "1E+05", "1e-7", "123.456", "1.7976931348623157e308"],
         ["1e309", "1.7976931348623159e308", "1e999", "1.", ".5", "01.5", "0x1", "NaN", "1e"]),
        ({"type": "number", "minimum": 0}, ["0", "-0", "0.0", "-0.0", "5e-324", "1e308"], ["-1", "-0.1", "-1e-300"]),
        ({"type": "number", "exclusiveMinimum": 0}, ["1", "0.1", "1e-300"], ["0", "-0", "0.0", "-1"]),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, ["1.5", "1.0000000000000002"],
         ["1", "2", "1.0", "1.00000000000000001", "2.0"]),
        ({"type": "integer", "minimum": 0.5, "maximum": 2.5}, ["1", "2", "2.0"], ["0", "3"]),
        ({"type": "integer", "multipleOf": 3}, ["0", "-0", "3", "-9", "3.0", "999999999999999999"], ["1", "10", "-4"]),
        ({"type": "number", "multipleOf": 0.01}, ["0", "0.01", "12.34", "-5", "7.1"], ["0.001", "12.345"]),
        ({"type": "number", "multipleOf": 2.5}, ["0", "2.5", "5", "7.5", "-10.0"], ["1", "2.4", "5.5"]),
        ({"type": "integer", "multipleOf": 1000, "minimum": 1}, ["1000", "25000", "25000.0"], ["0", "100", "1001"]),
        ({"type": "integer", "multipleOf": 3}, ["1152938092668778401", "-999999999999999.0"],
         ["1152938092668778401.0", "-1152938092668778401.0"]),
        ({"not": {"type": "integer"}, "type": "number"}, ["1.5", "-0.25"], ["1", "1.0", "0.0"]),
    ],
)  # fmt: skip
def test_by_hand(schema: dict[str, Any], yes: list[str], no: list[str]) -> None:
    language = for_schema(schema)
    assert [text for text in yes if not language.accepts(text)] == []
    assert [text for text in no if language.accepts(text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number", "exclusiveMinimum": 3, "exclusiveMaximum": 3},
        {"type": "number", "minimum": 3, "maximum": 2},
        {"type": "integer", "minimum": 0.2, "maximum": 0.8},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "integer", "multipleOf": 10, "minimum": 1, "maximum": 9},
    ],
)
def test_an_empty_range_is_unsatisfiable(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsatisfiableSchema):
        schema_grammar(schema)


def test_a_range_between_two_binary64_neighbours_is_unsupported() -> None:
    schema = '{"type": "number", "exclusiveMinimum": 0.1, "exclusiveMaximum": 0.10000000000000002}'
    with pytest.raises(UnsupportedSchema):
        schema_grammar(schema)


@pytest.mark.parametrize("number", ["0.12345678901234567890", "1e400", "123456789012345678901234567890123"])
@pytest.mark.parametrize("keyword", ["minimum", "const", "multipleOf"])
def test_numbers_that_readers_round_are_rejected(keyword: str, number: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        schema_grammar(f'{{"{keyword}": {number}}}')
    assert caught.value.pointer == f"/{keyword}"


@given(
    st.decimals(-500, 500, places=2, allow_nan=False),
    st.sampled_from(["0.01", "0.5", "0.25", "3", "2.5", "7", "100", "0.003"]),
    st.sampled_from(["", "0", "00"]),
)
def test_multiples(value: Decimal, step: str, padding: str) -> None:
    language = Recogniser(schema_grammar(f'{{"type": "number", "multipleOf": {step}}}'))
    text = format(value, "f")
    multiple = Fraction(value) % Fraction(Decimal(step)) == 0
    if language.accepts(text):
        assert multiple
    places = max(0, -Decimal(step).normalize().as_tuple().exponent)  # type: ignore[operator]
    canonical = format(value.quantize(Decimal(1).scaleb(-places)), "f") if places < 2 and multiple else text
    if multiple and "." in canonical and len(canonical.partition(".")[2]) <= places:
        assert language.accepts(canonical), (canonical, step)
    assert not language.accepts(text + "e" + (padding or "1"))


DIVISORS = st.sampled_from([1, 2, 3, 4, 6, 10, 20])
_multiples = st.fixed_dictionaries(
    {"multipleOf": DIVISORS},
    optional={"type": st.sampled_from(["integer", "number"]), "minimum": st.integers(-9, 9)},
)
SOME_NUMBERS = [*range(-40, 41), 0.5, -0.5, 7.5, 100, 12345, 10**15, -(2**63), 2**63 - 1, 4.0]


@given(_multiples, _multiples, st.sampled_from(["integer", "number"]), st.sampled_from(["allOf", "anyOf", "oneOf"]))
def test_what_is_no_multiple(first: dict[str, Any], second: dict[str, Any], kind: str, keyword: str) -> None:
    """Against integer arithmetic by the validator."""
    schema = {"type": kind, "not": {keyword: [first, {"not": second}]}}
    judge = jsonschema.Draft202012Validator(schema)
    try:
        language = for_schema(schema)
    except UnsatisfiableSchema:
        assert not any(map(judge.is_valid, SOME_NUMBERS))
        return
    for number in SOME_NUMBERS:
        assert language.accepts(json.dumps(number)) == judge.is_valid(number), (schema, number)


def test_draft_04_takes_the_complement_of_integers_strictly() -> None:
    """Whether 1.0 is an integer there depends on the reader, so it is written neither way."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "not": {"type": "integer"}}
    language = for_schema(schema)
    assert language.accepts("1.5")
    assert not language.accepts("1")
    assert not language.accepts("1.0")
