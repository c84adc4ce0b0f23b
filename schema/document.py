"""Reading a JSON Schema source without losing anything.

A schema arrives as JSON text or as Python data. Text is read order-preserving and
number-exact: a number with a fraction or an exponent becomes a `Number`, a decimal that
remembers its spelling, and a key that occurs twice is an error with its JSON Pointer.
Python data is used as it is; a float means the decimal that `repr` prints, which is what
`json.dumps` would have written.

Nothing is copied: the reduction walks the caller's own objects and reads a number or a
constant only where it is an assertion. Annotations are never looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any

from infernix.gbnf.errors import InvalidSchema, UnsupportedSchema

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "MAX_VALUE_DEPTH",
    "Number",
    "check_text",
    "constant",
    "exact_number",
    "identity",
    "join",
    "json_text_of",
    "mentions",
    "read_source",
    "spellings",
    "token_text",
]

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
UINT64_MAX = 2**64 - 1

MAX_VALUE_DEPTH = 256
"""How deep constants, schemas and chains of composition may nest (a limit of the contract)."""

MAX_PLAIN_WHOLE = 10**15
"""Up to here a whole number has a second spelling with `.0` that binary64 keeps."""

MAX_DIGITS = 4000
"""Longer integers are not converted: it takes quadratic time, and Python refuses to from 4300 on."""
MAX_SHOWN = 80
"""Longer numbers are cut in messages."""
MANY = 10**40
"""Numbers from here on are abbreviated in messages."""
_INFINITY = float("inf")
_WRITE = json.JSONEncoder(ensure_ascii=False).encode


class Number(Decimal):
    """A decimal that remembers the JSON text it was written as (`1.0`, `1e0` and `1` differ in text only)."""

    text: str

    def __new__(cls, text: str) -> Number:
        """The number that `text`, a JSON number, denotes exactly."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:  # an exponent of twenty digits; no assertion may use it
            number = super().__new__(cls, "Infinity")
        number.text = text
        return number


class _Repeated(dict[str, Any]):
    """An object whose source text names `key` twice; found again by the walk that reports it."""

    key: str


def token_text(token: str | int) -> str:
    """One reference token of a JSON Pointer, escaped (RFC 6901, section 3)."""
    text = str(token)
    if "~" in text or "/" in text:
        return text.replace("~", "~0").replace("/", "~1")
    return text


def join(pointer: str, *tokens: str | int) -> str:
    """The pointer one or more tokens below `pointer`."""
    for token in tokens:
        pointer = f"{pointer}/{token_text(token)}"
    return pointer


def read_source(source: object) -> Any:
    """The schema in `source`: JSON text, a `dict` or `bool`, or a class with `model_json_schema` (Pydantic).

    Raises InvalidSchema when it is none of these, not JSON, an object repeats a key, or data contain themselves.
    """
    if isinstance(source, bool):
        return source
    if isinstance(source, dict):
        _refuse_cycles(source)
        return source
    maker = getattr(source, "model_json_schema", None)
    if callable(maker):
        return maker()
    if isinstance(source, bytes | bytearray | str):
        return _parse(source)
    raise InvalidSchema(f"a schema is an object, a boolean or JSON text, not {type(source).__name__}")


def _refuse_cycles(source: Any) -> None:
    """Raise for data inside themselves: no JSON text is like that. One object in several places is fine."""
    done: set[int] = set()
    inside: set[int] = set()  # the objects on the way from the root to where we are, which `path` is
    path: list[str | int] = []
    stack: list[tuple[Any, str | int, bool]] = [(source, "", False)]
    while stack:
        node, key, left = stack.pop()
        if left:
            path.pop()
            inside.discard(id(node))
            done.add(id(node))
        elif id(node) in inside:
            raise InvalidSchema("the data refer to themselves: this object contains itself", join("", *path[1:], key))
        elif id(node) not in done:
            path.append(key)
            inside.add(id(node))
            stack.append((node, key, True))
            children: Iterable[tuple[str | int, Any]] = node.items() if isinstance(node, dict) else enumerate(node)
            stack.extend((child, name, False) for name, child in children if isinstance(child, dict | list | tuple))


def _integer(text: str) -> int | Number:
    """An integer; one of thousands of digits as a `Number`, which no assertion takes, so that the place is known."""
    return int(text) if len(text) <= MAX_DIGITS else Number(text)


def _parse(text: str | bytes | bytearray) -> Any:
    """Read JSON text; every failure becomes an InvalidSchema."""
    repeated: list[_Repeated] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(items)
        if len(members) == len(items):
            return members
        seen: set[str] = set()
        marked = _Repeated(members)
        marked.key = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        repeated.append(marked)
        return marked

    def constant_name(name: str) -> Any:
        raise InvalidSchema(f"{name} is not a JSON number")

    try:
        if not isinstance(text, str):
            text = bytes(text).decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=pairs, parse_float=Number, parse_int=_integer, parse_constant=constant_name
        )
    except UnicodeDecodeError as error:
        raise InvalidSchema(f"the schema is not UTF-8: byte {error.start} is wrong") from None
    except json.JSONDecodeError as error:
        raise InvalidSchema(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise InvalidSchema("not usable JSON: it nests too deeply") from None
    if repeated:
        _report_repeated(value)
    if not isinstance(value, dict | bool):
        raise InvalidSchema(f"a schema is an object or a boolean, not {json_type_name(value)}")
    return value


def _report_repeated(value: Any) -> None:
    """Raise for the first object, in document order, that repeats a key."""
    stack: list[tuple[Any, str]] = [(value, "")]
    while stack:
        node, pointer = stack.pop()
        if isinstance(node, _Repeated):
            raise InvalidSchema(f"the key {json.dumps(node.key)} occurs twice", pointer)
        children: Iterable[tuple[str | int, Any]] = ()
        if isinstance(node, dict):
            children = node.items()
        elif isinstance(node, list):
            children = enumerate(node)
        stack.extend((child, join(pointer, key)) for key, child in reversed(list(children)))


def json_type_name(value: object) -> str:
    """The JSON type of a Python value, for messages."""
    if value is None:
        return "null"
    for kinds, name in (
        (bool, "a boolean"),
        (str, "a string"),
        (dict, "an object"),
        (list | tuple, "an array"),
    ):
        if isinstance(value, kinds):
            return name
    return "a number" if isinstance(value, int | float | Decimal) else f"a Python {type(value).__name__}"


def exact_number(value: object, pointer: str) -> int | Decimal:
    """The assertion's number as an exact decimal.

    Raises InvalidSchema when it is no number, and UnsupportedSchema when a JSON reader with
    binary64 (or 64-bit integers) would round it: then two readers disagree on the schema.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidSchema(f"expected a number, found {json_type_name(value)}", pointer)
    if isinstance(value, float):
        if value != value or abs(value) == _INFINITY:
            raise InvalidSchema("NaN and infinity are not JSON numbers", pointer)
        return Number(repr(value))
    if isinstance(value, int):
        if INT64_MIN <= value <= UINT64_MAX or _survives(Decimal(value)):
            return value
    elif value.is_finite() and _survives(value):
        return value
    shown = _spelling(value)
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}... of {len(shown):,} characters"
    raise UnsupportedSchema(f"JSON readers would round the number {shown}", pointer)


def _survives(value: Decimal) -> bool:
    """Whether reading as binary64 and printing again gives the same number."""
    as_float = float(value)
    return abs(as_float) != _INFINITY and Decimal(repr(as_float)) == value


def _spelling(value: int | Decimal) -> str:
    if isinstance(value, Number):
        return value.text
    return str(value) if -MANY < value < MANY else f"{Decimal(value):.6e}"


def check_text(text: str, pointer: str) -> str:
    """`text`, if UTF-8 can express it; a lone surrogate is an UnsupportedSchema."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise UnsupportedSchema("a lone surrogate cannot occur in JSON text of valid UTF-8", pointer)
    return text


def constant(value: Any, pointer: str, depth: int = 0) -> Any:
    """A const or enum value, checked: exact numbers, clean strings, keys that are strings.

    Floats become `Number`s and tuples lists; integers must fit 64 bits.
    """
    if depth > MAX_VALUE_DEPTH:
        raise UnsupportedSchema(f"a constant nests deeper than {MAX_VALUE_DEPTH} levels", pointer)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, pointer)
    if isinstance(value, int | float | Decimal):
        number = exact_number(value, pointer)
        if isinstance(number, int) and not INT64_MIN <= number <= INT64_MAX:
            raise UnsupportedSchema("integer constants are limited to 64 bits", pointer)
        return number
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise InvalidSchema(f"an object key must be a string, not {type(key).__name__}", pointer)
            check_text(key, join(pointer, key))
        return {key: constant(child, join(pointer, key), depth + 1) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [constant(child, join(pointer, index), depth + 1) for index, child in enumerate(value)]
    raise InvalidSchema(f"{type(value).__name__} is not a JSON value", pointer)


def mentions(value: Any, keys: Iterable[str]) -> bool:
    """Whether any object in `value` has one of the keys."""
    stack = [value]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if not isinstance(node, dict | list | tuple) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            if any(key in node for key in keys):
                return True
            stack.extend(node.values())
        else:
            stack.extend(node)
    return False


def identity(value: Any) -> Any:
    """A hashable stand-in: two JSON values are equal iff their stand-ins are (1 == 1.0, true != 1)."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("literal", value)
    if isinstance(value, int | Decimal):
        return ("number", Decimal(value))
    if isinstance(value, float):
        return ("number", Decimal(repr(value)))
    if isinstance(value, dict):
        return ("object", frozenset((key, identity(child)) for key, child in value.items()))
    return ("array", tuple(identity(child) for child in value))


def spellings(value: Any) -> list[str]:
    """The JSON texts of a scalar constant: as the source has it, a whole number also as `7` and `7.0`."""
    own = json_text_of(value)
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return [own]
    if not -MAX_PLAIN_WHOLE <= value <= MAX_PLAIN_WHOLE:
        return [own]
    whole = int(value)
    return list(dict.fromkeys([own, str(whole), f"{whole}.0"])) if whole == value else [own]


def json_text_of(value: Any) -> str:
    """The JSON text of a scalar constant: canonical escapes, numbers as the source spells them."""
    if isinstance(value, str):
        return encode_basestring(value)
    return _spelling(value) if isinstance(value, Decimal) else _WRITE(value)
