"""What a core takes for an NPU: measured in runs, as the core's own kernels are."""

from __future__ import annotations

JOB_CYCLES = 270
"""For a job: the driver writes registers and polls."""
COPY_CYCLES = 0.68
"""For a byte of inputs and results."""
WEIGHTS_CYCLES, WEIGHT_CYCLES = 200.0, 11.8
"""For matrices that it writes as weights, and for a byte of those."""
SLOWER = "the NPU would take {:,.0f} cycles for it, the core {:,.0f}"


def copied(size: int) -> float:
    return COPY_CYCLES * size


def written_weights(size: int) -> float:
    return WEIGHTS_CYCLES + WEIGHT_CYCLES * size
