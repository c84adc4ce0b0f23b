"""Campaigns on a Ray cluster of two processors on this machine: the same command, the same state."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.planted import OneWorker
from typer.testing import CliRunner

from infernix.fuzz.campaign import Campaign
from infernix.fuzz.commands import app
from infernix.fuzz.engines import make_engine
from infernix.fuzz.generate import PROBLEMS
from infernix.fuzz.host import EngineFailed, Local
from infernix.fuzz.job import Settings, Worker

COMMAND = [sys.executable, "-m", "infernix.fuzz", "run", "--engines", "reference", "--kind", "choice"]
COMMAND += ["--vocabulary", "synthetic", "--seed", "5"]
PATIENCE = 120


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("ray", reason="no Ray here: pip install '.[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    yield cluster.address
    cluster.shutdown()


def state_of(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    return state


def test_a_campaign_runs_on_a_cluster_is_interrupted_and_goes_on_here(address: str, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "campaign"), "--minutes"]
    process = subprocess.Popen(
        [*COMMAND, *out, "5", "--ray", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    began = time.monotonic()
    corpus = tmp_path / "campaign" / "corpus"
    while not any(corpus.glob("*.toml")):
        assert process.poll() is None
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "the same command goes on" in errors
    first = state_of(tmp_path / "campaign")
    assert first["problems"]

    settings = Settings(("reference",), ("choice",), seed=5)
    campaign = Campaign(settings, tmp_path / "campaign")
    assert campaign.resumed
    worker = Worker(settings, lambda name, _: Local(make_engine(name)))
    assert campaign.run(OneWorker(worker, 2), 600).problems == first["problems"] + 2 * PROBLEMS


@pytest.mark.slow
def test_both_workers_of_a_cluster_find_what_one_here_finds(address: str, tmp_path: Path) -> None:
    pytest.importorskip("xgrammar")
    from infernix.fuzz.campaign import Clock
    from infernix.fuzz.cluster import Cluster

    settings = Settings(("xgrammar",), ("choice",), seed=3, shrink_seconds=2.0)
    worker = Worker(settings)
    expected = {number: worker.run(number) for number in range(6)}
    worker.close()
    cluster = Cluster(settings, address)
    try:
        assert len(cluster.members) == 2
        orders = ((number, None) for number in range(6))
        outcomes = [o for o in cluster.outcomes(orders, Clock(PATIENCE)) if o is not None]
    finally:
        cluster.close()
    assert sorted(outcome.number for outcome in outcomes) == list(range(6))
    for outcome in outcomes:
        mine = expected[outcome.number]
        assert outcome.case == mine.case
        assert outcome.taken == mine.taken
        differences = [[report.finding.difference.signature for report in o.reports] for o in (outcome, mine)]
        assert differences[0] == differences[1]


@pytest.mark.slow
def test_what_fails_on_a_node_is_told_here(address: str, tmp_path: Path) -> None:
    from infernix.fuzz.campaign import Clock
    from infernix.fuzz.cluster import Cluster
    from infernix.gbnf.errors import RequestError

    nobody = Cluster(Settings(("no such engine",), ("choice",)), address, 1)
    try:
        with pytest.raises(RequestError, match="no engine is called"):
            list(nobody.outcomes(iter([(0, None)]), Clock(PATIENCE)))
    finally:
        nobody.close()
    with pytest.raises(RequestError, match="3 workers are too many for a cluster with 2 processors"):
        Cluster(Settings(("reference",), ("choice",)), address, 3)


def test_no_cluster_and_no_ray_are_errors_that_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="no Ray here: pip install '.[ray]'")
    arguments = [*COMMAND[3:], "--out", str(tmp_path), "--ray", "127.0.0.1:1"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert "no Ray cluster at 127.0.0.1:1" in done.stderr
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert "pip install '.[ray]'" in done.stderr


def test_a_failure_travels_between_processes() -> None:
    failure = EngineFailed("xgrammar", "hang", "no answer")
    again = pickle.loads(pickle.dumps(failure))
    assert (str(again), again.check) == ("xgrammar: hang: no answer", "hang")
