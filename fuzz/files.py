"""Cases and findings as TOML files that replay alone, and as Markdown for a report upstream.

A token is written as its text, or where it is no plain text as `0x` and hexadecimal digits.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from infernix.gbnf.errors import RequestError

from . import toml
from .case import Case, Problem, Step, VocabularySpec
from .compare import Difference
from .names import KINDS
from .session import Finding

__all__ = ["case_text", "finding_text", "markdown", "read_finding"]

PACKAGES = {"xgrammar": "xgrammar", "llguidance": "llguidance"}
HEAD = "# `infernix fuzz replay FILE` runs this again.\n\n"


def token_text(token: bytes) -> str:
    """A token as text; see the module text."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return "0x" + token.hex()
    return "0x" + token.hex() if text.startswith("0x") or not text.isprintable() else text


def token_bytes(text: str) -> bytes:
    """The token that `token_text` has written."""
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()


def case_text(case: Case) -> str:
    """The TOML of a case."""
    spec = case.vocabulary
    if spec.name:
        parts = [toml.table("vocabulary", {"name": spec.name})]
    else:
        entries: dict[str, Any] = {"tokens": [token_text(token) for token in spec.tokens]}
        for name in ("eos_ids", "control_ids", "forbidden_ids"):
            entries[name] = list(getattr(spec, name)) or None
        entries["size"] = spec.size
        parts = [toml.table("vocabulary", entries)]
    for problem in case.problems:
        entries = {"kind": problem.kind, "source": problem.source}
        entries["walk"] = [str(step) for step in problem.walk] or None
        entries["texts"] = list(problem.texts) or None
        parts.append(toml.table("problem", entries, repeated=True))
    return "\n".join(parts)


def finding_text(finding: Finding, known: str | None = None) -> str:
    """The TOML of a finding: what differs, on which engines, and the case."""
    difference = finding.difference
    entries = {
        "check": difference.check,
        "engine": difference.engine,
        "against": difference.against,
        "direction": difference.direction or None,
        "engines": list(finding.engines),
        "known": known,
        "detail": printable(difference.detail) or None,
        "versions": [f"{name} {engine_version(name)}" for name in finding.engines],
    }
    return HEAD + toml.table("finding", entries) + "\n" + case_text(finding.case)


def read_finding(path: Path) -> Finding:
    """A finding, or a bare case, from a file. Raises RequestError for what is neither."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        case = _case(data)
        about = data.get("finding", {})
        kind = case.problems[0].kind
        difference = Difference(
            about.get("check", ""),
            about.get("engine", ""),
            about.get("against", ""),
            kind,
            about.get("direction", ""),
            detail=about.get("detail", ""),
        )
        return Finding(case, difference, tuple(about.get("engines", ())))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, IndexError) as error:
        raise RequestError(f"{path}: not a finding: {type(error).__name__}: {error}") from None


def _case(data: dict[str, Any]) -> Case:
    about = data["vocabulary"]
    if "name" in about:
        spec = VocabularySpec(name=about["name"])
    else:
        tokens = tuple(map(token_bytes, about["tokens"]))
        groups = {n: tuple(about.get(n, ())) for n in ("eos_ids", "control_ids", "forbidden_ids")}
        spec = VocabularySpec("", tokens, size=about.get("size", len(tokens)), **groups)
    problems = []
    for part in data["problem"]:
        if part["kind"] not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}, not {part['kind']!r}")
        steps = tuple(map(Step.parse, part.get("walk", ())))
        problems.append(Problem(part["kind"], part["source"], steps, tuple(part.get("texts", ()))))
    return Case(spec, tuple(problems))


def printable(text: str) -> str:
    """Text without surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def engine_version(name: str) -> str:
    """The version of the package that an engine comes from."""
    try:
        return version(PACKAGES.get(name, "infernix"))
    except PackageNotFoundError:
        return "unknown"


# --- Markdown

EXPECTED = {
    "missing": "forbids what is legal according to",
    "extra": "allows what is illegal according to",
    "": "fails, where there should be no difference to",
}


def markdown(finding: Finding, known: str | None = None, explanation: str = "") -> str:
    """A report that can be read without this project."""
    difference, case = finding.difference, finding.case
    lines = [
        f"# {difference.engine}: {difference.check} {difference.direction}".rstrip() + f" ({difference.kind})",
        "",
        f"`{difference.engine}` {engine_version(difference.engine)} {EXPECTED[difference.direction]} "
        f"{difference.against}." + (f" Known as `{known}`." if known else ""),
        "",
        *([explanation.strip(), ""] if explanation else []),
        *_vocabulary_lines(case.vocabulary),
    ]
    for number, problem in enumerate(case.problems):
        lines += ["", f"## Input {number + 1}: {problem.kind}", "", "```", problem.source.rstrip("\n"), "```", ""]
        lines += [f"{place + 1}. {_step_text(step, case.vocabulary)}" for place, step in enumerate(problem.walk)]
        lines += [f"- the whole text `{printable(text)!r}`" for text in problem.texts]
    lines += ["", "## Seen", "", _seen(difference, case.vocabulary), ""]
    return "\n".join(lines)


def _vocabulary_lines(spec: VocabularySpec) -> list[str]:
    if spec.name:
        return [f"Vocabulary: {spec.name}."]
    tokens = ", ".join(f"{i}: `{token!r}`" for i, token in enumerate(spec.tokens) if token)
    return [f"Vocabulary of {spec.size} ids: {tokens}; end of sequence: {', '.join(map(str, spec.eos_ids)) or 'none'}."]


def _step_text(step: Step, spec: VocabularySpec) -> str:
    if step.verb == "rollback":
        return f"take {step.ids[0]} tokens back"
    words = {
        "token": "accept",
        "fork": "accept in a copy",
        "draft": "masks along the draft",
        "respell": "afresh, accept",
    }
    return f"{words.get(step.verb, 'would these be accepted:')} {_tokens_text(step.ids, spec)}"


def _tokens_text(ids: Sequence[int], spec: VocabularySpec) -> str:
    if spec.name:
        built = spec.build()
        return ", ".join(f"{i} (`{built.token_bytes(i)!r}`)" for i in ids)
    return ", ".join(f"{i} (`{spec.tokens[i]!r}`)" if i < len(spec.tokens) else str(i) for i in ids)


def _seen(difference: Difference, spec: VocabularySpec) -> str:
    where = f"after step {difference.step + 1}" if difference.step >= 0 else "at the beginning"
    if difference.check == "verdict":
        what = "rejected" if difference.direction == "missing" else "accepted"
        return f"the whole text {printable(difference.detail)} is {what}"
    tokens = f": {difference.direction} {_tokens_text(difference.tokens, spec)}" if difference.tokens else ""
    detail = f" ({printable(difference.detail)})" if difference.detail else ""
    return f"{difference.check} {where}{tokens}{detail}"
