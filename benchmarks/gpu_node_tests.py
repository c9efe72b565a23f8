"""onnx's node tests on a GPU, dozens of them in one process: a driver takes longer to start than such a test to run.

    python benchmarks/gpu_node_tests.py FOLDER --gpu cuda|opencl|host [--capability C] [--jobs N] [--seconds S]

FOLDER keeps the outcomes, a line each, and a later run goes on where this one has ended. Each of `--jobs` processes
takes a part of the tests. Where a process ends by a signal or the GPU fails, the test that ran is wrong, and another
process takes those that follow. After `--seconds` no further ones are begun. With `--gpu opencl`,
TILEWRIGHT_OPENCL_DEVICE names a device that is no GPU."""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from onnx.backend.test.case.test_case import TestCase
from tests.e2e.onnx_nodes import Made, Outcome, array_of, node_tests, problem_of
from tests.support.quickly import quickly

from tilewright import pipeline
from tilewright.codegen.gpu_files import gpu_kernels
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.run.host import HostNetwork, HostPrograms
from tilewright.target.runner import CAPABILITIES, GPU_DEFINITIONS
from tilewright.target.settings import Settings
from tilewright.target.target import Target
from tilewright.toolchain.compiler import find_compiler, link_without_runtime

TOGETHER = 12
"""Tests in a library."""
ALIGNMENT = 64
MOST_LIBRARIES = 5
"""Of a process: each opens the GPU for itself, which takes memory there."""
UNFINISHED = 9
"""The exit code of a process after which another one takes what follows: it has had its libraries, or its GPU has
failed, and would fail for all that follow."""


class Network(ctypes.Structure):
    """tw_harness_network of harness.h, as far as it is needed."""

    _fields_ = (
        ("inputs", ctypes.c_int), ("outputs", ctypes.c_int),
        ("input_bytes", ctypes.POINTER(ctypes.c_ulong)), ("output_bytes", ctypes.POINTER(ctypes.c_ulong)),
        ("arena_bytes", ctypes.c_ulong),
        ("call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        ("reset", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("start_threads", ctypes.c_void_p), ("stop_threads", ctypes.c_void_p),
        ("gpu_error", ctypes.CFUNCTYPE(ctypes.c_char_p)), ("gpu_microseconds", ctypes.c_void_p),
        ("gpu_free", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )  # fmt: skip


class GpuFailed(Exception):
    pass


class Library(HostPrograms):
    """Networks in a library of this process."""

    def _build(self, target: Target, cc: str | None) -> None:
        compiler, made = find_compiler(cc), self.folder / "networks.so"
        objects = self._objects(target, compiler, ["harness.c", "layer_times.c", "table.c"])
        link_without_runtime(objects, target.libraries, made, compiler, [*target.flags, "-shared"])
        self.library = ctypes.CDLL(str(made))

    def call(self, number: int, inputs: Mapping[str, Array]) -> dict[str, Array]:
        graph, network = self.networks[number].schedule.graph, Network.in_dll(self.library, f"tw_network_{number}")
        given = [placed(inputs[name]) for name in graph.inputs]
        names = list(dict.fromkeys(graph.outputs))
        made = {name: empty(graph.types[name].shape, graph.types[name].element) for name in names}
        arena = empty((int(network.arena_bytes),), np.dtype(np.uint8))
        if network.reset:
            network.reset(arena.ctypes.data)
        failed = network.call(pointers(given), pointers(list(made.values())), arena.ctypes.data)
        if failed:
            raise GpuFailed(f"{failed}: {network.gpu_error().decode() if network.gpu_error else ''}")
        if network.gpu_free:
            network.gpu_free(arena.ctypes.data)
            network.gpu_free(None)
        return made


def empty(shape: Sequence[int], element: np.dtype) -> Array:
    """An array at an aligned place, which is not zero before."""
    size = int(np.prod(shape)) * element.itemsize
    room = np.full(size + 2 * ALIGNMENT, 0x5C, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size].view(element).reshape(shape)


def placed(array: Array) -> Array:
    made = empty(array.shape, array.dtype)
    made[...] = array
    return made


def pointers(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * (len(arrays) + 1))(*(array.ctypes.data for array in arrays))


# ---- one process --------------------------------------------------------------------------------------------------


class Part:
    """The outcomes of a process, which it adds to a file; another file names the test that is run."""

    def __init__(self, file: Path, settings: Settings) -> None:
        self.file, self.running, self.settings = file, file.with_suffix(".running"), settings

    def run(self, cases: Sequence[TestCase], until: float) -> None:
        self._ended()
        done = {outcome.name for file in self.file.parent.glob("*.jsonl") for outcome in outcomes(file)}
        left = [case for case in cases if case.name not in done]
        groups = [left[first : first + TOGETHER] for first in range(0, len(left), TOGETHER)]
        for group in groups[:MOST_LIBRARIES]:
            if time.monotonic() < until:
                self._group(group)
        if len(groups) > MOST_LIBRARIES:
            sys.exit(UNFINISHED)

    def _ended(self) -> None:
        """What an earlier process has not come back from."""
        if self.running.exists():
            self._say(Outcome(self.running.read_text(), "wrong", "the process has ended"))

    def _say(self, outcome: Outcome) -> None:
        with self.file.open("a") as file:
            print(json.dumps(asdict(outcome)), file=file)
        self.running.unlink(missing_ok=True)

    def _group(self, cases: Sequence[TestCase]) -> None:
        made = list[Made]()
        for case in cases:
            try:
                made.append(self._made(case, f"node_{len(made)}"))
            except CompileError as error:
                self._say(Outcome(case.name, "refused", str(error)))
            except Exception as error:
                self._say(Outcome(case.name, "wrong", f"{type(error).__name__}: {error}"))
        self._built(made)

    def _made(self, case: TestCase, prefix: str) -> Made:
        graph = pipeline.import_model(case.model)
        compiled = pipeline.Compiled(*pipeline.stages(graph, "gpu", prefix, self.settings))
        schedule = quickly(compiled.schedule)
        return Made(case, compiled, HostNetwork(schedule, compiled.files, Writer(schedule, prefix)))

    def _built(self, made: Sequence[Made]) -> None:
        if not made:
            return
        try:
            library = Library([each.network for each in made])
        except Exception as error:
            if len(made) == 1:
                self._say(Outcome(made[0].case.name, "wrong", f"{type(error).__name__}: {error}"))
            for each in made if len(made) > 1 else ():
                self._built([each])
            return
        for number, each in enumerate(made):
            self._compare(library, number, each)

    def _compare(self, library: Library, number: int, made: Made) -> None:
        name, graph = made.case.name, made.compiled.graph
        kernels = gpu_kernels(made.network.schedule, made.network.writer.kernels)
        what = f"{len(kernels)} kernels of the GPU"
        self.running.write_text(name)
        for inputs, wanted in made.case.data_sets:
            try:
                ran = library.call(number, dict(zip(graph.inputs, map(array_of, inputs), strict=True)))
            except GpuFailed as error:
                self._say(Outcome(name, "wrong", str(error)))
                sys.exit(UNFINISHED)
            found = [ran[output] for output in made.compiled.schedule.graph.outputs]
            if problem := problem_of(found, [array_of(value) for value in wanted], made.case.rtol):
                return self._say(Outcome(name, "wrong", problem))
        return self._say(Outcome(name, "passed", what))


# ---- all of them --------------------------------------------------------------------------------------------------


def outcomes(file: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def run_part(options: argparse.Namespace, number: int) -> None:
    """A process, and another for what is left where it does not come back."""
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        kind = ["--gpu", options.gpu, "--capability", options.capability]
        words = [str(options.folder), *kind, "--jobs", str(options.jobs), "--part", str(number)]
        command = [sys.executable, __file__, *words, "--seconds", str(until - time.monotonic())]
        if subprocess.run(command, check=False).returncode == 0:
            return


def told(options: argparse.Namespace) -> Iterator[str]:
    found = [one for file in sorted(options.folder.glob("*.jsonl")) for one in outcomes(file)]
    counts = Counter(outcome.status for outcome in found)
    alone = sum(outcome.status == "passed" and outcome.detail.startswith("0 ") for outcome in found)
    said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    yield f"{options.gpu}: {len(found)} node tests, {said}; {alone} of the passed have no kernel of the GPU"
    yield from (f"wrong: {one.name}: {one.detail}" for one in found if one.status == "wrong")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", choices=GPU_DEFINITIONS, required=True)
    parser.add_argument("--capability", choices=("", *CAPABILITIES), default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--part", type=int, default=-1)
    parser.add_argument("--seconds", type=float, default=3600.0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.part >= 0:
        part = Part(options.folder / f"{options.part}.jsonl", Settings(gpu=options.gpu, capability=options.capability))
        part.run(node_tests()[options.part :: options.jobs], time.monotonic() + options.seconds)
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda number: run_part(options, number), range(options.jobs)))
    print("\n".join(told(options)))


if __name__ == "__main__":
    main()
