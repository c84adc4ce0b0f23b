"""The grammars in docs/examples against samples, and against parsers that know the same languages."""

from __future__ import annotations

import datetime
import json
import random
import re
import sqlite3
from functools import cache
from pathlib import Path

import pytest

import infernix
from infernix import CompiledGrammar, Matcher, TokenRejected, Vocabulary

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
BYTES = Vocabulary.byte_level()


@cache
def compiled(name: str, root: str = "root") -> CompiledGrammar:
    return infernix.compile_gbnf((EXAMPLES / name).read_bytes(), BYTES, root=root)


def accepts(name: str, text: str, root: str = "root") -> bool:
    matcher = Matcher(compiled(name, root))
    try:
        matcher.accept_bytes(text.encode())
    except TokenRejected:
        return False
    return matcher.can_end()


ACCEPTED = {
    "json.gbnf": [
        "{}", "[]", '""', "0", "-0.5e+10", "true",
        ' { "a" : [ 1 , { "b" : null } ] }\n', r'"\"\\\/\b\f\n\r\t\u00e9"', '"é😀\x7f"',
    ],
    "arithmetic.gbnf": [
        "1", "1 + 2 - 3", "(a + b) * c / 2.5", "-2^-3^x", "--1", "sin(pi / 2)", "max(1, 2, (3))",
    ],
    "chess.gbnf": [
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 1-0",
        "1. f3 e5 2. g4 Qh4# 0-1",
        "1. e4 *",
        "1. Nbd2 R1a3 2. Qh4xe1 exd8=Q+ 3. O-O-O+ Kxe2 40. a8=N hxg1=R 1/2-1/2",
    ],
    "dates.gbnf": [
        "2024-02-29", "2000-02-29", "1969-07-20T20:17", "1969-07-20T20:17:40Z",
        "2001-12-31T23:59:59.999999999+05:30",
    ],
    "sql.gbnf": [
        "SELECT * FROM users;",
        "SELECT DISTINCT name, COUNT(*) AS n FROM users AS u LEFT JOIN orders ON u.id = orders.user_id"
        " WHERE NOT (age >= 18 AND name LIKE 'O''Brien%') OR city IN ('Oslo', 'Bergen')"
        " GROUP BY name HAVING COUNT(DISTINCT orders.id) > 3 ORDER BY n DESC, u.name LIMIT 10 OFFSET 5;",
        "SELECT a FROM t UNION ALL SELECT b FROM t WHERE EXISTS (SELECT * FROM v WHERE x IS NOT NULL);",
        "SELECT (a + 1) * -2.5 / b - c FROM (SELECT * FROM t) AS s"
        " WHERE a NOT BETWEEN 1 AND 2 AND b <> UPPER('x');",
    ],
    "person.gbnf": ['{"name": "Ann", "age": null, "city": "Å", "likes": []}'],
}  # fmt: skip
REJECTED = {
    "json.gbnf": [
        "", "{", "01", "1.", '"\n"', "'a'", "[1,]", '{"a":1,}', "{a:1}", "nul", '"\\x"', "1 2", "NaN", "+1",
    ],
    "arithmetic.gbnf": ["", "1 +", "1+2", "01", "(1", "1)", "foo(1)", "a b", "1 + + 2", "sin()"],
    "chess.gbnf": [
        "", "1. e4 e5", "0. e4 e5 *", "1. e9 e5 *", "1. e8 *", "1. axc3 *",
        "1. e4 e5 2. *", "1. Kde2 *", "1. e4=Q *", "1. O-O-O-O *",
    ],
    "dates.gbnf": [
        "", "2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00",
        "24-01-01", "2024-1-1", "2024-01-01T24:00", "2024-01-01T23:60", "2024-01-01Z",
        "2024-01-01T10:00+5:00", "2024-01-01 10:00",
    ],
    "sql.gbnf": [
        "", "SELECT * FROM users", "SELECT FROM users;", "select * from users;",
        "SELECT a b FROM t;", "SELECT * FROM t WHERE;", "SELECT * FROM t; DROP TABLE t;",
        "SELECT 'it's' FROM t;", "SELECT a FROM t LIMIT 01;", "SELECT a, FROM t;",
    ],
    "person.gbnf": ['{"name": "", "age": 1, "city": "B", "likes": []}', '{"name": "A"}'],
}  # fmt: skip


def pairs(samples: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, text) for name, texts in samples.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), pairs(ACCEPTED))
def test_accepts(name: str, text: str) -> None:
    assert accepts(name, text)


@pytest.mark.parametrize(("name", "text"), pairs(REJECTED))
def test_rejects(name: str, text: str) -> None:
    assert not accepts(name, text)


def test_every_example_has_samples() -> None:
    names = {path.name for path in EXAMPLES.glob("*.gbnf")}
    assert names == ACCEPTED.keys() | {"tokens.gbnf"}
    assert ACCEPTED.keys() == REJECTED.keys()


def test_json_samples_agree_with_the_json_module() -> None:
    for text in ACCEPTED["json.gbnf"]:
        json.loads(text)
    for text in REJECTED["json.gbnf"]:
        if text != "NaN":  # which Python accepts and RFC 8259 does not
            with pytest.raises(ValueError, match=r".+"):
                json.loads(text)


def test_dates_are_exactly_the_calendar() -> None:
    """All days of five centuries, and every other digit string of the same form in a few years."""
    exist = set()
    day = datetime.date(1600, 1, 1)
    while day.year < 2101:
        exist.add(day.isoformat())
        day += datetime.timedelta(days=1)
    for year in (1600, 1700, 1899, 1900, 1996, 1999, 2000, 2023, 2024, 2100):
        for month in range(100):
            for number in range(100) if 1 <= month <= 12 else (1, 28):
                text = f"{year}-{month:02}-{number:02}"
                assert accepts("dates.gbnf", text, "date") == (text in exist), text
    random.seed(1)
    for text in random.sample(sorted(exist), 500):
        assert accepts("dates.gbnf", text)


def random_text(name: str, seed: int, root: str = "root", limit: int = 400) -> str | None:
    """A random walk through the grammar; None if it does not end in time."""
    rng, matcher, text = random.Random(seed), Matcher(compiled(name, root)), bytearray()
    while len(text) < limit:
        allowed = matcher.allowed_token_ids()
        if 256 in allowed and rng.random() < 0.3:
            return text.decode()
        token = rng.choice([byte for byte in allowed if byte != 256] or [256])
        if token == 256:
            return text.decode()
        matcher.accept_token(token)
        text.append(token)
    return None


def sqlite_syntax_error(text: str) -> str | None:
    """SQLite's complaint about the syntax, if it has one. What names mean is not its syntax."""
    try:
        sqlite3.connect(":memory:").execute(f"EXPLAIN {text}")
    except sqlite3.Error as error:
        if re.search(r"syntax error|incomplete input|unrecognized token", str(error)):
            return str(error)
    return None


def test_sql_parses_in_sqlite() -> None:
    for text in ACCEPTED["sql.gbnf"]:
        assert sqlite_syntax_error(text) is None, text
    assert sqlite_syntax_error("SELECT a, FROM t;")  # the check can fail
    ended = 0
    for seed in range(80):
        text = random_text("sql.gbnf", seed)
        # A name may be spelled like a keyword; see the grammar's first lines.
        if text is not None and (error := sqlite_syntax_error(text)) is not None:
            culprit = re.search(r'near "([^"]+)"', error)
            assert culprit, (text, error)
            assert culprit[1].islower(), (text, error)
        ended += text is not None
    assert ended > 5


def test_arithmetic_means_what_python_means() -> None:
    names = {"a": 2.0, "b": 3.0, "c": 5.0, "x": 1.5}
    for text in ["(a + b) * c / 2.5", "2^3^2", "a - b - c", "8 / 4 / 2", "-2^2 + x"]:
        assert accepts("arithmetic.gbnf", text)
        assert isinstance(eval(text.replace("^", "**"), {}, names), float | int)


# --- token terminals

TOKENS = {
    10539: b"Yes",
    5230: b"No",
    28: b",",
    30: b".",
    975: b" because",
    198: b"\n",
    1116: b"\n\n",
    100: b" it",
    101: b" is.",
}


@cache
def smollm_like() -> Vocabulary:
    """The tokens that tokens.gbnf names, at their ids in SmolLM2's vocabulary, and two more."""
    tokens = [TOKENS.get(token, b"") for token in range(49152)]
    return Vocabulary(tokens, eos_ids=[2])


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([10539, 28, 975, 100, 100, 100, 30, 2], True),
        ([5230, 28, 975, 101, 101, 100, 30, 2], True),  # a full stop inside a token is another token
        ([5230, 28, 975] + [100] * 20 + [30, 2], True),
        ([5230, 28, 975] + [100] * 21, False),
        ([5230, 28, 975, 100, 100, 30], False),  # too short
        ([5230, 28, 975, 100, 28], False),  # an excluded token
        ([5230, 975], False),
        ([100], False),
    ],
)
def test_tokens(tokens: list[int], expected: bool) -> None:
    source = (EXAMPLES / "tokens.gbnf").read_bytes()
    matcher = Matcher(infernix.compile_gbnf(source, smollm_like()))
    try:
        for token in tokens:
            matcher.accept_token(token)
    except TokenRejected:
        assert not expected
    else:
        assert expected
        assert matcher.is_terminated()
