from __future__ import annotations

import calendar
import datetime
import ipaddress
import json
import random
import re
import uuid

import pytest
from jsonschema import Draft202012Validator
from tests.data import data_path
from tests.gbnf.expressions import full_match, sample

from infernix.gbnf.grammar import walk
from infernix.schema import emptiness
from infernix.schema.bounded import text_lengths
from infernix.schema.formats import FORMATS, format_expression
from infernix.schema.strings import StringLanguage, checker, is_empty, json_text

JUDGE = Draft202012Validator.FORMAT_CHECKER
CHECK = {name: checker(StringLanguage(formats=(name,))) for name in FORMATS}


def of(name, *texts):
    return [text for text in texts if CHECK[name](text)]


# ---------------------------------------------------------------- the official suite

# What the values of the suite that the strict subsets leave out on purpose have in common:
# leap seconds, quoted local parts and address literals, A-labels.
LEFT_OUT = {"date-time": ":60", "time": ":60", "email": '"@|@\\[', "hostname": "(?i)xn--"}


@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_official_suite(draft, name):
    path = data_path(f"json-schema-test-suite/{draft}/optional/format") / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{draft} has no {name}")
    refused = []
    for group in json.loads(path.read_text()):
        if set(group["schema"]) - {"$schema"} != {"format"}:
            continue
        for test in group["tests"]:
            if not isinstance(test["data"], str):
                continue
            accepted = CHECK[name](test["data"])
            assert test["valid"] or not accepted, test
            if test["valid"] and not accepted:
                refused.append(test["data"])
    assert [text for text in refused if not re.search(LEFT_OUT.get(name, r"\Z\A"), text)] == []


# ---------------------------------------------------------------- independent checkers


def is_date(text):
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def test_every_date_of_four_centuries_and_no_other():
    check = CHECK["date"]
    for year in [1, 4, 100, 400, 999, *range(1896, 2006), 2100, 2400, 9999]:
        for month in range(14):
            days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
            accepted = [day for day in range(34) if check(f"{year:04}-{month:02}-{day:02}")]
            assert accepted == list(range(1, days + 1))
    assert of("date", "0000-01-01", "2024-1-01", "24-01-01", "2024-02-29x", "２０24-01-01", "+2024-01-01") == []
    leap_years = [year for year in range(1, 10000) if check(f"{year:04}-02-29")]
    assert leap_years == [year for year in range(1, 10000) if calendar.isleap(year)]


def test_times():
    good = ["00:00:00Z", "23:59:59.123456789z", "12:30:00+05:30", "12:30:00-23:59", "12:30:00.0+00:00"]
    bad = [
        "24:00:00Z",
        "12:60:00Z",
        "12:00:60Z",
        "12:00:61Z",
        "23:59:60Z",
        "12:00:00",
        "12:00Z",
        "12:00:00.Z",
    ]
    bad += [
        "12:00:00+5:30",
        "12:00:00+24:00",
        "12:00:00+05:60",
        "12:00:00 Z",
        "1:00:00Z",
        "12:00:00,5Z",
        "12:00:00+0530",
    ]
    assert of("time", *good, *bad) == good
    assert of("date-time", *("2024-02-29T" + text for text in [*good, *bad])) == ["2024-02-29T" + t for t in good]
    assert of("date-time", "2023-02-29T00:00:00Z", "2024-02-29 00:00:00Z", "2024-02-29t00:00:00Z") == [
        "2024-02-29t00:00:00Z"
    ]


def test_durations():
    good = [
        "P1Y",
        "P1M",
        "P1D",
        "P1Y2M3D",
        "P1Y2M",
        "P1M3D",
        "P4W",
        "PT1H",
        "PT1M",
        "PT1S",
        "PT1H2M3S",
        "P1DT12H",
    ]
    good += ["P1Y2M3DT4H5M6S", "P0D", "P10YT1S", "PT36H"]
    # No gaps between the units, weeks alone, at least one unit behind each designator.
    bad = [
        "P",
        "PT",
        "P1",
        "1D",
        "P1YT",
        "P1Y3D",
        "PT1H3S",
        "P1W2D",
        "P2D1Y",
        "PT1D",
        "P1.5D",
        "P-1D",
        "-P1D",
        "p1d",
    ]
    bad += ["P1H", "P1S", "PT1Y", "P1D1D", "P1WT1H", "P٢D"]
    assert of("duration", *good, *bad) == good


def test_addresses_agree_with_ipaddress():
    rng = random.Random(4)

    def group():
        return rng.choice(["0", "1", "a", "F", "10", "00f", "FFff", "12345", "g", ""])

    def quad():
        return ".".join(
            rng.choice(["0", "1", "9", "10", "99", "255", "256", "01", "300", ""])
            for _ in range(rng.choice([3, 4, 4, 4, 5]))
        )

    texts = [quad() for _ in range(400)] + ["1.2.3.4", "0.0.0.0", "255.255.255.255", "1.2.3.4 ", "１.2.3.4"]
    assert of("ipv4", *texts) == [text for text in texts if is_address(ipaddress.IPv4Address, text)]
    texts = [
        "::",
        "::1",
        "1::",
        "1:2:3:4:5:6:7:8",
        "::ffff:1.2.3.4",
        "fe80::1%eth0",
        ":::",
        "1::2::3",
        "::1.2.3.4.5",
    ]
    for _ in range(3000):
        parts = [group() for _ in range(rng.randint(1, 9))]
        if rng.random() < 0.3:
            parts[-1] = quad()
        text = ":".join(parts)
        if rng.random() < 0.6:
            text = text.replace(rng.choice([":", ":" + parts[-1]]), "::", 1)
        texts += [text, text + "::", "::" + text]
    accepted = of("ipv6", *texts)
    assert accepted == [text for text in texts if is_address(ipaddress.IPv6Address, text) and "%" not in text]
    assert len(set(accepted)) > 200


def is_address(kind, text):
    try:
        kind(text)
    except ValueError:
        return False
    return text.isascii()


def test_uuids():
    good = [str(uuid.UUID(int=n)) for n in (0, 2**128 - 1, 0x12345678123456781234567812345678)]
    good.append(good[-1].upper())
    bad = [
        good[0][:-1],
        good[0].replace("-", ""),
        "{" + good[0] + "}",
        good[0][:-1] + "g",
        "urn:uuid:" + good[0],
    ]
    assert of("uuid", *good, *bad) == good


def test_host_names():
    good = [
        "localhost",
        "a",
        "example.com",
        "xn.example",
        "1host",
        "host1",
        "3com.com",
        "a-b.c-d",
        "EXAMPLE.Com",
    ]
    good += [
        "a" * 63,
        "a" * 63 + "." + "b" * 40 + ".com",
        "a.b.c.d.e.f.g.h",
        "10.0.0.1.in-addr.arpa",
        "123a",
        "a--b",
    ]
    good += ["ab-cd", "abc--d", "1a--b", "12a--b", "ab-" + "c" * 60]
    bad = [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "-a",
        "a-",
        "a-.b",
        "a_b",
        "a b",
        "a" * 64,
        "1.2.3.4",
        "256.1",
        "é.com",
        "a。b",
    ]
    bad += [
        ".".join(["a" * 63] * 4),
        "xn--nxasmq6b",
        "aa--b",
        "1.2",
        "a" * 254,
        "123",
        "a.1",
        "AB--cd.com",
        "1a.XN--p1ai",
    ]
    bad += ["a.aa--b", "11--a", "1a---b", "a-" * 31 + "a-", "1" * 64]
    good.remove("1a--b")  # hyphens in the third and the fourth place: reserved
    assert of("hostname", *good, *bad) == good


def test_the_longest_host_name_has_253_characters():
    shortest, longest = text_lengths(format_expression("hostname"))
    assert (shortest, longest) == (1, 253)
    assert text_lengths(format_expression("email"))[1] <= 254


def test_mail_addresses():
    good = [
        "a@b",
        "joe.bloggs@example.com",
        "a+b=c@x.org",
        "te~st@example.com",
        f"{'a' * 32}@x.de",
        "o'neil@x.de",
    ]
    bad = [
        "@b",
        "a@",
        "a",
        ".a@b",
        "a.@b",
        "a..b@c",
        "a b@c",
        "a@b@c",
        '"a b"@c.de',
        "a@[127.0.0.1]",
        "a@-b",
        "ä@b",
    ]
    bad += [f"{'a' * 65}@x.de", "a@b_c", "a@b.", "a(c)@b"]
    assert of("email", *good, *bad) == good


def test_uris():
    good = [
        "http://foo.bar/?baz=qux#quux",
        "mailto:John.Doe@example.com",
        "urn:isbn:0-395-36341-1",
        "a:",
        "tel:+1-816",
    ]
    good += [
        "http://user:pw@h:80/a/b;c=1?q#f",
        "ldap://[2001:db8::7]/c=GB?o?one",
        "file:///etc/x",
        "http://a/%C3%A9",
    ]
    bad = [
        "",
        "//foo.bar/?baz",
        "/abs",
        "foo",
        ":// should fail",
        "http:// shouldfail.com",
        "http://a/\\b",
        "bar,baz:foo",
    ]
    bad += [
        "http://a/%zz",
        "http://a/%4",
        "http://a/<b>",
        "http://a/{x}",
        "http://ä.de",
        "1http://a",
        "http://a#b#c",
        "http://[::1",
        "http://a/b c",
        "http://a:8x/",
    ]
    assert of("uri", *good, *bad) == good
    relative = ["", "/abs", "foo", "../a", "//foo.bar/?baz", "#frag", "?q", "./a:b"]
    assert of("uri-reference", *good, *relative, "1a:b", "\\x", "#a\\b", "a b") == good + relative


def test_pointers():
    good = ["", "/", "/a/b", "/~0~1", "//", "/a b/é"]
    assert of("json-pointer", *good, "a", "/~", "/~2", "#/a") == good
    assert of("relative-json-pointer", "0", "1/a", "0#", "120/foo", "01", "-1", "/a", "0##", "") == [
        "0",
        "1/a",
        "0#",
        "120/foo",
    ]


# ---------------------------------------------------------------- jsonschema as the judge


@pytest.mark.parametrize("name", sorted(set(FORMATS) & set(JUDGE.checkers)))
def test_generated_values_conform(name):
    rng = random.Random(7)
    expression = format_expression(name)
    texts = {sample(expression, rng, most=3) for _ in range(300)}
    assert len(texts) > 50
    for text in texts:
        # jsonschema takes any digit behind a zero for a leading zero of a relative pointer.
        if not (name == "relative-json-pointer" and re.match(r"\d*0\d", text)):
            assert JUDGE.conforms(text, name), text
        if name in ("date", "time", "date-time"):
            assert datetime_of(name, text)
        if name in ("ipv4", "ipv6"):
            assert ipaddress.ip_address(text)
        if name == "uuid":
            assert uuid.UUID(text)


def datetime_of(name, text):
    """Parse with the standard library, which wants at most microseconds and an upper-case T and Z."""
    plain = re.sub(r"\.(\d{1,6})\d*", lambda found: "." + found[1].ljust(6, "0"), text.upper())
    return {"date": datetime.date, "time": datetime.time, "date-time": datetime.datetime}[name].fromisoformat(
        plain
    ) is not None


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_json_text_is_the_quoted_format(name):
    rng = random.Random(11)
    text = json_text(StringLanguage(formats=(name,)))
    for _ in range(20):
        value = sample(format_expression(name), rng, most=2)
        assert full_match(text, json.dumps(value, ensure_ascii=False))
        assert full_match(text, json.dumps(value + "\n", ensure_ascii=False)) == CHECK[name](value + "\n")
    assert not is_empty(StringLanguage(formats=(name,)))
    assert sum(1 for _ in walk(text)) < 600


SHORTEST = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "P1D",
    "email": "a@b",
    "hostname": "a",
    "ipv4": "1.2.3.4",
    "ipv6": "::",
    "json-pointer": "",
    "relative-json-pointer": "0",
    "time": "00:00:00Z",
    "uri": "a:",
    "uri-reference": "",
    "uuid": "01234567-89ab-cdef-0123-456789abcdef",
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_nothing_is_shorter_than_a_shortest_text(name):
    text = SHORTEST[name]
    assert CHECK[name](text)
    for without_members in (is_empty, emptiness.is_empty):
        assert not without_members(StringLanguage(formats=(name,), max_length=len(text)))
        if text:
            assert without_members(StringLanguage(formats=(name,), max_length=len(text) - 1))


def test_formats_meet_lengths_and_each_other():
    assert is_empty(StringLanguage(formats=("ipv4", "ipv6")))
    assert is_empty(StringLanguage(formats=("uuid",), max_length=35))
    assert is_empty(StringLanguage(formats=("date", "hostname"), min_length=10)) is not False
    short = checker(StringLanguage(formats=("email",), max_length=5))
    assert [text for text in ("a@b.c", "ab@cd.e", "a@b") if short(text)] == ["a@b.c", "a@b"]
