"""What kernels that bare-metal targets share need, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC
from tilewright.targets.generic.sizes import KERNELS as PORTABLE

KERNELS = Path(__file__).parent / "kernels"
in_c = HeadersInC(KERNELS, PORTABLE)
