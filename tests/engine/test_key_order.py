"""`infernix check` says so where the order of keys is all that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engine.test_cli import REJECTED, infernix

TWO_KEYS = """{"type": "object", "properties": {"name": {"type": "string"}, "at": {"properties": {"b": {}, "a": {}}}},
"required": ["name"], "additionalProperties": false}"""


@pytest.mark.parametrize(
    ("options", "text", "ordered"),
    [
        ([], '{"at": {"a": 1.50, "b": [{}]}, "name": "é"}', '{"name": "é", "at": {"b": [{}], "a": 1.50}}'),
        (["--layout", "compact"], '{"at":{},"name":"x"}', '{"name":"x","at":{}}'),
        ([], '{"at": {}, "name": 1}', None),
        ([], '{"at": {}, "name": "x"', None),
        ([], '{"other": 1}', None),
    ],
)
def test_check_shows_the_order_of_keys_if_that_is_what_is_wrong(
    options: list[str], text: str, ordered: str | None, tmp_path: Path
) -> None:
    (tmp_path / "s.json").write_text(TWO_KEYS)
    code, out, _ = infernix("check", "--json-schema-file", tmp_path / "s.json", *options, text)
    assert code == REJECTED
    hint = "the same members in the order of the schema are in the language:\n"
    assert out.partition(hint)[2] == ("" if ordered is None else f"  {ordered}\n")
    assert (hint in out) == (ordered is not None)


def test_check_gives_up_on_orders_that_are_too_many(tmp_path: Path) -> None:
    names = [f"k{number}" for number in range(12)]
    # The schema mentions the names in another order before it declares them.
    schema = {"examples": names[::-1], "properties": {name: {} for name in names}, "additionalProperties": False}
    (tmp_path / "s.json").write_text(json.dumps({"type": "object", **schema}))
    text = json.dumps(dict.fromkeys(names[::-1], 1))
    code, out, _ = infernix("check", "--json-schema-file", tmp_path / "s.json", text)
    assert code == REJECTED
    assert "the same members" not in out
