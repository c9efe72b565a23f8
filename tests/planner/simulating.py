"""Programs for the cluster on a simulator that looks closely."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

from tilewright.ir.types import Array
from tilewright.program import Program
from tilewright.sim.program.elf import Elf, read_elf
from tilewright.sim.simulator import Simulator

L1_START, L1_BYTES = 0x10000000, 256 * 1024
LOADED = ((0x10400000, 0x10C00000), (0x1C010000, 0x1C200000))
"""Memories that the file fills: that of weights, and L2."""
PAINT = 0xC3
LIMIT = 500_000_000
"""Cycles; a program that takes more hangs."""


def program_of(program: Program, inputs: dict[str, Array]) -> Elf:
    return read_elf(program.build_soc().build(inputs))


def without_zeros(elf: Elf) -> Elf:
    """Memory that the file does not fill is left as it is after a reset: written by nobody."""
    filled = (replace(segment, size=len(segment.data)) for segment in elf.segments if segment.data)
    return replace(elf, segments=tuple(filled))


def sanitized(elf: Elf, misuse: bool = True) -> str:
    """What is printed in a run in which every read of unwritten memory, every write to constants, every access to what
    the DMA moves and every use of a device that it is not made for is an error."""
    simulator = Simulator("siracusa")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=misuse)
    simulator.load(without_zeros(elf))
    return simulator.run(LIMIT).stdout


def in_noise(elf: Elf, seed: int = 0) -> str:
    """What is printed where memories and registers hold anything after a reset."""
    simulator, noise = Simulator("siracusa"), random.Random(seed)
    for memory in simulator.platform.memories:
        if memory.is_mapped:
            simulator.write(memory.base, noise.randbytes(memory.size))
    simulator.load(without_zeros(elf))
    for core, register in itertools.product(range(simulator.platform.cores), (*range(1, 32), *range(33, 65))):
        simulator.set_register(core, register, noise.getrandbits(32))
    return simulator.run(LIMIT).stdout


@dataclass(frozen=True)
class Painted:
    """L1 and the stacks after a run, where they were painted before."""

    l1: bytes
    stacks: tuple[bytes, ...]
    """Of each core, the lowest byte first."""

    def touched(self) -> int:
        """Bytes of L1 up to the last one that is not as it was."""
        return len(self.l1.rstrip(bytes([PAINT])))

    def unused(self) -> list[int]:
        """Bytes of each core's stack that were never used."""
        return [len(stack) - len(stack.lstrip(bytes([PAINT]))) for stack in self.stacks]


def painted(program: Program, elf: Elf) -> Painted:
    budget, simulator = program.plan.budget, Simulator("siracusa")
    simulator.load(elf)
    stacks = elf.symbols["tw_stacks"]
    simulator.write(L1_START, bytes([PAINT]) * L1_BYTES)
    simulator.write(stacks, bytes([PAINT]) * budget.stacks)
    simulator.run(LIMIT)
    sizes = [budget.stack] * budget.cores + [budget.dma_core_stack]
    each = tuple(simulator.read(stacks + sum(sizes[:core]), size) for core, size in enumerate(sizes))
    return Painted(simulator.read(L1_START, L1_BYTES), each)
