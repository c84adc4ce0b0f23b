"""The CUDA kernels without a GPU: run in numba's simulator, and compiled to PTX for a Hopper GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
pytest.importorskip("numba.cuda")


def test_kernels_in_the_simulator():
    """In another process: the simulator is chosen when numba is first imported."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", str(HERE / "simulated_kernels.py"), "-p", "no:cacheprovider"]
    run = subprocess.run(
        command, env=environment, cwd=HERE.parent.parent, capture_output=True, text=True, check=False, timeout=280
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-1000:]
    assert "passed" in run.stdout
    assert "skipped" not in run.stdout


@pytest.fixture
def hopper(monkeypatch):
    """Compile for compute capability 9.0 where there is no device to ask."""
    from types import SimpleNamespace

    from numba.cuda import dispatcher

    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))


def arguments():
    """A step's arrays, for their types only."""
    from infernix.sampling.kernels import arrays
    from infernix.sampling.layout import ROW

    def zeros(shape, dtype=np.int32):
        return np.zeros(shape, dtype)

    drafts, rows = zeros((1, 1)), zeros(1, ROW)
    verdicts = arrays.Verdicts(drafts, drafts, drafts)
    result = arrays.Result(drafts, zeros(1), zeros(1))
    inputs = arrays.Inputs(zeros(4), drafts, drafts, zeros((1, 1), np.uint32), rows, drafts)
    return {
        "inputs": inputs,
        "shape": arrays.Shape(np.int32(1), np.int32(1), np.int64(1)),
        "lists": zeros((1, 1, 20), np.int64),
        "best": arrays.Best(zeros((1, 1), np.int64), drafts, verdicts, result),
        "rows": rows,
        "drafts": drafts,
        "proposal": arrays.Proposal(drafts, zeros((1, 1, 16)), zeros((1, 1, 16), np.float32)),
        "verdicts": verdicts,
        "result": result,
    }


def compile_to_ptx(kernel) -> str:
    import inspect

    from numba import cuda
    from numba.cuda.typing.typeof import typeof

    values = arguments()
    signature = tuple(typeof(values[name]) for name in inspect.signature(kernel.py_func).parameters)
    try:
        text, _ = cuda.compile_ptx(kernel.py_func, signature, cc=(9, 0))
    except Exception as error:
        if "libnvrtc" in str(error) or "libNVVM" in str(error) or "nvvm" in str(error).lower():
            pytest.skip(f"needs NVIDIA's compiler libraries (numba-cuda[cu13]): {error}")
        raise
    return text


OTHER_KINDS = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("float32", "float16")]


@pytest.mark.parametrize("kind", ["bfloat16", *OTHER_KINDS])
def test_streaming_kernels_compile_to_what_they_are_meant_to_be(hopper, kind):
    from infernix.sampling.kernels import argmax, select

    for kernel in (select.build(kind), argmax.build(kind)):
        text = compile_to_ptx(kernel)
        assert text.count("ld.global.nc.L1::no_allocate.v4.b32") >= 4, "16-byte loads, four in flight"
        assert ".local" not in text.replace(".locals", ""), "nothing spilled to local memory by the front end"
        packed = {"float32": "max.f32", "bfloat16": "max.bf16x2", "float16": "max.f16x2"}[kind]
        assert packed in text
        assert "div.s64" not in text, "a 64-bit division costs a hundred instructions"
        assert "call" not in text.replace("callseq", ""), "every device function is inlined"
        # The rounding of penalties is part of the contract: no fma may replace its two steps.
        assert "mul.rn.f32" in text
        assert "fma.rn.f32" not in text


@pytest.mark.slow
def test_small_kernels_compile(hopper):
    from infernix.sampling.kernels import finish, verify

    for kernel in (finish.draw, finish.judge, verify.verify):
        assert ".entry" in compile_to_ptx(kernel)
