"""Where the shared test data are, if they are there at all.

They are not part of the repository: the folder is named by the environment variable
`INFERNIX_DATA`, and defaults to `../shared/data` beside the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


def data_dir() -> Path | None:
    """The folder of shared data, or None."""
    named = os.environ.get("INFERNIX_DATA")
    folder = Path(named) if named else CHECKOUT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def data_path(name: str) -> Path:
    """A file or folder of the shared data; skips the test where it is absent."""
    folder = data_dir()
    if folder is None or not (folder / name).exists():
        pytest.skip(f"no {name} in the shared data; set INFERNIX_DATA to their folder")
    return folder / name
