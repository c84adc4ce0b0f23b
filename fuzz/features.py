"""What a case is made of, as short names: for coverage, and for recognising known differences.

gbnf        recursion, left-recursion, endless (no finite text completes it), count, class, wide, ExcludeToken, ...
regex       dot, \\s, class, lazy, count, anchor, ...
schema      every keyword, and facts about how they meet, such as `type+anyOf`
choice      empty, prefix, quoted, wide
vocabulary  vocabulary:not-prefix-closed, vocabulary:equal-tokens, ...
steps       step:rollback, step:draft, ...
tokens      of a difference: token:eos, token:special, token:surrogate, token:no-utf8, token:text
texts       text:escape, text:control, text:repeated-key, ...
"""

from __future__ import annotations

import ast
import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from infernix.gbnf.errors import RequestError
from infernix.gbnf.facts import productive
from infernix.gbnf.grammar import (
    EMPTY,
    Alternatives,
    CharClass,
    Expression,
    Grammar,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
    walk,
)
from infernix.gbnf.parser import parse_gbnf
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .case import Case, VocabularySpec
from .compare import Difference

__all__ = ["features", "of_difference", "of_source"]

REGEX_FEATURES = {
    "dot": r"(?<!\\)\.",
    "\\s": r"\\s",
    "\\S": r"\\S",
    "\\d": r"\\d",
    "\\D": r"\\D",
    "\\w": r"\\w",
    "\\W": r"\\W",
    "class": r"\[[^\]^]",
    "negated-class": r"\[\^.",
    "any": r"\[\^\]",
    "lazy": r"[*+?}]\?",
    "count": r"\{\d",
    "zero-count": r"\{0\}",
    "star": r"[*+]",
    "anchor": r"\^(?!\])|\$",
    "group": r"\(",
    "alternative": r"\|",
    "empty-alternative": r"\(\||\|\||\|\)|^\||\|$|^$|\(\)|\(\?:\)|\(\?:\|",
    "hex": r"\\x|\\u",
    "wide": r"[^\x00-\x7f]",
}
_REGEX_FEATURES = {name: re.compile(pattern) for name, pattern in REGEX_FEATURES.items()}
SURROGATE = re.compile(rb"\xed(?:[\xa0-\xbf]|\Z)")
"""The encoding of a surrogate, or its beginning (which may also begin U+D000 to U+D7FF)."""
LONGEST_TAIL = 3
"""Bytes of a character after its first."""
ASSERTED_LENGTHS = {"minLength", "maxLength"}
COMPOSITIONS = ("anyOf", "oneOf", "allOf", "not", "if", "$ref")


def features(case: Case) -> frozenset[str]:
    """The names of everything that occurs in the case."""
    found = set(of_vocabulary(case.vocabulary))
    for problem in case.problems:
        found |= of_source(problem.kind, problem.source)
        found.update(f"step:{step.verb}" for step in problem.walk)
        for text in problem.texts:
            found.update(of_text(problem.kind, text))
    if len(case.problems) > 1:
        found.add("several-problems")
    return frozenset(found)


def of_difference(difference: Difference, case: Case) -> frozenset[str]:
    """What kinds of token a difference is about, or what kind of text."""
    if difference.check == "verdict":
        return frozenset(of_text(difference.kind, ast.literal_eval(difference.detail)))
    vocabulary = case.vocabulary.build()
    before = _bytes_before(difference, case, vocabulary)
    return frozenset(_kind_of_token(vocabulary, token, before) for token in difference.tokens)


def _bytes_before(difference: Difference, case: Case, vocabulary: Vocabulary) -> bytes:
    """The last bytes before the tokens of a difference: a token may finish what another has begun."""
    taken: list[int] = []
    for place, step in enumerate(case.problems[difference.problem].walk[: difference.step + 1]):
        if step.verb == "rollback":
            del taken[max(len(taken) - step.ids[0], 0) :]
        elif step.verb == "token" or (place == difference.step and difference.check == "sight"):
            taken += step.ids
    return b"".join(vocabulary.token_bytes(token) for token in taken[-LONGEST_TAIL:] if token < vocabulary.size)


def _kind_of_token(vocabulary: Vocabulary, token: int, before: bytes) -> str:
    match vocabulary.kind(token):
        case TokenKind.ORDINARY:
            if SURROGATE.search(before[-2:] + vocabulary.token_bytes(token)):
                return "token:surrogate"
            return "token:text" if may_be_cut_out(vocabulary.token_bytes(token)) else "token:no-utf8"
        case TokenKind.EOS:
            return "token:eos"
        case _:
            return "token:special"


def may_be_cut_out(token: bytes) -> bool:
    """Whether the bytes occur somewhere in a well-formed text: an incomplete character may begin and end them."""
    start = next((i for i, byte in enumerate(token) if not 0x80 <= byte < 0xC0), len(token))
    if start > LONGEST_TAIL:
        return False
    decoder = getincrementaldecoder("utf-8")()
    try:
        decoder.decode(token[start:], final=False)
    except UnicodeDecodeError:
        return False
    return True


@lru_cache(maxsize=256)
def of_source(kind: str, source: str) -> frozenset[str]:
    """Of a source text."""
    match kind:
        case "gbnf":
            return frozenset(_of_grammar(source))
        case "regex":
            return frozenset(name for name, pattern in _REGEX_FEATURES.items() if pattern.search(source))
        case "choice":
            return frozenset(_of_choices(json.loads(source)))
        case _:
            return frozenset(_of_schema(json.loads(source)))


# --- grammars


def _of_grammar(source: str) -> Iterator[str]:
    if "\0" in source:
        yield "nul"
    try:
        grammar = parse_gbnf(source)
    except RequestError:
        yield "not-a-grammar"
        return
    yield from _recursion(grammar)
    can_end = productive(grammar)
    if not all(can_end.holds(node) for rule in grammar.rules for node in walk(rule.body)):
        yield "endless"
    for rule in grammar.rules:
        for node in walk(rule.body):
            yield from _of_node(node)


def _of_node(node: Expression) -> Iterator[str]:
    match node:
        case Literal(text):
            yield "empty" if node == EMPTY else "literal"
            if any(char > "\x7f" for char in text):
                yield "wide"
        case CharClass(ranges):
            yield "class" if ranges else "nothing"
            if ranges and ranges[-1][1] > 0x7F:
                yield "wide"
            if any(low <= edge <= high for low, high in ranges for edge in (0xD7FF, 0xE000)):
                yield "beside-surrogates"
        case Repeat(item, minimum, maximum):
            yield "count" if maximum not in (1, None) or minimum > 1 else "quantifier"
            if maximum is None:
                yield "unbounded"
            if any(isinstance(inner, Repeat) for inner in walk(item)):
                yield "nested-count"
        case TokenSet(exclude=exclude):
            yield "ExcludeToken" if exclude else "Token"
        case Sequence():
            yield "sequence"
        case Alternatives():
            yield "alternatives"


def _recursion(grammar: Grammar) -> Iterator[str]:
    """Whether some rule reaches itself, and whether without anything certain before."""
    reach = {r.name: {n.name for n in walk(r.body) if isinstance(n, RuleRef)} for r in grammar.rules}
    left = {r.name: set(_leftmost(r.body)) for r in grammar.rules}
    for name, graph in (("recursion", reach), ("left-recursion", left)):
        if any(rule in _closure(graph, rule) for rule in graph):
            yield name


def _leftmost(node: Expression) -> Iterator[str]:
    """Rules that may be read first; a first part that may be empty lets the next one be first, too."""
    match node:
        case RuleRef(name):
            yield name
        case Sequence(items):
            for item in items:
                yield from _leftmost(item)
                if not (isinstance(item, Repeat) and item.minimum == 0) and item != EMPTY:
                    return
        case Alternatives(choices):
            for choice in choices:
                yield from _leftmost(choice)
        case Repeat(item=item):
            yield from _leftmost(item)


def _closure(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    agenda = list(graph.get(start, ()))
    while agenda:
        name = agenda.pop()
        if name not in reached:
            reached.add(name)
            agenda.extend(graph.get(name, ()))
    return reached


# --- choices and schemas


def _of_choices(choices: list[str]) -> Iterator[str]:
    for choice in choices:
        if not choice:
            yield "empty"
        if any(char in '"\\\n\t' for char in choice):
            yield "quoted"
        if any(char > "\x7f" for char in choice):
            yield "wide"
        if any(other != choice and other.startswith(choice) for other in choices):
            yield "prefix"
    if len(set(choices)) < len(choices):
        yield "equal-choices"


def _of_schema(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _of_schema(item)
    if not isinstance(schema, dict):
        yield f"constant:{json.dumps(schema)}" if isinstance(schema, bool) else "value"
        return
    yield from _of_keywords(schema)
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties", "$defs", "dependentSchemas"):
            for inner in value.values() if isinstance(value, dict) else ():
                yield from _of_schema(inner)
        elif keyword not in ("const", "enum", "required", "dependentRequired", "type"):
            yield from _of_schema(value)


def _of_keywords(schema: dict[str, Any]) -> Iterator[str]:
    yield from schema
    kind = schema.get("type")
    yield f"type:{kind}" if isinstance(kind, str) else "no-type" if kind is None else "types"
    for keyword in COMPOSITIONS:
        if keyword in schema and len(schema.keys() - {"$defs", "then", "else"}) > 1:
            yield f"{keyword}+siblings"
    if schema.get("type") is None and schema.keys() - {"$defs", *COMPOSITIONS}:
        yield "assertions-without-type"
    if schema.keys() & ASSERTED_LENGTHS:
        yield "length"
        if "pattern" in schema:
            yield "pattern+length"
    if set(schema.get("required", ())) - set(schema.get("properties", ())):
        yield "required-undeclared"
    for keyword in ("const", "enum"):
        if keyword in schema:
            yield from _of_constant(schema[keyword])
            if len(schema) > 1:
                yield "constant+siblings"


def _of_constant(value: Any) -> Iterator[str]:
    if isinstance(value, float):
        yield "constant:float"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, list | dict) for item in value)):
        yield "constant:compound"


# --- vocabularies and texts


@lru_cache(maxsize=64)
def of_vocabulary(spec: VocabularySpec) -> frozenset[str]:
    """Of a vocabulary."""
    if spec.name:
        return frozenset({f"vocabulary:{spec.name}"})
    special = {*spec.eos_ids, *spec.control_ids, *spec.forbidden_ids}
    ordinary = [token for i, token in enumerate(spec.tokens) if token and i not in special]
    known = set(ordinary)
    facts = {
        "not-prefix-closed": any(token[:-1] not in known for token in known if len(token) > 1),
        "equal-tokens": len(known) < len(ordinary),
        "several-eos": len(spec.eos_ids) > 1,
        "no-eos": not spec.eos_ids,
        "control": bool(spec.control_ids),
        "padding": spec.size > len(spec.tokens),
        "cut-characters": any(not _is_text(token) for token in known),
        "odd-bytes": any(byte >= 0xF5 or byte in (0xC0, 0xC1) for token in known for byte in token),
    }
    return frozenset(f"vocabulary:{name}" for name, holds in facts.items() if holds)


def _is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def of_text(kind: str, text: str) -> Iterator[str]:
    """Of a text to try."""
    if kind != "schema":
        return
    if "\\" in text:
        yield "text:escape"
    if any("\udc80" <= char <= "\udcff" for char in text):
        yield "text:no-utf8"
    if any(char < " " for char in text):
        yield "text:control"
    if re.search(r"\\ud[89ab]", text, re.IGNORECASE):
        yield "text:surrogate"
    if re.search(r"\d\.\d|\d[eE]", text):
        yield "text:fraction"
    try:
        json.loads(text, object_pairs_hook=_unequal)
    except KeyError:
        yield "text:repeated-key"
    except ValueError:
        yield "text:not-json"


def _unequal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise KeyError
    return dict(pairs)
