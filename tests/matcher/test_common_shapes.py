"""What nearly every JSON Schema needs is walked when the first one is compiled."""

from __future__ import annotations

from typing import Any

import pytest
from tests.vocabularies import qwen35

import infernix
from infernix.gbnf.errors import LimitError
from infernix.matcher import common_shapes, tables
from infernix.matcher.bitmask import allocate
from infernix.matcher.store import LARGE_VOCABULARY
from infernix.matcher.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def large() -> Vocabulary:
    vocabulary = qwen35()
    infernix.compile_json_schema({"const": 1}, vocabulary)
    return vocabulary


@pytest.mark.parametrize(
    ("schema", "beginning"),
    [
        ({"type": "string", "maxLength": 7}, '"abc'),
        ({"type": "string", "minLength": 3, "maxLength": 70}, '"'),
        ({"type": "string", "maxLength": 70}, '"ab\\'),
        ({"type": "string", "minLength": 1}, '"ab\\u00e9'),
        ({"properties": {"other": {"type": "integer"}}}, '{"undeclared'),
        ({"type": "array", "items": {"type": "string"}}, '["x'),
    ],
    ids=str,
)
def test_texts_of_another_schema_walk_little(large: Vocabulary, schema: Any, beginning: str) -> None:
    """The body of a string fills thousands of words of the arena, what is new here a few hundred."""
    matcher = infernix.Matcher(infernix.compile_json_schema(schema, large))
    header = matcher.heap.header
    before = int(header[tables.N_ARENA])
    matcher.accept_bytes(beginning.encode())
    matcher.fill_mask(allocate(1, large.size)[0])
    assert int(header[tables.N_ARENA]) - before < 2000


@pytest.mark.parametrize("layout", ["free", "compact", "spaced"])
def test_every_layout_has_such_texts(layout: Any) -> None:
    """A fresh vocabulary for each; a beginning that is no beginning would be an error."""
    vocabulary = Vocabulary([*(b"%d" % i for i in range(LARGE_VOCABULARY)), b""], eos_ids=[LARGE_VOCABULARY])
    matcher = infernix.Matcher(infernix.compile_json_schema({"const": "a"}, vocabulary, layout=layout))
    assert matcher.compiled.store.layouts == {layout}
    assert int(matcher.heap.header[tables.N_SHAPES]) > 5


def test_small_vocabularies_are_left_alone() -> None:
    vocabulary = Vocabulary([b'"', b"a", b""], eos_ids=[2], size=3)
    matcher = infernix.Matcher(infernix.compile_json_schema({"const": "a"}, vocabulary))
    assert int(matcher.heap.header[tables.N_SHAPES]) == 0


def test_a_walk_that_has_no_room_is_not_the_schemas_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: Any) -> None:
        raise LimitError("no memory")

    monkeypatch.setattr(common_shapes, "walk_common_shapes", no_room)
    vocabulary = Vocabulary([b"1", b""], eos_ids=[1])
    matcher = infernix.Matcher(infernix.compile_json_schema({"const": 1}, vocabulary))
    assert matcher.allowed_token_ids() == [0]
