r"""String formats as regular languages, each a strict reading of its RFC.

A value that an RFC forbids is never accepted. Where an RFC allows more than is useful or
than a regular language can say in a small space, the language here is a subset, and the
comment says what is left out. Most are patterns in the dialect of `gbnf.regex` that
match the whole string.
"""

from __future__ import annotations

from functools import cache

from infernix.gbnf.grammar import Automaton, Expression
from infernix.gbnf.regex import parse_regex

from .addresses import ipv6, with_part
from .automata import build

__all__ = ["COUNTED_FORMATS", "FORMATS", "format_expression"]

# ---- RFC 3339, sections 5.6 and 5.7: dates and times --------------------------------------
# Left out: the year 0000 (no calendar library takes it) and leap seconds (whether one exists
# depends on the day and on tables that are published later).

YEAR = r"(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])"
# Divisible by 4 and not by 100, or by 400.
LEAP_YEAR = r"(?:\d{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
DATE = (
    rf"(?:{YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    rf"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))"
    rf"|{LEAP_YEAR}-02-29)"
)
HOUR_AND_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
TIME = rf"{HOUR_AND_MINUTE}:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]{HOUR_AND_MINUTE})"
DATE_TIME = rf"{DATE}[Tt]{TIME}"

# ---- RFC 3339, appendix A: durations. ISO 8601 upper-case designators only ----------------

SECONDS = r"\d+S"
MINUTES = rf"\d+M(?:{SECONDS})?"
HOURS = rf"\d+H(?:{MINUTES})?"
DURATION_TIME = rf"T(?:{HOURS}|{MINUTES}|{SECONDS})"
DAYS = r"\d+D"
MONTHS = rf"\d+M(?:{DAYS})?"
YEARS = rf"\d+Y(?:{MONTHS})?"
DURATION = rf"P(?:(?:{DAYS}|{MONTHS}|{YEARS})(?:{DURATION_TIME})?|{DURATION_TIME}|\d+W)"

# ---- RFC 1123, section 2.1, and RFC 5890, section 2.3.1: host names ------------------------
# Labels of letters, digits and inner hyphens, 253 characters together. Left out are:
# * labels with hyphens in both the third and the fourth place: they are reserved, A-labels
#   ("xn--...") among them, whose rules are not regular;
# * labels with more than three leading digits (the highest label must not be all digits);
#   all-digit labels of up to three digits are allowed in front, at most four of them;
# * names with more than eight further labels, or with labels longer than HOST_LABELS from
#   left to right: that keeps the total without counting it, so that a matcher has to follow
#   no more than one counter at a time.

ALNUM = "[A-Za-z0-9]"
INNER = "[A-Za-z0-9-]"
HOST_LABELS = (63, 40, 30, 25, 20, 20, 16, 16)
NUMERIC_LABELS = 4


def _label(longest: int) -> str:
    """Labels of up to `longest` characters with a letter after at most three digits."""
    # What may stand in the third and the fourth place of a longer label.
    third = rf"(?:{ALNUM}{INNER}|-{ALNUM})"
    after_one = rf"(?:{INNER}?{INNER}?{ALNUM}|{INNER}{third}{INNER}{{0,{longest - 5}}}{ALNUM})?"
    after_two = rf"(?:{INNER}?{ALNUM}|{third}{INNER}{{0,{longest - 5}}}{ALNUM})?"
    after_three = rf"(?:{INNER}{{0,{longest - 4}}}{ALNUM})?"
    after_four = rf"(?:{INNER}{{0,{longest - 5}}}{ALNUM})?"
    letter = "[A-Za-z]"
    more_digits = rf"\d(?:{letter}{after_three}|\d{letter}{after_four})"
    return rf"(?:{letter}{after_one}|\d(?:{letter}{after_two}|{more_digits}))"


def _host_name(lengths: tuple[int, ...]) -> str:
    """Names of labels that are at most so long, from left to right."""
    name = _label(lengths[-1])
    for longest in reversed(lengths[:-1]):
        name = rf"{_label(longest)}(?:\.{name})?"
    return r"(?:\d\d?\d?\.)?" * NUMERIC_LABELS + name


HOSTNAME = _host_name(HOST_LABELS)

# ---- RFC 5321, section 4.1.2: Mailbox ------------------------------------------------------
# Left out are quoted local parts, address literals, local parts of more than 32 characters
# beside the dots (the RFC allows 64 octets together), and longer labels than MAIL_LABELS:
# a whole mailbox has at most 254 octets (section 4.5.3.1.3, without the angle brackets).

MAIL_LABELS = (63, 40, 25, 16, 12)
ATOM_CHAR = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
EMAIL = rf"{ATOM_CHAR}(?:\.?{ATOM_CHAR}){{0,31}}@{_host_name(MAIL_LABELS)}"

# ---- Addresses: RFC 2673, section 3.2 (RFC 4291 is in `addresses`) -------------------------

OCTET = r"(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])"
IPV4 = rf"(?:{OCTET}\.){{3}}{OCTET}"

# ---- RFC 3986: URI. Exact but for IPvFuture literals, which nobody has assigned -------------

IPV6 = "\ue000"
"""A character that no URI has stands for an IPv6 address in the patterns, until their automata are built."""

UNRESERVED = r"A-Za-z0-9._~-"
SUB_DELIMS = r"!$&'()*+,;="
ESCAPED = "%[0-9A-Fa-f]{2}"
PCHAR = rf"(?:[{SUB_DELIMS}:@{UNRESERVED}]|{ESCAPED})"
SEGMENT_NO_COLON = rf"(?:[{SUB_DELIMS}@{UNRESERVED}]|{ESCAPED})+"
USER_INFO = rf"(?:[{SUB_DELIMS}:{UNRESERVED}]|{ESCAPED})*"
REG_NAME = rf"(?:[{SUB_DELIMS}{UNRESERVED}]|{ESCAPED})*"
AUTHORITY = rf"(?:{USER_INFO}@)?(?:\[{IPV6}\]|{REG_NAME})(?::\d*)?"
PATH_ABEMPTY = rf"(?:/{PCHAR}*)*"
PATH_ABSOLUTE = rf"/(?:{PCHAR}+{PATH_ABEMPTY})?"
PATH_ROOTLESS = rf"{PCHAR}+{PATH_ABEMPTY}"
QUERY_AND_FRAGMENT = rf"(?:\?(?:[/?]|{PCHAR})*)?(?:#(?:[/?]|{PCHAR})*)?"
NET_PATH = rf"//{AUTHORITY}{PATH_ABEMPTY}"
URI = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{NET_PATH}|{PATH_ABSOLUTE}|{PATH_ROOTLESS})?{QUERY_AND_FRAGMENT}"
RELATIVE = rf"(?:{NET_PATH}|{PATH_ABSOLUTE}|{SEGMENT_NO_COLON}{PATH_ABEMPTY})?{QUERY_AND_FRAGMENT}"
URI_REFERENCE = rf"(?:{URI}|{RELATIVE})"

# ---- Identifiers and pointers --------------------------------------------------------------

# RFC 9562, section 4.
UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
# RFC 6901, section 3.
JSON_POINTER = r"(?:/(?:[^/~]|~[01])*)*"
# draft-bhutton-relative-json-pointer-00, section 3.
RELATIVE_JSON_POINTER = rf"(?:0|[1-9]\d*)(?:#|{JSON_POINTER})"

PATTERNS: dict[str, str] = {
    "date": DATE,
    "date-time": DATE_TIME,
    "duration": DURATION,
    "email": EMAIL,
    "hostname": HOSTNAME,
    "ipv4": IPV4,
    "json-pointer": JSON_POINTER,
    "relative-json-pointer": RELATIVE_JSON_POINTER,
    "time": TIME,
    "uri": URI,
    "uri-reference": URI_REFERENCE,
    "uuid": UUID,
}
FORMATS = frozenset(PATTERNS) | {"ipv6"}
"""The supported formats."""

COUNTED_FORMATS = frozenset({"email", "hostname"})
"""Formats that are best matched with their counters: their automata have thousands of states."""


@cache
def format_expression(name: str) -> Expression:
    """The strings of a supported format. Raises `KeyError` for any other name."""
    if name == "ipv6":
        return ipv6(_automaton("ipv4"))
    if IPV6 in PATTERNS[name]:
        return with_part(_automaton(name), ord(IPV6), ipv6(_automaton("ipv4")))
    return parse_regex(PATTERNS[name])


def _automaton(name: str) -> Automaton:
    """The minimal automaton of a pattern."""
    found = build(parse_regex(PATTERNS[name])).to_expression()
    assert isinstance(found, Automaton)
    return found
