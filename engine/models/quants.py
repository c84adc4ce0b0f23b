"""Quantised GGUF blocks to float32 tensors.

A quantised tensor is rows of blocks; a block of 32 weights shares a scale (and, in the
`_1` formats, a minimum), stored as float16:

    Q8_0   d, 32 x int8          w = d * q
    Q4_0   d, 16 bytes           w = d * (q - 8)
    Q4_1   d, m, 16 bytes        w = d * q + m

where the 16 bytes hold 32 four-bit numbers q: the low halves are weights 0-15, the high
halves weights 16-31. These three are unpacked here, in torch, because the `gguf`
package's numpy version takes seconds for the demo model; every other format goes
through `gguf.dequantize`, which is also the oracle of the tests.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import ModelError
from .gguf_file import GgufFile, TensorInfo

__all__ = ["dequantize"]

F32, F16, Q4_0, Q4_1, Q8_0, BF16 = 0, 1, 2, 3, 8, 30  # ggml's type ids
PLAIN_DTYPES = {F32: torch.float32, F16: torch.float16, BF16: torch.bfloat16}

BLOCK = 32
HALF_BYTES = 2  # a float16 scale
BLOCK_BYTES = {Q4_0: HALF_BYTES + BLOCK // 2, Q4_1: 2 * HALF_BYTES + BLOCK // 2, Q8_0: HALF_BYTES + BLOCK}
Q4_0_ZERO = 8


def dequantize(file: GgufFile, info: TensorInfo) -> Tensor:
    """The tensor as float32, in `info.shape`; a ModelError for a format nobody reads."""
    count = math.prod(info.shape)
    if info.type_id in PLAIN_DTYPES:
        dtype = PLAIN_DTYPES[info.type_id]
        raw = _bytes(file, info, count * dtype.itemsize)
        return raw.view(dtype).to(torch.float32).reshape(info.shape)
    if info.type_id in BLOCK_BYTES:
        if count % BLOCK:
            raise ModelError(f"{file.path.name}: tensor {info.name!r} is not a whole number of blocks")
        size = BLOCK_BYTES[info.type_id]
        blocks = _bytes(file, info, count // BLOCK * size).reshape(-1, size)
        return _unpack(blocks, info.type_id).reshape(info.shape)
    return _with_gguf_package(file, info, count)


def _unpack(blocks: Tensor, type_id: int) -> Tensor:
    """Weights of uint8 blocks of shape (n, bytes of a block), as float32 of shape (n, 32)."""
    scale = _halves(blocks[:, :HALF_BYTES])
    if type_id == Q8_0:
        return blocks[:, HALF_BYTES:].view(torch.int8).to(torch.float32).mul_(scale)
    packed = blocks[:, -BLOCK // 2 :]
    weights = torch.cat((packed & 0x0F, packed >> 4), dim=1).to(torch.float32)
    if type_id == Q4_0:
        return weights.sub_(Q4_0_ZERO).mul_(scale)
    return weights.mul_(scale).add_(_halves(blocks[:, HALF_BYTES : 2 * HALF_BYTES]))


def _halves(raw: Tensor) -> Tensor:
    """The float16 numbers in the uint8 columns `raw`, as float32 of shape (n, 1)."""
    return raw.contiguous().view(torch.float16).to(torch.float32)


def _bytes(file: GgufFile, info: TensorInfo, size: int) -> Tensor:
    """A copy of `size` bytes of tensor data as uint8: the map is read-only, torch tensors are not."""
    if info.offset + size > len(file.data):
        raise ModelError(f"{file.path.name} is damaged: tensor {info.name!r} runs past the end")
    return torch.frombuffer(bytearray(file.data[info.offset : info.offset + size]), dtype=torch.uint8)


def _with_gguf_package(file: GgufFile, info: TensorInfo, count: int) -> Tensor:
    import gguf

    try:
        kind = gguf.GGMLQuantizationType(info.type_id)
        block, size = gguf.GGML_QUANT_SIZES[kind]
        raw = _bytes(file, info, count // block * size).numpy()
        rows = raw.reshape(*info.shape[:-1], info.shape[-1] // block * size)
        return torch.from_numpy(gguf.dequantize(rows, kind)).reshape(info.shape)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise ModelError(f"{file.path.name}: tensor {info.name!r} has an unknown format: {error}") from None
