"""Requantisations of bytes, channel by channel, in doubles: the integer unit takes ten cycles for a wide product."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.rounding import UP_OR_EVEN
from tilewright.ops._linear import NARROW
from tilewright.ops.requantshift import RequantShift
from tilewright.target.kernel import CycleEstimate, Kernel, Types

CORES, RUN, BLOCK = 8, 128, 8
"""Cores at most; elements that each takes at a time, and those that go side by side."""
LEAST_SHIFT = 9
"""Products of bytes and factors of 31 bits stay within a word after it."""
CALL, CHANNEL, START, ELEMENT = 600, 5, 110, 10
"""Cycles: of a call, of each channel of its tables, of each run of neighbours, of elements on one core."""


def unsupported_reason(op: Op, types: Types) -> str | None:
    is_small = instance(op, RequantShift).requant.shift < LEAST_SHIFT
    return f"shifts by less than {LEAST_SHIFT} bits" if is_small else None


def scratch_bytes(op: Op, types: Types) -> int:
    """Doubles: factors and summands, and for each core a run of elements and two blocks, with one between cores."""
    return 8 * (2 * types["mul"].elements + CORES * (RUN + 2 * BLOCK + 1))


def cycles(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> CycleEstimate:
    axis = instance(op, RequantShift).axis
    sizes = [extents[f"d{i}"] for i in range(len(types["X"].shape))]
    channels = sizes[axis] if axis >= 0 else 1
    inner = math.prod(sizes[axis + 1 :]) if axis >= 0 else math.prod(sizes)
    own = -(-math.prod(sizes) // cores)
    runs = -(-own // min(RUN, channels if inner == 1 else inner))
    return CycleEstimate(cores=CALL + CHANNEL * channels + START * runs + ELEMENT * own)


def axis_of(op: Op, types: Types) -> object:
    """Other numbers of the operator decide only about results."""
    return instance(op, RequantShift).axis


KERNELS = (
    Kernel(
        RequantShift, "requantshift_doubles.c", "X mul:int32 add:int32 -> Y", {"X": NARROW, "Y": NARROW},
        scratch=scratch_bytes, unsupported_reason=unsupported_reason, roundings=UP_OR_EVEN, cooperative=True,
        header="requantshift.h", cycles=cycles, planning_key=axis_of,
    ),
)  # fmt: skip
