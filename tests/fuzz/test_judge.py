"""The standards, on what is known by hand."""

from __future__ import annotations

import json

import pytest

from infernix.fuzz.case import Problem
from infernix.fuzz.judge import judge
from infernix.fuzz.spelling import canonical, reorderings


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a.b", "axb", True),
        ("a.b", "a\nb", False),
        ("a.b", "a\u2028b", False),
        ("[^]", "\n", True),
        (r"\d", "\u0661", False),
        (r"\s", "\ufeff", True),
        (r"\s", "\x85", False),
        (r"\S", "\ufeff", False),
        ("^a$|b", "a", True),
        ("a$", "a\n", False),
        (r"[\d\-x]{2}", "-0", True),
        (r"\u00e9", "é", True),
        ("", "", True),
        ("(a*)*b", "a" * 40, False),  # the linear one answers, the backtracking one would not
    ],
)
def test_regular_expressions(pattern: str, text: str, expected: bool) -> None:
    verdict = judge(Problem("regex", pattern), text)
    assert verdict is expected or (verdict is None and len(text) > 30)


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ('{"type": "integer"}', "1.0", True),
        ('{"type": "integer"}', "1e2", True),
        ('{"type": "integer"}', "1.5", False),
        ('{"type": "integer"}', "true", False),
        ('{"type": "number", "maximum": 0.1}', "0.10000000000000000001", False),
        ('{"multipleOf": 0.01}', "1.13", True),
        ('{"multipleOf": 0.01}', "1.131", False),
        ("{}", "01", False),
        ("{}", "NaN", False),
        ("{}", '"\x01"', False),
        ("{}", '"\\ud800"', False),
        ("{}", '"\\ud83d\\ude00"', True),
        ("{}", '{"a": 1, "a": 2}', True),  # nobody declares it: as in any JSON grammar
        ('{"properties": {"a": {}}}', '{"a": 1, "a": 2}', False),
        ('{"pattern": "b$"}', '"b\\n"', False),
        ('{"patternProperties": {"^a.$": false}}', '{"a\\n": 1}', True),
        ('{"const": 1}', "1.0", True),
        ('{"enum": ["a"]}', '"\\u0061"', True),
    ],
)
def test_json_schemas(schema: str, text: str, expected: bool) -> None:
    assert judge(Problem("schema", schema), text) is expected


def test_choices_and_grammars() -> None:
    assert judge(Problem("choice", '["a", ""]'), "") is True
    assert judge(Problem("choice", '["a", ""]'), "A") is False
    assert judge(Problem("gbnf", 'root ::= "a"'), "a") is None


def test_orders_of_keys_are_tried_for_canonical_texts_only() -> None:
    assert set(reorderings('{"a": 1, "b": [{"c": 2, "d": 3}]}')) == {
        '{"a": 1, "b": [{"c": 2, "d": 3}]}',
        '{"a": 1, "b": [{"d": 3, "c": 2}]}',
        '{"b": [{"c": 2, "d": 3}], "a": 1}',
        '{"b": [{"d": 3, "c": 2}], "a": 1}',
    }
    assert reorderings('{"a":1,"b":2}') == ['{"a":1,"b":2}']
    assert canonical('"a\\n"')
    assert not canonical('"\\u0061"')
    assert not canonical("[1")


def test_long_texts_are_tried_in_few_orders() -> None:
    short, long = (json.dumps({f"a{i}": i for i in range(count)}) for count in (10, 2000))
    assert len(reorderings(short)) == 24
    assert reorderings(long) == [long]
