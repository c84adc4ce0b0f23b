"""What the README says is true: its Python runs, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = [CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((CHECKOUT / "docs").glob("*.md"))


def test_the_python_example_prints_what_its_comments_say() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (CHECKOUT / "README.md").read_text("utf-8"), re.DOTALL)
    expected = re.findall(r"print\(.*\) +# (.*)", example)
    assert len(expected) == 2
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", document.read_text("utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def test_the_tour_names_files_that_exist() -> None:
    text = (CHECKOUT / "docs" / "tour.md").read_text("utf-8")
    names = set(re.findall(r"`(?:[a-z_]+/)*([a-z_0-9]+\.(?:py|lark))`", text))
    sources = {path.name for path in CHECKOUT.glob("[a-z]*/**/*") if path.suffix in (".py", ".lark")}
    assert len(names) > 60
    assert names <= sources


def test_the_tours_masks_are_right() -> None:
    import infernix

    tokens = [b"say", b" ", b"\xc3", b"\xa9", b"a", b"ab!", b"\xc3\xa9!", b"!", b""]
    vocabulary = infernix.Vocabulary(tokens, eos_ids=[8])
    matcher = infernix.Matcher(infernix.compile_gbnf('root ::= "say " [a-zé]{1,3} "!"', vocabulary))
    matcher.accept_bytes(b"say ")
    assert matcher.allowed_token_ids() == [0, 2, 4, 5, 6]
    matcher.accept_token(2)
    assert matcher.allowed_token_ids() == [3]
    matcher.accept_token(3)
    assert matcher.allowed_token_ids() == [2, 4, 5, 6, 7]
    matcher.accept_token(7)
    assert matcher.allowed_token_ids() == [8]
