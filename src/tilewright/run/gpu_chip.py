"""What the GPU at hand is and can do at best, as its driver says."""

from __future__ import annotations

import ctypes
from typing import Any

from tilewright.records import dataclass
from tilewright.target import runner

CLOCK, MULTIPROCESSORS, MEMORY_CLOCK, BUS_BITS, MAJOR, MINOR = 13, 16, 36, 37, 75, 76
"""Numbers of the driver's attributes; clocks are in kHz."""
FLOATS = {80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 120: 128}
"""Products of floats of 32 bits in a cycle of a multiprocessor, by compute capability."""
HALVES = {80: 1024, 86: 512, 87: 512, 89: 512, 90: 2048, 100: 4096, 120: 1024}
"""The same of 16 bits on tensor cores; of bytes there are twice as many."""


@dataclass(frozen=True)
class Chip:
    name: str
    bytes_per_ns: float
    """That its memory gives at best."""
    cycles_per_ns: float
    multiprocessors: int
    capability: int

    def macs_per_ns(self, element_bytes: int) -> float:
        """Of elements of that size, at best."""
        halves = _newest(HALVES, self.capability)
        rates = {1: 2.0 * halves, 2: float(halves)}
        each = rates.get(element_bytes, float(_newest(FLOATS, self.capability)))
        return each * self.multiprocessors * self.cycles_per_ns


def _newest(rates: dict[int, int], capability: int) -> int:
    return rates[max((known for known in rates if known <= capability), default=min(rates))]


def chip() -> Chip | None:
    """The first GPU; None where there is none."""
    if not runner.has_driver():
        return None
    driver = ctypes.CDLL("libcuda.so.1")
    device, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 128, device):
        return None
    clock, count, memory, bits, major, minor = (
        _attribute(driver, number, device) for number in (CLOCK, MULTIPROCESSORS, MEMORY_CLOCK, BUS_BITS, MAJOR, MINOR)
    )
    # Memory gives two words in a cycle of its clock.
    return Chip(name.value.decode(), 2 * memory * bits / 8 / 1e6, clock / 1e6, count, 10 * major + minor)


def _attribute(driver: Any, number: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return value.value
