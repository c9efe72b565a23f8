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
    """For flash and RAM, with all that there is of them."""


def _machine(name: str, vectors: int, ram: tuple[int, int], flash: tuple[int, int]) -> QemuMachine:
    return QemuMachine(name, vectors, (Memory("ram", *ram), Memory("flash", *flash)))


MACHINES = {
    "cortex-m4": _machine("mps2-an386", 0, (0x2000_0000, 4 * MIB), (0x2100_0000, 16 * MIB)),
    "cortex-m7": _machine("mps2-an500", 0, (0x2000_0000, 4 * MIB), (0x6000_0000, 16 * MIB)),
    "cortex-m33": _machine("mps2-an505", 0x1000_0000, (0x3800_0000, 4 * MIB), (0x8000_0000, 16 * MIB)),
    "cortex-m55": _machine("mps3-an547", 0, (0x7000_0000, 256 * MIB), (0x6000_0000, 256 * MIB)),
}
"""By the core."""


def machine_of(platform: Platform) -> QemuMachine:
    core = platform.groups[0].name
    if core not in MACHINES:
        raise CompileError(f"--emulator qemu, {core}", "QEMU has no such board", f"it has {', '.join(MACHINES)}")
    return MACHINES[core]


def moved(platform: Platform) -> Platform:
    """The same memories where QEMU's board has some; those that are larger are refused."""
    machine = machine_of(platform)
    homes = {memory.name: memory for memory in machine.memories}
    for memory in platform.memories:
        if memory.size > homes[memory.name].size:
            raise CompileError(
                f"{memory.name} of {memory.size} bytes", f"QEMU's {machine.name} has {homes[memory.name].size} for it",
                f"--memory {memory.name}={homes[memory.name].size} at most",
            )  # fmt: skip
    return replace(
        platform,
        memories=tuple(replace(memory, base=homes[memory.name].base) for memory in platform.memories),
    )
