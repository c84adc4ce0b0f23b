r"""Regular expressions: the ECMAScript subset of the contract, turned into grammar expressions.

Two readings of one dialect:

* `parse_regex(p)`: the whole text matches `p` (a regex constraint);
* `parse_search(p)`: some part of the text matches `p` (JSON Schema's `pattern`).

Supported are literals, `.`, bracket classes, the escapes of `regex_classes`, groups
`(...)`, `(?:...)` and `(?<name>...)` (nothing is captured), alternatives, the quantifiers
`* + ? {n} {n,} {n,m}` in their greedy and lazy forms (which accept the same texts), and
the anchors `^` and `$`. Everything else is refused with the index of the offending
character: a constraint is never weakened. Counted repetition stays a counter. The result is
simplified (see `simplify`), so equal languages often become equal expressions.

**Anchors.** `^` may only begin and `$` only end a top-level alternative. The search
reading also takes them inside a group that itself begins or ends its alternative, as in
`^$|(^a+$)`. While reading, each part of the expression is therefore a small table

    (asserts the start, asserts the end)  ->  expression

so that `(^a|b)` is `{(True, False): a, (False, False): b}`. Sequences multiply tables and
alternatives add them. At the end the full reading adds all entries up, and the search
reading puts "any text" at every side that is not asserted.

Reading needs no recursion: open groups wait on an explicit stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .errors import RegexError, RegexSyntaxError
from .grammar import (
    ANY_CHAR,
    EMPTY,
    MAX_COUNT,
    Alternatives,
    CharClass,
    Expression,
    Grammar,
    Literal,
    Repeat,
    Rule,
    Sequence,
    alternatives,
    literal,
    repeat,
    sequence,
)
from .regex_classes import DOT, read_class, read_escape
from .simplify import simplify
from .time_limit import check_time

__all__ = ["ANY_TEXT", "MAX_DEPTH", "MAX_LENGTH", "parse_regex", "parse_search", "regex_grammar"]

MAX_LENGTH = 2**18
"""The longest pattern, in characters."""
MAX_DEPTH = 1000
"""Groups nest at most this deep."""
ANY_TEXT = Repeat(ANY_CHAR, 0, None)
"""Any text at all, line breaks included."""

Sides = tuple[bool, bool]
FREE: Sides = (False, False)
QUANTIFIER = re.compile(r"\{(\d+)(,?)(\d*)\}", re.ASCII)
GROUP_NAME = re.compile(r"\(\?<([A-Za-z_$][A-Za-z0-9_$]*)>")


@dataclass(slots=True)
class _Part:
    """A piece of the expression: its language for each combination of asserted sides.

    `start` and `end` are the indices of the first `^` and the last `$` inside, or None.
    """

    table: dict[Sides, Expression]
    start: int | None = None
    end: int | None = None


@dataclass(slots=True)
class _Group:
    """A group that is being read. `opened` is the index of its parenthesis, -1 for the whole."""

    opened: int
    finished: list[_Part] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)
    quantifiable: bool = False


def parse_regex(pattern: str) -> Expression:
    """The texts that `pattern` matches as a whole. Raises `RegexError` or, for a huge class, `LimitError`."""
    table = _Reader(pattern, nested_anchors=False).read()
    return simplify(alternatives(table.values()))


def parse_search(pattern: str) -> Expression:
    """The texts in which `pattern` matches somewhere. Raises `RegexError` with a position.

    Next to "any text" a part that repeats is cut to its smallest count, since the
    surrounding text takes the rest: `a+` as a search is `any a any`.
    """
    table = _Reader(pattern, nested_anchors=True).read()
    choices: list[Expression] = []
    for (start, end), expression in table.items():
        parts = expression.choices if isinstance(expression, Alternatives) else (expression,)
        trimmed = [_trim(part, at_start=not start, at_end=not end) for part in parts]
        if EMPTY in trimmed and not (start and end):
            return ANY_TEXT
        before = EMPTY if start else ANY_TEXT
        after = EMPTY if end else ANY_TEXT
        choices.append(sequence([before, alternatives(trimmed), after]))
    return simplify(alternatives(choices))


def regex_grammar(pattern: str) -> Grammar:
    """The grammar of `parse_regex(pattern)`, with its only rule `root`."""
    return Grammar((Rule("root", parse_regex(pattern)),))


def _trim(expression: Expression, at_start: bool, at_end: bool) -> Expression:
    """Shorten the sides of `expression` that touch "any text", without changing the search.

    `any X{m,n}` is `any X{m}`: the texts that the further repetitions match belong to "any"
    as well. With m = 0 nothing is left and the next part touches "any".
    """
    items = _items(expression)
    for wanted, edge in ((at_start, slice(0, 1)), (at_end, slice(-1, None))):
        while wanted and items:
            (part,) = items[edge]
            if not isinstance(part, Repeat) or part.minimum == part.maximum:
                break
            shortest = repeat(part.item, part.minimum, part.minimum)
            items[edge] = [] if shortest == EMPTY else _items(shortest)
    return sequence(items)


def _items(expression: Expression) -> list[Expression]:
    return list(expression.items) if isinstance(expression, Sequence) else [expression]


class _Reader:
    """One pass over a pattern. With `nested_anchors`, groups at an edge may hold anchors."""

    def __init__(self, pattern: str, nested_anchors: bool) -> None:
        self.pattern = pattern
        self.nested_anchors = nested_anchors
        self.stack = [_Group(opened=-1)]
        self.names: set[str] = set()

    def read(self) -> dict[Sides, Expression]:
        """Read the whole pattern into the table of its top-level alternatives."""
        if len(self.pattern) > MAX_LENGTH:
            raise self._error(f"patterns have at most {MAX_LENGTH} characters", MAX_LENGTH)
        index = 0
        while index < len(self.pattern):
            check_time()
            index = self._step(index)
        if len(self.stack) > 1:
            raise self._syntax_error("the group is not closed", self.stack[-1].opened)
        return _union(self._close_alternatives()).table

    def _error(self, message: str, index: int) -> RegexError:
        return RegexError(message, index, self.pattern)

    def _syntax_error(self, message: str, index: int) -> RegexSyntaxError:
        return RegexSyntaxError(message, index, self.pattern)

    def _step(self, index: int) -> int:
        """Read one token at `index`; return the index behind it."""
        char = self.pattern[index]
        match char:
            case "(":
                return self._open_group(index)
            case ")":
                return self._close_group(index)
            case "|":
                self._end_alternative()
            case "^" | "$":
                self._anchor(char, index)
            case "*" | "+" | "?" | "{":
                return self._quantify(index)
            case "\\":
                atom, after = read_escape(self.pattern, index)
                self._add(literal(chr(atom)) if isinstance(atom, int) else CharClass(atom))
                return after
            case "[":
                char_class, after = read_class(self.pattern, index)
                self._add(char_class)
                return after
            case ".":
                self._add(DOT)
            case _:
                # A lone "]" or "}" is a plain character in ECMAScript and in every other engine.
                if "\ud800" <= char <= "\udfff":
                    raise self._error("surrogate code points are not characters", index)
                self._add(Literal(char))
        return index + 1

    def _add(self, expression: Expression) -> None:
        self._add_part(_Part({FREE: expression}))

    def _add_part(self, part: _Part) -> None:
        """Append to the current alternative; only its first part may assert the start, its last the end."""
        group = self.stack[-1]
        if group.parts and group.parts[-1].end is not None:
            raise self._error("$ may only end an alternative", group.parts[-1].end)
        if group.parts and part.start is not None:
            raise self._error("^ may only begin an alternative", part.start)
        group.parts.append(part)
        group.quantifiable = True

    def _anchor(self, char: str, index: int) -> None:
        if len(self.stack) > 1 and not self.nested_anchors:
            raise self._error(f"{char} is only allowed at the ends of top-level alternatives", index)
        group = self.stack[-1]
        if char == "^":
            self._add_part(_Part({(True, False): EMPTY}, start=index))
        elif group.parts and group.parts[-1].end is not None:
            raise self._error("$ may only end an alternative", group.parts[-1].end)
        else:
            group.parts.append(_Part({(False, True): EMPTY}, end=index))
        group.quantifiable = False

    def _open_group(self, index: int) -> int:
        if len(self.stack) > MAX_DEPTH:
            raise self._error(f"groups are nested more than {MAX_DEPTH} deep", index)
        after = index + 1
        if self.pattern.startswith("?", after):
            after = self._group_modifier(index)
        self.stack.append(_Group(opened=index))
        return after

    def _group_modifier(self, index: int) -> int:
        """Read `(?:` or `(?<name>` at `index`; return the index behind it."""
        rest = self.pattern[index : index + 4]
        if rest.startswith("(?:"):
            return index + len("(?:")
        if rest.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            raise self._error("lookaround is not supported", index)
        named = GROUP_NAME.match(self.pattern, index)
        if named is None:
            raise self._error("unsupported group; only (...), (?:...) and (?<name>...) are", index)
        if named[1] in self.names:
            raise self._syntax_error(f"a second group named {named[1]!r}", index)
        self.names.add(named[1])
        return named.end()

    def _end_alternative(self) -> None:
        group = self.stack[-1]
        group.finished.append(_product(group.parts))
        group.parts = []
        group.quantifiable = False

    def _close_alternatives(self) -> list[_Part]:
        self._end_alternative()
        return self.stack.pop().finished

    def _close_group(self, index: int) -> int:
        if len(self.stack) == 1:
            raise self._syntax_error("unbalanced parenthesis", index)
        self._add_part(_union(self._close_alternatives()))
        return index + 1

    def _quantify(self, index: int) -> int:
        """Apply the quantifier at `index` to the part before it."""
        minimum, maximum, after = self._read_quantifier(index)
        group = self.stack[-1]
        if not group.quantifiable:
            raise self._syntax_error("nothing to repeat", index)
        part = group.parts.pop()
        for anchor in (part.start, part.end):
            if anchor is not None:
                raise self._error("an anchor cannot be repeated", anchor)
        group.parts.append(_Part({FREE: repeat(part.table[FREE], minimum, maximum)}))
        group.quantifiable = False
        # A lazy quantifier accepts the same texts.
        return after + 1 if self.pattern.startswith("?", after) else after

    def _read_quantifier(self, index: int) -> tuple[int, int | None, int]:
        match self.pattern[index]:
            case "*":
                return 0, None, index + 1
            case "+":
                return 1, None, index + 1
            case "?":
                return 0, 1, index + 1
        found = QUANTIFIER.match(self.pattern, index)
        if found is None or (found[3] and not found[2]):
            raise self._error("{ does not begin a quantifier {n}, {n,} or {n,m}; write \\{", index)
        minimum = self._count(found[1], index)
        if not found[2]:
            return minimum, minimum, found.end()
        maximum = self._count(found[3], index) if found[3] else None
        if maximum is not None and maximum < minimum:
            raise self._syntax_error("the bounds of the quantifier are out of order", index)
        return minimum, maximum, found.end()

    def _count(self, digits: str, index: int) -> int:
        # Long runs of digits are refused before they are converted.
        stripped = digits.lstrip("0")
        if len(stripped) > len(str(MAX_COUNT)) or int(stripped or "0") > MAX_COUNT:
            raise self._error(f"repetition counts end at {MAX_COUNT}", index)
        return int(stripped or "0")


def _product(parts: list[_Part]) -> _Part:
    """One part after another; only the first may assert the start and only the last the end."""
    if not parts:
        return _Part({FREE: EMPTY})
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return first
    middle = [part.table[FREE] for part in parts[1:-1]]
    table = {
        (start, end): sequence([head, *middle, tail])
        for (start, _), head in first.table.items()
        for (_, end), tail in last.table.items()
    }
    return _Part(table, first.start, last.end)


def _union(parts: list[_Part]) -> _Part:
    """One of the parts; equal sides are added up."""
    table: dict[Sides, list[Expression]] = {}
    for part in parts:
        for sides, expression in part.table.items():
            table.setdefault(sides, []).append(expression)
    return _Part(
        {sides: alternatives(choices) for sides, choices in table.items()},
        next((part.start for part in parts if part.start is not None), None),
        next((part.end for part in reversed(parts) if part.end is not None), None),
    )
