"""What the kernels of XpulpV2 need, as C says it."""

from __future__ import annotations

from pathlib import Path

from tilewright.target.in_c import HeadersInC, InC
from tilewright.targets.generic.sizes import KERNELS

_FOLDER = Path(__file__).parent
_in_c = HeadersInC(_FOLDER / "kernels", _FOLDER.parent / "cluster" / "kernels", KERNELS)


def in_c(name: str) -> InC:
    """A function of the parameters alone."""
    return _in_c(name)


def by_cores(name: str, cores: int) -> InC:
    """A function of the parameters and the number of cores, each of which has working memory of its own."""
    return _in_c(name, cores)
