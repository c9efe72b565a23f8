"""Stacks of a cluster's program, held to what its compiler has made: kernels that need more than there is are refused,
and a core that takes more stops the run."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.codegen.kernels import Instance
from tilewright.errors import CompileError
from tilewright.planner.schedule.schedule import Schedule
from tilewright.sim.program.elf import Elf
from tilewright.sim.program.frames import Frames, frames_of

CALLERS = 64
"""Bytes that whoever calls a kernel takes at least: of the program, of the network and of a layer."""


def checked(elf: Elf, schedule: Schedule, kernels: Iterable[Instance]) -> Frames:
    """What functions of a program take, none of its kernels more than whoever calls it has."""
    frames, driver = frames_of(elf), sizes(schedule)[schedule.target.agents.dma_core]
    for instance in kernels:
        for what, name in instance.functions.items():
            submits = instance.kernel.offloaded and what == "run"
            _check(frames, elf.symbols.get(name), instance, driver if submits else schedule.stacks.each)
    return frames


def sizes(schedule: Schedule) -> list[int]:
    """Bytes of each core's stack, by its number on the platform."""
    target, stacks = schedule.target, schedule.stacks
    known = {target.agents.dma_core: stacks.dma_core} | dict.fromkeys(range(schedule.cores), stacks.each)
    return [known.get(core, 0) for core in range(target.platform.cores)]


def _check(frames: Frames, function: int | None, instance: Instance, has: int) -> None:
    needed = CALLERS + (0 if function is None else frames.depth(function))
    if needed > has:
        raise CompileError(
            f"kernel {instance.kernel.stem}",
            f"as this compiler builds it, it needs {needed} bytes of stack with what calls it, {has} are planned",
            f"give each core more: --stack {-(-3 * needed // 32) * 16}; or build with optimisation, or without --cc",
        )
