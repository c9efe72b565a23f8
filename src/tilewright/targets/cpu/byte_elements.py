"""Kernels of bytes element by element, of rows and of images, as loops that compilers make vectors of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from tilewright.ir.op import Op, Params
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearrownorm import UNIT_BITS, QLinearRowNorm
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.target.processors import Dot, Vectors
from tilewright.targets.cpu import byte_sums
from tilewright.targets.cpu.costing import sum_samples
from tilewright.targets.generic.linear import FLOAT
from tilewright.targets.generic.quantised import BYTE, INTEGER

MOST_PLANES = 4
TWICE = frozenset({Rounding.DOUBLE, Rounding.DOUBLE_UP})
LARGEST_UNIT = 1 << 31
"""Of a normalised element: the root of a row's length at the most."""


def shifts(op: Op, types: Types) -> str | None:
    return None if cast(QLinearAdd, op).requant.shift > 0 else "it shifts by a bit at least"


def own_factors(op: Op, types: Types) -> str | None:
    """Factors differ from element to element of a row, and 32 bits hold a normalised element."""
    fields, length = params_of(op, types), math.prod(types["X"].shape[cast(QLinearRowNorm, op).axis :])
    if fields["repeat"] != 1 or not length or math.isqrt(length) + 1 >= LARGEST_UNIT >> UNIT_BITS:
        return "each element of a row has a factor"
    return shifts(op, types)


def reduced_axes(op: Op, types: Types) -> list[int]:
    rank, axes = len(types["X"].shape), cast(QLinearReduceMean, op).axes
    return sorted(axis % rank for axis in axes) if axes else list(range(rank))


def rows_added(op: Op, types: Types) -> str | None:
    axes, shape = reduced_axes(op, types), types["X"].shape
    neighbours = axes == list(range(axes[0], axes[-1] + 1)) if axes else False
    return None if neighbours and axes[-1] == len(shape) - 2 and types["X"].elements else "it keeps the last axis"


def mean_params(op: Op, types: Types) -> Params:
    fields, axes, shape = params_of(op, types), reduced_axes(op, types), types["X"].shape
    return {
        "outer": math.prod(shape[: axes[0]]), "rows": math.prod(shape[axes[0] : -1]), "columns": shape[-1],
        "x_zero": fields["x_zero"], "mul": fields["mul"], "requant": fields["requant"],
    }  # fmt: skip


def few_planes(op: Op, types: Types) -> str | None:
    shape, perm = types["X"].shape, cast(Transpose, op).perm
    is_last = len(shape) >= 3 and perm == (0, *range(2, len(shape)), 1)
    return None if is_last and 2 <= shape[1] <= MOST_PLANES else "it brings a few planes to the last axis"


def plane_params(op: Op, types: Types) -> Params:
    batch, planes, *sides = types["X"].shape
    return {"batch": batch, "planes": planes, "pixels": math.prod(sides)}


def of_one_shape(op: Op, types: Types) -> str | None:
    alike = types["A"].shape == types["B"].shape == types["Y"].shape
    return None if alike else "it adds tensors of one shape"


def scaled_sum_params(op: Op, types: Types) -> Params:
    return {"count": types["Y"].elements, "sum": params_of(op, types)}


KERNELS = (
    replace(byte_sums.KERNEL, samples=sum_samples),
    Kernel(
        QLinearAdd, "qlinearadd_wide.c", "A B -> Y", {"A": INTEGER, "B": INTEGER, "Y": INTEGER},
        unsupported_reason=shifts, roundings=PLAIN, header="qlinearadd.h",
    ),
    Kernel(
        QLinearRowNorm, "qlinearrownorm_rows.c", "X mul:int32 add:int32 -> Y", {"X": INTEGER, "Y": INTEGER},
        unsupported_reason=own_factors, roundings=PLAIN, header="qlinearrownorm.h",
    ),
    Kernel(
        QLinearReduceMean, "qlinearreducemean_last.c", "X -> Y", {"X": BYTE, "Y": INTEGER}, mean_params,
        unsupported_reason=rows_added,
    ),
    Kernel(Transpose, "interleave.c", "X -> Y", {"X": BYTE, "Y": BYTE}, plane_params, unsupported_reason=few_planes),
    Kernel(Lookup, "lookup.c", "X table -> Y", {"X": BYTE, "table": FLOAT, "Y": FLOAT}),
)  # fmt: skip
FUSED = Kernel(
    QuantizeLinear, "quantizelinear_fused.c", "X:float32 scale:float32 zero -> Y", {"zero": BYTE, "Y": BYTE},
    header="quantizelinear.h",
)  # fmt: skip
"""For Arm's vectors, which multiply and add in one instruction."""
SCALED_SUM = Kernel(
    TfliteAdd, "tfliteadd_bytes.c", "A B -> Y", {"A": BYTE, "B": BYTE, "Y": BYTE}, scaled_sum_params,
    unsupported_reason=of_one_shape, roundings=TWICE,
)  # fmt: skip
"""For Arm's vectors, which round products as TensorFlow Lite does."""


def kernels(vectors: Vectors) -> tuple[Kernel, ...]:
    return (FUSED, SCALED_SUM, *KERNELS) if vectors.dot in (Dot.SDOT, Dot.SMMLA) else KERNELS
