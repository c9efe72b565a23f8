"""Kernels that take bytes and words element by element, four bytes at a time, all cores together."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ir.rounding import NOT_AWAY, UP_OR_EVEN
from tilewright.ops._linear import NARROW
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.lookup import Lookup
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.relu import Relu
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.sub import Sub
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.elementwise import (
    add_params,
    add_unsupported,
    product_params,
    product_unsupported,
    several_scales,
    several_tables,
    sum_params,
    sum_unsupported,
    without_factor,
)

BYTES2 = {"A": NARROW, "B": NARROW, "Y": NARROW}
PACKED = NARROW | {"int32"}
"""Elements that words are made of without a rest."""


def pairs(op: type[Op], source: str) -> Kernel:
    types = {"A": PACKED, "B": PACKED, "Y": PACKED}
    return Kernel(op, source, "A B -> Y", types, unsupported_reason=several_types, cooperative=True, header="binary.h")


def several_types(op: Op, types: Types) -> str | None:
    """In place or not, all of them are elements of the same words."""
    return None if len({kind.dtype for kind in types.values()}) == 1 else "its operands and results differ in type"


def elements(op: type[Op], source: str, header: str) -> Kernel:
    types = {"X": PACKED, "Y": PACKED}
    return Kernel(op, source, "X -> Y", types, unsupported_reason=several_types, cooperative=True, header=header)


KERNELS = (
    Kernel(
        RequantizedAdd, "requantizedadd_lanes.c", "A B -> Y", BYTES2, add_params, unsupported_reason=add_unsupported,
        roundings=UP_OR_EVEN, cooperative=True, header="requantizedadd_bytes.h",
    ),
    Kernel(
        QLinearAdd, "qlinearadd_lanes.c", "A B -> Y", BYTES2, sum_params, unsupported_reason=sum_unsupported,
        cooperative=True, header="qlinearadd_bytes.h",
    ),
    Kernel(
        QLinearMul, "qlinearmul_lanes.c", "A B -> Y", BYTES2, product_params, unsupported_reason=product_unsupported,
        roundings=UP_OR_EVEN, cooperative=True, planning_key=without_factor, header="qlinearmul_bytes.h",
    ),
    Kernel(
        RequantShift, "requantshift_lanes.c", "X mul:int32 add:int32 -> Y",
        {"X": frozenset({"int8", "uint8", "int16", "int32"}), "Y": NARROW}, roundings=NOT_AWAY, cooperative=True,
        header="requantshift.h",
    ),
    Kernel(
        Lookup, "lookup_local.c", "X table -> Y", {"X": NARROW, "table": NARROW, "Y": NARROW},
        unsupported_reason=several_tables, cooperative=True, header="lookup.h",
    ),
    Kernel(
        QuantizeLinear, "quantizelinear_words.c", "X:float32 scale:float32 zero -> Y", {"zero": NARROW, "Y": NARROW},
        unsupported_reason=several_scales, cooperative=True, header="quantizelinear.h",
    ),
    pairs(Add, "add_lanes.c"),
    pairs(Sub, "sub_lanes.c"),
    pairs(Max, "max_lanes.c"),
    pairs(Min, "min_lanes.c"),
    elements(Relu, "relu_lanes.c", "unary.h"),
    elements(Clip, "clip_lanes.c", "clip.h"),
)  # fmt: skip
