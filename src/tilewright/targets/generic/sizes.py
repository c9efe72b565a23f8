"""What the portable kernels need, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC

KERNELS = Path(__file__).parent / "kernels"
in_c = HeadersInC(KERNELS)
