"""An Ethos-U as a core meets it: registers at an address. It executes a stream when it is told to run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import Configuration
from tilewright.sim.ethos_u.npu import REGIONS, EthosU, Region
from tilewright.sim.ethos_u.timing import ARENA, CONSTANTS, stream_cycles
from tilewright.sim.user.device import UserDevice

STATUS, CMD, RESET, QBASE, QBASE_HIGH, QREAD, QSIZE, CONFIG = 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x20, 0x28
BASE_POINTERS = 0x80
"""The first of eight registers of 64 bits."""
RUN, CLEAR_INTERRUPT = 1, 2
RUNNING, INTERRUPT, END = 1, 2, 32
LONGEST = 1 << 24
"""Bytes of a stream."""
ALIGNMENT = 16
"""Of addresses in registers: the NPU reads lines of so many bytes, and Arm's driver refuses others."""
BUS_BYTES = 8
"""Bytes of memory in a cycle."""


@dataclass(frozen=True)
class Place:
    """A memory."""

    base: int
    """Where the core finds it."""
    size: int
    is_constant: bool
    """Whether nobody writes to it."""
    found_at: int
    """Where the NPU finds it."""


class EthosUDevice(UserDevice):
    def __init__(self, npu: Configuration, places: Sequence[Place]) -> None:
        self.npu, self.places, self.machine = npu, places, EthosU(npu)
        self.reset()

    def reset(self) -> None:
        self.registers: dict[int, int] = {}
        self.status, self.is_running = 0, False
        self.results: list[tuple[int, bytes]] = []

    def read(self, offset: int, now: int) -> int:
        if offset == STATUS:
            return RUNNING if self.is_running else self.status
        if offset == CONFIG:
            return (self.npu.macs.bit_length() - 1) | self.npu.cores * self.npu.banks << 8 | self.npu.is_u65 << 28
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int, now: int) -> None:
        self.registers[offset] = value
        if offset == RESET:
            self.reset()
        elif offset == CMD:
            self._command(value, now)

    def tick(self, now: int) -> int | None:
        """The job ends: not before has anybody its results."""
        if self.is_running:
            for address, data in self.results:
                self.host.write(address, data)
            self.is_running, self.status, self.results = False, INTERRUPT | END, []
        return None

    def _command(self, value: int, now: int) -> None:
        if value & CLEAR_INTERRUPT:
            self.status &= ~INTERRUPT
        if value & RUN and not self.is_running:
            cycles = self._run()
            self.registers[QREAD] = self.registers[QSIZE]
            self.is_running = True
            self.host.work(cycles, BUS_BYTES, True, now)

    def _run(self) -> int:
        """Cycles, estimated as for predictions."""
        size = self.registers.get(QSIZE, 0)
        if not 0 < size <= LONGEST or size % 4:
            raise Refusal(f"is to run a stream of {size} bytes", "write its length to QSIZE")
        words = np.frombuffer(self.host.read(self._pointer(QBASE, "QBASE"), size), np.uint32)
        memories: dict[int, Array] = {}
        found = {number: self._region(number, memories) for number in range(REGIONS)}
        regions = {number: one for number, one in found.items() if one is not None}
        before = {base: array.copy() for base, array in memories.items()}
        self.machine.run(words, regions)
        for base, array in memories.items():
            self._keep(base, before[base], array)
        in_flash = CONSTANTS not in regions or regions[CONSTANTS].is_constant
        return stream_cycles(words, self.npu, CONSTANTS if in_flash else ARENA)

    def _pointer(self, register: int, name: str) -> int:
        address = self.registers.get(register, 0) | self.registers.get(register + 4, 0) << 32
        if address % ALIGNMENT:
            raise Refusal(f"has {address:#x} in {name}, which is no multiple of {ALIGNMENT}", "align what it reads")
        return address

    def _region(self, number: int, memories: dict[int, Array]) -> Region | None:
        """From the base pointer to the end of its memory; pointers that were never written lead nowhere."""
        register = BASE_POINTERS + 8 * number
        if register not in self.registers:
            return None
        address = self._pointer(register, f"base pointer {number}")
        for place in self.places:
            at, base = address - place.found_at, place.base
            if 0 <= at < place.size:
                if base not in memories:
                    memories[base] = np.frombuffer(self.host.read(base, place.size), np.uint8).copy()
                return Region(memories[base][at:], is_constant=place.is_constant)
        raise Refusal(f"has {address:#x} in base pointer {number}, where there is no memory", "give it an address")

    def _keep(self, base: int, before: Array, after: Array) -> None:
        """What the job changes in a memory, until it ends. Between what it writes the core may write, too."""
        changed = np.flatnonzero(before != after)
        if not changed.size:
            return
        ends = np.flatnonzero(np.diff(changed) > 1)
        firsts, lasts = changed[np.r_[0, ends + 1]], changed[np.r_[ends, changed.size - 1]]
        runs = zip(firsts.tolist(), lasts.tolist(), strict=True)
        self.results += [(base + first, after[first : last + 1].tobytes()) for first, last in runs]
