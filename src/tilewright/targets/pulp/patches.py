"""Convolutions of floats by transformed patches of 4 x 4 pixels, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np

from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.relu import Relu
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.pulp.sizes import by_cores, in_c

LEAST_PATCHES, LEAST_CHANNELS = 8, 12
"""What transforms of patches and filters are worth their time for."""
SHAPES = (
    (4, 8, 64, 64),
    (24, 24, 12, 12),
    (8, 8, 64, 16),
    (8, 8, 16, 64),
    (16, 16, 32, 16),
    (16, 16, 64, 12),
    (32, 8, 16, 16),
    (16, 16, 64, 16),
    (8, 16, 64, 16),
    (8, 8, 64, 24),
    (12, 12, 48, 24),
    (16, 16, 16, 64),
    (28, 32, 16, 16),
)
"""Height, width, channels and filters of samples."""


def unsupported(op: Op, types: Types) -> str | None:
    op = cast(Conv | ConvInputGrad, op)
    if op.groups > 1 or op.spatial(types["W"].shape) != (3, 3) or {*op.strides, *op.dilations} != {1}:
        return "it has not three by three taps with strides of one in one group"
    if not op.channels_last:
        return "it is not channels last"
    patches = types["Y"].shape[0] * math.prod(-(-size // 2) for size in op.spatial(types["Y"].shape))
    if patches < LEAST_PATCHES or min(types["W"].shape[0], types["W"].shape[-1]) < LEAST_CHANNELS:
        return f"it has fewer than {LEAST_PATCHES} patches of 2 x 2 pixels, or {LEAST_CHANNELS} channels or filters"
    return None


def of_filters_unsupported(op: Op, types: Types) -> str | None:
    op = cast(ConvWeightGrad, op)
    filters, result = types["Y"].shape, types["G"].shape
    if op.groups > 1 or op.spatial(filters) != (3, 3) or {*op.strides, *op.dilations} != {1}:
        return "it has not three by three taps with strides of one in one group"
    if not op.channels_last:
        return "it is not channels last"
    patches = result[0] * math.prod(-(-size // 2) for size in op.spatial(result))
    if patches < LEAST_PATCHES or min(filters[0], filters[-1]) < LEAST_CHANNELS:
        return f"it has fewer than {LEAST_PATCHES} patches of 2 x 2 pixels, or {LEAST_CHANNELS} channels or filters"
    return "channels or filters are no multiple of four" if filters[0] % 4 or filters[-1] % 4 else None


def multiplied(op: Op, types: Types) -> float:
    """The share of its multiplications that is left: of 36 for 2 x 2 pixels, 16."""
    refusals = {Conv: unsupported, ConvInputGrad: unsupported, ConvWeightGrad: of_filters_unsupported}
    refusal = refusals.get(type(op))
    return 16 / 36 if refusal is not None and refusal(op, types) is None else 1.0


def samples() -> Iterator[tuple[Op, list[Array | None]]]:
    for height, width, channels, filters in SHAPES:
        x, g = (np.ones((1, height, width, count), np.float32) for count in (channels, filters))
        w = np.ones((filters, 3, 3, channels), np.float32)
        yield Conv(padding=(1,) * 4, channels_last=True), [x, w, None]
        yield ConvInputGrad(padding=(1, 1, 0, 0), size=(height, width), channels_last=True), [g, w]
        yield ConvWeightGrad(padding=(1,) * 4, kernel=(3, 3), channels_last=True), [x, g]


CONVOLUTION = Kernel(
    Conv, "conv_winograd_f32.c", "X:float32 W:float32 B:float32 -> Y:float32", {},
    scratch=in_c("tw_conv_winograd_scratch"), unsupported_reason=unsupported, cooperative=True,
    unsplit_loops=frozenset({"c", "r", "s"}), multiples={"f": 4}, work=in_c.work("tw_conv_winograd_work"),
    header="conv.h", activations=(Relu,), samples=samples, instead="conv_blocks_f32.c",
)  # fmt: skip
GRADIENT_BY_OPERAND = Kernel(
    ConvInputGrad, "conv_input_grad_winograd.c", "G:float32 W:float32 -> Y:float32", {},
    scratch=in_c("tw_conv_input_grad_winograd_scratch"), unsupported_reason=unsupported, cooperative=True,
    unsplit_loops=frozenset({"f", "r", "s"}), multiples={"c": 4}, min_tile={"c": LEAST_CHANNELS},
    work=in_c.work("tw_conv_input_grad_winograd_work"), header="conv_gradient.h", instead="conv_input_grad_blocks.c",
)  # fmt: skip


def gradient_by_filters(cores: int) -> Kernel:
    """For a cluster of so many."""
    return Kernel(
        ConvWeightGrad, "conv_weight_grad_winograd.c", "X:float32 G:float32 -> Y:float32", {},
        scratch=by_cores("tw_conv_weight_grad_winograd_scratch", cores), unsupported_reason=of_filters_unsupported,
        cooperative=True, unsplit_loops=frozenset({"n", "y", "x", "r", "s"}), multiples={"f": 4, "c": 4},
        min_tile={"f": 4, "c": 4}, work=in_c.work("tw_conv_weight_grad_winograd_work"), header="conv_gradient.h",
        instead="conv_weight_grad_blocks.c",
    )  # fmt: skip
