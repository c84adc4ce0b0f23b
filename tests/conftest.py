"""What holds for the whole test run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CHECKOUT = Path(__file__).resolve().parent.parent
SOURCE_FOLDERS = ("gbnf", "schema", "matcher", "sampling", "engine", "fuzz")

# Examples are drawn afresh in every run, but a slow machine is no reason to fail.
settings.register_profile("default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("small", settings.get_profile("default"), max_examples=10)
settings.register_profile("large", settings.get_profile("default"), max_examples=3000)
# Without machine code everything is a hundred times slower.
usual = "small" if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" else "default"
settings.load_profile(os.environ.get("INFERNIX_EXAMPLES", usual))


def bare_imports() -> list[str]:
    """Source folders that were imported under their bare name, a second copy of the real module."""
    found = []
    for name in SOURCE_FOLDERS:
        module = sys.modules.get(name)
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if any(place and (CHECKOUT / name) in [Path(place), *Path(place).parents] for place in places):
            found.append(name)
    return found


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run if anything imported `matcher` instead of `infernix.matcher`.

    The checkout is on the path, so it would work here, and nowhere else.
    """
    if found := bare_imports():
        print(f"\nimported under a bare name instead of infernix.*: {', '.join(found)}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
