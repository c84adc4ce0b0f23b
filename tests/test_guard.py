"""The guard against imports of source folders under their bare names, itself tested."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import CHECKOUT, bare_imports


def module_at(name: str, path: Path) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    return module


def test_nothing_was_imported_under_a_bare_name() -> None:
    assert bare_imports() == []


def test_a_second_copy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matcher", module_at("matcher", CHECKOUT / "matcher" / "__init__.py"))
    assert bare_imports() == ["matcher"]


def test_another_project_of_that_name_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = CHECKOUT / ".venv" / "lib" / "schema" / "__init__.py"
    monkeypatch.setitem(sys.modules, "schema", module_at("schema", elsewhere))
    assert bare_imports() == []
