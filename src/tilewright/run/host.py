"""From a folder of C to a program on this machine, and running it."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.codegen.kernels import PREFIX_FILE
from tilewright.codegen.network import Writer
from tilewright.errors import CompileError, InternalError
from tilewright.ir.graph import Graph
from tilewright.ir.types import Array
from tilewright.planner.schedule import Schedule
from tilewright.toolchain.compiler import STRICT, build_program, find_compiler

RUN_TIMEOUT = 600
"""Seconds after which a run counts as hung."""

NO_MEMORY = 4
"""The harness's exit code where this machine has not enough of it."""


@dataclass(frozen=True)
class HostRun:
    outputs: dict[str, Array]
    seconds: float
    """The fastest of the repeats."""
    layers: dict[str, Array]
    """Every tensor that a layer made, if asked for."""


class HostProgram:
    """A compiled network that runs on this machine. The files live as long as the object."""

    def __init__(
        self, schedule: Schedule, files: Mapping[str, str], writer: Writer, cc: str | None, probe: bool
    ) -> None:
        self.schedule, self.probe = schedule, probe
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        # Without the network's name in its kernels, networks share their objects in the cache.
        for name, text in {**files, f"kernels/{PREFIX_FILE}": ""}.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="ascii")
        (self.folder / "harness.c").write_text(schedule.target.host_file("harness.c").read_text())
        (self.folder / "harness_call.h").write_text(_call_header(writer))
        self._build(cc)

    def _build(self, cc: str | None) -> None:
        compiler = find_compiler(cc)
        kernels = sorted(self.folder.glob("kernels/*.c"))
        sources = [self.folder / "harness.c", self.folder / "network.c", self.folder / "network_data.c", *kernels]
        relative = [source.relative_to(self.folder) for source in sources]
        flags = [*STRICT, *self.schedule.target.flags, "-march=native"]
        if self.probe:
            flags.append("-DTILEWRIGHT_PROBE=tw_probe")
        build_program(
            [self.folder / source for source in relative], flags, list(self.schedule.target.libraries),
            self.folder / "program", compiler,
        )  # fmt: skip

    def run(self, inputs: Mapping[str, Array], repeats: int = 1) -> HostRun:
        graph = self.schedule.graph
        data = b"".join(np.ascontiguousarray(inputs[name]).tobytes() for name in graph.inputs)
        (self.folder / "inputs.bin").write_bytes(data)
        command = [str(self.folder / "program"), "inputs.bin", "outputs.bin", str(repeats)]
        if self.probe:
            command.append("probe.bin")
        nanoseconds = _execute(command, self.folder)
        outputs = _split((self.folder / "outputs.bin").read_bytes(), graph, list(dict.fromkeys(graph.outputs)))
        return HostRun(outputs, nanoseconds * 1e-9, self._layers() if self.probe else {})

    def _layers(self) -> dict[str, Array]:
        """Tensors by name from the probe's records."""
        data, at = (self.folder / "probe.bin").read_bytes(), 0
        layers: dict[str, Array] = {}
        while at < len(data):
            layer, result = np.frombuffer(data, np.int32, 2, at)
            name = self.schedule.calls[int(layer)].node.outputs[int(result)]
            kind = self.schedule.graph.types[name]
            layers[name] = np.frombuffer(data, kind.dtype, kind.elements, at + 8).reshape(kind.shape)
            at += 8 + kind.bytes
        return layers


def _execute(command: list[str], folder: Path) -> float:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise CompileError("run", f"did not end within {RUN_TIMEOUT} s", "try a smaller input") from None
    if done.returncode == -signal.SIGKILL or done.returncode == NO_MEMORY:
        raise CompileError("run", "this machine has not enough memory for the program", "try smaller dimensions: --dim")
    if done.returncode < 0:
        raise InternalError("run", f"the program was killed by signal {-done.returncode}")
    if done.returncode != 0:
        raise InternalError("run", done.stderr.strip() or f"exit code {done.returncode}")
    return float(done.stdout)


def _split(data: bytes, graph: Graph, names: list[str]) -> dict[str, Array]:
    arrays, at = {}, 0
    for name in names:
        kind = graph.types[name]
        arrays[name] = np.frombuffer(data, kind.dtype, kind.elements, at).reshape(kind.shape)
        at += kind.bytes
    return arrays


def _call_header(writer: Writer) -> str:
    """What the harness needs to know of one network."""
    graph = writer.schedule.graph
    outputs = list(dict.fromkeys(graph.outputs))
    arguments = [f"inputs[{i}]" for i in range(len(graph.inputs))]
    arguments += [f"outputs[{i}]" for i in range(len(outputs))] + ["arena"]
    return f"""\
#include "network.h"
#define HARNESS_INPUTS {len(graph.inputs)}
#define HARNESS_OUTPUTS {len(outputs)}
#define HARNESS_ARENA_BYTES {writer.macro}_ARENA_BYTES
static const unsigned long input_bytes[] = {{{", ".join(f"{graph.types[n].bytes}ul" for n in graph.inputs) or "0"}}};
static const unsigned long output_bytes[] = {{{", ".join(f"{graph.types[n].bytes}ul" for n in outputs)}}};
static int harness_call(void **inputs, void **outputs, void *arena) {{
  (void)inputs;
  return {writer.name}_run({", ".join(arguments)});
}}
"""
