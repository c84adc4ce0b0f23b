"""The matcher: one request's position in a language.

A position is the number of an Earley set, so the whole state is one integer, the history is
a list of integers, rollback is a truncation and a fork copies a list. Questions that were
asked before, by any matcher of the vocabulary, are dictionary look-ups; only new ones run a
kernel, under the store's lock.

    operation        from            to                  fails with, unchanged
    accept_token     running         running, or, for    TokenRejected
                                     EOS, terminated
    accept_bytes     running         running             TokenRejected
    fill_mask        any             same                -
    rollback(mark)   any             as it was at mark   ValueError
    reset            any             the beginning       -

The first three may also end in a LimitError, where the grammar is too ambiguous.
"""

from __future__ import annotations

from operator import index
from time import monotonic, sleep
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from infernix.gbnf.errors import LimitError, TokenRejected

from .bitmask import address_of, as_row, unpack
from .compile import CompiledGrammar
from .earley import NOT_ONE, adopt, advance, advance_bytes, only_byte
from .mask import NOTHING, fill, write_mask
from .store import TERMINATED, Heap, KnownSet
from .tables import DEAD, FIRST_SET, FULL, HAS_EXIT, NO_ROW

__all__ = ["MAX_ROLLBACK", "Matcher", "as_token_id"]

MAX_ROLLBACK = 1 << 14
"""Positions that a matcher remembers at least."""
FORGET_AT = 2 * MAX_ROLLBACK
"""When more are remembered, the oldest are forgotten."""
FEW_BYTES = 16
"""So many bytes are read in one call of a kernel, not to be interrupted; those of an ambiguous text may take long."""
QUICK, LONG, BRIEFLY = 0.001, 0.01, 0.001
"""Seconds. After a quick call the next one gets twice as many bytes; after a long time others get a brief one."""


class Matcher:
    """A position in the language of a compiled grammar, before the first token at first.

    A matcher belongs to one thread at a time. Matchers of one grammar share what they learn.
    Raises TypeError for anything but a compiled grammar, such as its source.
    """

    __slots__ = ("_address", "_at", "_checked", "_forgotten", "_history", "_out_bytes", "_size", "compiled", "heap")

    def __init__(self, compiled: CompiledGrammar) -> None:
        if not isinstance(compiled, CompiledGrammar):
            kind = type(compiled).__name__
            raise TypeError(f"compiled must be an infernix.CompiledGrammar, as compile_gbnf makes one, not {kind}")
        self.compiled = compiled
        self._size = compiled.vocabulary.size
        self._checked: Any = None
        self._address: Any = None
        self._out_bytes: Any = None
        store = compiled.store
        with store.lock:
            if store.heap.is_nearly_full():
                store.retire(0, fresh_masks=False)
            self.heap: Heap = store.heap
            if store.masks.large_pages:
                self.heap.touch_ahead()
            number = compiled.first_set(self.heap)
            if number < FIRST_SET:
                store.retire(0, fresh_masks=False)
                self.heap = store.heap
                number = compiled.first_set(self.heap)
            self._at = self.heap.known_set(number)
        self._history = [self._at]
        self._forgotten = 0

    @property
    def number(self) -> int:
        """The current set, a number of the heap's."""
        return self._at.number

    # --- masks

    def fill_mask(self, row: Any) -> None:
        """Write the tokens that may come next into `row`: packed bits, `uint32[ceil(V / 32)]`.

        `row` is the caller's: a numpy array or a torch CPU tensor (uint32 or int32, contiguous).
        Raises ValueError for another shape and for memory that is read-only or not contiguous, TypeError for another
        dtype or kind of buffer. An array is checked when it is given for the first time in a row of calls; it must
        not be resized or made read-only between them.
        """
        if row is not self._checked or row is None:
            self._look_at(row)
        mask = self._at.mask
        if mask is None:
            self._learn_mask(self._address)
        elif type(mask) is int:
            write_mask(self.heap.address, mask, self._address)
        else:
            self._out_bytes[:] = mask  # half the time of numpy's own copy

    def _look_at(self, row: Any) -> None:
        """Check a caller's row, and remember its memory."""
        out = as_row(row, self._size)
        self._address = address_of(out)
        self._out_bytes = memoryview(out)  # type: ignore[arg-type]
        # A tensor may move to other memory, an array cannot.
        self._checked = row if type(row) is np.ndarray else None

    def mask_row(self) -> NDArray[np.uint32]:
        """The same words as a read-only array, which other matchers may be given too."""
        mask = self._at.mask
        if mask is None:
            mask = self._learn_mask(None)
        if type(mask) is int:
            mask = self.heap.masks.ready.get(mask) or self._write_out(mask)
        row: NDArray[np.uint32] = mask.obj  # type: ignore[union-attr, assignment]
        return row

    def _learn_mask(self, address: int | None) -> int | memoryview:
        """Compute the current set's mask, into the row at an address if that is given, and remember it.

        Returns what its KnownSet has for it.
        """
        store = self.compiled.store
        with store.lock:
            heap = self.heap
            masks = heap.masks
            out = masks.spare_row() if address is None else address
            handle = store.fill(heap.address, self._at.number, out) if heap is store.heap else FULL
            if handle == FULL or handle == NO_ROW:
                handle = store.call(self, fill, out)
                heap = self.heap
            found: int | memoryview
            if handle == NOTHING:
                found = heap.nothing
            else:
                found = heap.masks.buffers[handle >> 1] if handle & 1 else handle >> 1
            self._at.mask = found
            if address is None and type(found) is int and masks is heap.masks:  # not if there are new ones meanwhile
                masks.keep_spare(found)
        return found

    def _write_out(self, mask: int) -> memoryview:
        """A row of its own for a mask of listed words."""
        with self.compiled.store.lock:
            masks = self.heap.masks
            write_mask(self.heap.address, mask, masks.spare_row())
            return masks.keep_spare(mask)

    def is_dead_end(self) -> bool:
        """Whether no token may come next although EOS was not accepted: the vocabulary cannot go on.

        Without EOS ids a complete text that cannot be continued is such an end too: ask `can_end` as well.
        """
        if self.is_terminated():
            return False
        mask = self._at.mask
        if mask is None:
            mask = self._learn_mask(None)
        return mask is self.heap.nothing

    def allowed_token_ids(self) -> list[int]:
        """The ids that may come next, ascending. For debugging: masks are faster."""
        return [int(token) for token in unpack(self.mask_row(), self._size)]

    # --- progress

    def accept_token(self, token: int) -> None:
        """Advance over one token.

        Raises TokenRejected, and leaves the matcher as it was, for a token that is not in the
        mask, or any token after EOS; TypeError for what is not an integer.
        """
        if type(token) is not int:
            token = as_token_id(token)
        after = self._at.after.get(token)
        if after is None:
            after = self._learn_token(token)
        self._at = after
        history = self._history
        history.append(after)
        if len(history) > FORGET_AT:
            self._forget()

    def _learn_token(self, token: int) -> KnownSet:
        """The set after a token seen for the first time at the current set."""
        if not 0 <= token < self._size:
            raise TokenRejected(f"token {token} is outside the vocabulary of {self._size} ids", token)
        if self.is_terminated():
            raise TokenRejected(f"token {token} after the end of the text", token)
        store = self.compiled.store
        if token in store.eos_ids:
            return self._end(token)
        with store.lock:
            heap = self.heap
            number = store.advance(heap.address, self._at.number, token) if heap is store.heap else FULL
            if number == FULL:
                number = store.call(self, advance, token)
                heap = self.heap
            if number == DEAD:
                spelling = self.compiled.vocabulary.token_bytes(token)
                raise TokenRejected(f"token {token} ({spelling!r}) is not allowed here", token)
            after = heap.known_set(number)
            heap.remember_step(self._at, token, after)
        return after

    def _end(self, token: int) -> KnownSet:
        """The set after an EOS token."""
        if not self.can_end():
            raise TokenRejected(f"token {token} ends the text, which is not complete", token)
        return self.heap.known[TERMINATED]

    def accept_bytes(self, data: bytes) -> None:
        """Advance over bytes that belong to no token, such as a given prefix. One step for rollback.

        Raises TokenRejected with the offset of the first illegal byte, or LimitError, the matcher unchanged; TypeError
        for what is not bytes.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"accept_bytes takes bytes, not {type(data).__name__}")
        data = bytes(data)  # of a memoryview, whatever its items are
        if self.is_terminated() and data:
            raise TokenRejected("bytes after the end of the text")
        kept = len(self._history)
        try:
            self._read(data, kept)
        except BaseException:
            del self._history[kept:]
            self._at = self._history[-1]
            raise
        self._history[kept:] = [self._at]
        if len(self._history) > FORGET_AT:
            self._forget()

    def _read(self, data: bytes, kept: int) -> None:
        """Advance over bytes in several calls, between which others may take their turn."""
        place, size, turn = 0, FEW_BYTES, monotonic()
        while place < len(data):
            begun = monotonic()
            try:
                known = self._after_bytes(data, place, size)
            except LimitError:
                if size == FEW_BYTES:
                    raise
                size = FEW_BYTES
                continue
            self._history[kept:] = [known]  # a matcher that moves to another heap takes along what is here
            self._at = known
            place += size
            now = monotonic()
            size = 2 * size if now - begun < QUICK else FEW_BYTES
            if now - turn > LONG:
                sleep(BRIEFLY)  # or this thread would have the lock again before those that wait for it
                turn = now

    def _after_bytes(self, data: bytes, first: int, size: int) -> KnownSet:
        """The set after `size` of the bytes, from `first` on."""
        text = np.frombuffer(data, dtype=np.uint8)[first : first + size]
        taken = np.zeros(1, dtype=np.int64)
        store = self.compiled.store
        with store.lock:
            # A retry after the heap was full starts over from the current set.
            number = store.call(self, _advance_from_start, text, taken)
            known = self.heap.known_set(number)
        if number == DEAD:
            offset = first + int(taken[0])
            raise TokenRejected(f"byte 0x{data[offset]:02x} at offset {offset} is not allowed here", offset=offset)
        return known

    def can_end(self) -> bool:
        """Whether the text so far is in the language.

        Then every EOS token may come next. A vocabulary without EOS ids has none: `is_dead_end` may be true as well.
        """
        if self.is_terminated():
            return True
        return bool(self.heap.arrays["sets"]["flags"][self.number] & HAS_EXIT)

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._at.number == TERMINATED

    def find_forced_bytes(self, limit: int = 1024) -> bytes:
        """The bytes that must come next, whatever the tokens: as long as exactly one byte can.

        Informational (jump-forward decoding would need retokenisation). Empty where the text may
        end, where token terminals may come, or where several bytes may.
        """
        forced = bytearray()
        store = self.compiled.store
        ahead = self.fork()
        while len(forced) < limit and not ahead.is_terminated() and not ahead.can_end():
            with store.lock:
                byte = store.call(ahead, only_byte)
            if byte == NOT_ONE:
                break
            forced.append(byte)
            ahead.accept_bytes(bytes([byte]))
        return bytes(forced)

    # --- history

    def mark(self) -> int:
        """The current position, for `rollback`."""
        return self._forgotten + len(self._history)

    def rollback(self, mark: int) -> None:
        """Return to a position of this matcher's own past. Raises ValueError for any other."""
        kept = as_integer(mark, "a position") - self._forgotten
        if not 0 < kept <= len(self._history):
            raise ValueError(f"position {mark} is not in the remembered past of this matcher")
        del self._history[kept:]
        self._at = self._history[-1]

    def rollback_tokens(self, count: int) -> None:
        """Take back the last `count` tokens (or `accept_bytes` calls). Raises ValueError if there are fewer."""
        count = as_integer(count, "a number of tokens")
        if count < 0:
            raise ValueError("cannot take back a negative number of tokens")
        accepted = len(self._history) - 1
        if count > accepted:
            only = f"only {accepted} {'are remembered' if self._forgotten else 'were accepted'}"
            raise ValueError(f"cannot take back {count} tokens: {only}")
        self.rollback(self.mark() - count)

    def fork(self) -> Matcher:
        """An independent matcher at the same position, with the same past."""
        twin = Matcher.__new__(Matcher)
        twin.compiled, twin.heap, twin._at, twin._size = self.compiled, self.heap, self._at, self._size
        twin._history, twin._forgotten = self._history.copy(), self._forgotten
        twin._checked = twin._address = twin._out_bytes = None
        return twin

    def __copy__(self) -> Matcher:
        return self.fork()

    def __deepcopy__(self, _: dict[int, Any]) -> Matcher:
        return self.fork()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Matcher cannot be pickled, for its sets live in this process: send what it was made from")

    def reset(self) -> None:
        """Return to the beginning."""
        fresh = Matcher(self.compiled)
        self.heap, self._at = fresh.heap, fresh._at
        self._history, self._forgotten = fresh._history, 0

    def _forget(self) -> None:
        """Drop the oldest positions; called when twice as many as promised are remembered."""
        drop = len(self._history) - MAX_ROLLBACK
        del self._history[:drop]
        self._forgotten += drop

    # --- moving to another heap

    def live_sets(self) -> int:
        """How many sets of its heap this matcher may still need, itself included."""
        return len(self._reachable())

    def _reachable(self) -> list[int]:
        """The sets of the history and all their origins, each after its origins."""
        found = {known.number for known in self._history} - {TERMINATED}
        stack = list(found)
        while stack:
            for origin in self.heap.items_of(stack.pop())["origin"].tolist():
                if origin >= FIRST_SET and origin not in found:
                    found.add(origin)
                    stack.append(origin)
        return sorted(found)  # a set is made after its origins, so numbers ascend

    def migrate(self, heap: Heap) -> bool:
        """Carry the live sets over to another heap of the same store; the caller holds the lock.

        False, and nothing has changed, if they do not fit.
        """
        moved = {TERMINATED: TERMINATED, DEAD: DEAD}
        for number in self._reachable():
            block = self.heap.items_of(number)
            origins = block["origin"]
            block["origin"] = [moved.get(origin, origin) for origin in origins.tolist()]
            moved[number] = adopt(heap.address, block)
            if moved[number] == FULL:
                return False
        heap.migrated += len(moved)
        history = [heap.known_set(moved[known.number]) for known in self._history]
        # Together: an interruption comes after calls only.
        self._history, self._at, self.heap = history, history[-1], heap
        return True


def as_token_id(token: SupportsIndex) -> int:
    """An id of any integer type as Python's, which does not overflow. Raises TypeError for what is no integer."""
    return as_integer(token, "a token id")


def as_integer(value: SupportsIndex, what: str) -> int:
    """A number of any integer type as Python's. Raises TypeError for what is none."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {type(value).__name__}: {value!r}") from None


def _advance_from_start(h: int, number: int, text: NDArray[np.uint8], taken: NDArray[np.int64]) -> int:
    taken[0] = 0
    return advance_bytes(h, number, text, taken)
