"""From a folder of C for a cluster to a program for its virtual SoC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.codegen.agent_functions import LOOP
from tilewright.codegen.network import Writer
from tilewright.codegen.program_call import CONSTANT_INPUTS
from tilewright.ir.types import Array
from tilewright.run.inner_code import chosen, codes, functions
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS, SimulatedProgram
from tilewright.run.stack_use import checked, sizes
from tilewright.sim.program.elf import Elf, load_in_place, read_elf
from tilewright.sim.program.frames import Frames
from tilewright.sim.simulator import Simulator
from tilewright.target.runner import Machine
from tilewright.toolchain.compiler import compile_objects, link_objects

LINK_SCRIPT_WITH_L1_CODE = "runtime/link_code_in_l1.ld"
L1_CODE = "runtime/l1_code.ld"
"""Where the latter is told which functions lie in L1."""

MARKS = ("-DTW_NO_STACK_MARKS",)
"""The simulator knows better where a stack ends."""


class SocProgram(SimulatedProgram):
    """For a cluster."""

    def __init__(self, writer: Writer, files: Mapping[str, str], cc: str | None) -> None:
        super().__init__(writer, files, cc)
        self.writer = writer
        self._frames = Frames({})

    def load(self, simulator: Machine, inputs: Mapping[str, Array]) -> Elf:
        elf = super().load(simulator, inputs)
        if isinstance(simulator, Simulator):
            simulator.guard_stacks(self._frames.sites, sizes(self.writer.schedule))
        return elf

    def build(self, inputs: Mapping[str, Array]) -> Path:
        schedule = self.writer.schedule
        self._write_inputs(inputs, CONSTANT_INPUTS)
        program = self.folder / "program.elf"
        flags = [*self.target.flags, *WARNINGS, f"-DTW_CORES={schedule.cores}", "-I", "runtime/libc"]
        stacks = [f"-DTW_STACK_BYTES={schedule.stacks.each}", f"-DTW_DMA_CORE_STACK_BYTES={schedule.stacks.dma_core}"]
        stacks += [*MARKS, *["-DTW_STACKS_IN_L1"] * schedule.stacks.in_tile_memory]
        stacks += ["-DTW_CODE_IN_L1"] if self._code_in_l1 else []
        # Memory is laid out in assembly: programs share the objects of all else, whatever their stacks are.
        options = {".c": flags, ".S": [*flags, *stacks]}
        sources = sorted(path for path in self.folder.rglob("*") if path.suffix in options)
        script = LINK_SCRIPT_WITH_L1_CODE if self._code_in_l1 else LINK_SCRIPT
        link = [*self.target.flags, "-static", "-T", script, "-Wl,--gc-sections"]
        objects = compile_objects({path: options[path.suffix] for path in sources}, self.folder, self.compiler)
        if self._code_in_l1:
            self._place_code(dict(zip(sources, objects, strict=True)))
        link_objects(objects, [], program, self.compiler, link)
        program.write_bytes(load_in_place(program.read_bytes()))
        self._frames = checked(read_elf(program), schedule, self.writer.kernels)
        return program

    @property
    def _code_in_l1(self) -> bool:
        return self.writer.schedule.placed.code_in_tile_memory

    def _place_code(self, objects: Mapping[Path, Path]) -> None:
        """What the plan leaves free of L1 has the code that is run most often."""
        placed, layers = self.writer.schedule.placed, len(self.writer.schedule.layers)
        found = codes((path, self._runs(source)) for source, path in objects.items())
        found = [replace(code, runs=layers) if LOOP.fullmatch(code.name) else code for code in found]
        taken = chosen(found, placed.tile_room)
        (self.folder / L1_CODE).write_text(functions(taken))

    def _runs(self, source: Path) -> int:
        """How often a run of the network comes to the code of a file, roughly."""
        name, layers = source.relative_to(self.folder).as_posix(), self.writer.schedule.layers
        if name.startswith("kernels/"):
            return self.writer.kernel_calls[source.name]
        if name.removeprefix("runtime/") in self.target.agents.every_layer:
            return len(layers)
        return int(name == "network.c" or name.startswith("runtime/libc/"))
