r"""String formats as regular languages, each a strict reading of its RFC.

A value that an RFC forbids is never accepted. Where an RFC allows more than is useful or
than a regular language can say in a small space, the language here is a subset, and the
comment says what is left out. The patterns are written in the dialect of `gbnf.regex` and
match the whole string.
"""

from __future__ import annotations

from functools import cache

from infernix.gbnf.grammar import Expression
from infernix.gbnf.regex import parse_regex

__all__ = ["FORMATS", "format_expression"]

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
# Labels of 1 to 63 letters, digits and inner hyphens, 253 characters together. Labels with
# hyphens in both the third and the fourth place are reserved (A-labels "xn--..." among them)
# and left out. The highest label is not all digits; of those that are not, the ones that
# neither begin nor end with a letter are left out. The total length is kept by allowing
# either up to four labels of 63 or up to eight of 30.

LETTER_OR_DIGIT = "[A-Za-z0-9]"
LABEL_CHAR = "[A-Za-z0-9-]"


def _label(longest: int, first: str = LETTER_OR_DIGIT, last: str = LETTER_OR_DIGIT) -> str:
    """Labels of 2 to `longest` characters that begin with `first` and end with `last`."""
    inner = longest - 5
    reserved_excluded = rf"{LABEL_CHAR}(?:{LETTER_OR_DIGIT}{LABEL_CHAR}|-{LETTER_OR_DIGIT})"
    return rf"{first}(?:{LABEL_CHAR}{{0,2}}|{reserved_excluded}{LABEL_CHAR}{{0,{inner}}}){last}"


def _host_name(labels: str, longest: int, longest_top: int) -> str:
    """A quantity of labels before a highest one."""
    label = rf"(?:{LETTER_OR_DIGIT}|{_label(longest)})"
    top = rf"(?:[A-Za-z]|{_label(longest_top, first='[A-Za-z]')}|{_label(longest_top, last='[A-Za-z]')})"
    return rf"(?:{label}\.){labels}{top}"


# At most 2 * 64 + 63 = 191, 3 * 64 + 61 = 253 and 7 * 31 + 30 = 247 characters.
HOSTNAME = rf"(?:{_host_name('{0,2}', 63, 63)}|{_host_name('{3}', 63, 61)}|{_host_name('{0,7}', 30, 30)})"

# ---- RFC 5321, section 4.1.2: Mailbox ------------------------------------------------------
# Left out: quoted local parts and address literals. A local part has at most 64 octets: one
# run of atom characters, or up to 32 of them with single dots between.

ATOM_CHAR = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
LOCAL_PART = rf"(?:{ATOM_CHAR}{{1,64}}|{ATOM_CHAR}(?:\.?{ATOM_CHAR}){{0,31}})"
EMAIL = rf"{LOCAL_PART}@{HOSTNAME}"

# ---- Addresses: RFC 2673, section 3.2, and RFC 4291, section 2.2 ---------------------------

OCTET = r"(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])"
IPV4 = rf"(?:{OCTET}\.){{3}}{OCTET}"
GROUP = "[0-9A-Fa-f]{1,4}"


def _ipv6() -> str:
    """Eight groups, or fewer around one "::"; the last two may be an IPv4 address."""
    last_two = rf"(?:{GROUP}:{GROUP}|{IPV4})"
    forms = [rf"(?:{GROUP}:){{6}}{last_two}"]
    for before in range(8):
        # "::" stands for at least one group: at most 7 - before groups come after it.
        after = 7 - before
        ending = rf"|(?:{GROUP}:){{0,{after - 2}}}{last_two}" if after >= 2 else ""
        single = rf"(?:{GROUP}{ending})?" if after else ""
        forms.append(rf"(?:{GROUP}:){{{before}}}:{single}" if before else rf"::{single}")
    return rf"(?:{'|'.join(forms)})"


IPV6 = _ipv6()

# ---- RFC 3986: URI. Exact but for IPvFuture literals, which nobody has assigned -------------

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

FORMATS: dict[str, str] = {
    "date": DATE,
    "date-time": DATE_TIME,
    "duration": DURATION,
    "email": EMAIL,
    "hostname": HOSTNAME,
    "ipv4": IPV4,
    "ipv6": IPV6,
    "json-pointer": JSON_POINTER,
    "relative-json-pointer": RELATIVE_JSON_POINTER,
    "time": TIME,
    "uri": URI,
    "uri-reference": URI_REFERENCE,
    "uuid": UUID,
}
"""The supported formats and their patterns, for the whole string."""


@cache
def format_expression(name: str) -> Expression:
    """The strings of a supported format. Raises `KeyError` for any other name."""
    return parse_regex(FORMATS[name])
