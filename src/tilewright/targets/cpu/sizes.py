"""What this target's kernels need and do, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC
from tilewright.targets.generic.sizes import KERNELS

in_c = HeadersInC(Path(__file__).parent / "kernels", KERNELS)
