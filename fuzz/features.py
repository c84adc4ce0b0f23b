"""What a case is made of, as short names: for coverage, and for recognising known differences.

gbnf        recursion, left-recursion, endless (no finite text completes it), count, class, wide, ExcludeToken, ...
regex       dot, \\s, class, lazy, count, anchor, ...
schema      every keyword, and facts about how they meet, such as `type+anyOf`
choice      empty, prefix, quoted, wide
vocabulary  vocabulary:not-prefix-closed, vocabulary:equal-tokens, ...
steps       step:rollback, step:draft, ...
tokens      of a difference: token:eos, token:special, token:surrogate, token:no-utf8, token:text, token:begun (all
            end in the byte E0 or F0); beyond-ascii, line-end
texts       text:escape, text:control, text:repeated-key, ...; and of a text beside its schema, text:other-type, ...

Schemas and their texts are in `schema_features.py`.
"""

from __future__ import annotations

import ast
import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from infernix.gbnf.errors import RequestError
from infernix.gbnf.facts import productive
from infernix.gbnf.grammar import (
    EMPTY,
    Alternatives,
    CharClass,
    Expression,
    Grammar,
    Joined,
    Literal,
    Repeat,
    RuleRef,
    Sequence,
    TokenSet,
    joined_choices,
    walk,
)
from infernix.gbnf.parser import parse_gbnf
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .case import Case, VocabularySpec
from .compare import Difference
from .schema_features import of_meeting, of_schema, of_text

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
LINE_END = re.compile(rb"[\n\r]|\xe2\x80[\xa8\xa9]")
"""Those of ECMAScript: LF, CR, U+2028 and U+2029."""
LONGEST_TAIL = 3
"""Bytes of a character after its first."""


def features(case: Case) -> frozenset[str]:
    """The names of everything that occurs in the case."""
    found = set(of_vocabulary(case.vocabulary))
    for problem in case.problems:
        found |= of_source(problem.kind, problem.source)
        found.update(f"step:{step.verb}" for step in problem.walk)
        for text in problem.texts:
            if problem.kind == "schema":
                found.update(of_text(text))
    if len(case.problems) > 1:
        found.add("several-problems")
    return frozenset(found)


def of_difference(difference: Difference, case: Case) -> frozenset[str]:
    """What kinds of token a difference is about, or what kind of text."""
    if difference.check == "verdict":
        text = ast.literal_eval(difference.detail)
        found = _of_bytes(text.encode("utf-8", "surrogatepass"))
        if difference.kind == "schema":
            found.update(of_text(text))
            found.update(of_meeting(json.loads(case.problems[difference.problem].source), text))
        return frozenset(found)
    vocabulary = case.vocabulary.build()
    before = _bytes_before(difference, case, vocabulary)
    found = {_kind_of_token(vocabulary, token, before) for token in difference.tokens}
    ends = [vocabulary.token_bytes(token) for token in difference.tokens if token < vocabulary.size]
    if ends and all(end.endswith((b"\xe0", b"\xf0")) for end in ends):
        found.add("token:begun")
    for end in ends or [b""]:
        found |= _of_bytes(before + end)
    return frozenset(found)


def _of_bytes(text: bytes) -> set[str]:
    """Of a text that a difference is about, or of the end of one and a token."""
    found = set() if text.isascii() else {"beyond-ascii"}
    return found | {"line-end"} if LINE_END.search(text) else found


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
            return frozenset(of_schema(json.loads(source)))


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
    if _lexemes_meet(grammar):
        yield "lexemes-meet"
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
        case Joined():
            yield "joined"
        case Sequence():
            yield "sequence"
        case Alternatives():
            yield "alternatives"


def _lexemes_meet(grammar: Grammar) -> bool:
    """Whether a lexer that takes the longest terminal could go wrong: two terminals begin with the same character, or
    one is repeated a number of times that varies."""
    nodes = [node for rule in grammar.rules for node in walk(rule.body)]
    if any(isinstance(node, Joined) or (isinstance(node, Repeat) and node.minimum != node.maximum) for node in nodes):
        return True
    first: list[tuple[int, int]] = []
    for node in nodes:
        if isinstance(node, Literal) and node.text:
            first.append((ord(node.text[0]), ord(node.text[0])))
        elif isinstance(node, CharClass):
            first += node.ranges
    first.sort()
    return any(following[0] <= low_high[1] for low_high, following in pairwise(first))


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
        case Joined():
            for way in joined_choices(node):
                yield from _leftmost(Sequence(way))


def _closure(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    agenda = list(graph.get(start, ()))
    while agenda:
        name = agenda.pop()
        if name not in reached:
            reached.add(name)
            agenda.extend(graph.get(name, ()))
    return reached


# --- choices


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
