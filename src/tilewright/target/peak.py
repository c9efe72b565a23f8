"""What engines do in a cycle at best: facts of their hardware, never fitted. Bounds on cycles divide by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, TensorType
from tilewright.records import dataclass

FLOAT = "float32"


@dataclass(frozen=True)
class Peak:
    macs: Callable[[Op, Mapping[str, TensorType], int], float]
    """Multiply-accumulates in a cycle, of an operator on operands and results of these types, by a number of cores."""
    source: str
    """What of the hardware says so."""
    bytes: float = math.inf
    """That a core loads and stores in a cycle."""
    outside: float = math.inf
    """That a core reads in a cycle from memories other than the one that tiles are computed in."""
    declared: bool = False
    """By a user: a run below what follows is a fault of the declaration, not ours."""


@dataclass(frozen=True)
class SameMacs:
    """Multiply-accumulates of a device in a cycle, whatever it computes."""

    rate: float

    def __call__(self, op: Op, types: Mapping[str, TensorType], cores: int) -> float:
        return self.rate


def all_of_them(op: Op, types: Mapping[str, TensorType]) -> float:
    return 1.0


@dataclass(frozen=True)
class CoreMacs:
    """Multiply-accumulates of cores in a cycle."""

    widths: tuple[tuple[int, float], ...]
    """Bits of integers, and how many of these a core multiplies; wider ones count as the widest."""
    floats: float
    """That a core multiplies."""
    float_units: float = math.inf
    """Of all cores together, where they share them."""
    share: Callable[[Op, Mapping[str, TensorType]], float] = all_of_them
    """Of an operator's multiplications of floats, those that the kernels leave where they transform operands first."""

    def __call__(self, op: Op, types: Mapping[str, TensorType], cores: int) -> float:
        """By the narrowest operand, as no core is quicker with a wider one."""
        used = {kind.dtype for name, kind in types.items() if name not in op.results} - {"bool"}
        if not used - {FLOAT}:
            return min(self.floats * cores, self.float_units) / self.share(op, types)
        bits = min(min(8 * BYTES[dtype] for dtype in used), max(width for width, _ in self.widths))
        return cores * max(rate for width, rate in self.widths if width >= bits)
