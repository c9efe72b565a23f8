"""What the kernels of these cores need and do, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC
from tilewright.targets.bare.sizes import KERNELS as SHARED
from tilewright.targets.generic.sizes import KERNELS as PORTABLE
from tilewright.targets.microcontroller.sizes import KERNELS as PLAIN

_FOLDER = Path(__file__).parent
pairs_in_c = HeadersInC(_FOLDER / "pairs" / "kernels", PLAIN, SHARED, PORTABLE)
vectors_in_c = HeadersInC(_FOLDER / "mve" / "kernels", PLAIN, SHARED, PORTABLE)
