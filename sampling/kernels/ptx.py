"""The few machine instructions that numba has no name for, as inline PTX.

Every function here has a twin of the same name in `twins.py`, which the CUDA simulator
uses; `device.py` picks. Names and operands are those of the PTX ISA manual.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import cuda as _cuda
from numba.cuda import types as _types
from numba.cuda.extending import intrinsic

__all__ = [
    "VECTORS",
    "above_bf16",
    "above_f16",
    "above_f32",
    "bits_to_float",
    "float_to_bits",
    "half_to_float",
    "load_vectors",
    "load_words",
    "peak_bf16",
    "peak_f16",
    "peak_f32",
    "penalise",
    "sync_warp",
]

cuda: Any = _cuda
types: Any = _types
_I32, _F32 = ir.IntType(32), ir.FloatType()
_LANES = 4  # 32-bit registers of a 16-byte load
VECTORS = 4  # loads that a thread has in flight


def _tuple_of_registers(context: Any, builder: Any, sig: Any, returned: Any) -> Any:
    lanes = [builder.extract_value(returned, lane) for lane in range(len(sig.return_type))]
    return context.make_tuple(builder, sig.return_type, lanes)


def _element_pointer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, value=args[0]).data
    return builder.gep(data, [args[1]])


def load_vectors(distance: int) -> Any:
    """A device function (array, offset, wanted 0..3) -> 16 int32: four 16-byte loads.

    The loads start at int32 number `offset` (a multiple of 4) of a global array and are
    `distance` bytes apart. They use the read-only path and do not stay in L1. Where
    `wanted` is 0 nothing is read, and the registers are undefined.
    """
    lines = []
    for vector in range(VECTORS):
        first = vector * _LANES
        registers = ",".join(f"${first + lane}" for lane in range(_LANES))
        wanted = VECTORS * _LANES + 1 + vector
        address = f"[${VECTORS * _LANES}+{vector * distance}]"
        lines.append(f"setp.ne.b32 p, ${wanted}, 0;")
        lines.append(f"@p ld.global.nc.L1::no_allocate.v4.b32 {{{registers}}}, {address};")
    text = "{ .reg .pred p; " + " ".join(lines) + " }"
    constraints = ",".join(["=r"] * (VECTORS * _LANES) + ["l"] + ["r"] * VECTORS)

    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, array: Any, offset: Any, w0: Any, w1: Any, w2: Any, w3: Any) -> Any:
        signature = types.UniTuple(types.int32, VECTORS * _LANES)(array, types.int64, *[types.int32] * VECTORS)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, sig, args)
            returned = ir.LiteralStructType([_I32] * (VECTORS * _LANES))
            kind = ir.FunctionType(returned, [pointer.type] + [_I32] * VECTORS)
            # side_effect keeps the loads where they are written: all before the first use
            code = ir.InlineAsm(kind, text, constraints, side_effect=True)
            return _tuple_of_registers(context, builder, sig, builder.call(code, [pointer, *args[2:]]))

        return signature, generate

    return load


def load_words(distance: int) -> Any:
    """A device function (array, offset) -> 4 int32 of a uint32 array, `distance` bytes apart."""
    text = " ".join(f"ld.global.nc.b32 ${vector}, [${VECTORS}+{vector * distance}];" for vector in range(VECTORS))

    @intrinsic  # type: ignore[untyped-decorator]
    def load(typing_context: Any, array: Any, offset: Any) -> Any:
        signature = types.UniTuple(types.int32, VECTORS)(array, types.int64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, sig, args)
            returned = ir.LiteralStructType([_I32] * VECTORS)
            kind = ir.FunctionType(returned, [pointer.type])
            code = ir.InlineAsm(kind, text, "=r,=r,=r,=r,l", side_effect=True)
            return _tuple_of_registers(context, builder, sig, builder.call(code, [pointer]))

        return signature, generate

    return load


def _register_function(text: str, result: Any, kinds: str) -> Any:
    """A device function of registers in inline PTX; `kinds` has r (int32) or f (float32) for each input."""
    numba_types = {"r": types.int32, "f": types.float32}
    llvm_types = {"r": _I32, "f": _F32}
    output = "r" if result is types.int32 else "f"
    function_type = ir.FunctionType(llvm_types[output], [llvm_types[kind] for kind in kinds])
    code = ir.InlineAsm(function_type, text, ",".join([f"={output}", *kinds]))
    signature = result(*[numba_types[kind] for kind in kinds])

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.call(code, args)

    if kinds == "r":
        return intrinsic(lambda typing_context, a: (signature, generate))
    if kinds == "rrrr":
        return intrinsic(lambda typing_context, a, b, c, d: (signature, generate))
    return intrinsic(lambda typing_context, a, b, c, d, e: (signature, generate))


def _above(unpack: list[str]) -> Any:
    """A bit for each number of a vector that is larger than the bar. `unpack[i]` moves number i into x."""
    lines = [f"{line} setp.gt.f32 p, x, $5; @p or.b32 r, r, {1 << place};" for place, line in enumerate(unpack)]
    text = "{ .reg .pred p; .reg .b32 r, y; .reg .f32 x; .reg .b16 l, h; mov.b32 r, 0; " + " ".join(lines)
    return _register_function(text + " mov.b32 $0, r; }", types.int32, "rrrrf")


_REGISTERS = [f"${1 + lane}" for lane in range(_LANES)]

# The largest number of a vector, NaN ignored. 16-bit numbers are compared in pairs.
peak_f32 = _register_function(
    "{ .reg .f32 x, y; max.f32 x, $1, $2; max.f32 y, $3, $4; max.f32 $0, x, y; }", types.float32, "rrrr"
)
peak_bf16 = _register_function(
    "{ .reg .b32 x, y; max.bf16x2 x, $1, $2; max.bf16x2 y, $3, $4; max.bf16x2 x, x, y;"
    " shl.b32 y, x, 16; and.b32 x, x, 0xffff0000; max.f32 $0, x, y; }",
    types.float32,
    "rrrr",
)
peak_f16 = _register_function(
    "{ .reg .b32 x, y; .reg .b16 l, h; .reg .f32 a, b; max.f16x2 x, $1, $2; max.f16x2 y, $3, $4;"
    " max.f16x2 x, x, y; mov.b32 {l, h}, x; cvt.f32.f16 a, l; cvt.f32.f16 b, h; max.f32 $0, a, b; }",
    types.float32,
    "rrrr",
)

# Which numbers of a vector are above a bar; a NaN never is.
above_f32 = _above([f"mov.b32 x, {register};" for register in _REGISTERS])
above_bf16 = _above(
    [
        line
        for register in _REGISTERS
        for line in (
            f"shl.b32 y, {register}, 16; mov.b32 x, y;",
            f"and.b32 y, {register}, 0xffff0000; mov.b32 x, y;",
        )
    ]
)
above_f16 = _above(
    [
        line
        for register in _REGISTERS
        for line in (
            f"mov.b32 {{l, h}}, {register}; cvt.f32.f16 x, l;",
            f"mov.b32 {{l, h}}, {register}; cvt.f32.f16 x, h;",
        )
    ]
)

half_to_float = _register_function(  # the lower half of a register
    "{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }", types.float32, "r"
)


@cuda.jit(device=True)
def float_to_bits(value):  # type: ignore[no-untyped-def]
    """The bits of a float32 as int32."""
    return cuda.libdevice.float_as_int(value)


@cuda.jit(device=True)
def bits_to_float(bits):  # type: ignore[no-untyped-def]
    """The float32 with these int32 bits."""
    return cuda.libdevice.int_as_float(bits)


@cuda.jit(device=True)
def penalise(value, count, presence, frequency):  # type: ignore[no-untyped-def]
    """z = (l - presence [c > 0]) - frequency c, each operation rounded: never contracted to fma."""
    if count > 0:
        value = cuda.libdevice.fsub_rn(value, presence)
    return cuda.libdevice.fsub_rn(value, cuda.libdevice.fmul_rn(frequency, float(count)))


@cuda.jit(device=True)
def sync_warp():  # type: ignore[no-untyped-def]
    """A barrier for the 32 threads of a warp, ordering their shared memory accesses."""
    cuda.syncwarp()
