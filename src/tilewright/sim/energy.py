"""Energy as data: what each countable thing costs, how sure that is, and who says so; and the sum over a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.sim.activity import Activity

PER_PICOJOULE, PER_MICROJOULE = 10**3, 10**9
"""Femtojoules, in which sums are exact."""


@dataclass(frozen=True)
class Cost:
    """What one count of an activity costs."""

    activity: str
    """A name of `Activity`."""
    component: str
    """Where it is spent: cores, L1, static."""
    picojoules: float
    uncertainty: float
    """As a fraction: 0.3 is plus or minus 30 %."""
    source: str

    @property
    def femtojoules(self) -> int:
        return round(self.picojoules * PER_PICOJOULE)


@dataclass(frozen=True)
class Energy:
    """What was spent, by component, in femtojoules."""

    spent: Mapping[str, int]
    spread: Mapping[str, float]
    """How far off each component may be."""
    cycles: int
    hertz: int
    """0 where no clock is known."""
    uncounted: tuple[str, ...] = ()
    """What was at work besides, whose energy nobody has declared."""

    @property
    def femtojoules(self) -> int:
        return sum(self.spent.values())

    @property
    def microjoules(self) -> float:
        return self.femtojoules / PER_MICROJOULE

    @property
    def picojoules(self) -> dict[str, float]:
        """By component."""
        return {component: spent / PER_PICOJOULE for component, spent in self.spent.items()}

    @property
    def uncertainty(self) -> float:
        """Of the total, as a fraction. What is wrong in one component says nothing about the others."""
        return math.hypot(*self.spread.values()) / self.femtojoules if self.femtojoules else 0.0

    @property
    def milliwatts(self) -> float:
        """On average."""
        return self.femtojoules * 1e-12 * self.hertz / self.cycles if self.cycles else 0.0

    def as_dict(self) -> dict[str, Any]:
        parts = {component: spent / PER_MICROJOULE for component, spent in self.spent.items()}
        return {
            "microjoules": self.microjoules, "uncertainty": self.uncertainty, "milliwatts": self.milliwatts,
            "hertz": self.hertz, "by_component": parts,
            **({"not_counted": list(self.uncounted)} if self.uncounted else {}),
        }  # fmt: skip


@dataclass(frozen=True)
class EnergyModel:
    """What a platform spends, at one voltage and one frequency."""

    volts: float
    hertz: int
    costs: tuple[Cost, ...]

    @property
    def components(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cost.component for cost in self.costs))

    def of(self, activity: Activity) -> Energy:
        """Within a component errors add up: they come from the same scaling."""
        spent, spread = dict.fromkeys(self.components, 0), dict.fromkeys(self.components, 0.0)
        for cost in self.costs:
            part = activity.counts[cost.activity] * cost.femtojoules
            spent[cost.component] += part
            spread[cost.component] += part * cost.uncertainty
        return Energy(spent, spread, activity.counts["cycles"], self.hertz)
