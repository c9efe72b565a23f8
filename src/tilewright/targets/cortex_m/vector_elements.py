"""Kernels for vectors, four results at a time: sums, requantisations and means."""

from __future__ import annotations

from math import prod
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, requants_of
from tilewright.ir.rounding import UP_OR_EVEN, Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.cortex_m.vector_offers import LEAST_SHIFT
from tilewright.targets.generic.linear import TOTALS
from tilewright.targets.microcontroller.elementwise import not_in_words, sum_fits

SHORT = TOTALS - {"int32"}
WORD = 32
LARGEST = 1 << 29
"""Of limits: totals beyond 32 bits are larger all the same."""


def _fits(requant: Requant) -> bool:
    """Whether vectors of 32 bits give the same to the bit."""
    if max(abs(requant.low), abs(requant.high), abs(requant.zero_point)) > LARGEST or requant.has_exponents:
        return False
    return requant.rounding == Rounding.NATIVE or LEAST_SHIFT <= requant.shift < 64


def all_fit(op: Op, types: Types) -> str | None:
    return None if all(map(_fits, requants_of(op))) else "32 bits do not hold what it is rounded from"


def doubled_down(op: Op, types: Types) -> str | None:
    add = cast(TfliteAdd, op)
    exponents = add.first.exponent, add.second.exponent, add.exponent
    is_twice = add.requant.rounding == Rounding.DOUBLE and max(exponents) <= 0
    return None if is_twice else "it rounds twice, after the product"


def not_side_by_side(op: Op, types: Types) -> str | None:
    """Of a softmax, whose elements lie so; its shift leaves some of the upper word."""
    softmax = cast(QLinearSoftmax, op)
    if prod(types["X"].shape[softmax.axis + 1 :]) != 1:
        return "it takes rows whose elements lie side by side"
    return None if WORD < softmax.requant.shift < 2 * WORD - 1 else f"a shift of {softmax.requant.shift} bits"


def last_axis_kept(op: Op, types: Types) -> str | None:
    """Results that lie side by side are sums of elements that do."""
    shape, axes = types["X"].shape, cast(QLinearReduceMean, op).axes
    reduced = {axis % len(shape) for axis in axes} if axes else set(range(len(shape)))
    return None if len(shape) - 1 not in reduced and shape[-1] > 1 else "it keeps the last axis"


KERNELS = (
    Kernel(
        QLinearAdd, "qlinearadd_mve.c", "A B -> Y", {"A": SHORT, "B": SHORT, "Y": SHORT}, unsupported_reason=sum_fits,
        header="qlinearadd.h",
    ),
    Kernel(
        TfliteAdd, "tfliteadd_mve.c", "A B -> Y", {"A": SHORT, "B": SHORT, "Y": SHORT}, unsupported_reason=doubled_down,
        header="tfliteadd.h",
    ),
    Kernel(
        RequantizedAdd, "requantizedadd_mve.c", "A B -> Y", {"A": TOTALS, "B": TOTALS, "Y": SHORT},
        unsupported_reason=all_fit, header="requantizedadd.h",
    ),
    Kernel(
        RequantShift, "requantshift_mve.c", "X mul:int32 add:int32 -> Y", {"X": TOTALS, "Y": SHORT},
        unsupported_reason=all_fit, header="requantshift.h",
    ),
    Kernel(
        QLinearRowNorm, "qlinearrownorm_mve.c", "X mul:int32 add:int32 -> Y", {"X": SHORT, "Y": SHORT},
        unsupported_reason=not_in_words, header="qlinearrownorm.h",
    ),
    Kernel(
        QLinearSoftmax, "qlinearsoftmax_mve.c", "X table:int32 -> Y", {"X": NARROW, "Y": SHORT}, roundings=UP_OR_EVEN,
        unsupported_reason=not_side_by_side, header="qlinearsoftmax.h",
    ),
    Kernel(
        QLinearReduceMean, "qlinearreducemean_mve.c", "X -> Y", {"X": SHORT, "Y": TOTALS},
        unsupported_reason=last_axis_kept, header="qlinearreducemean.h",
    ),
)  # fmt: skip
