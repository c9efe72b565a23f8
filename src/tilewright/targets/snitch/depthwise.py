"""Kernels of convolutions whose groups have one input channel each, with streams: two filters at a time."""

from __future__ import annotations

import math

from tilewright.ir.op import Op, Params
from tilewright.ops._linear import NARROW
from tilewright.ops.conv import Conv
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS, not_depthwise
from tilewright.targets.snitch.sizes import CORES, by_cores, in_c

LARGEST_TOTAL = 4194303
"""TW_LARGEST_TOTAL in C."""
LARGEST_PRODUCT = in_c("tw_largest_of_conv")
CHUNK = by_cores("tw_depthwise_chunk")


def depthwise_params(op: Op, types: Types) -> Params:
    fields = params_of(op, types)
    return {**fields, "chunk": CHUNK(fields, types)}


def large_sums(op: Op, types: Types) -> str | None:
    taps, largest = math.prod(types["W"].shape[2:]), LARGEST_PRODUCT(params_of(op, types), types)
    if taps * largest > LARGEST_TOTAL:
        return f"sums of {taps} products may be more than {LARGEST_TOTAL}"
    return not_depthwise(op, types)


WORK = in_c.work("tw_depthwise_work", CORES)

KERNELS = (
    Kernel(
        Conv, "depthwise_bytes.c", "X W B:int32 mul:int32 add:int32 -> Y", {"X": NARROW, "W": NARROW, "Y": TOTALS},
        depthwise_params, by_cores("tw_depthwise_bytes_scratch"), large_sums, cooperative=True, work=WORK,
        header="conv.h",
    ),
    Kernel(
        Conv, "depthwise_streams_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {}, depthwise_params,
        by_cores("tw_depthwise_streams_scratch"), not_depthwise, cooperative=True, work=WORK, header="conv.h",
        activations=(Relu,),
    ),
)  # fmt: skip
