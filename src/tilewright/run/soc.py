"""From a folder of C for a cluster to a program, and running it on the virtual SoC."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.codegen import binary_data, cluster_program
from tilewright.codegen.cluster import ClusterWriter
from tilewright.errors import CompileError, InternalError, present
from tilewright.ir.types import Array
from tilewright.run.l1_code import chosen, codes, functions
from tilewright.sim.activity import Activity
from tilewright.sim.calls import around_call, return_addresses
from tilewright.sim.elf import Elf, code_bytes, load_in_place
from tilewright.sim.energy import Energy
from tilewright.sim.probing import Probe
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.target.target import Cluster
from tilewright.toolchain.compiler import compile_objects, find_cross_compiler, link_objects

MAX_CYCLES = 20_000_000_000
"""After which a run counts as hung."""

LINK_SCRIPT, LINK_SCRIPT_WITH_L1_CODE = "runtime/link.ld", "runtime/link_code_in_l1.ld"
L1_CODE = "runtime/l1_code.ld"
"""Where the latter is told which functions lie in L1."""


WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class SocRun:
    outputs: dict[str, Array]
    cycles: int
    """From the call of the network to its return."""
    report: Report
    energy: Energy | None
    """Of the whole SoC from the call of the network to its return."""
    activity: Activity
    """What cores, memories and engines did in that time."""
    code_bytes: int
    """Of the whole program."""


@dataclass(frozen=True)
class CallMeter:
    """Where a program's main function calls the network, and where it goes on."""

    entry: int
    returns: tuple[int, ...]

    @staticmethod
    def of(elf: Elf, network: str) -> CallMeter:
        return CallMeter(elf.symbols[network], tuple(return_addresses(elf, "main")))

    @property
    def places(self) -> tuple[int, ...]:
        return (self.entry, *self.returns)

    def around(self, events: Iterable[Probe]) -> tuple[Activity, Activity]:
        return around_call(events, self.entry, self.returns)


def run_to_end(simulator: Simulator) -> Report:
    """Run a program of ours; whatever stops it is our fault, as no model makes a program that fails."""
    try:
        report = simulator.run(MAX_CYCLES)
    except CompileError as error:
        raise InternalError(f"run, {error.where}", error.what) from error
    if report.exit_code != 0:
        raise InternalError("run", f"the program ended with code {report.exit_code}")
    return report


def come_to(simulator: Simulator, function: str) -> Activity:
    """Run until the core that calls the network comes to a function: what the platform had done by then."""
    try:
        reached = simulator.run_until(function, MAX_CYCLES)
    except CompileError as error:
        raise InternalError(f"run, {error.where}", error.what) from error
    if not reached or simulator.cycle >= MAX_CYCLES:
        raise InternalError("run", f"the program does not come to {function}")
    return simulator.activity()


class SocProgram:
    """A compiled network as an ELF for the virtual SoC. The files live as long as the object."""

    def __init__(self, writer: ClusterWriter, files: Mapping[str, str], cc: str | None) -> None:
        self.writer, self.target = writer, writer.schedule.target
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        self._compiler = find_cross_compiler(cc)
        texts = {name: files[name] for name in files if name != "network_data.c"}
        # Constants never are text here: millions of them take the compiler longer than all else.
        for name, text in {**texts, binary_data.SOURCE: binary_data.source(writer)}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")
        (self.folder / binary_data.BYTES).write_bytes(binary_data.data(writer))

    def build(self, inputs: Mapping[str, Array]) -> Path:
        """The program with its inputs in it."""
        graph, tiles = self.writer.schedule.graph, self.writer.tiles
        data = [np.ascontiguousarray(inputs[name]).tobytes() for name in graph.inputs]
        (self.folder / "inputs.bin").write_bytes(b"".join(data))
        (self.folder / "inputs.S").write_text(cluster_program.inputs_source(data))
        program = self.folder / "program.elf"
        flags = [*self.target.flags, *WARNINGS, f"-DTW_CORES={tiles.cores}", "-I", "runtime/libc"]
        stacks = [f"-DTW_STACK_BYTES={tiles.stacks.each}", f"-DTW_DMA_CORE_STACK_BYTES={tiles.stacks.dma_core}"]
        stacks += ["-DTW_STACKS_IN_L1"] if tiles.stacks.in_l1 else []
        stacks += ["-DTW_CODE_IN_L1"] if self._code_in_l1 else []
        # Memory is laid out in assembly: programs share the objects of all else, whatever their stacks are.
        options = {".c": flags, ".S": [*flags, *stacks]}
        sources = sorted(path for path in self.folder.rglob("*") if path.suffix in options)
        script = LINK_SCRIPT_WITH_L1_CODE if self._code_in_l1 else LINK_SCRIPT
        link = [*self.target.flags, "-static", "-T", script, "-Wl,--gc-sections"]
        objects = compile_objects({path: options[path.suffix] for path in sources}, self.folder, self._compiler)
        if self._code_in_l1:
            self._place_code(dict(zip(sources, objects, strict=True)))
        link_objects(objects, [], program, self._compiler, link)
        program.write_bytes(load_in_place(program.read_bytes()))
        return program

    @property
    def _code_in_l1(self) -> bool:
        return self.writer.plan.settings.code_in_l1

    def _place_code(self, objects: Mapping[Path, Path]) -> None:
        """What the plan leaves free of L1 has the code that is run most often."""
        plan = self.writer.plan
        found = codes((path, self._runs(source)) for source, path in objects.items())
        taken = chosen(found, plan.budget.total - plan.l1_bytes)
        (self.folder / L1_CODE).write_text(functions(taken))

    def _runs(self, source: Path) -> int:
        """How often a run of the network comes to the code of a file, roughly."""
        name, layers = source.relative_to(self.folder).as_posix(), self.writer.plan.steps
        if name.startswith("kernels/"):
            return self.writer.kernel_calls[source.name]
        if name.removeprefix("runtime/") in self._cluster.every_layer:
            return len(layers)
        return int(name == "network.c" or name.startswith("runtime/libc/"))

    @property
    def _cluster(self) -> Cluster:
        return present(self.target.cluster, "run", "the target has no cluster")

    def run(self, inputs: Mapping[str, Array]) -> SocRun:
        simulator = Simulator(self._cluster.platform)
        call = CallMeter.of(simulator.load(self.build(inputs)), f"{self.writer.name}_run")
        simulator.probe((), metered=call.places)
        report = run_to_end(simulator)
        return self._run_of(simulator, report, *call.around(simulator.probes()))

    def run_steps(self, steps: Sequence[Mapping[str, Array]]) -> list[SocRun]:
        """Calls in order by one program, each with its own inputs; what the network keeps lives from one to the next.
        As a microphone's DMA would, the simulator puts every step's inputs where those of the step before were."""
        simulator = Simulator(self._cluster.platform)
        simulator.load(self.build(steps[0]))
        simulator.write("tw_steps", len(steps).to_bytes(4, "little"))
        runs = []
        for inputs in steps:
            self._put(simulator, inputs)
            before = come_to(simulator, f"{self.writer.name}_run")
            after = come_to(simulator, "tw_step_done")
            runs.append(self._run_of(simulator, simulator.report(), before, after))
        run_to_end(simulator)
        return runs

    def _run_of(self, simulator: Simulator, report: Report, before: Activity, after: Activity) -> SocRun:
        done = after.since(before)
        energy = simulator.energy(done) if simulator.platform.energy else None
        size = code_bytes(present(simulator.elf, "run", "there is no program"))
        return SocRun(self._outputs(simulator), simulator.read_word("tw_cycles"), report, energy, done, size)

    def _put(self, simulator: Simulator, inputs: Mapping[str, Array]) -> None:
        for position, name in enumerate(self.writer.schedule.graph.inputs):
            simulator.write(f"program_input_{position}", np.ascontiguousarray(inputs[name]).tobytes())

    def _outputs(self, simulator: Simulator) -> dict[str, Array]:
        graph = self.writer.schedule.graph
        arrays = {}
        for position, name in enumerate(dict.fromkeys(graph.outputs)):
            kind = graph.types[name]
            data = simulator.read(f"program_output_{position}", kind.bytes) if kind.bytes else b""
            arrays[name] = np.frombuffer(data, kind.element).reshape(kind.shape)
        return arrays
