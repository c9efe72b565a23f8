"""Kernels of quantised rows, in doubles: the integer unit takes five cycles for a product."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.rounding import UP_OR_EVEN, Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.snitch.sizes import by_cores

LONGEST = 1024
"""Elements of a row: their number, times a byte, times a root's inverse, stays below 2**53."""
MOST_SHIFT = 44
"""Fraction bits of a result that is not clipped, beside the 8 above them and one for ties."""
LEAST_SHIFT = 27
"""Products of normalised elements, 20 bits below their point and 5 above it, and factors of 31 bits stay within half a
word after it."""
MOST_LIFT = 21
"""A summand of 31 bits, and half a unit for ties: 53 bits hold both."""
CALL, COLUMN, ROW, ELEMENT = 500, 5, 340, 13
"""Cycles: of a call, of each column of its tables, and of the core that has most rows."""


def norm_unsupported(op: Op, types: Types) -> str | None:
    norm = instance(op, QLinearRowNorm)
    length = _length(norm, types)
    if types["mul"].elements != length or norm.block(types["mul"].shape) != (norm.axis, len(types["X"].shape)):
        return "its factors are not those of one row"
    if length > LONGEST or norm.requant.shift > MOST_SHIFT + (norm.requant.rounding == Rounding.HALF_EVEN):
        return f"rows have more than {LONGEST} elements, or results more than {MOST_SHIFT} fraction bits"
    if norm.requant.shift < max(LEAST_SHIFT, norm.lift + 2):
        return f"shifts by less than {max(LEAST_SHIFT, norm.lift + 2)} bits: results may be beyond a word"
    if norm.lift > MOST_LIFT and norm.requant.rounding != Rounding.HALF_EVEN:
        return f"summands are lifted by more than {MOST_LIFT} bits, ties are not to even"
    return None


def _length(norm: QLinearRowNorm, types: Types) -> int:
    return math.prod(types["X"].shape[norm.axis :])


def norm_cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    axis = instance(op, QLinearRowNorm).axis
    sizes = [extents[f"d{i}"] for i in range(len(types["X"].shape))]
    rows, length = -(-math.prod(sizes[:axis]) // cores), math.prod(sizes[axis:])
    return CycleEstimate(cores=CALL + COLUMN * length + rows * (ROW + ELEMENT * length))


def norm_axis(op: Op, types: Types) -> object:
    """Other numbers of the operator decide only about results."""
    return instance(op, QLinearRowNorm).axis


KERNELS = (
    Kernel(
        QLinearRowNorm, "qlinearrownorm_doubles.c", "X mul:int32 add:int32 -> Y", {"X": NARROW, "Y": NARROW},
        scratch=by_cores("tw_qlinearrownorm_doubles_scratch"), unsupported_reason=norm_unsupported,
        roundings=UP_OR_EVEN, cooperative=True,
        header="qlinearrownorm.h", cycles=norm_cycles, planning_key=norm_axis,
    ),
)  # fmt: skip
