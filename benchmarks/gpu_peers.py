"""Networks on a GPU beside PyTorch's, one image or sentence at a time.

    python benchmarks/gpu_peers.py --build FOLDER [NETWORK-PRECISION ...]     compiles ours; needs torch, no GPU
    python benchmarks/gpu_peers.py --measure FOLDER [--peers none|eager|all]  where there is a GPU: numpy; torch beside

A case is a network of gpu_networks.py and fp32, fp16, bf16 or int8: `resnet18-fp16`. A decoder is one token behind 128
others, with a cache for 512: 1e6 / us are its tokens in a second. The folder holds a compressed library for x86-64
Linux of each, inputs, and what the network means: outputs of PyTorch in fp32, of the reference for decoders, or of
integers, which are exact, of target cpu. Llama-3.2-1B is a whole language model (gpu_language.py), whose distance is
the part of its tokens that PyTorch would not choose. Measured are the launch of a call's graph without copies (the mean
of 100), a whole call with arrays of the computer, the first call of a process whose driver knows none of the kernels
(with what the driver needs to start), memory of the GPU beyond weights and arena, and the distance from what it means,
as a part of the largest output. PyTorch: eager, recorded as a CUDA graph, and compiled by Inductor and recorded; true
fp32, no TF32."""

from __future__ import annotations

import argparse
import ctypes
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import gpu_language

CASES = (
    "resnet18-fp16", "resnet50-fp16", "mobilenet_v2-fp16", "efficientnet_b0-fp16", "vit_b_16-fp16", "bert_base-fp16",
    "resnet18-fp32", "mobilenet_v2-fp32", "resnet50-int8", "mobilenet_v2-int8", "smollm2_135m-bf16",
    "qwen2_5_0_5b-bf16", "llama_3_2_1b-bf16",
)  # fmt: skip
FLOATS = ("fp32", "fp16", "bf16")
TRIPLE = "x86_64-linux-gnu.2.28"
CALLS, LAUNCHES = 30, 100
WHOLE = ("llama_3_2_1b",)
"""Decoders that are built as `generate` has them: with a file of weights, which a library cannot hold."""
POSITION, TOKENS = 128, 33
"""Of the token that is decoded; a number of tokens that no other axis of a decoder has."""
INDEX = "cases.json"
NO_CACHE = "CUDA_CACHE_DISABLE"


# ---- here: ours, compiled -----------------------------------------------------------------------------------------


def build(folder: Path, cases: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    known = json.loads((folder / INDEX).read_text()) if (folder / INDEX).is_file() else {}
    for case in cases:
        start = time.perf_counter()
        known[case] = _built(folder, case)
        (folder / INDEX).write_text(json.dumps(known, indent=1))
        size = sum(path.stat().st_size for path in folder.glob(f"{case}.*"))
        print(f"{case:24} {time.perf_counter() - start:6.1f} s, {size / 1e6:5.1f} MB, {known[case]}", flush=True)


@dataclass(frozen=True)
class Made:
    """A network that is compiled, and what it gives for inputs, call after call."""

    program: Any
    steps: Sequence[tuple[Sequence[np.ndarray], np.ndarray]]
    start: float
    """When compiling began."""


def _built(folder: Path, case: str) -> dict[str, Any]:
    from gpu_networks import DECODERS

    name, precision = case.rsplit("-", 1)
    prefix = case.replace("-", "_")
    if name in WHOLE:
        return gpu_language.build(folder, case, DECODERS[name], _library)
    made = (_decoder if name in DECODERS else _network)(name, precision, prefix)
    steps = {f"x{step}_{number}": x for step, (given, _) in enumerate(made.steps) for number, x in enumerate(given)}
    np.savez_compressed(folder / f"{case}.npz", **steps, **{f"y{step}": y for step, (_, y) in enumerate(made.steps)})
    with tempfile.TemporaryDirectory() as place:
        made.program.save(Path(place) / "c", weights="binary")
        seconds = time.perf_counter() - made.start
        library = _library(Path(place))
        (folder / f"{case}.so.xz").write_bytes(lzma.compress(library.read_bytes(), preset=1))
    schedule = made.program.compiled.schedule
    return {
        "prefix": prefix, "arena": schedule.arena_bytes, "weights": schedule.constant_bytes,
        "layers": len(schedule.layers), "steps": len(made.steps), "inputs": len(schedule.graph.inputs),
        "states": len(schedule.graph.states), "outputs": _outputs(schedule.graph),
        "cpu": [layer.node.op.kind for layer in schedule.layers if layer.engine == "cpu"],
        "compile_s": round(seconds, 1),
    }  # fmt: skip


def _outputs(graph: Any) -> list[int]:
    """Bytes of each; the first one is what is compared."""
    return [graph.types[name].bytes for name in dict.fromkeys(graph.outputs)]


def _network(name: str, precision: str, prefix: str) -> Made:
    import torch

    import tilewright as tw
    from gpu_networks import NETWORKS
    from tilewright import pipeline

    network = NETWORKS[name]
    module, x = network.module(), network.input()
    given = (torch.from_numpy(x),)
    model = _exported(name, module, given)
    if precision in FLOATS:
        with torch.no_grad():
            expected = module(*given).numpy()
        start = time.perf_counter()
        return Made(tw.compile(model, target="gpu", name=prefix, precision=precision), [([x], expected)], start)
    samples = np.random.default_rng(2).standard_normal((4, *network.shape)).astype(np.float32)
    exact = tw.compile(model, target="cpu", name=prefix, quantise=samples)
    expected = exact.load()(x)
    start = time.perf_counter()
    compiled = pipeline.Compiled(*pipeline.stages(exact.graph, "gpu", prefix))
    return Made(tw.Program(compiled, prefix, None, 0.0), [([x], expected)], start)


def _decoder(name: str, precision: str, prefix: str) -> Made:
    import tilewright as tw
    from gpu_networks import DECODERS, values
    from tilewright import pipeline
    from tilewright.frontends.checkpoint.config import Checkpoint, Config, shapes
    from tilewright.ir.evaluate import evaluate, initial_states, states_after
    from tilewright.language.decoder import CheckpointDecoder
    from tilewright.language.preparing import in_modes, with_one_attention
    from tilewright.target.settings import Settings

    shape = DECODERS[name]
    config = Config(
        "llama", shape.width, shape.hidden, shape.layers, shape.heads, shape.kv_heads, shape.head, shape.words,
        shape.context, 1e-5, tied=True,
    )  # fmt: skip
    checkpoint = Checkpoint(config, {one: values(one, size) for one, size in shapes(config)})
    decoder = CheckpointDecoder(checkpoint)
    fused = with_one_attention(lambda count: decoder.graph(count, shape.context), TOKENS)
    graph = in_modes(fused, shape.context, 16).decode
    kept, steps = initial_states(graph), []
    for position, token in enumerate((1, 5, 7)):
        feeds = {"ids": np.array([[token]], np.int32), "position": np.array([position], np.int32)}
        found = evaluate(graph, feeds, kept)
        kept = states_after(graph, found)
        steps.append(([feeds[one] for one in graph.inputs], found[graph.outputs[0]]))
    settings, start = Settings(precision=precision), time.perf_counter()
    compiled = pipeline.Compiled(*pipeline.stages(graph, "gpu", prefix, settings))
    return Made(tw.Program(compiled, prefix, None, 0.0, settings=settings), steps, start)


def _exported(name: str, module: Any, given: tuple[Any, ...]) -> Path:
    """As ONNX, which is kept: PyTorch's exporter takes longer than anything else here."""
    import torch

    path = Path(tempfile.gettempdir()) / "tilewright-gpu-peers" / f"{name}.onnx"
    path.parent.mkdir(exist_ok=True)
    if not path.is_file():
        torch.onnx.export(module, given, dynamo=True, verbose=False).save(str(path))
    return path


def _library(place: Path) -> Path:
    """Of the C that is written there."""
    from tilewright.toolchain.compiler import find_cross_compiler

    sources = [str(path) for path in (place / "c").rglob("*.[cS]") if path.name not in ("main.c", "talk.c")]
    zig = find_cross_compiler().command[0]
    flags = ["-target", TRIPLE, "-mcpu=x86_64_v3", "-std=c99", "-O3", "-shared", "-fPIC", "-s", "-I", str(place / "c")]
    libraries = ["-lm", "-ldl", "-lpthread"]
    subprocess.run([zig, "cc", *flags, *sources, *libraries, "-o", str(place / "n.so")], check=True, cwd=place / "c")
    return place / "n.so"


# ---- there: ours, measured ----------------------------------------------------------------------------------------


class Ours:
    """A compiled network, and what the GPU's driver says of memory."""

    def __init__(self, folder: Path, case: str, about: dict[str, Any], place: Path) -> None:
        path = place / f"{case}.so"
        path.write_bytes(lzma.decompress((folder / f"{case}.so.xz").read_bytes()))
        self.library, self.prefix, self.about = ctypes.CDLL(str(path)), about["prefix"], about
        path.unlink()
        data = np.load(folder / f"{case}.npz")
        self.steps = [
            ([data[f"x{step}_{number}"] for number in range(about["inputs"])], data[f"y{step}"])
            for step in range(about["steps"])
        ]
        self.outputs = [np.zeros(size, np.uint8) for size in about["outputs"]]
        memory = np.zeros(about["arena"] + 64, np.uint8)
        self.arena, self.keeps = memory.ctypes.data + -memory.ctypes.data % 64, memory

    def _function(self, name: str, result: Any) -> Any:
        found = getattr(self.library, f"{self.prefix}_{name}")
        found.restype = result
        return found

    def _check(self, code: int) -> None:
        if code:
            raise RuntimeError(self._function("gpu_error", ctypes.c_char_p)().decode())

    def call(self, given: Sequence[np.ndarray]) -> None:
        pointers = [one.ctypes.data for one in (*given, *self.outputs)]
        self._check(self._function("run", ctypes.c_int)(*map(ctypes.c_void_p, (*pointers, self.arena))))

    def _distance(self, expected: np.ndarray) -> float:
        found = self.outputs[0].view(expected.dtype).reshape(expected.shape).astype(np.float64)
        return float(np.abs(found - expected).max() / max(float(np.abs(expected.astype(np.float64)).max()), 1e-30))

    def _reset(self) -> None:
        if self.about["states"]:
            self._check(self._function("reset", ctypes.c_int)(ctypes.c_void_p(self.arena)))

    def first(self) -> float:
        """Seconds of the first call."""
        start = time.perf_counter()
        self._reset()
        self.call(self.steps[0][0])
        return time.perf_counter() - start

    def measured(self) -> dict[str, float]:
        before, off = free_bytes(), 0.0
        self._reset()
        for given, expected in self.steps:
            self.call(given)
            off = max(off, self._distance(expected))
        used = before - free_bytes()
        given = [one.copy() for one in self.steps[-1][0]]
        if self.about["states"]:
            given[1][...] = POSITION
        for _ in range(3):
            self.call(given)
        launched = self._function("gpu_microseconds", ctypes.c_double)(LAUNCHES)
        whole = min(timed(lambda: self.call(given)) for _ in range(CALLS))
        if not self.about["states"]:
            off = max(off, self._distance(self.steps[-1][1]))
        extra = used - self.about["arena"] - self.about["weights"]
        self._function("gpu_free", None)(None)
        return {"us": launched, "call_us": whole * 1e6, "extra_mb": extra / 1e6, "distance": off}


def timed(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def free_bytes() -> int:
    """Of the GPU's memory, once its driver has made a context."""
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for done in (
        driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), driver.cuCtxSetCurrent(context),
    ):  # fmt: skip
        if done:
            raise RuntimeError(f"the driver finds no GPU (error {done})")
    left, whole = ctypes.c_size_t(), ctypes.c_size_t()
    driver.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(whole))
    return left.value


# ---- there: PyTorch's ---------------------------------------------------------------------------------------------


def peers(case: str, wanted: str) -> dict[str, float]:
    """Microseconds of the replay of a recorded CUDA graph."""
    name, precision = case.rsplit("-", 1)
    if wanted == "none" or precision not in FLOATS:
        return {}
    try:
        import torch

        from gpu_networks import DECODERS, NETWORKS, Decoder, with_weights
    except ImportError:
        return {}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    kind = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[precision]
    if name in DECODERS:
        module = with_weights(Decoder(DECODERS[name])).to("cuda", kind)
        given = (torch.tensor([[7]], device="cuda"), torch.tensor([POSITION], device="cuda"))
    else:
        network = NETWORKS[name]
        layout = {"memory_format": torch.channels_last} if network.is_image else {}
        module = network.module().to("cuda", kind, **layout)
        given = (torch.from_numpy(network.input()).to("cuda", kind, **layout),)
    found = {"eager": replayed(torch, module, given)}
    if wanted == "all":
        start = time.perf_counter()
        compiled = torch.compile(module, dynamic=False)
        found["inductor"] = replayed(torch, compiled, given)
        found["inductor_s"] = time.perf_counter() - start
    return found


def replayed(torch: Any, module: Any, given: tuple[Any, ...]) -> float:
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            module(*given)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            module(*given)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    first.record()
    for _ in range(LAUNCHES):
        graph.replay()
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) * 1e3 / LAUNCHES


# ---- the table ----------------------------------------------------------------------------------------------------

COLUMNS = {
    "us": "us", "call_us": "call, us", "first_ms": "first, ms", "extra_mb": "extra MB", "distance": "distance",
    "eager": "eager, us", "inductor": "Inductor, us",
}  # fmt: skip


def measure(folder: Path, cases: Sequence[str], wanted: str, until: float) -> None:
    known = json.loads((folder / INDEX).read_text())
    print(
        f"{'case':24}" + "".join(f"{title:>14}" for title in COLUMNS.values()) + "  layers, on the processor",
        flush=True,
    )
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for case in cases or list(known):
            about = known[case]
            try:
                results[case] = _ours(folder, case, about, Path(place))
            except (RuntimeError, OSError) as error:
                print(f"{case:24} failed: {error}", flush=True)
                continue
            if time.perf_counter() < until:
                results[case] |= peers(case, wanted)
            cells = "".join(f"{_cell(key, results[case].get(key)):>14}" for key in COLUMNS)
            print(f"{case:24}{cells}  {about['layers']}, {' '.join(about['cpu']) or 'none'}", flush=True)
    (folder / "measured.json").write_text(json.dumps(results, indent=1))


def _ours(folder: Path, case: str, about: dict[str, Any], place: Path) -> dict[str, float]:
    first = {"first_ms": _first_of_process(folder, case)}
    if not about.get("is_language"):
        return first | Ours(folder, case, about, place).measured()
    from gpu_networks import DECODERS

    opened = gpu_language.Language(folder, case, about, place)
    return first | opened.measured(DECODERS[case.rsplit("-", 1)[0]], free_bytes)


def _first_of_process(folder: Path, case: str) -> float:
    """Milliseconds of the first call of a process of its own; the driver keeps nothing that it compiles."""
    command = [sys.executable, __file__, "--first", str(folder), case]
    done = subprocess.run(command, env=os.environ | {NO_CACHE: "1"}, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"a first call of {case} ends with {done.returncode}"]
        raise RuntimeError(said[-1])
    return float(done.stdout)


def first_call(folder: Path, case: str) -> float:
    about = json.loads((folder / INDEX).read_text())[case]
    with tempfile.TemporaryDirectory() as place:
        kind = gpu_language.Language if about.get("is_language") else Ours
        return float(kind(folder, case, about, Path(place)).first() * 1e3)


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1e}" if key == "distance" else f"{value:,.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--peers", choices=("none", "eager", "all"), default="all")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no peer is measured any more")
    parser.add_argument("--first", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.first:
        print(first_call(given.first, *given.cases))
        return
    if given.build:
        build(given.build, given.cases or CASES)
    if given.measure:
        measure(given.measure, given.cases, given.peers, time.perf_counter() + given.seconds)
    if not given.build and not given.measure:
        parser.error("--build or --measure is needed")


if __name__ == "__main__":
    main()
