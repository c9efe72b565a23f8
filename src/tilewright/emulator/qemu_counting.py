"""qemu_plugin.c as an object: how often each block ran, now and when the core came to noted places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from tilewright.emulator.counting import BlockCost, Event, Total
from tilewright.ir.types import Array
from tilewright.sim.library import build_library
from tilewright.toolchain.compiler import find_compiler

FOLDER = Path(__file__).parent
NOTED, FAULT = 1, 2
MOST_PLACES, MOST_BLOCKS = 4092, 1 << 18
BLOCK = np.dtype(
    [("executed", "u8"), ("left", "u8"), ("address", "u4"), ("bytes", "u4"), ("instructions", "u4"), ("kind", "u4")]
)
HEAD = np.dtype(
    [("used", "u4"), ("place_count", "u4"), ("fault", "u4"), ("current", "u4"), ("places", "u4", MOST_PLACES),
     ("kinds", "u4", MOST_PLACES)]
)  # fmt: skip
"""`block` and the start of `table` in C."""


class BlockTable:
    """The two files that QEMU's plugin writes. `cost_of` an address and a size in bytes is asked once for each."""

    def __init__(self, folder: Path, cost_of: Callable[[int, int], BlockCost]) -> None:
        self.table, self.events_file = folder / "table", folder / "events"
        with self.table.open("wb") as file:
            file.truncate(HEAD.itemsize + MOST_BLOCKS * BLOCK.itemsize)
        self._head = np.memmap(self.table, HEAD, "r+", 0, 1)
        self._blocks = np.memmap(self.table, BLOCK, "r+", HEAD.itemsize, MOST_BLOCKS)
        self._cost_of, self._costs = cost_of, np.zeros((0, 2), "u8")
        self._stands: list[tuple[int, int]] = []

    def note(self, places: Mapping[int, int]) -> None:
        """Coming to one of these addresses is an event of a kind from now on."""
        wanted = dict(sorted(places.items())[:MOST_PLACES])
        self._head["places"][0, : len(wanted)] = list(wanted)
        self._head["kinds"][0, : len(wanted)] = list(wanted.values())
        self._head["place_count"] = len(wanted)
        for known in self._blocks[: self._used]:
            known["kind"] = wanted.get(int(known["address"]), 0)

    @property
    def _used(self) -> int:
        return int(self._head["used"][0])

    @property
    def fault(self) -> int:
        """The handler that the core has come to, or 0."""
        return int(self._head["fault"][0])

    @property
    def current(self) -> int:
        """Of the block that the core is in."""
        return int(self._head["current"][0])

    @property
    def instructions(self) -> int:
        known = self._blocks[: self._used]
        return int((known["executed"] * known["instructions"]).sum())

    def stand(self, cycles: int) -> None:
        """The core has done nothing for so long, since the last event."""
        self._stands.append((sum(1 for _ in self._records()), cycles))

    @property
    def now(self) -> Total:
        known = self._blocks[: self._used]
        return self._counted(known["executed"], known["left"], sum(cycles for _, cycles in self._stands))

    @property
    def events(self) -> list[Event]:
        found = []
        for number, (address, counts) in enumerate(self._records()):
            stood = sum(cycles for before, cycles in self._stands if before <= number)
            found.append(Event(address, self._counted(counts[:, 0], counts[:, 1], stood)))
        return found

    def _records(self) -> Iterator[tuple[int, Array]]:
        """Of events: the place, and how often blocks had run."""
        data, at = self.events_file.read_bytes(), 0
        while at < len(data):
            address, used = np.frombuffer(data, "u4", 2, at)
            yield int(address), np.frombuffer(data, "u8", 2 * int(used), at + 8).reshape(-1, 2)
            at += 8 + 16 * int(used)

    def _counted(self, executed: Array, left: Array, stood: int) -> Total:
        known = self._blocks[: len(executed)]
        cycles, leaving = self._prices(len(known)).T
        taken = stood + executed @ cycles + left @ leaving
        return Total(int((executed * known["instructions"]).sum()), int(taken), int(taken), 0)

    def _prices(self, count: int) -> Array:
        """Of the first blocks, which stay what they are: a run of each, and leaving it."""
        new = self._blocks[len(self._costs) : count]
        costs = [self._cost_of(int(one["address"]), int(one["bytes"])) for one in new]
        found = np.array([(cost.cycles, cost.leaving) for cost in costs], "u8").reshape(-1, 2)
        self._costs = np.concatenate([self._costs, found])
        return self._costs[:count]


@cache
def plugin(interface: int) -> Path:
    """Built for a version of QEMU's interface."""
    sources = [FOLDER / "qemu_plugin.c", FOLDER / f"qemu_interface_{interface}.c"]
    return build_library(sources, find_compiler(None), "the block counter for QEMU")
