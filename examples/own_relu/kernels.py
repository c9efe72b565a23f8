"""A kernel from outside the package: four bytes at a time through a Relu.

tilewright run model.onnx --target rv32 --kernels examples/own_relu
"""

from __future__ import annotations

from tilewright.ops.relu import Relu
from tilewright.own_kernels import Kernel, OwnKernels

TOGETHER = 4


def odd(op, types):
    """Why a node is left to the target's own kernel, or None."""
    count = types["X"].elements
    return f"its {count} elements are no multiple of {TOGETHER}" if count % TOGETHER else None


KERNELS = OwnKernels([Kernel(Relu, "relu_words.c", "X:int8 -> Y:int8", {}, unsupported_reason=odd, header="unary.h")])
