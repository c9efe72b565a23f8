"""What the kernels of XpulpV2 need and do, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC, InC
from tilewright.targets.generic.sizes import KERNELS

_FOLDER = Path(__file__).parent
in_c = HeadersInC(_FOLDER / "kernels", _FOLDER.parent / "cluster" / "kernels", KERNELS)


def by_cores(name: str, cores: int) -> InC:
    """A function of the parameters and the number of cores, each of which has working memory of its own."""
    return in_c(name, cores)
