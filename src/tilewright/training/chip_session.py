"""A network that learns on a target's virtual SoC, or in the emulator of a board's core."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

import numpy as np

from tilewright.ir.types import Array
from tilewright.run.simulated import LINK_SCRIPT, WARNINGS, come_to
from tilewright.sim.program.elf import load_in_place
from tilewright.target.runner import virtual_soc
from tilewright.toolchain.compiler import compile_objects, find_cross_compiler, link_objects, link_without_runtime
from tilewright.training.folder import LearnerC
from tilewright.training.session import Session, write_sources

COMMANDS = {"train": 1, "update": 2, "infer": 3}
"""Of chip_program.c."""


class ChipSession(Session):
    """Watches one program, which does what it is asked for."""

    counts_cycles: ClassVar[bool] = True

    def __init__(self, model: LearnerC, cc: str | None = None) -> None:
        super().__init__(model)
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-")
        self.folder = Path(self._folder.name)
        write_sources(model, self.folder)
        self.elf = self._built_for_cores(cc) if self.learner.has_runtime else self._built_for_board(cc)
        self.machine = self.learner.target.machine()
        self.machine.load(self.elf)
        come_to(self.machine, "tw_next")

    def _call(self, which: str, given: list[Array], made: list[Array]) -> tuple[int, int | None]:
        machine = self.machine
        machine.write("tw_command", COMMANDS[which].to_bytes(4, "little"))
        for number, array in enumerate(given):
            machine.write(f"tw_{which}_{number}", array.tobytes())
        before = machine.activity()
        after = come_to(machine, "tw_step_done")
        status = machine.read_word("tw_status")
        for number, array in enumerate(made, len(given)):
            data = machine.read(f"tw_{which}_{number}", array.nbytes)
            array.reshape(-1)[:] = np.frombuffer(data, array.dtype)
        done = after.since(before)
        word = machine.read_word("tw_cycles")
        cycles = done.counts["cycles"] if machine.counts_calls else done.cycles_read_as(word)
        come_to(machine, "tw_next")
        return status - 2**32 if status >= 2**31 else status, cycles

    def _memory(self, offset: int, count: int) -> bytes:
        address = self.machine.elf.symbols[self.learner.arena]  # type: ignore[union-attr]
        return self.machine.read(address + offset, count)

    def _built_for_board(self, cc: str | None) -> Path:
        target, compiler = self.learner.target, find_cross_compiler(cc)
        flags = [*target.flags, *WARNINGS, "-I", "runtime/libc"]
        options = {".c": flags, ".S": [*flags, f"-DTW_STACK_BYTES={target.agents.stack}"]}
        runner = virtual_soc(target.runner, "train")
        shared = [runner.library_flag] if runner.library_flag else []
        link = [*target.flags, *shared, "-static", "-T", LINK_SCRIPT, "-Wl,--gc-sections"]
        program = self.folder / "program.elf"
        link_without_runtime(self._objects(options, compiler), [], program, compiler, link)
        return program

    def _built_for_cores(self, cc: str | None) -> Path:
        target, compiler = self.learner.target, find_cross_compiler(cc)
        schedules = [writer.schedule for writer in self.model.writers.values()]
        each, moving = (max(getattr(one.stacks, name) for one in schedules) for name in ("each", "dma_core"))
        flags = [*target.flags, *WARNINGS, f"-DTW_CORES={schedules[0].cores}", "-I", "runtime/libc"]
        stacks = [f"-DTW_STACK_BYTES={each}", f"-DTW_DMA_CORE_STACK_BYTES={moving}"]
        stacks += ["-DTW_STACKS_IN_L1"] if all(one.stacks.in_tile_memory for one in schedules) else []
        objects = self._objects({".c": flags, ".S": [*flags, *stacks]}, compiler)
        program = self.folder / "program.elf"
        link_objects(objects, [], program, compiler, [*target.flags, "-static", "-T", LINK_SCRIPT, "-Wl,--gc-sections"])
        program.write_bytes(load_in_place(program.read_bytes()))
        return program

    def _objects(self, options: dict[str, list[str]], compiler: object) -> list[Path]:
        sources = sorted(path for path in self.folder.rglob("*") if path.suffix in options)
        # Kernels and the runtime are compiled as `run` compiles them, which has only one network.
        shared = {path for path in sources if path.relative_to(self.folder).parts[0] in ("kernels", "runtime")}
        chosen = {path: [*options[path.suffix], *([] if path in shared else ["-I", "."])] for path in sources}
        return compile_objects(chosen, self.folder, compiler)  # type: ignore[arg-type]
