"""Convolutions of one filter for each channel, channels last, with weights tap by tap: neighbours read neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import ACTIVATIONS
from tilewright.ops._elementwise import FLOATS
from tilewright.ops._internal import Internal
from tilewright.ops._linear import NARROW
from tilewright.ops._rearranged import Rearranged
from tilewright.ops.conv import Conv
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import FLOAT, TOTALS
from tilewright.targets.gpu.plain import CONVOLVED, stored

CHANNELS = 4
"""That an item has; all channels are a multiple of it."""


@dataclass(frozen=True)
class DepthwiseConv(Rearranged, Internal):
    """A convolution with W[taps..., channels]."""

    operands: ClassVar[tuple[str, ...]] = Conv.operands
    multiplies: ClassVar[bool] = True
    conv: Conv

    @property
    def activation(self) -> Op | None:
        return self.conv.activation

    @property
    def plain(self) -> Conv:
        return self.conv

    def of(self, plain: Op) -> Op:
        return DepthwiseConv(instance(plain, Conv))

    def plain_shapes(self, shapes: Shapes) -> Shapes:
        return {**shapes, "W": _filters_first(shapes["W"])}

    def plain_types(self, types: Mapping[str, TensorType]) -> dict[str, TensorType]:
        w = types["W"]
        return {**types, "W": TensorType(w.dtype, _filters_first(w.shape))}

    def index(self, shapes: Shapes) -> Index:
        found = self.conv.index(self.plain_shapes(shapes))
        filters, *taps, _ = found["W"]
        return {**found, "W": (*taps, filters)}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self.conv.unsplittable(self.plain_shapes(shapes))

    def numpy(self, X: Array, W: Array, *others: Array | None) -> Array:
        made: Array = self.conv.numpy(X, np.moveaxis(W, -1, 0)[..., None], *others)
        return made

    def params(self, types: Mapping[str, TensorType]) -> Params:
        return params_of(self.conv, self.plain_types(types))


def _filters_first(shape: Shape) -> Shape:
    *taps, channels = shape
    return (channels, *taps, 1)


def kernels() -> Iterator[Kernel]:
    source, header = "gpu_depthwise.c", "conv.h"
    floats = Kernel(DepthwiseConv, source, CONVOLVED, {"B": FLOAT}, header=header, activations=ACTIVATIONS)
    yield from stored(floats, "X W Y")
    integers = {"X": NARROW, "W": frozenset({"int8"}), "B": frozenset({"int32"}), "Y": TOTALS}
    yield Kernel(DepthwiseConv, source, CONVOLVED, integers, header=header)


KERNELS = tuple(kernels())


# ---- the rewrite --------------------------------------------------------------------------------------------------


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_turn, graph))


def all_turned(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _is_depthwise(graph, node):
            yield node.where, "has its weights filter by filter"


def _turn(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _is_depthwise(graph, node):
        return None
    x, w, *others = node.inputs
    turned = np.ascontiguousarray(np.moveaxis(graph.constants[w][..., 0], 0, -1))
    weights = builder.constant(turned, f"{w}_by_taps")
    builder.add(DepthwiseConv(instance(node.op, Conv)), [x, weights, *others], node.outputs, node.name)
    return {node.key: node.key}


def _is_depthwise(graph: Graph, node: Node) -> bool:
    op = node.op
    if type(op) is not Conv or not op.channels_last or op.w_zero or node.inputs[1] not in graph.constants:
        return False
    x, w = (graph.types[name] for name in node.inputs[:2])
    types = (x.dtype in FLOATS and w.dtype in FLOATS) or (x.dtype in NARROW and w.dtype == "int8")
    return types and w.elements > 0 and op.groups == w.shape[0] == x.shape[-1] and op.groups % CHANNELS == 0


TURN_DEPTHWISE = Pass("weights of depthwise convolutions tap by tap", run, ensures=all_turned)
