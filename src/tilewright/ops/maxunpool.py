from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops._spatial import read_pads, read_strides
from tilewright.ops.pad import Pad
from tilewright.ops.scatterelements import ScatterElements
from tilewright.records import dataclass


@dataclass(frozen=True)
class MaxUnpool(Op):
    """The elements of X at the positions that a MaxPool found them at, zeros elsewhere: a ScatterElements."""

    operands: ClassVar[tuple[str, ...]] = ("X", "indices", "output_shape?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, (x, indices) = Compose(node, emit), node.inputs[:2]
        shape, kernel = node.type(0).shape, node.integer_list("kernel_shape") or ()
        if len(kernel) != len(shape) - 2 or node.type(1).shape != shape:
            raise Refusal(f"a window {kernel} and indices of shape {node.type(1).shape} for shape {shape}")
        strides, pads = read_strides(node, len(kernel))[0], read_pads(node, len(kernel))
        ends = zip(shape[2:], strides, kernel, pads, pads[len(kernel) :], strict=False)
        found = (*shape[:2], *((size - 1) * stride + taps - a - b for size, stride, taps, a, b in ends))
        wanted = node.integers_at(2, "the result's shape") or found
        if min(found) < 1 or len(wanted) != len(found) or any(w < f for w, f in zip(wanted, found, strict=False)):
            raise Refusal(f"a result of shape {wanted} from one of shape {found}")
        refuse_large("the result", *wanted)
        zeros = make.constant(np.zeros(math.prod(found), node.type(0).element), "zeros")
        flat = (node.type(0).elements,)
        at = make.cast(make.reshape(indices, flat), "int32")
        y = make.reshape(make(ScatterElements(axis=0), zeros, at, make.reshape(x, flat)), found)
        after = tuple(w - f for w, f in zip(wanted, found, strict=True))
        return make.give(make(Pad((*(0,) * len(found), *after)), y) if any(after) else y)
