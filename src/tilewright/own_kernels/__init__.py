"""Kernels of a user's own, in a folder outside the package, for any target with one core (docs/own_kernels.md)."""

from __future__ import annotations

from tilewright.own_kernels.declaration import Library, OwnKernels
from tilewright.target.kernel import Kernel
from tilewright.target.target import Offer

__all__ = ["Kernel", "Library", "Offer", "OwnKernels"]
