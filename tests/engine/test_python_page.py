"""docs/python.md is one program, and it prints what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.data import CHECKOUT

PAGE = (CHECKOUT / "docs" / "python.md").read_text("utf-8")


def test_the_page_prints_what_its_comments_say() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    expected = []
    for block in blocks:
        for line in block.splitlines():
            # Output stands behind a `print`, or, if that is in a loop, in lines of its own below it.
            found = re.fullmatch(r" *print\(.*\)  # (.*)|# (.*)", line)
            expected += [found[1] or found[2]] if found else []
    assert len(expected) > 20
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == expected
