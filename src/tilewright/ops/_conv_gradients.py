"""Gradients of convolutions, as operators of their own: of the operand, of the filters, of the bias."""

from __future__ import annotations

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Shape
from tilewright.ops._compose import Compose
from tilewright.ops._spatial import read_window
from tilewright.ops._windows import reach
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.reducesum import ReduceSum


def input_gradient(make: Compose, gradient: str, w: str, size: Shape | None) -> str:
    """Of the operand, which has that size along its spatial axes if it is known."""
    node, kernel = make.node, make.shape(w)[2:]
    outs = make.shape(gradient)[2:]
    _check_rank(kernel)
    known = size if size is not None else (0,) * len(kernel)
    strides, dilations, padding = read_window(node, kernel, known)
    rank = len(kernel)
    walk = zip(outs, kernel, strides, dilations, strict=True)
    least = [(out - 1) * stride + reach(taps, dilation) for out, taps, stride, dilation in walk]
    if size is None:
        size = tuple(least[axis] - padding[axis] - padding[rank + axis] for axis in range(rank))
    groups = node.attribute("group", 1)
    return make(ConvInputGrad(strides, dilations, (*padding[:rank], *(0,) * rank), groups=groups, size=size),
                gradient, w)  # fmt: skip


def weight_gradient(make: Compose, gradient: str, x: str, kernel: Shape) -> str:
    _check_rank(kernel)
    strides, dilations, padding = read_window(make.node, kernel, make.shape(x)[2:])
    op = ConvWeightGrad(strides, dilations, padding, groups=make.node.attribute("group", 1), kernel=kernel)
    return make(op, x, gradient)


def bias_gradient(make: Compose, gradient: str) -> str:
    rank = len(make.shape(gradient))
    return make(ReduceSum(tuple(axis for axis in range(rank) if axis != 1), False), gradient)


def _check_rank(kernel: Shape) -> None:
    if len(kernel) not in (1, 2):
        raise Refusal(f"{len(kernel)} spatial axes; gradients of convolutions have 1 or 2")


def kernel_given(node: OnnxNode, declared: Shape | None) -> Shape:
    """The window's size from the attribute, or from the declared shape of the filters' gradient."""
    kernel = node.integer_list("kernel_shape") or (declared[2:] if declared else None)
    if not kernel:
        raise Refusal("attribute 'kernel_shape' is missing")
    return kernel
