"""Stacks of a cluster's program, held to what its compiler has made: kernels that need more than there is are refused,
and a core that takes more stops the run."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.codegen.kernels import Instance
from tilewright.errors import CompileError
from tilewright.planner.schedule.tile_schedule import ClusterSchedule
from tilewright.sim.program.elf import Elf
from tilewright.sim.program.frames import Frames, frames_of
from tilewright.target.target import Target

CALLERS = 64
"""Bytes that whoever calls a kernel takes at least: of the program, of the network and of a layer."""


def checked(elf: Elf, tiles: ClusterSchedule, kernels: Iterable[Instance]) -> Frames:
    """What functions of a program take, none of its kernels more than there is."""
    frames = frames_of(elf)
    for instance in kernels:
        if not instance.kernel.offloaded:
            _check(frames, elf, instance, tiles.stacks.each)
    return frames


def sizes(target: Target, tiles: ClusterSchedule) -> list[int]:
    """Bytes of each core's stack, by its number on the platform."""
    own = dict.fromkeys(range(tiles.cores), tiles.stacks.each)
    return [
        ({target.agents.dma_core: tiles.stacks.dma_core} | own).get(core, 0) for core in range(target.platform.cores)
    ]


def _check(frames: Frames, elf: Elf, instance: Instance, has: int) -> None:
    deepest = {name: frames.depth(elf.symbols[name]) for name in instance.functions.values() if name in elf.symbols}
    needed = max(deepest.values(), default=0) + CALLERS
    if needed > has:
        raise CompileError(
            f"kernel {instance.kernel.stem}",
            f"as this compiler builds it, it needs {needed} bytes of stack with what calls it, {has} are planned",
            f"give each core more: --stack {-(-3 * needed // 32) * 16}; or build with optimisation, or without --cc",
        )
