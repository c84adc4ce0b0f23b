"""Where things are kept between processes. Nothing heavy is imported for it."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """The user's cache folder of Infernix; `INFERNIX_CACHE` overrides it."""
    override = os.environ.get("INFERNIX_CACHE")
    return Path(override) if override else user_cache_path("infernix")
