from __future__ import annotations

from tilewright.target import Kernel

KERNELS: tuple[Kernel, ...] = ()
