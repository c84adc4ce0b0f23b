"""The few machine instructions that numba has no name for, as inline PTX.

Every function here has a twin of the same name in `twins.py`, which the CUDA simulator
uses; `device.py` picks. Names and operands are those of the PTX ISA manual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import cuda as _cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic

__all__ = ["float_to_bits", "half_to_float", "load_vector", "peak_bf16", "peak_f16", "peak_f32", "penalise"]

cuda: Any = _cuda
_I32, _F32 = ir.IntType(32), ir.FloatType()
_LANES = 4  # 32-bit registers of a 16-byte load


@intrinsic  # type: ignore[untyped-decorator]
def load_vector(typing_context: Any, array: Any, offset: Any, wanted: Any) -> Any:
    """Four int32 of a global array from `offset` (a multiple of 4), in one 16-byte load through the
    read-only path. If `wanted` is 0 nothing is read and the result is undefined."""  # fmt: skip
    signature = types.UniTuple(types.int32, _LANES)(array, types.int64, types.int32)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, value=args[0]).data
        pointer = builder.gep(data, [args[1]])
        returned = ir.LiteralStructType([_I32] * _LANES)
        code = ir.InlineAsm(
            ir.FunctionType(returned, [pointer.type, _I32]),
            "{ .reg .pred p; setp.ne.b32 p, $5, 0; @p ld.global.nc.v4.b32 {$0,$1,$2,$3}, [$4]; }",
            "=r,=r,=r,=r,l,r",
            side_effect=True,  # keeps the loads where they are written: all before the first use
        )
        loaded = builder.call(code, [pointer, args[2]])
        lanes = [builder.extract_value(loaded, lane) for lane in range(_LANES)]
        return context.make_tuple(builder, sig.return_type, lanes)

    return signature, generate


def _vector_function(text: str, inputs: int = _LANES) -> Callable[..., Any]:
    """A device function from `inputs` int32 registers to a float32."""

    def typed(typing_context: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(_F32, [_I32] * inputs)
            return builder.call(ir.InlineAsm(kind, text, "=f" + ",r" * inputs), args)

        return types.float32(*[types.int32] * inputs), generate

    if inputs == 1:
        return intrinsic(lambda typing_context, a: typed(typing_context, a))  # type: ignore[no-any-return]
    return intrinsic(lambda typing_context, a, b, c, d: typed(typing_context, a, b, c, d))  # type: ignore[no-any-return]


# The largest value of a vector, NaN ignored. 16-bit numbers are compared in pairs.
peak_f32 = _vector_function(
    "{ .reg .f32 x, y; max.f32 x, $1, $2; max.f32 y, $3, $4; max.f32 $0, x, y; }"
)  # fmt: skip
peak_bf16 = _vector_function(
    "{ .reg .b32 x, y; max.bf16x2 x, $1, $2; max.bf16x2 y, $3, $4; max.bf16x2 x, x, y;"
    " shl.b32 y, x, 16; and.b32 x, x, 0xffff0000; max.f32 $0, x, y; }"
)
peak_f16 = _vector_function(
    "{ .reg .b32 x, y; .reg .b16 l, h; .reg .f32 a, b; max.f16x2 x, $1, $2; max.f16x2 y, $3, $4;"
    " max.f16x2 x, x, y; mov.b32 {l, h}, x; cvt.f32.f16 a, l; cvt.f32.f16 b, h; max.f32 $0, a, b; }"
)
half_to_float = _vector_function(  # the lower half of a register
    "{ .reg .b16 l, h; mov.b32 {l, h}, $1; cvt.f32.f16 $0, l; }", inputs=1
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
