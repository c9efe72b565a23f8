"""A profile as plain data."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tilewright.records import dataclass
from tilewright.sim.energy import Energy

CYCLES, NANOSECONDS = "cycles", "ns"


@dataclass(frozen=True)
class Interval:
    """Cycles since the network was called."""

    start: int
    end: int

    @property
    def cycles(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class Moved:
    """Transfers that belong together."""

    intervals: tuple[Interval, ...] = ()
    bytes: int = 0

    @property
    def cycles(self) -> int:
        """How long at least one of them was in flight."""
        total, until = 0, 0
        for interval in sorted(self.intervals, key=lambda i: i.start):
            total += max(0, interval.end - max(interval.start, until))
            until = max(until, interval.end)
        return total


@dataclass(frozen=True)
class Tile:
    number: int
    kernel: Interval
    """From the first core's call to the last one's return; of an accelerator, from its first job's start to the end of
    the last one or of what cores finish."""
    calls: Mapping[int, Interval]
    """By core."""
    input: Moved
    """What was fetched for it; for the first tile also the constants that were fetched early."""
    output: Moved


@dataclass(frozen=True)
class Peaks:
    """What a GPU does at best."""

    bytes_per_ns: float
    macs_per_ns: float
    """Of elements as the layer has them."""


@dataclass(frozen=True)
class LayerProfile:
    number: int
    name: str
    operator: str
    engine: str
    kernel: str
    mode: str
    double: bool
    home: str
    """The memory that it streams from, or L1 if everything is there."""
    predicted: int
    time: Interval
    macs: int
    operations: int
    stalls: Mapping[str, int]
    """Cycles of all cores together, by cause."""
    waiting: int
    """Cycles of all cores together, in which they waited for transfers."""
    core_time: int
    """Cycles of all cores together, each from when it began the layer to when it left it. They do not begin at once, so
    this is more or less than the layer's cycles times the cores."""
    tiles: tuple[Tile, ...]
    energy: Energy | None
    """Of the whole SoC during the layer."""
    instructions: int | None = None
    """Of a board's core."""
    touched: int = 0
    """Bytes of operands and results, where an engine has a memory of its own."""
    peaks: Peaks | None = None
    """Of the GPU that has computed it."""
    short_name: str = ""
    """As tables show it, if not the name itself."""
    charged: int | None = None
    """The cycles that belong to it, where layers were in flight together; otherwise all of its time."""
    in_flight: int | None = None
    """The cycles in which it was at work then, beside other layers too."""

    @property
    def shown(self) -> str:
        """What tables and pictures call it."""
        return self.short_name or self.name

    @property
    def cycles(self) -> int:
        return self.time.cycles if self.charged is None else self.charged

    @property
    def elapsed(self) -> int:
        return self.cycles if self.in_flight is None else self.in_flight

    @property
    def bandwidth_share(self) -> float:
        """Of what the GPU's memory gives at best."""
        return self.touched / self.cycles / self.peaks.bytes_per_ns if self.peaks and self.cycles else 0.0

    @property
    def peak_share(self) -> float:
        """Of the products that the GPU makes at best."""
        return self.macs_per_cycle / self.peaks.macs_per_ns if self.peaks else 0.0

    @property
    def bytes_in(self) -> int:
        return sum(tile.input.bytes for tile in self.tiles)

    @property
    def bytes_out(self) -> int:
        return sum(tile.output.bytes for tile in self.tiles)

    @property
    def error(self) -> float:
        """Of the prediction, as a fraction of what was measured."""
        return self.predicted / self.cycles - 1 if self.cycles else 0.0

    @property
    def macs_per_cycle(self) -> float:
        """While it was at work."""
        return self.macs / self.elapsed if self.elapsed else 0.0

    def as_dict(self, tiles: bool) -> dict[str, Any]:
        plain = (
            "number", "name", "operator", "engine", "kernel", "mode", "double", "home", "predicted", "cycles", "error",
            "macs", "operations", "macs_per_cycle", "bytes_in", "bytes_out", "waiting", "core_time",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in plain}
        found |= {"start": self.time.start, "tiles": len(self.tiles), "stalls": dict(self.stalls)}
        found |= {"energy": self.energy.as_dict()} if self.energy else {}
        found |= {} if self.instructions is None else {"instructions": self.instructions}
        found |= {"short_name": self.short_name} if self.short_name else {}
        found |= {"touched": self.touched} if self.touched else {}
        found |= {} if self.elapsed == self.cycles else {"elapsed": self.elapsed}
        shares = {"bandwidth_share": self.bandwidth_share, "peak_share": self.peak_share}
        found |= {**shares, "peaks": asdict(self.peaks)} if self.peaks else {}
        return found | ({"tile": [_tile(tile) for tile in self.tiles]} if tiles else {})


@dataclass(frozen=True)
class Profile:
    network: str
    target: str
    cores: int
    cycles: int
    """From the call of the network to its return."""
    predicted: int
    layers: tuple[LayerProfile, ...]
    energy: Energy | None
    instructions: int | None = None
    """Of a board's core."""
    estimate: str = ""
    """What the cycles are, if they are not counted as a simulated chip takes them."""
    unit: str = CYCLES
    """Of all times: a computer's are nanoseconds."""
    least: int = 0
    """Cycles that no run on the target can be below; 0 where that is not known."""

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    @property
    def macs_per_cycle(self) -> float:
        return self.macs / self.cycles

    @property
    def median_error(self) -> float:
        """Of the layers' predictions, without their signs."""
        return statistics.median(abs(layer.error) for layer in self.layers) if self.layers else 0.0

    @property
    def waiting_share(self) -> float:
        """Of all core time, what was spent waiting for transfers."""
        return sum(layer.waiting for layer in self.layers) / (self.cycles * self.cores)

    def as_dict(self, tiles: bool = False) -> dict[str, Any]:
        plain = (
            "network", "target", "cores", "cycles", "predicted", "least", "macs", "macs_per_cycle", "median_error",
            "waiting_share",
        )  # fmt: skip
        found = {name: getattr(self, name) for name in plain}
        found |= {"energy": self.energy.as_dict()} if self.energy else {}
        found |= {} if self.instructions is None else {"instructions": self.instructions}
        found |= {"estimate": self.estimate} if self.estimate else {}
        found |= {"unit": self.unit}
        return found | {"layers": [layer.as_dict(tiles) for layer in self.layers]}


def _tile(tile: Tile) -> dict[str, Any]:
    return {
        "number": tile.number, "kernel": asdict(tile.kernel), "kernel_cycles": tile.kernel.cycles,
        "input_cycles": tile.input.cycles, "input_bytes": tile.input.bytes,
        "output_cycles": tile.output.cycles, "output_bytes": tile.output.bytes,
    }  # fmt: skip
