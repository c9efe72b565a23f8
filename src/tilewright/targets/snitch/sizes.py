"""What this target's kernels need and do, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC, InC
from tilewright.targets.generic.sizes import KERNELS

CORES = 8
"""At most; each has working memory of its own."""
in_c = HeadersInC(Path(__file__).parent / "kernels", KERNELS)


def by_cores(name: str) -> InC:
    """A function of the parameters and the number of cores."""
    return in_c(name, CORES)
