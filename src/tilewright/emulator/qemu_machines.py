"""QEMU's boards: which has a core, and where programs may lie there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.errors import CompileError
from tilewright.sim.platform import Memory, Platform

MIB = 1 << 20


@dataclass(frozen=True)
class QemuMachine:
    name: str
    vectors: int
    """Where the core finds its first stack and instruction."""
    memories: tuple[Memory, ...]
    """For flash and RAM, with all that there is of them; of two of a name the first that is large enough counts."""

    def home(self, wanted: Memory) -> Memory:
        homes = [memory for memory in self.memories if memory.name == wanted.name]
        return next((memory for memory in homes if memory.size >= wanted.size), homes[-1])


SSRAM = Memory("ram", 0x2000_0000, 4 * MIB)

MACHINES = {
    "cortex-m4": QemuMachine("mps2-an386", 0, (SSRAM, Memory("flash", 0x2100_0000, 16 * MIB))),
    "cortex-m7": QemuMachine("mps2-an500", 0, (SSRAM, Memory("flash", 0x6000_0000, 16 * MIB))),
    "cortex-m33": QemuMachine(
        "mps2-an505", 0x1000_0000, (Memory("ram", 0x3800_0000, 4 * MIB), Memory("flash", 0x8000_0000, 16 * MIB))
    ),
    "cortex-m55": QemuMachine(
        "mps3-an547", 0,
        (Memory("ram", 0x2100_0000, 4 * MIB), Memory("ram", 0x7000_0000, 256 * MIB),
         Memory("flash", 0x6000_0000, 256 * MIB)),
    ),
}  # fmt: skip
"""By the core. Below a RAM there is nothing, so that a stack that is too small ends there; but for the largest."""


def machine_of(platform: Platform) -> QemuMachine:
    core = platform.groups[0].name
    if core not in MACHINES:
        raise CompileError(f"--emulator qemu, {core}", "QEMU has no such board", f"it has {', '.join(MACHINES)}")
    return MACHINES[core]


def moved(platform: Platform) -> Platform:
    """The same memories where QEMU's board has some; those that are larger are refused."""
    machine = machine_of(platform)
    for memory in platform.memories:
        if memory.size > (most := machine.home(memory).size):
            raise CompileError(
                f"{memory.name} of {memory.size} bytes", f"QEMU's {machine.name} has {most} for it",
                f"--memory {memory.name}={most} at most",
            )  # fmt: skip
    memories = tuple(replace(memory, base=machine.home(memory).base) for memory in platform.memories)
    return replace(platform, memories=memories)
