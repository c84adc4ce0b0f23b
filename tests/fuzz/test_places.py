"""Places of errors, and texts that are nearly grammars."""

from __future__ import annotations

import pytest

from infernix.fuzz.choices import seeded
from infernix.fuzz.engines import Refused, grammar_of, refusing
from infernix.fuzz.generators.near_gbnf import near_gbnf
from infernix.fuzz.places import misplaced
from infernix.gbnf.errors import GrammarError, InvalidSchema, LimitError, RegexError
from infernix.matcher.vocabulary import Vocabulary

TEXT = 'root ::= "a"\r\nx ::= y\rz'
SCHEMA = '{"a/b": [{"~": 1}]}'


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (GrammarError("m", 2, 8, "x ::= y"), None),
        (GrammarError("m", 3, 1, "z"), None),
        (GrammarError("m", 2, 9, "x ::= y"), "column 9 of a line of 7"),
        (GrammarError("m", 4, 1, ""), "line 4 of 3"),
        (GrammarError("m", 1, 1, "x ::= y"), "another line is shown than line 1"),
        (GrammarError("m", 1, 1), "another line is shown than line 1"),
        (GrammarError("m"), "no line and column: m"),
        (LimitError("m"), None),
        (None, None),
    ],
)
def test_a_line_and_column_must_be_in_the_text(error: Exception | None, wrong: str | None) -> None:
    assert misplaced(TEXT, error) == wrong


def test_a_position_and_a_pointer_must_be_in_the_source() -> None:
    assert misplaced("ab", RegexError("m", 2)) is None
    assert misplaced("ab", RegexError("m", 3)) == "position 3 of 2"
    for pointer in ("", "/a~1b", "/a~1b/0", "/a~1b/0/~0"):
        assert misplaced(SCHEMA, InvalidSchema("m", pointer)) is None
    for pointer in ("a", "/a", "/a/b", "/a~1b/1", "/a~1b/0/~", "/a~1b/0/~0/x"):
        assert misplaced(SCHEMA, InvalidSchema("m", pointer)) == f"no {pointer!r} in the document"


def test_near_grammars_are_of_both_sorts_and_fail_in_many_ways() -> None:
    vocabulary = Vocabulary.byte_level()
    source = 'root ::= "ab" x{2,3} | [a-c]*\nx ::= Token(5) | "\\n" (x root)?\n'
    reasons, taken = set(), 0
    for number in range(300):
        text = near_gbnf(seeded(number), source, [0, 255, 256, 300])
        assert text == near_gbnf(seeded(number), source, [0, 255, 256, 300])
        try:
            with refusing():
                grammar_of("gbnf", text, vocabulary)
            taken += 1
        except Refused as refusal:
            reasons.add(str(refusal).partition(": ")[2].partition(": ")[2][:24])
    assert 50 < taken < 250
    assert len(reasons) > 30
