"""An accelerator at its place in a platform: with two of one kind, each is a unit of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tilewright.accelerator.declaration import Accelerator, Pattern, texts
from tilewright.accelerator.finding import find_operator
from tilewright.accelerator.jobs import Declared
from tilewright.ir.requant import Requant
from tilewright.ir.types import TensorType
from tilewright.records import dataclass
from tilewright.sim.rtl.build import RtlDevice

ANY = "any"


@dataclass(frozen=True)
class Costs:
    """What `tilewright calibrate TARGET --accelerator` has found on a target; guesses where nobody has measured."""

    scale: float = 1.0
    """Cycles of the device for each that the declaration says."""
    submit: float = 80.0
    """Cycles of the core for each job."""
    finish: Mapping[str, float] = field(default_factory=lambda: {ANY: 25.0})
    """Cycles of a core for each result that it requantises, by the way in which it does (`way_of`)."""
    channel: float = 0.0
    """Cycles of a core for each run of results with the same factors."""

    def finished(self, way: str) -> float:
        return self.finish.get(way, self.finish.get(ANY, 0.0))


def way_of(requant: Requant, types: Mapping[str, TensorType]) -> str:
    """What the time of a requantisation depends on: its rounding, and whether something is added before."""
    return requant.rounding if requant.has_exponents or "add" not in types else f"{requant.rounding}, add"


@dataclass(frozen=True, eq=False)
class Unit:
    accelerator: Accelerator
    name: str
    """The accelerator's, with a number from the second of its kind on."""
    number: int
    """Among all units of the target, from 1 on."""
    base: int
    """Its first address."""
    folder: Path
    device: Path
    """The model: device.py or device.c."""
    own_driver: Path | None = None
    """The user's driver.c, which takes the place of the generated one."""
    costs: Costs = field(default_factory=Costs)
    rtl: RtlDevice | None = None
    """What runs in the model's place."""

    @property
    def symbol(self) -> str:
        return self.name.upper()

    def forms(self) -> list[Declared]:
        """Every pattern as it is, and with its requantisation by the cores."""
        found, source = [], str(self.folder / "accelerator.py")
        for pattern in self.accelerator.patterns:
            found.append(Declared(self.accelerator, pattern, False, source))
            if not pattern.chain and _has_totals(pattern):
                found.append(Declared(self.accelerator, pattern, True, source))
        return found


TOTALS = {"mul?", "add?"}
"""Operands of operators whose totals can be requantised behind the device."""


def _has_totals(pattern: Pattern) -> bool:
    kind = find_operator(pattern.op)
    if kind is None or not set(kind.operands) >= TOTALS:
        return False
    operands = pattern.types.get(kind.operands[0], "int8")
    return texts(operands) != ("float32",) and "int32" in texts(pattern.types.get("Y", "int32"))
