"""From a folder of C for a board to a program for its virtual SoC; and the tensors that its layers make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.codegen.external_kernels import blaming, with_flags
from tilewright.codegen.program_call import CHANGING_INPUTS
from tilewright.emulator.doorbell import FLAG
from tilewright.ir.types import Array
from tilewright.run.footprint import Footprint, footprint, paint_stack
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS, SimulatedProgram, SocRun, come_to
from tilewright.sim.program.elf import Elf
from tilewright.target.runner import QEMU, Machine, virtual_soc
from tilewright.toolchain.compiler import compile_objects, link_without_runtime

PROBE = "tw_probe"
"""Called after every layer with its number, that of the result, and where and how long that is."""
PROBE_SOURCE = "probe.c"
PROBE_TEXT = f"""\
void {PROBE}(int layer, int result, const void *data, unsigned long bytes);
void {PROBE}(int layer, int result, const void *data, unsigned long bytes) {{
  (void)layer, (void)result, (void)data, (void)bytes;
}}
"""


class BoardProgram(SimulatedProgram):
    """For one core that computes layer by layer."""

    keeps_tensors = True

    def build(self, inputs: Mapping[str, Array]) -> Path:
        return self._built(inputs, "program.elf", ())

    def load(self, simulator: Machine, inputs: Mapping[str, Array]) -> Elf:
        elf = super().load(simulator, inputs)
        paint_stack(simulator)
        return elf

    def counted(self, done: SocRun) -> dict[str, Any]:
        clock = self.target.runner.clock_mhz
        return {"instructions": done.instructions, "clock_mhz": clock, "footprint": done.footprint}

    def _footprint(self, simulator: Machine) -> Footprint:
        return footprint(simulator)

    def _built(self, inputs: Mapping[str, Array], name: str, network_flags: tuple[str, ...]) -> Path:
        runner = virtual_soc(self.target.runner, "run")
        self._write_inputs(inputs, CHANGING_INPUTS)
        doorbell = [FLAG] if runner.emulator == QEMU and self.target.models else []
        flags = [*self.target.flags, *WARNINGS, *doorbell, "-I", "runtime/libc"]
        options = {".c": flags, ".S": [*flags, f"-DTW_STACK_BYTES={self.target.agents.stack}"]}
        paths = [path.relative_to(self.folder).as_posix() for path in sorted(self.folder.rglob("*"))]
        sources = {path: options[Path(path).suffix] for path in paths if Path(path).suffix in options}
        sources["network.c"] = [*flags, *network_flags]
        sources = with_flags(sources, self.target, self.network.kernels)
        shared = [runner.library_flag] if runner.library_flag else []
        link = [*self.target.flags, *shared, "-static", "-T", LINK_SCRIPT, "-Wl,--gc-sections"]
        program = self.folder / name
        with blaming(self.target):
            objects = compile_objects(
                {self.folder / path: flags for path, flags in sources.items()}, self.folder, self.compiler
            )
            link_without_runtime(objects, [], program, self.compiler, link)
        return program

    def layers(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Every tensor that a layer makes, by name: from a program of its own that stops after each."""
        schedule = self.network.schedule
        (self.folder / PROBE_SOURCE).write_text(PROBE_TEXT)
        elf = self._built(inputs, "probed.elf", (f"-DTILEWRIGHT_PROBE={PROBE}",))
        (self.folder / PROBE_SOURCE).unlink()
        made: dict[str, Array] = {}
        with self.target.machine() as simulator:
            simulator.load(elf)
            for _ in range(sum(len([name for name in call.node.outputs if name]) for call in schedule.layers)):
                come_to(simulator, PROBE)
                layer, result, address = (simulator.argument(number) for number in range(3))
                name = schedule.layers[layer].node.outputs[result]
                kind = schedule.graph.types[name]
                data = simulator.read(address, kind.bytes) if kind.bytes else b""
                made[name] = np.frombuffer(data, kind.element).reshape(kind.shape)
        return made
