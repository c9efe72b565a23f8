"""Gradients of filters as what has kernels for vectors: a convolution of images, whose channels are a batch, with the
gradient as filters; where windows see one pixel, a matrix product."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ops.conv import Conv
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.matmul import MatMul
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_composed, graph))


def _composed(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_dense(node):
        return None
    op, (x, gradient) = instance(node.op, ConvWeightGrad), node.inputs
    if set(op.kernel) == {1} and not any(op.padding):
        made = _product(builder, op, x, gradient)
    else:
        made = _convolution(builder, op, x, gradient)
    builder.add(Reshape(graph.types[node.outputs[0]].shape), [made], node.outputs, node.name)
    return {name: name for name in node.outputs}


def _product(builder: Builder, op: ConvWeightGrad, x: str, gradient: str) -> str:
    images, pixels = builder.types[x].shape[0], math.prod(builder.types[x].shape[2:])
    shapes = [(images, op.groups, builder.types[name].shape[1] // op.groups, pixels) for name in (gradient, x)]
    rows, columns = _made(builder, Reshape(shapes[0]), gradient), _made(builder, Reshape(shapes[1]), x)
    product = _made(builder, MatMul(trans_b=True), rows, columns)
    return _made(builder, ReduceSum((0,), False), product)


def _convolution(builder: Builder, op: ConvWeightGrad, x: str, gradient: str) -> str:
    images, channels, *sizes = builder.types[x].shape
    own, axes = channels // op.groups, tuple(range(3, 3 + op.rank))
    apart = _made(builder, Reshape((images, op.groups, own, *sizes)), x)
    turned = _made(builder, Transpose((2, 1, 0, *axes)), apart)
    seen = _made(builder, Reshape((own, op.groups * images, *sizes)), turned)
    filters = _made(builder, Transpose((1, 0, *range(2, 2 + op.rank))), gradient)
    window = Conv(strides=op.dilations, dilations=op.strides, padding=op.padding, groups=op.groups)
    found = _made(builder, window, seen, filters)
    shape = (*builder.types[found].shape[:2], *op.kernel)
    taken = _made(builder, Slice((0,) * len(shape), (1,) * len(shape), shape), found)
    return _made(builder, Transpose((1, 0, *range(2, 2 + op.rank))), taken)


def _made(builder: Builder, op: Op, *inputs: str) -> str:
    (made,) = builder.add(op, list(inputs))
    return made


def _is_dense(node: Node) -> bool:
    """Windows that skip pixels would be filters with holes."""
    return isinstance(node.op, ConvWeightGrad) and not node.op.channels_last and set(node.op.strides) == {1}


def all_composed(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_dense(node):
            yield node.where, "is a gradient of filters without kernels for vectors"


COMPOSE_WEIGHT_GRADIENTS = Pass("gradients of filters as convolutions and products", run, ensures=all_composed)
