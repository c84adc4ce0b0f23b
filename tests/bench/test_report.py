"""The JSON file that other programs read, and the tables made from it."""

import json

import numpy as np
from bench.cases import Case, Source
from bench.report import as_json, details, format_number, format_table, tables
from bench.summary import Results
from bench.walk import NOT_IN_MASK, CaseResult, Walk

PERCENTILE_KEYS = {"n", "mean", "p50", "p90", "p99", "p99.9", "max"}
ABOUT = {"versions": {"ours": "1", "theirs": "2"}, "cases": 2, "mask_width": 64}


def two_engines() -> Results:
    times = np.array([1000, 3000])
    results = Results(("ours", "theirs"))
    for engine, compile_ns in (("ours", 1_000_000), ("theirs", 5_000_000)):
        walk = Walk(2, "", times, times, times, times)
        results.add(CaseResult(engine, "good", compile_ns=compile_ns, valid=[walk]))
    stopped = Walk(2, NOT_IN_MASK, times[:1], accepts_first=times[:1])
    results.add(CaseResult("ours", "bad", compile_ns=10, valid=[stopped], invalid=1, wrongly_accepted=[0]))
    results.add(CaseResult("theirs", "bad", status="refused", message="cannot"))
    return results


def figures() -> dict:
    results = two_engines()
    common = results.common()
    return as_json([results.summary(name, common) for name in results.engines], common, ABOUT)


def test_the_json_has_the_documented_form():
    data = json.loads(json.dumps(figures()))
    assert data["common"] == 1
    assert data["versions"] == {"ours": "1", "theirs": "2"}
    assert list(data["engines"]) == ["ours", "theirs"]
    for engine in data["engines"].values():
        for name in ("compile_ms", "mask_first_us", "mask_second_us", "accept_us"):
            assert set(engine[name]) == PERCENTILE_KEYS
        for name in ("refused", "wrongly_refused", "wrongly_accepted", "exact"):
            assert isinstance(engine[name], int)
    ours = data["engines"]["ours"]
    assert (ours["refused"], ours["wrongly_refused"], ours["wrongly_accepted"], ours["exact"]) == (0, 1, 1, 1)
    assert data["engines"]["theirs"]["refused"] == 1
    assert ours["mask_first_us"]["mean"] == 2.0
    assert ours["compile_ms"]["max"] == 1.0


def test_the_tables_show_every_engine_and_the_ratio():
    text = tables(figures())
    assert "2 cases, 1 of them common" in text
    assert "| theirs" in text
    ratios = next(line for line in reversed(text.splitlines()) if line.startswith("| theirs"))
    assert ratios.split("|")[2].strip() == "5.00x", "their compile took five times ours"


def test_the_tables_say_that_a_run_was_repeated():
    assert "64 tokens wide.\n" in tables(figures())
    assert "64 tokens wide; of each call the smallest of its 3 times.\n" in tables(figures() | {"repeat": 3})


def test_tables_of_a_run_without_common_cases():
    results = two_engines()
    empty = as_json([results.summary(name, {}) for name in results.engines], {}, ABOUT)
    assert "0 of them common" in tables(empty)


def test_details_name_what_went_wrong():
    cases = [
        Case("good", Source("schema", "{}"), [[0, 1]]),
        Case("bad", Source("schema", "{}"), [[0, 1]], [[1]]),
    ]
    text = details(two_engines(), cases, [b"{", b"}"])
    assert "valid text 0 of bad: not in the mask after 1 of 2 tokens: { <HERE> }" in text
    assert "accepted invalid text 0 of bad" in text
    assert "refused  bad: cannot" in text


def test_numbers_have_three_digits():
    assert [format_number(value) for value in (0.123, 1.234, 12.34, 123.4, 12345.6)] == [
        "0.12",
        "1.23",
        "12.3",
        "123",
        "12,346",
    ]
    assert format_number(float("nan")) == "-"


def test_a_table_is_aligned_markdown():
    assert format_table(["a", "b"], [["long name", "1"]]).splitlines() == [
        "| a         | b |",
        "| --------- | -: |".replace("-:", ":"),
        "| long name | 1 |",
    ]
