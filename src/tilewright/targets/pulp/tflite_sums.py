"""The kernel of TensorFlow Lite's sums of bytes: tables of 32-bit summands, and one rounding by high words."""

from __future__ import annotations

from functools import cache
from typing import cast

import numpy as np

from tilewright.errors import present
from tilewright.ir.op import Op, Params
from tilewright.ir.types import Array, limits
from tilewright.ops._linear import NARROW
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.hwpe.finish import LIFT, scaled_finish
from tilewright.targets.pulp.elementwise_features import binary_features


@cache
def _tables(op: TfliteAdd, a: str, b: str) -> tuple[Array, Array]:
    """Four times what becomes of every byte."""

    def entries(dtype: str, summand: Summand) -> Array:
        low, high = limits(dtype)
        return op.scaled(np.arange(low, high + 1), summand) << LIFT

    return entries(a, op.first), entries(b, op.second)


def _limit(op: TfliteAdd, a: str, b: str) -> int:
    """How far from 0 a sum may be."""
    return sum(int(np.abs(table).max()) for table in _tables(op, a, b)) >> LIFT


def params(op: Op, types: Types) -> Params:
    total = cast(TfliteAdd, op)
    a, b = types["A"].dtype, types["B"].dtype
    found = scaled_finish(total.requant, np.array([total.mul]), np.array([total.exponent]), _limit(total, a, b))
    finish = present(found, op.kind, "is not rounded by high words")
    first, second = (tuple(table.tolist()) for table in _tables(total, a, b))
    right = -total.exponent
    return {
        "loops": cast(Params, params_of(op, types)["loops"]), "first": first, "second": second, "mul": total.mul,
        "less": finish.bound, "summand": finish.summand + (finish.shift << right), "shift": right + 1,
        "top": total.requant.high - total.requant.low, "low": total.requant.low,
    }  # fmt: skip


def unsupported_reason(op: Op, types: Types) -> str | None:
    total = cast(TfliteAdd, op)
    limit = _limit(total, types["A"].dtype, types["B"].dtype)
    found = scaled_finish(total.requant, np.array([total.mul]), np.array([total.exponent]), limit)
    return None if found else "its sums are not rounded by high words"


KERNELS = (
    Kernel(
        TfliteAdd, "tfliteadd_tables.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW}, params,
        unsupported_reason=unsupported_reason, cooperative=True, features=binary_features,
    ),
)  # fmt: skip
