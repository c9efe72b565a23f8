"""Requantisations of bytes, channel by channel, in doubles: the integer unit takes ten cycles for a wide product."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.errors import instance
from tilewright.ir.op import Op
from tilewright.ir.rounding import UP_OR_EVEN
from tilewright.ops._linear import NARROW
from tilewright.ops.requantshift import RequantShift
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Form
from tilewright.target.kernel import CycleEstimate, Kernel, Types
from tilewright.targets.snitch.sizes import by_cores

RUN = 128
"""TW_DOUBLES_RUN in C."""
DOUBLES = Form(
    "doubles", frozenset({Arithmetic.ONCE, Arithmetic.SUMMED, Arithmetic.EVEN, Arithmetic.WIDE}),
    {"int8": None, "uint8": None}, UP_OR_EVEN, (9, 62),
)  # fmt: skip
"""Products of bytes and factors of 31 bits stay within a word after the least shift."""
CALL, CHANNEL, START, ELEMENT = 600, 5, 110, 10
"""Cycles: of a call, of each channel of its tables, of each run of neighbours, of elements on one core."""


def unsupported_reason(op: Op, types: Types) -> str | None:
    return DOUBLES.reason_of(instance(op, RequantShift).requant)


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
        scratch=by_cores("tw_requantshift_doubles_scratch"), unsupported_reason=unsupported_reason,
        roundings=DOUBLES.roundings, cooperative=True,
        header="requantshift.h", cycles=cycles, planning_key=axis_of,
    ),
)  # fmt: skip
