from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import Array, Shape
from tilewright.ops._compose import Compose
from tilewright.ops._gradients import declared
from tilewright.ops._spatial import read_pads, read_strides
from tilewright.ops._windows import reach
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.pad import Pad
from tilewright.records import dataclass


@dataclass(frozen=True)
class AveragePoolGrad(Op):
    """The gradient of an AveragePool's operand: each window hands its element of dY out in equal parts."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("ceil_mode", "auto_pad")
        make, kernel = Compose(node, emit), node.integer_list("kernel_shape")
        if kernel is None or len(kernel) not in (1, 2) or len(kernel) != node.rank() - 2:
            raise Refusal(f"kernel_shape {kernel} on {node.rank()} axes; 1 or 2 spatial axes are supported")
        (strides, dilations), pads = read_strides(node, len(kernel)), read_pads(node, len(kernel))
        size = _size(node, kernel, strides, dilations, pads)
        counted = bool(node.attribute("count_include_pad", 0))
        if not any(pads) and kernel == strides and set(dilations) == {1}:
            return make.give(_spread(make, kernel, size))
        counts = _counts(node.type(0).shape[2:], size, (kernel, strides, dilations, pads), counted)
        channels = node.type(0).shape[1]
        ones = make.constant(np.ones((channels, 1, *kernel), np.float32), "ones")
        parts = make.mul(node.inputs[0], make.constant((1.0 / counts).astype(np.float32), "counts"))
        padding = (*pads[: len(kernel)], *(0,) * len(kernel))
        return make.give(make(ConvInputGrad(strides, dilations, padding, groups=channels, size=size), parts, ones))


def _size(node: OnnxNode, kernel: Shape, strides: Shape, dilations: Shape, pads: Shape) -> Shape:
    """Of what was pooled: as declared, or what the windows cover."""
    known, rank = declared(node), len(kernel)
    if known is not None:
        return known[2:]
    walk = zip(node.type(0).shape[2:], kernel, strides, dilations, strict=True)
    full = [(out - 1) * stride + reach(taps, dilation) for out, taps, stride, dilation in walk]
    return tuple(full[axis] - pads[axis] - pads[rank + axis] for axis in range(rank))


def _spread(make: Compose, kernel: Shape, size: Shape) -> str:
    """Windows side by side: every element of dY is repeated; what no window covers gets zeros."""
    n, c, *outs = make.shape(make.node.inputs[0])
    scaled = make.scaled(make.node.inputs[0], 1.0 / float(np.prod(kernel)))
    apart = make.reshape(scaled, (n, c, *(size for out in outs for size in (out, 1))))
    wide = make.expand(apart, (n, c, *(size for pair in zip(outs, kernel, strict=True) for size in pair)))
    covered = [out * taps for out, taps in zip(outs, kernel, strict=True)]
    image, ends = make.reshape(wide, (n, c, *covered)), [s - k for s, k in zip(size, covered, strict=True)]
    return make(Pad((0,) * (4 + len(ends)) + tuple(ends)), image) if any(ends) else image


def _counts(outs: Shape, size: Shape, window: tuple[Shape, Shape, Shape, Shape], counted: bool) -> Array:
    """How many elements each window is the mean of."""
    total = np.ones(())
    for axis, (out, length) in enumerate(zip(outs, size, strict=True)):
        kernel, strides, dilations, pads = window
        places = np.arange(out)[:, None] * strides[axis] + np.arange(kernel[axis]) * dilations[axis] - pads[axis]
        end = length + (pads[len(size) + axis] if counted else 0)
        seen = (places >= (-pads[axis] if counted else 0)) & (places < end)
        total = np.multiply.outer(total, np.maximum(seen.sum(axis=1), 1))
    return total[None, None]
