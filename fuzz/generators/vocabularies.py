"""Random vocabularies: not closed under prefixes, with tokens that cut characters, with every kind of id.

`random_vocabulary` is made to go with random grammars over a tiny alphabet. `text_vocabulary` can
spell any text of printable ASCII and a few wider characters: single bytes and merges of them, as
byte-pair encoding makes them. `random_spec` draws either, as plain data.
"""

from __future__ import annotations

from functools import lru_cache

from infernix.matcher.vocabulary import TokenKind, Vocabulary

from ..case import VocabularySpec
from ..choices import Choose, chance, one_of, text

__all__ = ["ODD_BYTES", "PLAIN", "WIDE", "random_spec", "random_token", "random_vocabulary", "text_spec", "words"]

PLAIN = "abc"
WIDE = "aéè€\u0800\ud7ff\ue000😀\U0010ffff"
"""One to four bytes; é and è share a first byte, the others sit at the edges of UTF-8's ranges."""
ODD_BYTES = (b"\x80", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xed\xa0")
"""What no UTF-8 text contains: stray bytes, an overlong form, a surrogate, a code point too large."""
LAST_OF_UTF8 = 0xF4
"""No greater byte occurs in a text."""
END = b"<end>"
MOST_MERGES = 40
MERGEABLE = [
    '"',
    '": ',
    '", "',
    '{"',
    '"}',
    'a"',
    'b": ',
    "[",
    "]",
    "}",
    "true",
    "null",
    "00",
    "10",
    "-1",
    ".5",
    "e1",
    "\\n",
    "\\u00",
]
MERGEABLE += ["ab", "bb", "abc", "aa", "a\n", " a", "  ", "é", "a.b", "@a", "2024-", "-01", ":00", "T1", "é€", "😀a"]


def random_token(choose: Choose) -> bytes:
    """Text, a part cut out of its bytes, bytes that no text contains, or nothing."""
    match choose(10):
        case 9:
            return b""
        case 8:
            return one_of(choose, ODD_BYTES)
        case 5 | 6 | 7:
            encoded = text(choose, WIDE, 3).encode()
            start = choose(4)
            return encoded[start : start + 1 + choose(5)]
        case _:
            return text(choose, PLAIN, 4).encode()


def random_spec(choose: Choose, most_tokens: int = 20) -> VocabularySpec:
    """Not closed under prefixes; equal tokens, control, forbidden and padding ids, no to a few EOS ids."""
    tokens = [random_token(choose) for _ in range(choose(most_tokens))]
    if not chance(choose, 4):
        # Usually the single characters are there, so that walks do not end at once.
        tokens += [character.encode() for character in PLAIN]
    tokens.append(b"")
    size = len(tokens) + one_of(choose, (0, 1, 9))
    kinds = [one_of(choose, "oooooooooccf") for _ in range(size - 1)]
    eos = {len(tokens) - 1} if not chance(choose, 8) else set()
    eos |= {i for i in range(size) if chance(choose, 16)}
    return VocabularySpec(
        tokens=tuple(tokens),
        eos_ids=tuple(sorted(eos)),
        control_ids=tuple(i for i, kind in enumerate(kinds) if kind == "c"),
        forbidden_ids=tuple(i for i, kind in enumerate(kinds) if kind == "f" and i not in eos),
        size=size,
    )


def random_vocabulary(choose: Choose, most_tokens: int = 20) -> Vocabulary:
    """The vocabulary of a `random_spec`."""
    return random_spec(choose, most_tokens).build()


def words(choose: Choose, vocabulary: Vocabulary, count: int = 6) -> list[str]:
    """Tokens of a large vocabulary, as far as they are texts. Half of them begin with a repetition, such as `))` and
    `  return`: their beginning occurs in them once more, which tries and searches get wrong."""
    plain, repeating = _texts(vocabulary)
    return [one_of(choose, repeating if repeating and chance(choose, 2) else plain) for _ in range(count)]


@lru_cache(maxsize=4)
def _texts(vocabulary: Vocabulary) -> tuple[list[str], list[str]]:
    """The ordinary tokens that are texts; and those of them whose first two characters are the same."""
    texts = []
    for token_id in (vocabulary.kinds == int(TokenKind.ORDINARY)).nonzero()[0].tolist():
        try:
            texts.append(vocabulary.token_bytes(token_id).decode())
        except UnicodeDecodeError:
            continue
    return texts, [word for word in texts if len(word) > 1 and word[0] == word[1]]


def text_spec(choose: Choose) -> VocabularySpec:
    """Every byte of UTF-8 or every byte; then merges: of frequent pieces, and of random text."""
    tokens = [bytes([byte]) for byte in range(256 if chance(choose, 4) else LAST_OF_UTF8 + 1)]
    for _ in range(choose(MOST_MERGES)):
        match choose(4):
            case 0 | 1:
                token = one_of(choose, MERGEABLE).encode()
            case 2:
                token = one_of(choose, MERGEABLE).encode() + one_of(choose, MERGEABLE).encode()
            case _:
                token = random_token(choose) or b"ab"
        tokens.append(token)
    tokens.append(END)
    return VocabularySpec(tokens=tuple(tokens), eos_ids=(len(tokens) - 1,), size=len(tokens) + choose(2) * 7)
