"""What the simulator has counted of its cores, memories and devices, for reports and errors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import groupby

from tilewright.sim.activity import STALL_CAUSES
from tilewright.sim.library import CStatistics
from tilewright.sim.platform import Platform
from tilewright.sim.results import CoreReport

STATES = {1: "running", 2: "asleep", 3: "at the barrier"}
"""Of cores that have started, as the C numbers them."""


class Statistics:
    """Of one simulator, as it stands now."""

    def __init__(self, library: ctypes.CDLL, simulator: int, platform: Platform) -> None:
        self._library, self._simulator, self._platform = library, simulator, platform
        self.cores = [self._core(core) for core in range(platform.cores)]

    def _core(self, core: int) -> CStatistics:
        found = CStatistics()
        self._library.tw_core_statistics(self._simulator, core, ctypes.byref(found))
        return found

    def core_reports(self) -> tuple[CoreReport, ...]:
        """Of those that have done something."""
        return tuple(self._core_report(i, core) for i, core in enumerate(self.cores) if core.instructions)

    def _core_report(self, core: int, c: CStatistics) -> CoreReport:
        stalls = {name: int(c.stall[i]) for i, name in enumerate(STALL_CAUSES)}
        return CoreReport(self._platform.core_name(core), int(c.hart), int(c.cycles), int(c.instructions), stalls)

    def core_bytes(self) -> dict[str, int]:
        memories, groups = self._platform.memories, self._platform.groups
        totals = {m.name: sum(int(c.memory_bytes[i]) for c in self.cores) for i, m in enumerate(memories)}
        for c in self.cores:
            local = groups[c.group].local_memory
            if local:
                totals[local] += int(c.local_bytes)
        return totals

    def device_bytes(self) -> dict[str, tuple[int, int]]:
        return {memory.name: self._traffic(i) for i, memory in enumerate(self._platform.memories)}

    def _traffic(self, memory: int) -> tuple[int, int]:
        read, written = ctypes.c_uint64(), ctypes.c_uint64()
        self._library.tw_memory_traffic(self._simulator, memory, ctypes.byref(read), ctypes.byref(written))
        return read.value, written.value

    def busy(self) -> dict[str, int]:
        busy, devices = self._library.tw_device_busy, self._platform.devices
        return {device.name: int(busy(self._simulator, i)) for i, device in enumerate(devices)}

    def places(self) -> Iterator[tuple[str, str, int]]:
        """Cores, what they do and where: neighbours that do the same at the same place are together."""
        cores = enumerate(self.cores)
        for (status, pc), same in groupby(cores, key=lambda core: (core[1].status, core[1].pc)):
            if status:
                yield self._names_of([i for i, _ in same]), STATES[status], pc

    def _names_of(self, cores: Sequence[int]) -> str:
        first, last = (self._platform.core_name(core) for core in (cores[0], cores[-1]))
        return first if len(cores) == 1 else f"{first} to {last}"
