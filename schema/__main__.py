"""`python -m infernix.schema` writes the table of keywords into `docs/json-schema.md` of the checkout."""

from __future__ import annotations

from pathlib import Path

from .keywords import documentation

PAGE = Path(__file__).resolve().parent.parent / "docs" / "json-schema.md"

if __name__ == "__main__":
    PAGE.write_text(documentation(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
