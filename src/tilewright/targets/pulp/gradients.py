"""Kernels of gradients of floats, all cores together."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.gelugrad import GeluGrad
from tilewright.ops.relugrad import ReluGrad
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.patches import gradient_by_filters, gradients_by_operand
from tilewright.targets.pulp.sizes import by_cores, in_c


def channels_last(op: Op, types: Types) -> str | None:
    return None if cast(ConvWeightGrad | ConvInputGrad, op).channels_last else "it is not channels last"


def dense(op: Op, types: Types) -> str | None:
    op = cast(ConvWeightGrad | ConvInputGrad, op)
    filters = op.channels(types["G"].shape) // op.groups
    if op.groups > 1 and filters < 4:
        return "groups have fewer than four filters"
    return channels_last(op, types)


def depthwise(op: Op, types: Types) -> str | None:
    op = cast(ConvWeightGrad | ConvInputGrad, op)
    filters = types["Y" if isinstance(op, ConvWeightGrad) else "W"].shape
    if filters[0] != op.groups or op.channels(filters) != 1:
        return "not every group has one channel and one filter"
    return channels_last(op, types)


def exact(op: Op, types: Types) -> str | None:
    return None if cast(GeluGrad, op).approximate == "none" else "it is not exact"


OF_FILTERS, OF_OPERAND = "X:float32 G:float32 -> Y:float32", "G:float32 W:float32 -> Y:float32"
WINDOW = frozenset({"r", "s"})


def kernels(cores: int) -> tuple[Kernel, ...]:
    """For a cluster of so many."""
    return (
        Kernel(
            ConvWeightGrad, "conv_weight_grad_channels.c", OF_FILTERS, {}, unsupported_reason=depthwise,
            scratch=by_cores("tw_conv_weight_grad_channels_scratch", cores), cooperative=True,
            unsplit_loops=WINDOW | {"n", "y", "x"}, header="conv_gradient.h",
            work=in_c.work("tw_conv_weight_grad_channels_work"),
        ),
        Kernel(
            ConvInputGrad, "conv_input_grad_channels.c", OF_OPERAND, {}, unsupported_reason=depthwise,
            scratch=by_cores("tw_conv_input_grad_channels_scratch", cores), cooperative=True, unsplit_loops=WINDOW,
            header="conv_gradient.h", work=in_c.work("tw_conv_input_grad_channels_work"),
        ),
        gradient_by_filters(cores),
        Kernel(
            ConvWeightGrad, "conv_weight_grad_blocks.c", OF_FILTERS, {}, unsupported_reason=dense, cooperative=True,
            scratch=in_c("tw_conv_weight_grad_blocks_scratch"), unsplit_loops=frozenset({"n", "y", "x"}),
            multiples={"f": 4, "c": 4}, header="conv_gradient.h",
            work=in_c.work("tw_conv_weight_grad_blocks_work"),
        ),
        *gradients_by_operand(cores),
        Kernel(
            ConvInputGrad, "conv_input_grad_blocks.c", OF_OPERAND, {}, scratch=in_c("tw_conv_gradient_zeros"),
            unsupported_reason=dense, cooperative=True, unsplit_loops=WINDOW | {"f"}, multiples={"c": 4},
            header="conv_gradient.h", work=in_c.work("tw_conv_input_grad_blocks_work"),
        ),
        Kernel(
            ReluGrad, "relugrad_shared.c", "A B -> Y", dict.fromkeys("ABY", FLOATS), cooperative=True,
            header="binary.h",
        ),
        Kernel(
            GeluGrad, "gelugrad_shared.c", "A B -> Y", dict.fromkeys("ABY", FLOATS),
            unsupported_reason=exact, cooperative=True, header="binary.h",
        ),
    )  # fmt: skip
