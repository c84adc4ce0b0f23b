"""The fixed sample, and the cases made here."""

import gzip
import json
import re

import jsonschema
import pytest
from bench.cases import MAX_TOKENS, json_text, read_groups, sample, schema_case
from bench.made_cases import cliff_cases, fitting, grammar_cases
from bench.runner import Plan
from bench.vocabularies import GreedyEncoder


def encode(text: str) -> list[int]:
    """Two bytes a token, so that texts have about the length that a tokenizer would give."""
    data = text.encode()
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


def text_of(tokens: list[int]) -> str:
    pairs = [token.to_bytes(2, "big") for token in tokens[:-1]]
    last = tokens[-1]
    return b"".join([*pairs, last.to_bytes(2 if last > 255 else 1, "big")]).decode()


def record(name: str, *tests: dict) -> dict:
    return {"id": name, "schema": {"type": "string"}, "tests": list(tests)}


def test_a_sample_takes_from_each_group_in_turn():
    groups = {"x": [record("x1"), record("x2"), record("x3")], "y": [record("y1")]}
    assert [one["id"] for one in sample(groups, None)] == ["x1", "y1", "x2", "x3"]
    assert [one["id"] for one in sample(groups, 3)] == ["x1", "y1", "x2"]


def test_the_order_in_a_group_does_not_depend_on_the_file(tmp_path):
    names = [f"id{i}" for i in range(20)]
    orders = []
    for order in (names, names[::-1]):
        with gzip.open(tmp_path / "group.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(record(name)) + "\n" for name in order)
        orders.append([one["id"] for one in read_groups(tmp_path)["group"]])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == sorted(names)
    assert orders[0] != names, "an order by id would prefer some kinds of schema"


def test_long_instances_are_left_out():
    tests = [
        {"valid": True, "data": "short"},
        {"valid": False, "data": 1},
        {"valid": True, "data": "x" * (2 * MAX_TOKENS)},
    ]
    case = schema_case(record("one", *tests), encode)
    assert [text_of(tokens) for tokens in case.valid] == ['"short"']
    assert [text_of(tokens) for tokens in case.invalid] == ["1"]


def test_instances_are_spaced_and_keep_their_characters():
    assert json_text({"a": [1, "é"]}) == '{"a": [1, "é"]}'


@pytest.mark.parametrize("case", [*grammar_cases(encode), *cliff_cases(encode)], ids=lambda case: case.id)
def test_the_texts_of_made_cases_are_valid(case):
    assert case.valid
    for tokens in case.valid:
        text = text_of(tokens)
        match case.source.kind:
            case "schema":
                jsonschema.validate(json.loads(text), json.loads(case.source.text))
            case "regex":
                assert re.fullmatch(case.source.text, text)
            case "choice":
                assert text in json.loads(case.source.text)
            case "json":
                assert isinstance(json.loads(text), dict)


def test_a_text_is_shortened_to_the_limit():
    text = fitting(encode, '"' + "x" * 10_000)
    assert len(encode(text)) <= MAX_TOKENS
    assert text.endswith('x"')


def test_engines_take_turns_in_rotating_order():
    cases = grammar_cases(encode)[:3]
    turns = [(case.id, engine) for case, engine in Plan(("a", "b"), "none", cases, 1.0).turns()]
    first, second, third = (case.id for case in cases)
    assert turns == [(first, "a"), (first, "b"), (second, "b"), (second, "a"), (third, "a"), (third, "b")]


def test_greedy_tokens_are_the_longest():
    greedy = GreedyEncoder({b"a": 0, b"b": 1, b"ab": 2, b"abc": 3, b"c": 4})
    assert greedy("ababcc") == [2, 3, 4]


def test_variants_of_ours_have_processes_of_their_own():
    plan = Plan(("infernix", "infernix-spaced", "xgrammar", "xgrammar-dynamic", "infernix-view"), "none", [], 1.0)
    assert plan.processes() == [
        ["infernix", "xgrammar", "xgrammar-dynamic"],
        ["infernix-spaced"],
        ["infernix-view"],
    ]
