"""Samples of gradients, as large as a network's layers are after they have been cut."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.calibration.values import Sample, values
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.maxpoolgrad import MaxPoolGrad

CONVOLUTIONS = (
    # height, width, channels, filters, kernel, stride, groups
    (16, 16, 16, 16, 3, 1, 1), (8, 8, 32, 16, 3, 1, 1), (4, 4, 32, 32, 3, 1, 1), (16, 16, 8, 16, 3, 2, 1),
    (16, 16, 16, 16, 1, 1, 1), (8, 8, 64, 32, 1, 1, 1), (12, 12, 16, 24, 1, 2, 1), (20, 12, 3, 16, 3, 1, 1),
    (6, 20, 8, 8, 5, 1, 1), (10, 10, 1, 16, 3, 1, 1), (25, 5, 16, 16, 1, 1, 1), (2, 32, 16, 16, 3, 1, 1),
    (16, 16, 16, 16, 3, 1, 16), (8, 8, 32, 32, 3, 1, 32), (25, 5, 16, 16, 3, 1, 16), (16, 16, 16, 16, 3, 2, 16),
    (9, 9, 8, 8, 5, 1, 8), (24, 24, 8, 8, 3, 1, 8), (6, 6, 64, 64, 3, 1, 64),
)  # fmt: skip


def convolution_gradients() -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride, groups in CONVOLUTIONS:
        pad, strides = kernel // 2, (stride, stride)
        outs = [(size + 2 * pad - kernel) // stride + 1 for size in (height, width)]
        for is_last in (True, False):
            x, g = (
                values("float32", 1, *spatial, count) if is_last else values("float32", 1, count, *spatial)
                for spatial, count in (((height, width), channels), (outs, filters))
            )
            depth = channels // groups
            shape = (filters, kernel, kernel, depth) if is_last else (filters, depth, kernel, kernel)
            of_filters = ConvWeightGrad(
                strides, (1, 1), (pad,) * 4, groups=groups, kernel=(kernel, kernel), channels_last=is_last
            )
            yield of_filters, [x, g]
            if not is_last:
                step = ConvWeightStep(strides, (1, 1), (pad,) * 4, groups=groups, kernel=(kernel, kernel))
                yield step, [x, g, values("float32", *shape), values("float32", 1)]
            of_operand = ConvInputGrad(
                strides, (1, 1), (pad, pad, 0, 0), groups=groups, size=(height, width), channels_last=is_last
            )
            yield of_operand, [g, values("float32", *shape)]


def pool_gradients() -> Iterator[Sample]:
    for height, width, channels, kernel, stride in ((8, 8, 16, 2, 2), (9, 9, 32, 3, 2), (12, 12, 8, 3, 2)):
        outs = [(size - kernel) // stride + 1 for size in (height, width)]
        for is_last in (True, False):
            op = MaxPoolGrad((stride, stride), kernel=(kernel, kernel), channels_last=is_last)
            x = (1, height, width, channels) if is_last else (1, channels, height, width)
            g = (1, *outs, channels) if is_last else (1, channels, *outs)
            yield op, [values("float32", *g), values("float32", *x)]


OTHERS = (convolution_gradients, pool_gradients)
