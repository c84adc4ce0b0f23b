"""Characters below a trie's nodes, judged by Python's own UTF-8 decoder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infernix.matcher.characters import BROKEN, KINDS, byte_kinds, first_tail, kind_chains
from infernix.matcher.trie import build_trie

TEXT = st.text(alphabet='aZ0 -"é\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff', max_size=6)
ODD = st.sampled_from((b"", b"\x80", b"\xff", b"\xc3", b"\xe0\x80", b"\xed\xa0\x80", b"\xf0\x90", b"\xf4\x90"))
TOKENS = st.lists(
    st.tuples(TEXT, ODD, TEXT).map(lambda parts: parts[0].encode() + parts[1] + parts[2].encode()), max_size=8
)


def is_start_of_text(data: bytes) -> bool:
    """Whether bytes are UTF-8, except that the last character may be incomplete."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    return data.decode(errors="ignore").encode() == data


@given(TOKENS)
def test_what_the_trie_says_of_characters(tokens: list[bytes]) -> None:
    trie = build_trie(tokens, range(len(tokens)))
    prefixes = sorted({token[:n] for token in tokens for n in range(len(token) + 1)} | {b""})
    kinds = byte_kinds()
    for node, prefix in enumerate(prefixes):
        if not is_start_of_text(prefix):
            continue
        way = int(trie.nodes["way"][node])
        assert (way == 0) == is_text(prefix)
        for end in range(0x80, 0xC0) if way else ():
            may_follow = way >> 10 <= end <= way >> 2 & 0xFF
            assert is_start_of_text(prefix + bytes([end])) == may_follow
            left = [n for n in range(4) if may_follow and is_text(prefix + bytes([end]) + n * b"\x80")]
            assert not left or left[0] == (way & 3) - 1
        begun = prefix.decode(errors="replace")
        assert trie.nodes["begun"][node] == len(begun)
        below = [p[len(prefix) :] for p in prefixes if p.startswith(prefix)]
        ends = [p.decode(errors="replace") for p in prefixes if p.startswith(prefix) and is_start_of_text(p)]
        if len(ends) == len(below):
            assert trie.nodes["most"][node] == max(map(len, ends)) - len(begun)
        broken = not all(is_start_of_text(prefix + text) for text in below)
        assert bool(int(trie.nodes["kinds"][node]) >> BROKEN & 1) == broken
        if not broken:
            firsts = {byte for text in below for byte in text if not 0x80 <= byte < 0xC0}
            assert int(trie.nodes["kinds"][node]) == sum({1 << int(kinds[first]) for first in firsts})


def test_the_chains_have_the_bytes_of_each_kind() -> None:
    kinds, chains = byte_kinds().tolist(), kind_chains()
    for kind in range(KINDS):
        found, place = [], kind
        while chains[place] >= 0:
            found.append(int(chains[place]))
            place = KINDS + found[-1]
        assert found == [byte for byte in range(256) if kinds[byte] == kind]


def test_the_kinds_part_the_first_bytes() -> None:
    kinds = byte_kinds()
    assert kinds[kinds != 255].max() < BROKEN < 63  # a bit each, of a signed 64-bit number
    assert len(set(kinds[list(b' _-.:/@,"\\')])) == 10
    for letters in (b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        hexadecimal, others = ({int(kinds[c]) for c in part} for part in (letters[:6], letters[6:]))
        assert not hexadecimal & others
        assert len(hexadecimal) + len(others) >= 6, "a pattern may be about one letter"
    firsts = {chr(c).encode()[0] for c in range(0x110000) if not 0xD800 <= c < 0xE000}
    assert {byte for byte in range(256) if kinds[byte] != 255} == firsts


def test_second_bytes() -> None:
    """By trying all: what Python encodes."""
    seconds: dict[int, set[int]] = {}
    lengths: dict[int, int] = {}
    for code in range(0x80, 0x110000):
        if not 0xD800 <= code < 0xE000:
            data = chr(code).encode()
            seconds.setdefault(data[0], set()).add(data[1])
            lengths[data[0]] = len(data) - 1
    in_python = getattr(first_tail, "py_func", first_tail)  # only compiled code may call the kernel itself
    for lead, found in seconds.items():
        assert in_python(lead) == (min(found), max(found), lengths[lead])
        assert found == set(range(min(found), max(found) + 1))
