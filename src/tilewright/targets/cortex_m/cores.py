"""Arm's Cortex-M cores, as far as compilers, kernels and emulators see a difference between them."""

from __future__ import annotations

from tilewright.records import dataclass


@dataclass(frozen=True)
class Core:
    name: str
    compiler: str
    """As the compiler calls it, with what it has beside the base."""
    has_float: bool
    kernels: str
    """Which set of kernels makes the best of it: of KERNELS in target.py."""
    summary: str

    @property
    def library(self) -> str:
        """The core whose library of the compiler it takes."""
        return "cortex_m4+vfp4d16sp" if self.has_float else self.compiler


PLAIN, PAIRS, VECTORS = "plain", "pairs", "vectors"
"""Products one at a time; two products of 16 bits in one instruction; sixteen of 8 bits."""

CORES = (
    Core("cortex-m0plus", "cortex_m0plus", False, PLAIN, "32-bit products, no divider, no FPU"),
    Core("cortex-m4", "cortex_m4+vfp4d16sp", True, PAIRS, "pairs of 16-bit products, a float32 FPU"),
    Core("cortex-m7", "cortex_m7+fp_armv8d16sp", True, PAIRS, "as the M4, two instructions at a time"),
    Core("cortex-m33", "cortex_m33+dsp+fp_armv8d16sp", True, PAIRS, "pairs of 16-bit products, a float32 FPU"),
    Core("cortex-m55", "cortex_m55+mve_fp+fp_armv8d16", True, VECTORS, "vectors of 16 bytes (MVE), an FPU"),
)
