"""Adapters of other engines. Each is used as its documentation says, with one thread."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from infernix.matcher.bitmask import Words
from infernix.matcher.vocabulary import TokenKind, Vocabulary

from .engines import Capabilities, Engine, Position, Refused
from .spelling import LARGE, Speller

__all__ = ["LLGuidance", "XGrammar"]

SPACED = (", ", ": ")
NO_CONTINUATION = "NoExtension"
"""How llguidance's message begins where no token can follow."""
INNER_LINE_END = re.compile(r"\n(?![A-Za-z_.\-][A-Za-z0-9_.\-]*\s*::=)")
"""A line end inside a rule: llama.cpp's dialect, which llguidance reads, has none."""
LAYOUT = {"x-guidance": {"whitespace_flexible": False, "item_separator": SPACED[0], "key_separator": SPACED[1]}}
EMPTY_DIRECTIVE = "%llguidance {}"
DIRECTIVE = '%llguidance {"no_forcing": true}'
"""Where bytes are forced it allows only their canonical tokens, unless told not to: a feature, but a mask of
the language has every tokenisation."""
MOST_KEPT = 4
CACHE_BYTES = 1 << 26
NOT_SCHEMAS = frozenset({"gbnf", "regex", "choice"})


class XGrammar(Engine):
    """XGrammar. Only ordinary tokens have bytes for it, as its own loaders leave out special tokens."""

    name = "xgrammar"
    capabilities = Capabilities(same_masks=NOT_SCHEMAS, judges=frozenset({"gbnf"}), needs_eos=True)

    def __init__(self) -> None:
        import xgrammar

        self.package = xgrammar
        self.compiler = PerVocabulary(self.make_compiler)

    def make_compiler(self, vocabulary: Vocabulary) -> Any:
        """The compiler of a vocabulary."""
        info = self.package.TokenizerInfo(
            ordinary_tokens(vocabulary),
            vocab_type=self.package.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_ids),
        )
        return self.package.GrammarCompiler(info, max_threads=1, cache_limit_bytes=CACHE_BYTES)

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`. It raises RuntimeError for what it does not support."""
        compiler = self.compiler(vocabulary)
        try:
            match kind:
                case "gbnf":
                    return compiler.compile_grammar(source)
                case "regex":
                    return compiler.compile_regex(source)
                case "choice":
                    return compiler.compile_grammar(f"root ::= {alternatives(source)}")
                case _:
                    return compiler.compile_json_schema(
                        source, any_whitespace=False, separators=SPACED, strict_mode=False
                    )
        except (RuntimeError, ValueError) as error:
            raise Refused(str(error).strip()) from None

    def forget(self, vocabulary: Vocabulary) -> None:
        """See `Engine`. Parts of grammars are kept too, for other grammars that have them."""
        self.compiler(vocabulary).clear_cache()

    def start(self, compiled: Any) -> Position:
        """See `Engine`."""
        return XGrammarPosition(self.package.GrammarMatcher(compiled))


class XGrammarPosition:
    """See `Position`."""

    def __init__(self, matcher: Any) -> None:
        self.matcher = matcher

    def mask(self, row: Words) -> None:
        """See `Position`. The return value says whether the mask matters; the bits are right either way."""
        self.matcher.fill_next_token_bitmask(row.view(np.int32).reshape(1, -1))

    def accept(self, token: int) -> bool:
        """See `Position`."""
        return bool(self.matcher.accept_token(token))

    def rollback(self, count: int) -> None:
        """See `Position`."""
        if count:
            self.matcher.rollback(count)

    def fork(self) -> XGrammarPosition:
        """See `Position`."""
        return XGrammarPosition(self.matcher.fork())

    def may_end(self) -> bool:
        """See `Position`."""
        return bool(self.matcher.is_completed())

    def ended(self) -> bool:
        """See `Position`."""
        return bool(self.matcher.is_terminated())


class LLGuidance(Engine):
    """llguidance. GBNF goes through its own converter to Lark, JSON Schema with fixed separators."""

    name = "llguidance"
    capabilities = Capabilities(same_masks=NOT_SCHEMAS, judges=frozenset(), token_terminals=False, needs_eos=True)

    def __init__(self) -> None:
        import llguidance

        self.package = llguidance
        self.tokenizer = PerVocabulary(self.make_tokenizer)

    def objection(self, kind: str, source: str, vocabulary: Vocabulary, large: bool) -> str | None:
        """Its trie marks special tokens by the byte FF, so that an ordinary token cannot begin with it."""
        known = super().objection(kind, source, vocabulary, large)
        if known is None and not large and any(token.startswith(b"\xff") for token in ordinary_tokens(vocabulary)):
            return "no ordinary tokens that begin with the byte FF"
        return known

    def make_tokenizer(self, vocabulary: Vocabulary) -> Any:
        """The tokenizer object of a vocabulary."""
        wrapper = self.package.TokenizerWrapper(PlainTokenizer(vocabulary))
        return self.package.LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=list(vocabulary.eos_ids))

    def compile(self, kind: str, source: str, vocabulary: Vocabulary) -> Any:
        """See `Engine`. There is no compiled object: a matcher at its beginning is copied."""
        make = self.package.LLMatcher
        try:
            grammar = make.grammar_from_lark(f"{DIRECTIVE}\n{self.lark(kind, source)}")
            matcher = make(self.tokenizer(vocabulary), grammar, log_level=0)
        except Exception as error:
            # The converter raises plain Exception for what it cannot convert.
            raise Refused(str(error).strip()) from None
        if matcher.is_error():
            raise Refused(str(matcher.get_error()).strip())
        return matcher, frozenset(vocabulary.eos_ids)

    def lark(self, kind: str, source: str) -> str:
        """The source in llguidance's own language, by its converters where it has some."""
        match kind:
            case "gbnf":
                from llguidance.gbnf_to_lark import gbnf_to_lark

                return str(gbnf_to_lark(INNER_LINE_END.sub(" ", source))).replace(EMPTY_DIRECTIVE, "")
            case "regex":
                grammar = json.loads(self.package.LLMatcher.grammar_from_regex(source))
                return str(grammar["grammars"][0]["lark_grammar"])
            case "choice":
                return f"start: {alternatives(source)}"
            case _:
                return f"start: %json {json.dumps({**json.loads(source), **LAYOUT}, ensure_ascii=False)}"

    def start(self, compiled: Any) -> Position:
        """See `Engine`."""
        return LLGuidancePosition(*compiled)


class LLGuidancePosition:
    """See `Position`. Where no token can continue, llguidance goes into an error state for good. That
    is a mask without bits, not a fault: the position is then made again from its tokens."""

    def __init__(
        self, beginning: Any, eos: frozenset[int], matcher: Any | None = None, tokens: tuple[int, ...] = ()
    ) -> None:
        self.beginning = beginning
        self.eos = eos
        self.noted_end = False
        self.matcher = matcher if matcher is not None else beginning.deep_copy()
        self.tokens = list(tokens)

    def mask(self, row: Words) -> None:
        """See `Position`."""
        row[:] = 0
        self.matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        if self.matcher.is_error():
            message = str(self.matcher.get_error())
            if not message.startswith(NO_CONTINUATION):
                raise RuntimeError(message)
            row[:] = 0
            self.matcher = self.beginning.deep_copy()
            self.matcher.consume_tokens(self.tokens)

    def accept(self, token: int) -> bool:
        """See `Position`. A token is validated first, because a rejected one ends the matcher for good.

        Where only EOS may follow, the matcher stops by itself: an EOS is then noted here.
        """
        if self.ended():
            return False
        if self.matcher.is_stopped():
            self.noted_end = token in self.eos and self.may_end()
            return self.noted_end
        if self.matcher.validate_tokens([token]) != 1:
            return False
        if not self.matcher.consume_token(token):
            raise RuntimeError(self.matcher.get_error())
        self.tokens.append(token)
        return True

    def rollback(self, count: int) -> None:
        """See `Position`."""
        if count and self.noted_end:
            self.noted_end = False
            count -= 1
        if not count:
            return
        if not self.matcher.rollback(count):
            raise RuntimeError(self.matcher.get_error())
        del self.tokens[-count:]

    def fork(self) -> LLGuidancePosition:
        """See `Position`."""
        twin = LLGuidancePosition(self.beginning, self.eos, self.matcher.deep_copy(), tuple(self.tokens))
        twin.noted_end = self.noted_end
        return twin

    def may_end(self) -> bool:
        """See `Position`."""
        return bool(self.matcher.is_accepting())

    def ended(self) -> bool:
        """See `Position`."""
        return self.noted_end or (bool(self.matcher.is_stopped()) and self.matcher.stop_reason() == "EndOfSentence")


class PlainTokenizer:
    """What llguidance asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        special = np.isin(vocabulary.kinds, (int(TokenKind.CONTROL), int(TokenKind.EOS)))
        self.special_token_ids: list[int] = np.flatnonzero(special).tolist()
        self.tokens = ordinary_tokens(vocabulary)
        for i in self.special_token_ids:
            self.tokens[i] = f"<special {i}>".encode()
        self.eos_token_id = vocabulary.eos_ids[0]
        self.speller = Speller.of(vocabulary)

    def __call__(self, text: bytes | str) -> list[int]:
        """The longest token at each place, as far as there is one: where bytes are forced, llguidance
        works with their tokens."""
        return self.speller.beginning(text.encode() if isinstance(text, str) else text)


class PerVocabulary:
    """What an engine makes of a vocabulary. The last few are kept, and all of large ones."""

    def __init__(self, make: Callable[[Vocabulary], Any]) -> None:
        self.make = make
        self.made: dict[int, tuple[Vocabulary, Any]] = {}

    def __call__(self, vocabulary: Vocabulary) -> Any:
        """The object for a vocabulary."""
        if id(vocabulary) not in self.made:
            small = [key for key, (known, _) in self.made.items() if known.size < LARGE]
            for key in small[: max(len(small) - MOST_KEPT + 1, 0)]:
                del self.made[key]
            self.made[id(vocabulary)] = (vocabulary, self.make(vocabulary))
        return self.made[id(vocabulary)][1]


def ordinary_tokens(vocabulary: Vocabulary) -> list[bytes]:
    """The bytes of every ordinary id; none for the others."""
    ordinary = (vocabulary.kinds == int(TokenKind.ORDINARY)).tolist()
    return [vocabulary.token_bytes(i) if is_ordinary else b"" for i, is_ordinary in enumerate(ordinary)]


def alternatives(source: str) -> str:
    """A list of choices as alternatives, in the notation that GBNF and Lark have in common."""
    return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in json.loads(source))
