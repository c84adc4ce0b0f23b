"""The package as a whole: its names, and the extras that its documents promise."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.data import CHECKOUT

import infernix


def test_public_names_are_listed_before_they_are_used() -> None:
    code = "import infernix, sys; print(*dir(infernix)); print('numpy' in sys.modules, 'lark' in sys.modules)"
    names, loaded = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert {"Matcher", "Vocabulary", "compile_gbnf", "__version__"} <= set(names.split())
    assert set(names.split()) == {*infernix.__all__, "__version__"}
    assert loaded == "False False"


def test_every_public_name_is_there() -> None:
    assert all(getattr(infernix, name).__module__.startswith("infernix.") for name in infernix.__all__)


def test_documents_promise_no_extra_that_is_not_there() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    (promise,) = re.findall(r"everything else is an extra: (.*?)\. Apache", readme, re.DOTALL)
    assert set(re.findall(r"`([a-z]+)`", promise)) == extras
    sources = [path for folder in ("bench", "docs", "engine", "fuzz") for path in (CHECKOUT / folder).rglob("*.*")]
    texts = [path.read_text("utf-8") for path in sources if path.suffix in (".py", ".md")]
    named = {name for text in texts for name in re.findall(r"(?:infernix|'\.)\[([a-z]+)\]'", text)}
    assert named
    assert named <= extras
