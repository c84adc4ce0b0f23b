"""The Qwen3.5 vocabulary: 248,077 ids, and JSON documents as its tokens.

A document's tokens must all be legal where they come. What else is legal is judged by the
reference matcher at a few places: it needs seconds for a mask over so many tokens.
"""

from __future__ import annotations

import json
import random
import re

import pytest
from tests.matcher.matchers import allowed
from tests.vocabularies import QWEN35_WIDTH, qwen35, qwen35_tokens, tokenize

from infernix import Matcher, Vocabulary, compile_gbnf
from infernix.gbnf import parse_gbnf
from infernix.matcher.bitmask import allocate, is_allowed
from infernix.matcher.reference import ReferenceMatcher

pytestmark = pytest.mark.slow

JSON = r"""
root ::= value
value ::= object | array | string | number | ("true" | "false" | "null") space
object ::= "{" space (member ("," space member)*)? "}" space
member ::= string ":" space value
array ::= "[" space (value ("," space value)*)? "]" space
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" space
number ::= ("-"? ("0" | [1-9] [0-9]*)) ("." [0-9]+)? ([eE] [+-]? [0-9]+)? space
space ::= [ \t\n\r]*
"""
WORDS = ["alpha", "βήτα", "東京", "naïve", "\\", '"', "🙂", "line\n", "tab\t", "{brace}", "12:30", "https://x.y/z?q=1"]


def random_value(choose: random.Random, depth: int) -> object:
    kind = choose.randrange(7 if depth else 5)
    if kind == 0:
        return choose.choice([True, False, None])
    if kind == 1:
        return choose.choice([choose.randrange(-(10**12), 10**12), choose.uniform(-1, 1), 0, 1e300])
    if kind < 5:
        return " ".join(choose.choices(WORDS, k=choose.randrange(12)))
    if kind == 5:
        return [random_value(choose, depth - 1) for _ in range(choose.randrange(6))]
    return {choose.choice(WORDS) + str(i): random_value(choose, depth - 1) for i in range(choose.randrange(6))}


def document(size: int) -> bytes:
    """A JSON document of about so many bytes, in several layouts."""
    choose = random.Random(1)
    parts: list[object] = []
    texts: list[str] = []
    while sum(map(len, texts)) < size:
        parts = [random_value(choose, 4) for _ in range(4)]
        layout = choose.choice([{"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": True}])
        texts.append(json.dumps(parts, **({"ensure_ascii": False} | layout)))
    return ("[" + ", ".join(texts) + "]").encode()


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return qwen35(QWEN35_WIDTH)


def test_every_token_of_a_document_is_legal_where_it_comes(vocabulary: Vocabulary) -> None:
    text = document(100_000)
    json.loads(text)
    matcher = Matcher(compile_gbnf(JSON, vocabulary))
    row = allocate(1, vocabulary.size)[0]
    for token_id in tokenize(text, qwen35_tokens()):
        matcher.fill_mask(row)
        assert is_allowed(row, token_id)
        matcher.accept_token(token_id)
    assert matcher.can_end()
    matcher.fill_mask(row)
    assert all(is_allowed(row, token_id) for token_id in vocabulary.eos_ids)


@pytest.mark.parametrize(
    "prefix", [b"", b"{", b'{"a', b'{"a": ', b'[1, "\\u00', b'"\xe6\x9d', b"[[[1.5", b'{"a": [{}, {"b": nul']
)
def test_masks_equal_the_reference(vocabulary: Vocabulary, prefix: bytes) -> None:
    matcher = Matcher(compile_gbnf(JSON, vocabulary))
    matcher.accept_bytes(prefix)
    reference = ReferenceMatcher(parse_gbnf(JSON), vocabulary)
    reference.accept_bytes(prefix)
    assert allowed(matcher, vocabulary.size) == reference.allowed_token_ids()


def test_grammars_too_ambiguous_for_shapes(vocabulary: Vocabulary) -> None:
    """Sets that grow with every byte: what is allowed is seen from the language itself."""
    grammar = 'root ::= ((("_" | "__"){3})? root ("_" | "__"){3} | "") | "a"'
    # Up to 3 levels to the left of "a", each 3 to 6 underscores, and as many or more to its right.
    beginning = re.compile(rb"_*|(___+)?a_*")
    matcher = Matcher(compile_gbnf(grammar, vocabulary))
    text = b""
    for token in (b"__", b"____", b"a", b"_"):
        expected = [
            i
            for i, t in enumerate(map(vocabulary.token_bytes, range(vocabulary.size)))
            if t and beginning.fullmatch(text + t)
        ]
        found = [i for i in allowed(matcher, vocabulary.size) if i not in vocabulary.eos_ids]
        assert found == expected
        matcher.accept_bytes(token)
        text += token
    everything = Matcher(
        compile_gbnf('root ::= (x ([^a] [^]* | "a" [^t] [^]*) | "") | "a"\nx ::= root x | root', vocabulary)
    )
    first = allowed(everything, vocabulary.size)
    everything.accept_bytes(b"ab")
    assert len(first) > 200_000
    assert first == allowed(everything, vocabulary.size)
