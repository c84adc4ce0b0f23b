"""The engines, each behind the same five verbs.

    forget()                    drop what was cached about earlier grammars
    compile(source)             text -> something compiled; raises one of `refusals`
    session(compiled, row)      a position at the beginning, with
        fill()                      write the mask of the position into `row`
        accept(token)               advance; False or TokenRejected where the token is illegal
        can_end()                   whether the text may end here

`fill` and `accept` are the engines' own methods, with arguments bound where they are always the
same, so that no code of the benchmark is inside what is timed. Every engine is used as
its authors advise for speed: XGrammar through an int32 array, llguidance through a pointer
to the row and `reset` for a fresh matcher that keeps its lexer's states, glrmask with its
default strategy. All are given one thread.

What persists from one grammar to the next is each engine's product: the vocabulary's own
tables. Infernix keeps automata and masks of rules that occurred in other grammars of the
vocabulary (XGrammar's cache does the same, but is also one of whole grammars, so it is
cleared). No grammar is compiled twice by an engine, and variants of Infernix run in
processes of their own, so that they do not warm each other.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cases import Source
from .vocabularies import BenchVocabulary

__all__ = ["ENGINES", "WITHOUT", "Engine", "Session", "engine_class", "make_engine", "one_thread", "switches"]

Row = NDArray[np.uint32]
LLGUIDANCE_DIRECTIVE = "%llguidance {}"
ANY_OBJECT = '{"type": "object"}'


@dataclass(slots=True)
class Session:
    """A position in a text, with the engine's own methods."""

    fill: Callable[[], Any]
    accept: Callable[[int], bool | None]
    can_end: Callable[[], bool]
    row: Row
    """Where the mask is after `fill`, unless `fill` returns an array."""


class Engine(ABC):
    """One engine with one configuration, over one vocabulary."""

    refusals: tuple[type[Exception], ...] = (Exception,)
    """What `compile` raises for a source that the engine does not support."""
    rejections: tuple[type[Exception], ...] = ()
    """What `accept` raises for an illegal token."""
    package: str
    package_caches = False
    """Whether engines of the package in one process would profit from each other's grammars."""

    @classmethod
    def version(cls) -> str:
        """The version of the engine's package."""
        return version(cls.package)

    def forget(self) -> None:  # noqa: B027 (most engines have nothing to forget)
        """Drop caches of grammars."""

    @abstractmethod
    def __init__(self, vocabulary: BenchVocabulary) -> None: ...

    @abstractmethod
    def compile(self, source: Source) -> Any:
        """Compile a source text."""

    @abstractmethod
    def session(self, compiled: Any, row: Row) -> Session:
        """The beginning of a new text; `row` receives its masks."""


def one_thread() -> None:
    """Keep the engines' thread pools to one thread. To be called before they are imported."""
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"


class Infernix(Engine):
    """Ours, white space wherever JSON allows it."""

    package = "infernix"
    package_caches = True
    layout = "free"

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import infernix

        self.vocabulary = vocabulary.infernix()
        assert self.vocabulary.trie is not None  # built now, as the other engines build theirs
        self.refusals = (infernix.RequestError,)
        self.rejections = (infernix.TokenRejected,)

    def compile(self, source: Source) -> Any:
        import infernix

        if source.kind == "schema":
            return infernix.compile_json_schema(source.text, self.vocabulary, layout=self.layout)  # type: ignore[arg-type]
        if source.kind == "json":
            return infernix.compile_json_object(self.vocabulary, layout=self.layout)  # type: ignore[arg-type]
        if source.kind == "choice":
            return infernix.compile_choice(json.loads(source.text), self.vocabulary)
        if source.kind == "regex":
            return infernix.compile_regex(source.text, self.vocabulary)
        return infernix.compile_gbnf(source.text, self.vocabulary)

    def session(self, compiled: Any, row: Row) -> Session:
        from infernix import Matcher

        matcher = Matcher(compiled)
        return Session(partial(matcher.fill_mask, row), matcher.accept_token, matcher.can_end, row)


class InfernixSpaced(Infernix):
    """Ours with exactly ", " and ": " between the parts of JSON, which is what glrmask does."""

    layout = "spaced"


class InfernixView(Infernix):
    """Ours without copying: each mask is a read-only view of a row that exists already."""

    def session(self, compiled: Any, row: Row) -> Session:
        from infernix import Matcher

        matcher = Matcher(compiled)
        return Session(matcher.mask_row, matcher.accept_token, matcher.can_end, row)


class InfernixWithout(Infernix):
    """Ours with optimisations switched off, to learn what they are worth. JSON Schemas only."""

    def __init__(self, vocabulary: BenchVocabulary, features: int) -> None:
        super().__init__(vocabulary)
        self.features = features

    def compile(self, source: Source) -> Any:
        from infernix.matcher.compile import compile_grammar
        from infernix.schema import schema_grammar

        return compile_grammar(schema_grammar(source.text), self.vocabulary, features=self.features)


class XGrammar(Engine):
    """XGrammar, all masks computed while compiling; in its strict mode, the default."""

    package = "xgrammar"
    strict = True
    dynamic = False

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import xgrammar

        info = xgrammar.TokenizerInfo(
            vocabulary.tokens(),
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_ids),
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, enable_dynamic_compilation=self.dynamic)

    def forget(self) -> None:
        self.compiler.clear_cache()

    def compile(self, source: Source) -> Any:
        if source.kind == "schema":
            return self.compiler.compile_json_schema(source.text, strict_mode=self.strict)
        if source.kind == "json":
            return self.compiler.compile_builtin_json_grammar()
        if source.kind == "regex":
            return self.compiler.compile_regex(source.text)
        if source.kind == "choice":
            return self.compiler.compile_grammar(f"root ::= {_alternatives(source)}")
        return self.compiler.compile_grammar(source.text)

    def session(self, compiled: Any, row: Row) -> Session:
        from xgrammar import GrammarMatcher

        matcher = GrammarMatcher(compiled)
        bitmask = row.view(np.int32).reshape(1, -1)
        return Session(
            partial(matcher.fill_next_token_bitmask, bitmask), matcher.accept_token, matcher.is_completed, row
        )


class XGrammarDynamic(XGrammar):
    """XGrammar with masks computed when they are first needed, and its wider reading of schemas."""

    strict = False
    dynamic = True


class LLGuidance(Engine):
    """llguidance, with its default slices."""

    package = "llguidance"

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import llguidance

        eos = list(vocabulary.eos_ids)
        if vocabulary.pattern is None:
            wrapper = llguidance.TokenizerWrapper(_PlainTokenizer(vocabulary))
            self.tokenizer = llguidance.LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=eos)
        else:
            self.tokenizer = llguidance.LLTokenizer.from_tiktoken(  # type: ignore[attr-defined]
                encoder=vocabulary.ordinary,
                special_tokens=vocabulary.special,
                pattern=vocabulary.pattern,
                eos_token=eos,
                n_vocab=vocabulary.size,
            )

    def compile(self, source: Source) -> Any:
        from llguidance import LLMatcher
        from llguidance.gbnf_to_lark import gbnf_to_lark

        if source.kind == "schema":
            grammar = LLMatcher.grammar_from_json_schema(source.text)
        elif source.kind == "json":
            grammar = LLMatcher.grammar_from_json_schema(ANY_OBJECT)
        elif source.kind == "regex":
            grammar = LLMatcher.grammar_from_regex(source.text)
        elif source.kind == "choice":
            grammar = LLMatcher.grammar_from_lark(f"start: {_alternatives(source)}")
        else:
            grammar = LLMatcher.grammar_from_lark(gbnf_to_lark(source.text))
        matcher = LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return _Restartable(matcher, partial(LLMatcher, self.tokenizer, grammar, log_level=0))

    def session(self, compiled: Any, row: Row) -> Session:
        matcher = compiled.restarted()
        fill = partial(matcher.unsafe_compute_mask_ptr, row.ctypes.data, row.nbytes)
        return Session(fill, matcher.consume_token, matcher.is_accepting, row)


class _Restartable:
    """llguidance has no compiled object apart from the matcher, which an error makes useless."""

    def __init__(self, matcher: Any, again: Callable[[], Any]) -> None:
        self.matcher = matcher
        self.again = again
        self.used = False

    def restarted(self) -> Any:
        if self.used and (self.matcher.is_error() or not self.matcher.reset()):
            self.matcher = self.again()
        self.used = True
        return self.matcher


class _PlainTokenizer:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.tokens = vocabulary.tokens()
        for text, token_id in vocabulary.special.items():
            self.tokens[token_id] = text.encode()
        self.special_token_ids = sorted(vocabulary.special.values())
        self.eos_token_id = vocabulary.eos_ids[0]
        self.encode = vocabulary.encode

    def __call__(self, text: bytes | str) -> list[int]:
        return self.encode(text.decode(errors="replace") if isinstance(text, bytes) else text)


class GLRMask(Engine):
    """glrmask, with its default strategy, which falls back to a walk for what is too large."""

    package = "glrmask"

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        import glrmask

        self.vocabulary = glrmask.Vocab.from_dict(vocabulary.ordinary)  # type: ignore[arg-type]

    def compile(self, source: Source) -> Any:
        from glrmask import Grammar
        from llguidance.gbnf_to_lark import gbnf_to_lark

        if source.kind == "schema":
            grammar = Grammar.from_json_schema(source.text)
        elif source.kind == "json":
            grammar = Grammar.from_json_schema(ANY_OBJECT)
        elif source.kind == "regex":
            pattern = source.text.replace("/", "\\/")
            grammar = Grammar.from_lark(f"start: /{pattern}/")
        elif source.kind == "choice":
            grammar = Grammar.from_lark(f"start: {_alternatives(source)}")
        else:
            grammar = Grammar.from_lark(_plain_lark(gbnf_to_lark(source.text)))
        return grammar.compile(self.vocabulary)

    def session(self, compiled: Any, row: Row) -> Session:
        state = compiled.start()
        fill = partial(state.fill_mask, row.view(np.int32))
        return Session(fill, state.commit_token, state.is_accepting, row)


def _plain_lark(text: str) -> str:
    """llguidance's Lark without its directive and with Lark's own notation for counts."""
    text = text.replace(LLGUIDANCE_DIRECTIVE, "")
    text = re.sub(r"\{(\d+)\}", r" ~ \1", text)
    return re.sub(r"\{(\d+),(\d+)\}", r" ~ \1..\2", text)


def _alternatives(source: Source) -> str:
    """A list of choices as alternatives, in the notation that GBNF and Lark have in common."""
    return " | ".join(json.dumps(choice) for choice in json.loads(source.text))


ENGINES: dict[str, type[Engine]] = {
    "infernix": Infernix,
    "infernix-spaced": InfernixSpaced,
    "infernix-view": InfernixView,
    "xgrammar": XGrammar,
    "xgrammar-dynamic": XGrammarDynamic,
    "llguidance": LLGuidance,
    "glrmask": GLRMask,
}
"""By the name in tables and JSON files."""

WITHOUT = "without "


def switches() -> dict[str, int]:
    """Our optimisations that can be switched off: name -> bit."""
    from infernix.matcher import tables

    prefix = "OFF_"
    return {name.removeprefix(prefix).lower(): bit for name, bit in vars(tables).items() if name.startswith(prefix)}


def engine_class(name: str) -> type[Engine]:
    """The class of an engine, by its name or "without OPTIMISATION"."""
    return InfernixWithout if name.startswith(WITHOUT) else ENGINES[name]


def make_engine(name: str, vocabulary: BenchVocabulary) -> Engine:
    """An engine over a vocabulary."""
    if name.startswith(WITHOUT):
        return InfernixWithout(vocabulary, switches()[name.removeprefix(WITHOUT)])
    return ENGINES[name](vocabulary)
