"""Random regular expressions of the dialect of docs/regex.md, each with a text that it matches.

The pattern and the text are built together, so that there is a hit without a search; `mutated`
makes near misses of it.
"""

from __future__ import annotations

from ..choices import Choose, chance, one_of, text

__all__ = ["mutated", "random_regex"]

Pair = tuple[str, str]
"""A pattern, and a text that it matches."""

ATOMS: tuple[tuple[str, str], ...] = (
    ("a", "a"),
    ("b", "b"),
    ("0", "0"),
    (".", "ab0é😀- "),
    ("[ab]", "ab"),
    ("[^a]", "b0-\n"),
    ("[a-c0]", "abc0"),
    (r"\d", "0123456789"),
    (r"\w", "aZ_9"),
    (r"\s", " \t\n\u00a0\ufeff\u2028"),
    (r"\D", "a-é"),
    (r"\W", "- é\n"),
    (r"\S", "aé0"),
    ("-", "-"),
    (r"\.", "."),
    (r"\n", "\n"),
    (r"\x41", "A"),
    (r"\u00e9", "é"),
    (r"\/", "/"),
    ('"', '"'),
    (r"\\", "\\"),
    ("é", "é"),
    ("😀", "😀"),
    (r"[\d\-x]", "0x-"),
    ("[b-]", "b-"),
    ("[à-ÿ€]", "éà€"),
    (r"[^\s\w]", "-.é"),
    ("[^]", "a\né😀"),
)
QUANTIFIERS: tuple[tuple[str, int, int], ...] = (
    ("", 1, 1),
    ("?", 0, 1),
    ("*", 0, 3),
    ("+", 1, 3),
    ("{2}", 2, 2),
    ("{1,}", 1, 3),
    ("{0,2}", 0, 2),
    ("{1,3}", 1, 3),
    ("*?", 0, 2),
    ("+?", 1, 2),
    ("??", 0, 1),
    ("{3,9}", 3, 9),
    ("{0}", 0, 0),
)
RUNS: tuple[tuple[str, str], ...] = (
    ("[A-Za-z ,.]", "a"),
    ("([A-Za-z]+[ .]+)", "ab. "),
    (r"[\w.]", "a_1."),
    ('[^"\\n]', "ab é"),
)
"""What long texts consist of, ..."""
LONG: tuple[tuple[str, int, int], ...] = (
    ("{1,64}", 1, 64),
    ("{1,300}", 1, 300),
    ("{1,800}", 1, 800),
    ("{40,}", 40, 50),
)
"""... and how long: for vocabularies with long tokens, where so much counting costs something."""
MAX_DEPTH = 3
STRAY = 'ab0-. é😀"\\\n\u2028_Z9\x00'


def random_regex(choose: Choose, long: bool = False) -> Pair:
    """A pattern and a text that matches as a whole; `long` ones may have counts in the hundreds."""
    if long and chance(choose, 4):
        return _long(choose)
    branches = [_sequence(choose, MAX_DEPTH) for _ in range(1 + choose(2))]
    anchored = [("^" * chance(choose, 8) + pattern + "$" * chance(choose, 8), sample) for pattern, sample in branches]
    return "|".join(pattern for pattern, _ in anchored), one_of(choose, anchored)[1]


def _long(choose: Choose) -> Pair:
    """Two runs of characters or words at most, with something between them."""
    pattern = sample = ""
    for _ in range(1 + choose(2)):
        (unit, text_of_it), (quantifier, fewest, most) = one_of(choose, RUNS), one_of(choose, LONG)
        between = one_of(choose, ("", "@", r"\."))
        pattern += unit + quantifier + between
        sample += text_of_it * (fewest + choose(min(most - fewest + 1, 20))) + between[-1:]
    return pattern, sample


def _sequence(choose: Choose, depth: int) -> Pair:
    parts = [_quantified(choose, depth) for _ in range(choose(4))]
    return "".join(pattern for pattern, _ in parts), "".join(sample for _, sample in parts)


def _quantified(choose: Choose, depth: int) -> Pair:
    atom = _group if depth > 0 and chance(choose, 3) else _atom
    quantifier, fewest, most = one_of(choose, QUANTIFIERS)
    pattern, sample = atom(choose, depth)
    times = fewest + choose(most - fewest + 1)
    return pattern + quantifier, sample * times


def _atom(choose: Choose, _depth: int) -> Pair:
    pattern, members = one_of(choose, ATOMS)
    return pattern, one_of(choose, members)


def _group(choose: Choose, depth: int) -> Pair:
    branches = [_sequence(choose, depth - 1) for _ in range(1 + choose(2))]
    pattern = one_of(choose, ("(", "(?:")) + "|".join(pattern for pattern, _ in branches) + ")"
    return pattern, one_of(choose, branches)[1]


def mutated(choose: Choose, sample: str, alphabet: str = STRAY) -> str:
    """The text with one thing changed: cut, doubled, put in, or exchanged."""
    place = choose(len(sample) + 1)
    match choose(5):
        case 0:
            return sample[:place] + sample[place + 1 :]
        case 1:
            return sample[:place] + text(choose, alphabet, 1) + sample[place:]
        case 2:
            return sample[:place] + text(choose, alphabet, 1) + sample[place + 1 :]
        case 3:
            return sample[:place]
        case _:
            return sample[:place] + sample[max(0, place - 2) : place] + sample[place:]
