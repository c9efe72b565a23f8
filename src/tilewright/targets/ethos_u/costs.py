"""What cores take for an NPU beside them: `python -m benchmarks.ethos_u_costs` measures it in runs."""

from __future__ import annotations

from tilewright.records import dataclass
from tilewright.target.target import Target

SLOWER = "the NPU would take {:,.0f} cycles for it, the core {:,.0f}"


@dataclass(frozen=True)
class CoreCosts:
    """In cycles."""

    job: float
    """The driver writes registers and polls."""
    copied_byte: float
    """Of inputs and results."""
    weights: float
    """For matrices that the core writes as weights."""
    written_byte: float
    """Of those."""

    def copied(self, size: int) -> float:
        return self.copied_byte * size

    def written(self, size: int) -> float:
        return self.weights + self.written_byte * size


CORTEX_M33 = CoreCosts(199, 0.69, 86, 11.8)
MEASURED = {"cortex-m55": CoreCosts(188, 0.37, 31, 11.88)}
"""Others than a Cortex-M33's, by the instruction set."""


def costs_of(core: Target) -> CoreCosts:
    return MEASURED.get(core.agents.isa, CORTEX_M33)
