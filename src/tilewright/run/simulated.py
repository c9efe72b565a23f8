"""A compiled network as a program for a virtual SoC: run, and its outputs taken; subclasses say how it is built."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tilewright.codegen import binary_data
from tilewright.codegen.external_kernels import responsible
from tilewright.codegen.flow_names import TOO_MANY_TURNS
from tilewright.codegen.kernels import PREFIX_FILE
from tilewright.codegen.network import Writer
from tilewright.codegen.program_call import input_arena, inputs_source
from tilewright.emulator.faults import Unfinished
from tilewright.emulator.qemu import Qemu
from tilewright.errors import CompileError, InternalError, StackOverrun, present
from tilewright.ir.types import Array
from tilewright.ops._control_flow import too_many_turns
from tilewright.records import dataclass
from tilewright.run.declared_energy import with_accelerators
from tilewright.run.footprint import Footprint, overrun
from tilewright.sim.activity import Activity
from tilewright.sim.energy import Energy
from tilewright.sim.ethos_u.npu import StreamFault
from tilewright.sim.program.elf import Elf, code_bytes
from tilewright.sim.results import Report
from tilewright.sim.simulator import Simulator
from tilewright.sim.watching.calls import around_call, return_addresses
from tilewright.sim.watching.probes import Probe
from tilewright.target.runner import Machine
from tilewright.toolchain.compiler import find_cross_compiler

MAX_CYCLES = 20_000_000_000
"""After which a run counts as hung."""

MAX_EMULATED_CYCLES = 5_000_000_000
"""The same in the emulator, which takes about a minute for them."""

MAX_CYCLES_WITH_DEVICES = 2_000_000_000
"""The same with devices of the user's, which may never end their jobs."""
SHOWN = 64
"""Registers of such a device that are shown."""
DEVICE_HINT = "`tilewright accelerator check FOLDER` runs single jobs with all checks"

LINK_SCRIPT = "runtime/link.ld"

STACK_OVERRUN = 83
"""With which a program ends that has found a stack of its own too small: targets/cluster/runtime/stack_marks.h."""

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
    footprint: Footprint | None = None
    """Of a board."""
    estimate: str = ""
    """What the cycles are, if they are not counted as a simulated chip takes them."""

    @property
    def instructions(self) -> int:
        """Of all cores together, in that time."""
        return self.activity.counts["instructions"]


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


def run_to_end(simulator: Machine) -> Report:
    """Run a program of ours; whatever stops it is our fault, as no model makes a program that fails, unless there are
    devices of the user's."""
    try:
        report = simulator.run(_most(simulator))
    except CompileError as error:
        raise _stopped(simulator, error) from error
    if report.exit_code == STACK_OVERRUN:
        raise StackOverrun("run", "a core's stack was too small", "give each core more: --stack BYTES")
    if report.exit_code == TOO_MANY_TURNS:
        raise too_many_turns()
    if report.exit_code != 0:
        raise InternalError("run", f"the program ended with code {report.exit_code}")
    return report


def _most(simulator: Machine) -> int:
    if not isinstance(simulator, Simulator):
        return MAX_EMULATED_CYCLES
    return MAX_CYCLES_WITH_DEVICES if simulator.user_devices else MAX_CYCLES


def _stopped(simulator: Machine, error: CompileError) -> Exception:
    ended = error if isinstance(error, StackOverrun) else overrun(simulator, error)
    if ended is not None:
        return ended
    if isinstance(error, Unfinished):
        hint = "the network may be too large to be emulated: `analyze` says what it takes, without running it"
        return CompileError(error.where, error.what, hint)
    if isinstance(error, StreamFault):
        return CompileError(f"run, stream of the NPU, {error.where}", error.what, error.hint)
    if isinstance(simulator, Qemu) or not simulator.user_devices:
        return InternalError(f"run, {error.where}", error.what)
    lines = [f"    registers of {name}: {_words(simulator.registers(name, SHOWN))}" for name in simulator.user_devices]
    return CompileError(f"run, {error.where}", "\n".join([error.what, *lines]), DEVICE_HINT)


def _words(values: Sequence[int]) -> str:
    used = max((at + 1 for at, value in enumerate(values) if value), default=1)
    return " ".join(f"{4 * at:#x}={value:#x}" for at, value in enumerate(values[:used]))


def come_to(simulator: Machine, function: str) -> Activity:
    """Run until the core that calls the network comes to a function: what the platform had done by then."""
    try:
        reached = simulator.run_until(function, _most(simulator))
    except CompileError as error:
        raise _stopped(simulator, error) from error
    if not reached or simulator.cycle >= _most(simulator):
        raise InternalError("run", f"the program does not come to {function}")
    return simulator.activity()


class SimulatedProgram(ABC):
    """A compiled network as an ELF for the virtual SoC. The files live as long as the object."""

    keeps_tensors: ClassVar[bool] = False
    """Whether what a layer makes lives until the next one begins."""

    def __init__(self, writer: Writer, files: Mapping[str, str], cc: str | None) -> None:
        self.network, self.target = writer, writer.schedule.target
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        self.compiler = find_cross_compiler(cc)
        texts = {name: files[name] for name in files if name != "network_data.c"}
        # Without the network's name in its kernels, networks share their objects in the cache. Constants never are text
        # here: millions of them take the compiler longer than all else.
        texts |= {f"kernels/{PREFIX_FILE}": "", binary_data.SOURCE: binary_data.source(writer)}
        for name, text in texts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.folder / binary_data.BYTES).write_bytes(binary_data.data(writer))

    @abstractmethod
    def build(self, inputs: Mapping[str, Array]) -> Path:
        """The program with its inputs in it."""

    def _write_inputs(self, inputs: Mapping[str, Array], section: str) -> None:
        data = [np.ascontiguousarray(inputs[name]).tobytes() for name in self.network.schedule.graph.inputs]
        (self.folder / "inputs.bin").write_bytes(b"".join(data))
        source = inputs_source(data, self.target.home_memory.placement, section, input_arena(self.network))
        (self.folder / "inputs.S").write_text(source)

    def layers(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Every tensor that a layer makes, by name, where they live long enough to be looked at."""
        raise InternalError("layers", f"target {self.target.name} has no time at which one is whole")

    def counted(self, done: SocRun) -> dict[str, Any]:
        """What else is said of a run, where one core executes all of it."""
        return {}

    def run(self, inputs: Mapping[str, Array]) -> SocRun:
        simulator = self.target.machine()
        return self.run_loaded(simulator, self.load(simulator, inputs))

    def run_loaded(self, simulator: Machine, elf: Elf) -> SocRun:
        """What it does on a machine that has it, or a program that differs in code alone."""
        call = CallMeter.of(elf, f"{self.network.name}_run")
        simulator.probe((), metered=call.places)
        with responsible(self.target):
            report = run_to_end(simulator)
        return self._run_of(simulator, report, *call.around(simulator.probes()))

    def load(self, simulator: Machine, inputs: Mapping[str, Array]) -> Elf:
        """Builds it for these inputs; what runs on the machine from now on is watched for what it may not do."""
        return simulator.load(self.build(inputs))

    def _footprint(self, simulator: Machine) -> Footprint | None:
        """What it takes of the memories, where that is known from the program alone."""
        return None

    def run_steps(self, steps: Sequence[Mapping[str, Array]]) -> list[SocRun]:
        """Calls in order by one program, each with its own inputs; what the network keeps lives from one to the next.
        As a microphone's DMA would, the simulator puts every step's inputs where those of the step before were."""
        simulator = self.target.machine()
        self.load(simulator, steps[0])
        runs = []
        for inputs in steps:
            self._put(simulator, inputs)
            before = come_to(simulator, f"{self.network.name}_run")
            # Not earlier: start-up may give variables their first values.
            simulator.write("tw_steps", len(steps).to_bytes(4, "little"))
            after = come_to(simulator, "tw_step_done")
            runs.append(self._run_of(simulator, simulator.report(), before, after))
        run_to_end(simulator)
        return runs

    def _run_of(self, simulator: Machine, report: Report, before: Activity, after: Activity) -> SocRun:
        done = after.since(before)
        size = code_bytes(present(simulator.elf, "run", "there is no program"))
        cycles, taken = self._cycles(simulator, done), self._footprint(simulator)
        counted = simulator.energy_of(done) if isinstance(simulator, Simulator) else None
        energy = with_accelerators(counted, self.network.schedule, cycles)
        return SocRun(self._outputs(simulator), cycles, report, energy, done, size, taken, simulator.estimate)

    def _cycles(self, simulator: Machine, done: Activity) -> int:
        """As the program has counted them; what emulates a core counts them itself."""
        if simulator.counts_calls:
            return done.counts["cycles"]
        return done.cycles_read_as(simulator.read_word("tw_cycles"))

    def _put(self, simulator: Machine, inputs: Mapping[str, Array]) -> None:
        for position, name in enumerate(self.network.schedule.graph.inputs):
            simulator.write(f"program_input_{position}", np.ascontiguousarray(inputs[name]).tobytes())

    def _outputs(self, simulator: Machine) -> dict[str, Array]:
        graph = self.network.schedule.graph
        arrays = {}
        for position, name in enumerate(dict.fromkeys(graph.outputs)):
            kind = graph.types[name]
            data = simulator.read(f"program_output_{position}", kind.bytes) if kind.bytes else b""
            arrays[name] = np.frombuffer(data, kind.element).reshape(kind.shape)
        return arrays
