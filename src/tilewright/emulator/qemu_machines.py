"""QEMU's boards: which has a core, and where programs may lie there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim.platform import Memory, Platform

MIB = 1 << 20
GAP = 0x1_0000
"""Bytes whose multiples memories begin at that do not adjoin."""


@dataclass(frozen=True)
class QemuMachine:
    name: str
    vectors: int
    """Where the core finds its first stack and instruction."""
    memories: tuple[Memory, ...]
    """For flash and RAM, with all that there is of them; of two of a name the first that is large enough counts."""

    def home(self, name: str, size: int) -> Memory:
        homes = [memory for memory in self.memories if memory.name == name]
        return next((memory for memory in homes if memory.size >= size), homes[-1])


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
    """The same memories where QEMU's board has some, those that adjoin beside each other; the board itself stays."""
    machine = machine_of(platform)
    if platform.name == machine.name:
        return platform
    read_only = [memory for memory in platform.memories if memory.is_flash]
    others = [memory for memory in platform.memories if not memory.is_flash]
    places = dict([*_packed(read_only, "flash", machine), *_packed(others, "ram", machine)])
    memories = tuple(replace(memory, base=places[memory.name], npu_address=None) for memory in platform.memories)
    return replace(platform, memories=memories)


def _packed(memories: Sequence[Memory], wanted: str, machine: QemuMachine) -> Iterator[tuple[str, int]]:
    """Their names, and where they begin in one memory of QEMU's; if it has not enough, they are refused."""
    needed = sum(-(-memory.size // GAP) * GAP for memory in memories)
    home = machine.home(wanted, needed)
    if needed > home.size:
        names = " and ".join(memory.name for memory in memories)
        raise CompileError(
            f"{names} of {needed} bytes", f"QEMU's {machine.name} has {home.size} for it",
            f"--memory {memories[0].name}={home.size} at most",
        )  # fmt: skip
    at = home.base
    before: Memory | None = None
    for memory in sorted(memories, key=lambda memory: memory.base):
        if before is not None and before.base + before.size != memory.base:
            at = -(-at // GAP) * GAP
        yield memory.name, at
        at, before = at + memory.size, memory
