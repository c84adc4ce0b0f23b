"""Cases survive being written and read, whatever is in them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infernix.fuzz import toml
from infernix.fuzz.case import Case, Problem, Step, VocabularySpec
from infernix.fuzz.compare import Difference
from infernix.fuzz.files import case_text, finding_text, markdown, read_finding
from infernix.fuzz.session import Finding
from infernix.gbnf.errors import RequestError

texts = st.text(st.characters(codec="utf-8"), max_size=12)
steps = st.builds(
    Step, st.sampled_from(["token", "rollback", "fork", "draft", "probe", "respell"]), st.tuples(st.integers(0, 99))
)
problems = st.builds(
    Problem,
    st.sampled_from(["gbnf", "regex", "schema", "choice"]),
    texts,
    st.lists(steps, max_size=3).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)
specs = st.builds(
    VocabularySpec,
    st.just(""),
    st.lists(st.binary(max_size=4) | texts.map(str.encode), min_size=1, max_size=5).map(tuple),
    st.just((0,)),
    size=st.integers(5, 9),
)
cases = st.builds(Case, specs, st.lists(problems, min_size=1, max_size=2).map(tuple))


@given(case=cases)
def test_a_case_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    path = tmp_path_factory.getbasetemp() / "case.toml"
    path.write_text(case_text(case), encoding="utf-8")
    assert read_finding(path).case == case


@given(value=st.recursive(texts | st.integers() | st.booleans(), lambda inner: st.lists(inner, max_size=3)))
def test_values_are_toml(value: object) -> None:
    assert tomllib.loads(toml.table("t", {"key": value})) == {"t": {"key": value}}


def test_a_finding_keeps_what_differs_and_its_report_says_it() -> None:
    case = Case(
        VocabularySpec(tokens=(b"a", b"\xc3"), eos_ids=(1,), size=2),
        (Problem("gbnf", 'root ::= "a"', (Step("token", (0,)), Step("probe", (1,)))),),
    )
    difference = Difference("probe", "xgrammar", "itself", "gbnf", "missing", 0, 1, (1,))
    finding = Finding(case, difference, ("xgrammar",))
    report = markdown(finding)
    assert "forbids what is legal" in report
    assert 'root ::= "a"' in report
    assert "1 (`b'\\xc3'`)" in report
    assert 'known = "some-name"' in finding_text(finding, "some-name")


@pytest.mark.parametrize(
    "text",
    [
        "not toml [",
        "[vocabulary]\n",
        '[vocabulary]\nname = "bytes"\n',
        '[vocabulary]\nname = "bytes"\n[[problem]]\nkind = "lark"\nsource = ""\n',
        '[vocabulary]\nname = "bytes"\n[[problem]]\nkind = "gbnf"\nsource = ""\nwalk = ["jump 3"]\n',
        '[vocabulary]\ntokens = ["0xzz"]\n[[problem]]\nkind = "gbnf"\nsource = ""\n',
    ],
)
def test_what_is_no_finding_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "finding.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RequestError, match="not a finding"):
        read_finding(path)
