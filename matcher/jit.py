"""The one door to numba: how kernels are compiled, where they are cached, how they see memory.

A `kernel` is compiled into whatever calls it; an `entry` is a kernel that Python calls. Machine
code of entries is kept in the user's cache folder under a digest of *every* kernel source:
numba itself only watches a function's own file, so an edit of a helper would leave its
callers stale.

With `NUMBA_DISABLE_JIT=1` the same source runs as plain Python. Nothing in a kernel may
therefore depend on machine arithmetic: integers are kept far from overflow.

**Memory.** Passing an array into compiled code costs about 0.15 us, and the matcher has
three dozen arrays. So a kernel takes a single number `h`: the address of the *heap header*, a
row of int64 that holds the address and length of each array, then a few counters. A view
(`array_view`) opens an array of it; inside compiled code that is two loads.

**Links.** Machine code of a kernel is made anew in every kernel that calls it, which is fast to
run and slow to compile. The few large ones that are called from many places are *linked*: they
are compiled once, and called through their address, which stands in the header too.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from .kernel_cache import cache_folder, kept_in

__all__ = [
    "JIT",
    "array_view",
    "direct",
    "entry",
    "int64",
    "kernel",
    "link",
    "linked",
    "linked_kernels",
    "open_arrays",
    "words_at",
]

int64: Any = np.int64
"""Widens a field of an array before arithmetic; a name of its own, since type checkers know better than numba."""

JIT = not numba.config.DISABLE_JIT
"""False when kernels run as plain Python (`NUMBA_DISABLE_JIT=1`)."""

Function = TypeVar("Function", bound=Callable[..., Any])


def _sources_digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        source = path.read_bytes()
        if path.name == Path(__file__).name or b"from .jit import" in source:
            digest.update(path.name.encode())
            digest.update(source)
    return digest.hexdigest()[:16]


KERNEL_FOLDER = cache_folder() / "kernels" / _sources_digest()


def kernel(function: Function) -> Function:
    """A function that only compiled code calls: compiled into its callers, without a door to Python."""
    compiled: Function = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")(function)
    return compiled


def entry(function: Function) -> Function:
    """A kernel that Python calls. It releases the GIL; its machine code is cached between processes."""
    with kept_in(KERNEL_FOLDER):
        compiled: Function = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, error_model="numpy")(function)
    return compiled


def direct(compiled: Callable[..., int], arguments: int) -> Callable[..., int]:
    """An entry of integers without numba's dispatcher, which takes as long again to find out what they are."""
    if JIT:
        return compiled.compile((types.int64,) * arguments)  # type: ignore[attr-defined, no-any-return]
    return lambda *integers: int(compiled(*integers))  # numpy's integers are no ints


open_arrays: dict[int, list[np.ndarray]] = {}
"""Without JIT an address is of no use: `h` is a number, and this has its header and arrays."""


if JIT:

    @intrinsic
    def _pointer(typing_context: Any, address: Any) -> Any:
        """An integer address as a pointer that `carray` understands."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(types.int64), generate

    @kernel
    def words_at(address: int, count: int) -> Any:
        """`count` 32-bit words at an address: a mask row that is not part of a heap array."""
        return carray(_pointer(address), (count,), np.uint32)

else:

    def words_at(address: int, count: int) -> Any:
        """`count` 32-bit words at an address, without JIT."""
        return np.ctypeslib.as_array((ctypes.c_uint32 * int(count)).from_address(int(address)))


def array_view(slot: int, dtype: Any, columns: int = 0) -> Callable[[int], Any]:
    """The function that opens array number `slot` of a heap: `h` -> array.

    Words `2 * slot` and `2 * slot + 1` of the header hold its address and its number of
    rows. `columns` gives a second dimension.
    """
    if not JIT:

        def view(h: int) -> Any:
            return open_arrays[h][slot]

        return view
    word = 2 * slot
    itemsize = np.dtype(dtype).itemsize
    array_type = types.Array(numba.from_dtype(np.dtype(dtype)), 2 if columns else 1, "C", aligned=False)

    @intrinsic
    def open_view(typing_context: Any, h: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            size = context.get_value_type(types.int64)
            header = builder.inttoptr(arguments[0], size.as_pointer())
            address = builder.load(builder.gep(header, [size(word)]))
            count = builder.load(builder.gep(header, [size(word + 1)]))
            array = context.make_array(array_type)(context, builder)
            arrayobj.populate_array(
                array,
                data=builder.inttoptr(address, array.data.type),
                shape=[count, size(columns)] if columns else [count],
                strides=[size(columns * itemsize), size(itemsize)] if columns else [size(itemsize)],
                itemsize=size(itemsize),
                meminfo=None,
            )
            return array._getvalue()

        return array_type(types.int64), generate

    return open_view  # type: ignore[no-any-return]


def header_view(words: int) -> Callable[[int], Any]:
    """The function that opens the header itself, `int64[words]`."""
    if not JIT:

        def view(h: int) -> Any:
            return open_arrays[h][-1]

        return view

    @kernel
    def open_header(h: int) -> Any:
        return carray(_pointer(h), (words,), np.int64)

    return open_header


_links: list[tuple[int, Callable[..., int], int]] = []
"""Header word, function and number of arguments of each linked kernel."""
_compiled_links: dict[int, Any] = {}


def linked(word: int) -> Callable[[Function], Function]:
    """A kernel of integers that is called through its address in header word `word`."""

    def decorate(function: Function) -> Function:
        if not JIT:
            return function
        arity = function.__code__.co_argcount
        _links.append((word, function, arity))

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            size = context.get_value_type(types.int64)
            header = builder.inttoptr(values[0], size.as_pointer())
            address = builder.load(builder.gep(header, [size(word)]))
            kind = ir.FunctionType(size, [size] * arity)
            return builder.call(builder.inttoptr(address, kind.as_pointer()), values)

        typed = types.int64(*[types.int64] * arity), generate
        # An intrinsic's number of arguments is that of the function that describes it.
        calls: dict[int, Callable[..., Any]] = {
            1: lambda typing_context, a: typed,
            2: lambda typing_context, a, b: typed,
            3: lambda typing_context, a, b, c: typed,
            4: lambda typing_context, a, b, c, d: typed,
            5: lambda typing_context, a, b, c, d, e: typed,
        }
        return intrinsic(calls[arity])  # type: ignore[no-any-return]

    return decorate


def link(header: np.ndarray) -> None:
    """Write the addresses of all linked kernels into a header; compiles them the first time."""
    for word, function, arity in _links:
        header[word] = _compiled_link(word, function, arity).address


def linked_kernels() -> dict[str, Callable[[], Any]]:
    """For each linked kernel that is defined by now, by name, what compiles it."""
    return {
        f"{function.__module__.rpartition('.')[2]}.{function.__name__}": partial(_compiled_link, word, function, arity)
        for word, function, arity in _links
    }


def _compiled_link(word: int, function: Callable[..., int], arity: int) -> Any:
    if word not in _compiled_links:
        with kept_in(KERNEL_FOLDER):
            signature = types.int64(*[types.int64] * arity)
            _compiled_links[word] = numba.cfunc(signature, cache=True, error_model="numpy")(function)
    return _compiled_links[word]
