"""Campaigns: the same cases from the same seed, sums that survive an interruption, a state that goes on."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fuzz.planted import OneWorker, make
from typer.testing import CliRunner

from infernix.fuzz.campaign import Campaign, State
from infernix.fuzz.commands import app
from infernix.fuzz.files import case_text, read_finding
from infernix.fuzz.generate import case_of
from infernix.fuzz.host import Local
from infernix.fuzz.job import Settings, Worker
from infernix.fuzz.names import KINDS
from infernix.gbnf.errors import RequestError

COMMAND = [sys.executable, "-m", "infernix.fuzz", "run", "--engines", "reference", "--kind", "choice"]
COMMAND += ["--vocabulary", "synthetic", "--seed", "5"]
PATIENCE = 120


def local(name: str, _settings: Settings) -> Local:
    return Local(make(name))


def run(settings: Settings, folder: Path, most: int, fresh: bool = False) -> State:
    campaign = Campaign(settings, folder, fresh)
    return campaign.run(OneWorker(Worker(settings, local), most), 600)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_and_a_number_determine_the_case(kind: str) -> None:
    cases = [case_text(case_of(kind, "synthetic", 1, number)) for number in range(20)]
    assert cases == [case_text(case_of(kind, "synthetic", 1, number)) for number in range(20)]
    assert len(set(cases)) == 20
    assert cases[0] != case_text(case_of(kind, "synthetic", 2, 0))


def test_cases_do_not_depend_on_the_process() -> None:
    code = (
        "from infernix.fuzz.generate import case_of\nfrom infernix.fuzz.files import case_text\nimport hashlib\n"
        "text = ''.join(case_text(case_of(k, 'synthetic', 3, n)) for k in ('gbnf', 'schema') for n in range(8))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # not that of this process
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code]
    elsewhere = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    cases = (case_of(kind, "synthetic", 3, number) for kind in ("gbnf", "schema") for number in range(8))
    assert elsewhere.strip() == hashlib.sha256("".join(map(case_text, cases)).encode()).hexdigest()


def test_walks_are_determined_too(tmp_path: Path) -> None:
    settings = Settings(("reference",), ("gbnf", "choice"), seed=7)
    first, second = (Worker(settings, local).session.examine for _ in range(2))
    for number in range(4):
        case = settings.case(number)
        assert first(case, str(number)) == second(case, str(number)) == []


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    settings = Settings(("reference", "FlippedBit"), ("regex",), seed=2, shrink_seconds=0.2)
    first = run(settings, tmp_path, 3)
    assert first.done == 3
    assert not Campaign(settings, tmp_path, fresh=True).resumed

    second = run(settings, tmp_path, 2)
    assert second.done == 5
    assert second.problems == 20
    assert second.unknown.keys() >= first.unknown.keys()
    assert second.unknown

    with pytest.raises(RequestError, match="other settings"):
        Campaign(Settings(("reference",), ("choice",)), tmp_path)
    assert run(settings, tmp_path, 1, fresh=True).problems >= 4


def test_the_corpus_is_tried_first(tmp_path: Path) -> None:
    settings = Settings(("reference",), ("choice",))
    run(settings, tmp_path, 3)
    kept = {path.name for path in (tmp_path / "corpus").glob("*.toml")}
    assert kept
    (tmp_path / "campaign.json").unlink()
    orders = [order for _, order in zip(range(len(kept) + 1), Campaign(settings, tmp_path).orders())]
    assert [number for number, _ in orders] == [*range(-1, -1 - len(kept), -1), 0]
    files = sorted((tmp_path / "corpus").iterdir())
    assert [case for _, case in orders[:-1]] == [read_finding(path).case for path in files]


def is_there(group: int) -> bool:
    """Whether a process group still has a member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_interrupting_leaves_a_state_and_no_processes(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    command = [*COMMAND, "--out", str(folder), "--minutes", "5"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        # A test run in the background of a shell ignores interrupts, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    began = time.monotonic()
    while not any((folder / "corpus").glob("*.toml")):
        assert process.poll() is None
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on" in errors
    state = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    assert state["problems"] > 0
    for _ in range(50):
        if not is_there(process.pid):
            break
        time.sleep(0.1)
    assert not is_there(process.pid)

    command[-1] = "0.01"  # engines take longer to start: the shortest campaign has a case all the same
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "going on at case" in again.stderr
    assert "starting the engines" in again.stderr
    assert re.search(r"\b[1-9]\d* cases", again.stdout)
    assert json.loads((folder / "campaign.json").read_text(encoding="utf-8"))["problems"] > state["problems"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "nope.toml"], "cannot read nope.toml: No such file or directory"),
        (["replay", "."], "cannot read .: Is a directory"),
        (
            ["run", "--engines", "xgrammar", "--kind", "choice"],
            "this needs xgrammar; install the extra `fuzz`: pip install '.[fuzz]' in the checkout",
        ),
        (
            ["run", "--engines", "reference"],
            "this needs jsonschema; install the extra `fuzz`: pip install '.[fuzz]' in the checkout",
        ),
        (
            ["contract", "--engine", "llguidance"],
            "this needs llguidance and jsonschema; install the extra `fuzz`: pip install '.[fuzz]' in the checkout",
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_starts(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (2, f"error: {message}\n")
    assert not any(tmp_path.iterdir())
