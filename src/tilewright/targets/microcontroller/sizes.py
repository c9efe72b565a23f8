"""What the kernels of these microcontrollers need and do, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC
from tilewright.targets.bare.sizes import KERNELS as SHARED
from tilewright.targets.generic.sizes import KERNELS as PORTABLE

KERNELS = Path(__file__).parent / "kernels"
in_c = HeadersInC(KERNELS, SHARED, PORTABLE)
