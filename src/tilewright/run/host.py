"""From folders of C to a program on this machine, and running it."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tilewright.codegen import binary_data, gpu_files
from tilewright.codegen.external_kernels import blaming, responsible, with_flags
from tilewright.codegen.kernels import PREFIX_FILE, prototypes
from tilewright.codegen.literals import byte_count
from tilewright.codegen.network import Writer
from tilewright.emulator.user_mode import CHOSEN, emulator_of
from tilewright.errors import CompileError, InternalError
from tilewright.ir.at_sizes import sizes_of, symbols_of
from tilewright.ir.graph import Graph
from tilewright.ir.length import Sizes, resolved
from tilewright.ir.types import Array, TensorType
from tilewright.ops._control_flow import too_many_turns
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.processors import (
    NATIVE,
    PROCESSORS,
    RISCV,
    check_runs_here,
    check_threads_here,
    is_here,
    processor_flags,
)
from tilewright.target.runner import GpuProcess, host_process
from tilewright.target.target import Target
from tilewright.toolchain.compiler import (
    STRICT,
    Compiler,
    compile_objects,
    find_compiler,
    find_cross_compiler,
    link_without_runtime,
)

RUN_TIMEOUT = 600
"""Seconds after which a run counts as hung."""

KERNELS, NETWORKS = "kernels/", "networks_"

CONSTANTS, ALIGNMENT = "constants.h", 64
"""A network's constants, which are never C: the compiler would take longer for them than for all else. They are
aligned to a line of a cache."""

LOADABLE = ("-fPIC", "-fvisibility=hidden", "-ffunction-sections")
"""Objects of a program do for a shared library, whose functions find each other as those of a program do."""

TOGETHER = 40
"""Networks that the compiler is given at once: starting it takes longer than a small network."""

TENSORS, TIMES = "tw_probe", "tw_time_layer"
"""Probes of the harness: what layers make, and what they take."""
HARNESS = ("harness.c", "harness.h", "layer_times.c", "layer_times.h")

NO_MEMORY = 4
"""The harness's exit code where this machine has not enough of it."""
TOO_MANY_TURNS = 5
"""The same where a loop needs more iterations than --max-trips."""
GPU_FAILED = 6
"""The same where a GPU or its driver fails, which it says why."""
SHORT_VECTORS = 7
"""The same where registers of vectors are shorter than those that the code is for."""


@dataclass(frozen=True)
class HostRun:
    outputs: dict[str, Array]
    seconds: float
    """The middle one of all calls."""
    fastest: float
    """The fastest one."""
    resident_bytes: int
    """What the program has had of memory at most; 0 where the system does not tell."""
    layers: dict[str, Array]
    """Every tensor that a layer made in the last call, if asked for."""
    nanoseconds: tuple[float, ...] = ()
    """Of each layer in the fastest call, if asked for."""


@dataclass(frozen=True)
class HostNetwork:
    """A network as C; the prefix of its symbols is its own among those of a program."""

    schedule: Schedule
    files: Mapping[str, str]
    writer: Writer


def processor_of(target: Target) -> str:
    """Of the computer that a target's code is built for here: this one, where any will do."""
    return host_process(target.runner).cpu or NATIVE


def check_machine(target: Target) -> None:
    """An error where this machine has not what the target's code asks of it."""
    check_runs_here(processor_of(target))
    check_threads_here(target.agents.threads)


@dataclass(frozen=True)
class Emulated:
    """A processor of another kind, whose programs QEMU runs on this machine."""

    command: tuple[str, ...]
    """Before that of a program."""
    triple: str

    def flags(self, compiler: Compiler) -> tuple[str, ...]:
        """For a machine that is not this one; other compilers than zig are for one kind."""
        return ("-target", self.triple) if compiler.is_zig else ()


def emulated(target: Target) -> Emulated | None:
    """None where this machine runs the target's programs, or ought to."""
    name = processor_of(target)
    if is_here(name) or PROCESSORS[name].machine != RISCV:
        return None
    return Emulated(emulator_of(RISCV, PROCESSORS[name].vector_bits), f"{RISCV}-linux-musl")


class HostPrograms:
    """Networks for one target in one program for this machine. The files live as long as the object."""

    def __init__(self, networks: Sequence[HostNetwork], cc: str | None = None, probe: str = "") -> None:
        self.networks, self.probe = networks, probe
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        for name, text in _texts(networks).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for number, network in enumerate(networks):
            (self.folder / _data_file(number)).write_bytes(binary_data.data(network.writer))
        self._build(networks[0].schedule.target, cc)

    def _build(self, target: Target, cc: str | None) -> None:
        other = emulated(target)
        if other is None:
            check_machine(target)
        compiler = find_compiler(cc) if other is None else find_cross_compiler(cc)
        machine = () if other is None else other.flags(compiler)
        around = [name for name in (*HARNESS, "table.c") if name.endswith(".c")]
        objects = self._objects(target, compiler, around, machine)
        flags = [*target.flags, *machine, *([] if other is None else ["-static"])]
        with blaming(target):
            link_without_runtime(objects, target.libraries, self.folder / "program", compiler, flags)

    def _objects(
        self, target: Target, compiler: Compiler, around: Sequence[str], more: Sequence[str] = ()
    ) -> list[Path]:
        """Of the networks, their kernels and what is around them; `more` are further options of the compiler."""
        chosen = processor_flags(processor_of(target), compiler.is_zig)
        here = host_process(target.runner).definitions
        flags = [*STRICT, *target.flags, *chosen, *here, "-g0", "-I.", *LOADABLE, *more]
        if self.probe == TIMES and isinstance(target.runner, GpuProcess):
            flags.append("-DTW_LAYER_TIMES")
        probed = [*flags, f"-DTILEWRIGHT_PROBE={self.probe}"] if self.probe else flags
        kernels = [path.relative_to(self.folder).as_posix() for path in self.folder.glob(f"{KERNELS}**/*.c")]
        used = list(dict.fromkeys(instance for network in self.networks for instance in network.writer.kernels))
        sources = dict.fromkeys(sorted(path.name for path in self.folder.glob(f"{NETWORKS}*.c")), probed)
        sources |= dict.fromkeys(around, flags)
        sources |= with_flags(dict.fromkeys(sorted(kernels), flags), target, used)
        named = {self.folder / name: options for name, options in sources.items()}
        with blaming(target):
            return compile_objects(named, self.folder, compiler)

    def run(self, inputs: Mapping[str, Array], repeats: int = 1, number: int = 0) -> HostRun:
        """Run the network of a number."""
        return self.run_steps([inputs], repeats, number)[0]

    def run_steps(self, steps: Sequence[Mapping[str, Array]], repeats: int = 1, number: int = 0) -> list[HostRun]:
        """Calls in order, each with its own inputs; what the network keeps lives from one to the next."""
        graph = self.networks[number].schedule.graph
        at = [_sizes_of(graph, inputs) for inputs in steps]
        data = b"".join(_given(graph, inputs, sizes) for inputs, sizes in zip(steps, at, strict=True))
        (self.folder / "inputs.bin").write_bytes(data)
        files = ["inputs.bin", "outputs.bin", str(repeats), str(len(steps))]
        other = emulated(self.networks[0].schedule.target)
        command = [*(() if other is None else other.command), str(self.folder / "program"), str(number), *files]
        if self.probe:
            command.append("probe.bin")
        with responsible(self.networks[0].schedule.target):
            fastest, middle, resident = map(float, _execute(command, self.folder, other).split())
        names, written = list(dict.fromkeys(graph.outputs)), (self.folder / "outputs.bin").read_bytes()
        made, start = list[dict[str, Array]](), 0
        for sizes in at:
            kinds = {name: resolved(graph.types[name], sizes) for name in names}
            made.append(_split(written[start:], kinds))
            start += sum(kind.bytes for kind in kinds.values())
        layers = self._layers(number, at[-1]) if self.probe == TENSORS else {}
        times = tuple(np.fromfile(self.folder / "probe.bin").tolist()) if self.probe == TIMES else ()
        return [HostRun(outputs, middle * 1e-9, fastest * 1e-9, int(resident), layers, times) for outputs in made]

    def _layers(self, number: int, sizes: Sizes) -> dict[str, Array]:
        """Tensors by name from the probe's records."""
        data, at = (self.folder / "probe.bin").read_bytes(), 0
        schedule, layers = self.networks[number].schedule, dict[str, Array]()
        while at < len(data):
            layer, result = np.frombuffer(data, np.int32, 2, at)
            name = schedule.layers[int(layer)].node.outputs[int(result)]
            kind = resolved(schedule.graph.types[name], sizes)
            layers[name] = np.frombuffer(data, kind.element, kind.elements, at + 8).reshape(kind.shape)
            at += 8 + kind.bytes
        return layers


class HostProgram(HostPrograms):
    """A compiled network that runs on this machine."""

    def __init__(
        self, schedule: Schedule, files: Mapping[str, str], writer: Writer, cc: str | None, probe: str = ""
    ) -> None:
        super().__init__([HostNetwork(schedule, files, writer)], cc, probe)
        self.schedule = schedule


def _texts(networks: Sequence[HostNetwork]) -> dict[str, str]:
    """All files of a program."""
    target = networks[0].schedule.target
    texts = {name: target.host_file(name).read_text() for name in HARNESS}
    unread = gpu_files.unread(host_process(target.runner).definitions)
    texts |= {
        name: network.files[name]
        for network in networks
        for name in network.files
        if name.startswith(KERNELS) and not name.endswith(unread)
    }
    # Without a network's name in its kernels, networks share them and their objects in the cache.
    used = dict.fromkeys(instance for network in networks for instance in network.writer.kernels)
    texts |= {f"{KERNELS}{PREFIX_FILE}": "", f"{KERNELS}kernels.h": prototypes(used)}
    for number, network in enumerate(networks):
        own = {name: network.files[name] for name in ("network.c", "network.h", "network_data.h")}
        texts |= {f"{number}/{name}": text for name, text in own.items()}
        texts[f"{number}/{CONSTANTS}"] = binary_data.inline(network.writer, _data_file(number), ALIGNMENT)
        texts[f"{number}/call.h"] = _call(number, network.writer)
    for first in range(0, len(networks), TOGETHER):
        numbers = range(first, min(first + TOGETHER, len(networks)))
        texts[f"{NETWORKS}{first}.c"] = "".join(map(_included, numbers))
    return texts | {"table.c": _table(len(networks))}


def _data_file(number: int) -> str:
    return f"{number}/{binary_data.BYTES}"


def _included(number: int) -> str:
    return "".join(f'#include "{number}/{name}"\n' for name in (CONSTANTS, "network.c", "call.h"))


def _table(count: int) -> str:
    """table.c: all networks of the program."""
    declared = "".join(f"extern const tw_harness_network tw_network_{number};\n" for number in range(count))
    listed = ", ".join(f"&tw_network_{number}" for number in range(count))
    return f"""\
#include "harness.h"

{declared}
const tw_harness_network *const tw_networks[] = {{{listed}}};
const int tw_network_count = {count};
"""


def _call(number: int, writer: Writer) -> str:
    """call.h: what the harness needs to know of one network."""
    graph = writer.schedule.graph
    outputs, target = list(dict.fromkeys(graph.outputs)), writer.schedule.target
    started = f"{writer.name}_start_threads({int(target.agents.pins_threads)})"
    start = f"static int tw_start_threads_{number}(void) {{ return {started}; }}\n" if target.agents.threads > 1 else ""
    arguments = [f"inputs[{i}]" for i in range(len(graph.inputs))]
    arguments += [f"outputs[{i}]" for i in range(len(outputs))]
    most = [str(size.high) for size in writer.sizes]
    return f"""\
#include "harness.h"

static const unsigned long tw_input_bytes_{number}[] = {{{_sizes(graph, graph.inputs)}}};
static const unsigned long tw_output_bytes_{number}[] = {{{_sizes(graph, outputs)}}};
static int tw_call_{number}(void **inputs, void **outputs, void *arena) {{
  (void)inputs;
  return {writer.name}_run({", ".join([*arguments, *most, "arena"])});
}}
{_sized_call(number, writer, arguments)}{start}extern TW_SEEN const tw_harness_network tw_network_{number};
const tw_harness_network tw_network_{number} = {{
    {len(graph.inputs)}, {len(outputs)}, tw_input_bytes_{number}, tw_output_bytes_{number}, {writer.macro}_ARENA_BYTES,
    tw_call_{number}, {f"{writer.name}_reset" if graph.states else "0"},
    {f"tw_start_threads_{number}, {writer.name}_stop_threads" if target.agents.threads > 1 else "0, 0"},
    {_gpu_functions(writer)},
    {f"{len(writer.sizes)}, tw_bytes_{number}, tw_sized_call_{number}" if writer.sizes else "0, 0, 0"}}};
"""


def _sized_call(number: int, writer: Writer, arguments: Sequence[str]) -> str:
    """The call with sizes, and the bytes of arrays that it reads and writes."""
    if not writer.sizes:
        return ""
    graph, names = writer.schedule.graph, writer.size_names
    declared = "".join(f"  const int {name} = sizes[{i}];\n" for i, name in enumerate(names.values()))
    unused = "".join(f"  (void){name};\n" for name in names.values())
    lines = [
        f"  {kind}_bytes[{i}] = {byte_count(graph.types[name].bytes, names)};\n"
        for kind, found in (("input", graph.inputs), ("output", dict.fromkeys(graph.outputs)))
        for i, name in enumerate(found)
    ]
    return f"""\
static void tw_bytes_{number}(const int *sizes, unsigned long *input_bytes, unsigned long *output_bytes) {{
{declared}{unused}{"".join(lines)}}}
static int tw_sized_call_{number}(void **inputs, void **outputs, const int *sizes, void *arena) {{
  (void)inputs;
  return {writer.name}_run({", ".join([*arguments, *(f"sizes[{i}]" for i in range(len(names))), "arena"])});
}}
"""


def _gpu_functions(writer: Writer) -> str:
    own = ("gpu_error", "gpu_microseconds", "gpu_free")
    memory = ("tw_gpu_allocate", "tw_gpu_release", "tw_gpu_after", "tw_gpu_copy")
    found = [*(f"{writer.name}_{name}" for name in own), *memory]
    return ", ".join(found if gpu_files.functions(writer.schedule) else ["0"] * len(found))


def _sizes(graph: Graph, names: Sequence[str]) -> str:
    return ", ".join(f"{int(graph.types[name].bytes)}ul" for name in names) or "0"


def _execute(command: list[str], folder: Path, other: Emulated | None) -> str:
    """What the program prints."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise CompileError("run", f"did not end within {RUN_TIMEOUT} s", "try a smaller input") from None
    if done.returncode == -signal.SIGKILL or done.returncode == NO_MEMORY:
        raise CompileError(
            "run", "this machine does not have enough memory for the program", "try smaller dimensions: --dim"
        )
    if done.returncode == TOO_MANY_TURNS:
        raise too_many_turns()
    if done.returncode == GPU_FAILED:
        raise gpu_failed(done.stderr)
    if done.returncode == SHORT_VECTORS:
        said = done.stderr.strip().splitlines()[-1]  # the emulator may have said something before
        raise CompileError("run", said, "choose another --cpu, such as rv64gcv, which takes any length")
    if other is not None and done.returncode > 0 and done.stderr.startswith(f"{Path(other.command[0]).name}: "):
        raise CompileError("run", done.stderr.strip(), f"unset {CHOSEN}, which names a processor to the emulator")
    if other is not None and done.returncode == -signal.SIGILL:
        raise CompileError(
            " ".join(other.command),
            "lacks instructions that the program has",
            f"unset {CHOSEN}, or choose another --cpu",
        )
    if other is not None and done.returncode < 0 and "Assertion" in done.stderr:
        raise CompileError(
            other.command[0], f"fails by itself: {done.stderr.strip().splitlines()[-1]}",
            "version 7.2 does so where floats become numbers of 8 or 16 bits: install a newer one",
        )  # fmt: skip
    if done.returncode < 0:
        raise InternalError("run", f"the program was killed by signal {-done.returncode}")
    if done.returncode != 0:
        raise InternalError("run", done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout


def gpu_failed(said: str) -> CompileError:
    """The error of a network: what has failed, and on the last line what to do about it. Drivers may have said more
    before."""
    *_, what, hint = "", "", *said.strip().splitlines()
    return CompileError("gpu", what, hint)


def _sizes_of(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, int]:
    return sizes_of({name: graph.types[name] for name in graph.inputs}, inputs)


def _given(graph: Graph, inputs: Mapping[str, Array], sizes: Sizes) -> bytes:
    """What the harness reads for a call: sizes, and the arrays."""
    said = np.array([sizes[symbol.name] for symbol in symbols_of(graph)], np.intc).tobytes()
    return said + b"".join(np.ascontiguousarray(inputs[name]).tobytes() for name in graph.inputs)


def _split(data: bytes, kinds: Mapping[str, TensorType]) -> dict[str, Array]:
    arrays, at = {}, 0
    for name, kind in kinds.items():
        arrays[name] = np.frombuffer(data, kind.element, kind.elements, at).reshape(kind.shape)
        at += kind.bytes
    return arrays
