"""Time of a sampling step on a GPU, beside torch and XGrammar: `python -m bench.sampling --json FILE`.

For B rows of P positions over V tokens, what follows the model's logits: mask, choose
candidates, filter, draw. Every contender is captured in a CUDA graph of several steps and
the replays are timed with CUDA events, so the figures are device time a step, without
Python. The floor is the time to read the logits once at the measured copy bandwidth.

A second table times whole rounds with their copies: uploading the mask words of every position,
against a pool of masks on the GPU where a position carries an index (all masks known).

    ours     select + finish, every row sampled at temperature 0.8, top-p 0.95
    greedy   the argmax kernel
    torch    masked_fill (bool mask), topk 20, softmax, multinomial
    xgrammar its bitmask kernel on the packed mask, then the same torch operations
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infernix.sampling import SamplingParams
from infernix.sampling.kernels.device_sampler import DeviceSampler
from infernix.sampling.kernels.mask_pool import MaskPool
from infernix.sampling.layout import words_for
from infernix.sampling.params import pack_rows

STEPS_IN_GRAPH = 10
POOL_ROWS = 256
REPLAYS = 15
TOP_K = 20
DENSITIES = ("all", "1%", "5 tokens", "none")


def time_graph(step: Callable[[], Any]) -> float:
    """Microseconds a step: the median replay of a graph of several steps."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS_IN_GRAPH):
            step()
    times = []
    for _ in range(REPLAYS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000 / STEPS_IN_GRAPH)
    return statistics.median(times[2:])


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of a large device copy."""
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(REPLAYS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return 2 * source.numel() * source.element_size() / statistics.median(times)


def launch_floor() -> float:
    """Microseconds of a kernel that does nearly nothing."""
    tensor = torch.zeros(1, device="cuda")
    return time_graph(lambda: tensor.add_(1))


def packed_mask(density: str, rows: int, vocab_size: int, random: np.random.Generator) -> np.ndarray | None:
    """uint32[rows, W] of a density, or None."""
    if density == "none":
        return None
    if density == "all":
        legal = np.ones((1, vocab_size), bool)
    elif density == "1%":
        legal = random.random((min(rows, 16), vocab_size)) < 0.01
    else:
        legal = np.zeros((min(rows, 16), vocab_size), bool)
        for one in legal:
            one[random.choice(vocab_size, 5, replace=False)] = True
    padded = np.zeros((len(legal), words_for(vocab_size) * 32), bool)
    padded[:, :vocab_size] = legal
    words = np.packbits(padded, axis=1, bitorder="little").view(np.uint32)
    return np.ascontiguousarray(words[np.arange(rows) % len(words)])


def ours(logits: torch.Tensor, words: np.ndarray | None, *, greedy: bool) -> Callable[[], Any]:
    batch, positions, vocab_size = logits.shape
    sampler = DeviceSampler(logits, vocab_size)
    params = SamplingParams(temperature=0.0 if greedy else 0.8, top_p=0.95)
    pack_rows([params] * batch, sampler.rows)
    sampler.rows["extent"] = positions - 1
    if words is not None:
        sampler.masks.words[:] = words
        for row in range(batch):
            sampler.masks.enable(row)
    sampler.upload()
    # P positions are a whole verification: all drafts are -1, but every position is worked out.
    sampler.device_drafts.fill_(-1)
    return lambda: sampler.accept(greedy=greedy) if positions > 1 else sampler.sample(greedy=greedy)


def with_torch(logits: torch.Tensor, words: np.ndarray | None) -> Callable[[], Any]:
    rows = logits.view(-1, logits.shape[-1])
    forbidden = None
    if words is not None:
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : rows.shape[1]]
        forbidden = torch.from_numpy(bits == 0).cuda()

    def step() -> Any:
        values = rows if forbidden is None else rows.masked_fill(forbidden, float("-inf"))
        best, ids = torch.topk(values, TOP_K, dim=-1)
        p = torch.softmax(best.float() / 0.8, dim=-1)
        return ids.gather(1, torch.multinomial(p, 1))

    return step


def with_xgrammar(logits: torch.Tensor, words: np.ndarray | None) -> Callable[[], Any]:
    import xgrammar

    rows = logits.view(-1, logits.shape[-1]).clone()
    mask = None if words is None else torch.from_numpy(words.view(np.int32)).cuda()

    def step() -> Any:
        if mask is not None:
            xgrammar.apply_token_bitmask_inplace(rows, mask)
        best, ids = torch.topk(rows, TOP_K, dim=-1)
        p = torch.softmax(best.float() / 0.8, dim=-1)
        return ids.gather(1, torch.multinomial(p, 1))

    return step


def round_with_copies(batch: int, positions: int, vocab_size: int, *, pooled: bool) -> float:
    """Microseconds of a round: upload, verify, download; bfloat16 logits, one mask a position."""
    logits = torch.randn((batch, positions, vocab_size), device="cuda").mul_(3).to(torch.bfloat16)
    pool = MaskPool(vocab_size, POOL_ROWS) if pooled else None
    sampler = DeviceSampler(logits, vocab_size, pool=None if pool is None else pool.words)
    pack_rows([SamplingParams(temperature=0.8, top_p=0.95)] * batch, sampler.rows)
    sampler.rows["extent"] = positions - 1
    words = packed_mask("1%", POOL_ROWS, vocab_size, np.random.default_rng(0))
    assert words is not None
    if pool is None:
        sampler.masks.words[:] = words[np.arange(batch * positions) % POOL_ROWS]
        for row in range(batch):
            sampler.masks.enable(row)
    else:
        pool.begin_step()
        slots = [pool.slot(number, row) for number, row in enumerate(words)]
        sampler.masks.index[:] = np.resize(slots, (batch, positions))

    def step() -> None:
        sampler.upload()
        sampler.accept()
        sampler.download()

    return time_graph(step)


CONTENDERS: dict[str, Callable[[torch.Tensor, np.ndarray | None], Callable[[], Any]]] = {
    "ours": lambda logits, words: ours(logits, words, greedy=False),
    "greedy": lambda logits, words: ours(logits, words, greedy=True),
    "torch": with_torch,
    "xgrammar": with_xgrammar,
}


def measure(shape: tuple[int, int, int], dtype: torch.dtype, density: str, names: list[str]) -> dict[str, float]:
    """Microseconds a step by contender."""
    random = np.random.default_rng(0)
    logits = torch.randn(shape, device="cuda").mul_(3).to(dtype)
    words = packed_mask(density, shape[0] * shape[1], shape[2], random)
    found = {}
    for name in names:
        try:
            found[name] = time_graph(CONTENDERS[name](logits, words))
        except Exception as error:  # a baseline that cannot run here is left out, with its reason
            if name in ("ours", "greedy"):
                raise
            print(f"# {name}: {type(error).__name__}: {str(error)[:200]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--batches", default="1,8,64")
    parser.add_argument("--positions", default="1,16")
    parser.add_argument("--vocabularies", default="151936,248320,262144")
    parser.add_argument("--dtypes", default="bfloat16,float32")
    parser.add_argument("--densities", default=",".join(DENSITIES))
    options = parser.parse_args()
    names = options.contenders.split(",")
    bandwidth, floor = copy_bandwidth(), launch_floor()
    report: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "copy_bytes_per_second": bandwidth,
        "launch_floor_us": floor,
        "rows": [],
    }
    print(f"# {report['gpu']}, torch {torch.__version__}, copy {bandwidth / 1e12:.2f} TB/s, launch {floor:.2f} us")
    print(f"{'B':>3} {'P':>3} {'V':>7} {'dtype':>8} {'mask':>8} {'floor':>7}", *(f"{n:>9}" for n in names))
    for size in map(int, options.vocabularies.split(",")):
        for name in options.dtypes.split(","):
            dtype = getattr(torch, name)
            for batch in map(int, options.batches.split(",")):
                for positions in map(int, options.positions.split(",")):
                    for density in options.densities.split(","):
                        shape = (batch, positions, size)
                        found = measure(shape, dtype, density, names)
                        memory = float(np.prod(shape)) * dtype.itemsize / bandwidth * 1e6
                        report["rows"].append(
                            {"B": batch, "P": positions, "V": size, "dtype": name, "mask": density,
                             "floor_us": memory, **found}
                        )  # fmt: skip
                        times = [f"{found.get(one, float('nan')):9.1f}" for one in names]
                        line = f"{batch:3} {positions:3} {size:7} {name[:8]:>8} {density:>8} {memory:7.2f}"
                        print(line, *times, flush=True)
    print("\n# whole rounds with copies, V = 248,320, bfloat16: us with uploaded words, and with a pool")
    report["rounds"] = []
    for batch in map(int, options.batches.split(",")):
        for positions in map(int, options.positions.split(",")):
            times = [round_with_copies(batch, positions, 248_320, pooled=pooled) for pooled in (False, True)]
            report["rounds"].append({"B": batch, "P": positions, "words_us": times[0], "pool_us": times[1]})
            print(f"{batch:3} {positions:3} {times[0]:9.1f} {times[1]:9.1f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
