"""Random patterns on which this project's dialect and Python's `re` agree, and the translation.

They are over a small alphabet, in the part of the syntax that ECMAScript and `re.ASCII` share
once `.` is spelled out and `$` is `\\Z`.
"""

from __future__ import annotations

import re

from hypothesis import strategies as st

ATOMS = [
    "a",
    "b",
    "0",
    "-",
    r"\.",
    ".",
    "[ab]",
    "[^a]",
    "[a-c0]",
    r"[\d-]",
    r"\d",
    r"\w",
    r"\D",
    r"\W",
    "[b-]",
]
ALPHABET = "ab0-\n"
PYTHON_DOT = "[^\\n\\r\u2028\u2029]"


def translate(pattern: str) -> str:
    """The same language for `re.compile(..., re.ASCII)`: the dot, and `$` only at the very end."""
    tokens = re.findall(r"\\.|\[\^?[^\]]*\]|.", pattern, re.DOTALL)
    return "".join({".": PYTHON_DOT, "$": r"\Z"}.get(token, token) for token in tokens)


quantifiers = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??", "{0}"])
pattern_texts = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.builds(lambda parts: "".join(parts), st.lists(inner, min_size=0, max_size=3)),
        st.builds(
            lambda opened, parts, quantifier: opened + "|".join(parts) + ")" + quantifier,
            st.sampled_from(["(", "(?:"]),
            st.lists(inner, min_size=1, max_size=3),
            quantifiers,
        ),
        st.builds(lambda atom, quantifier: atom + quantifier, st.sampled_from(ATOMS), quantifiers),
    ),
    max_leaves=8,
)
