"""Weights that step down their gradient while it is made, where it would take more memory than what it is made of: deep
in a network, a layer's weights are many and its pixels few."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops.convweightgrad import ConvWeightGrad
from tilewright.ops.convweightstep import ConvWeightStep
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.reshape import Reshape
from tilewright.ops.sub import Sub
from tilewright.ops.where import Where
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.target import Target
from tilewright.training.graphs import Training


@dataclass(frozen=True)
class _Step:
    """Where `allowed`, the weight less `rate` times what `maker` makes."""

    maker: Node
    op: ConvWeightStep
    weight: str
    rate: str
    allowed: str


def descending(training: Training, target: Target) -> Training:
    """The same training for a target, where it has a kernel for that."""
    if not target.steps_down_gradients:
        return training
    return training.with_graphs(train=descended(training.train))


def descended(graph: Graph) -> Graph:
    weights = {state.after: state.before for state in graph.states}
    return rewrite(graph, partial(_joined, graph, weights))


def _joined(graph: Graph, weights: Mapping[str, str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    step = _step(graph, node, weights.get(node.key, ""))
    if step is None:
        return None
    zero = builder.constant(np.zeros(1, np.float32), "no_step")
    (rate,) = builder.add(Where(), [step.allowed, step.rate, zero], name=node.name)
    operands = [_viewed(builder, name, shape) for name, shape in _images(graph, step.maker)]
    x_and_g = operands[::-1] if isinstance(step.maker.op, MatMul) else operands
    filters = _viewed(builder, step.weight, _as_images(graph.types[step.maker.key].shape))
    (made,) = builder.add(step.op, [*x_and_g, filters, _viewed(builder, rate, (1,))], name=node.name)
    return {node.key: _viewed(builder, made, graph.types[step.weight].shape)}


def _step(graph: Graph, node: Node, weight: str) -> _Step | None:
    """What makes the next value of a weight, if it is a step that can be taken so, and is worth it."""
    if not weight or not isinstance(node.op, Where) or node.inputs[2] != weight:
        return None
    allowed, after, _ = node.inputs
    less = _made_for(graph, node, after, Sub)
    if less is None or less.inputs[0] != weight:
        return None
    scaled = _made_for(graph, less, less.inputs[1], Mul)
    if scaled is None or {graph.types[name].elements for name in (allowed, scaled.inputs[1])} != {1}:
        return None
    maker = _maker(graph, scaled)
    op = None if maker is None else _stepping(graph, maker)
    if maker is None or op is None or not _is_worth_it(graph, maker):
        return None
    return _Step(maker, op, weight, scaled.inputs[1], allowed)


def _made_for(graph: Graph, reader: Node, tensor: str, kind: type) -> Node | None:
    node = graph.producers.get(tensor)
    return node if node is not None and isinstance(node.op, kind) and is_only_reader(graph, reader, tensor) else None


def _maker(graph: Graph, reader: Node) -> Node | None:
    """The node behind views that makes what the first operand is, for nobody else."""
    while True:
        tensor = reader.inputs[0]
        node = graph.producers.get(tensor)
        if node is None or not is_only_reader(graph, reader, tensor):
            return None
        if not node.op.view:
            return node
        reader = node


def _stepping(graph: Graph, maker: Node) -> ConvWeightStep | None:
    """The step down a gradient that a node makes."""
    match maker.op:
        case ConvWeightGrad(channels_last=False, rank=2) as op:
            return ConvWeightStep(op.strides, op.dilations, op.padding, groups=op.groups, kernel=op.kernel)
        case MatMul() as op if len(maker.inputs) == 2 and _is_of_rows(graph, maker, op):
            return ConvWeightStep((1, 1), (1, 1), (0, 0, 0, 0))
    return None


def _is_of_rows(graph: Graph, maker: Node, op: MatMul) -> bool:
    """Whether a product is the sum over rows of both operands, as if they were images of one pixel."""
    left, right = (graph.types[name].shape for name in maker.inputs)
    if len(left) != 2 or len(right) != 2 or op not in (MatMul(), MatMul(trans_a=True)):
        return False
    return op.trans_a or right[0] == 1


def _is_worth_it(graph: Graph, maker: Node) -> bool:
    return graph.types[maker.key].bytes > sum(graph.types[name].bytes for name in maker.inputs)


def _images(graph: Graph, maker: Node) -> list[tuple[str, Shape]]:
    """Operands, and their shapes as images."""
    shapes = [graph.types[name].shape for name in maker.inputs]
    if isinstance(maker.op, MatMul) and not maker.op.trans_a:
        shapes[0] = shapes[0][::-1]  # of one column
    return list(zip(maker.inputs, map(_as_images, shapes), strict=True))


def _as_images(shape: Shape) -> Shape:
    return (*shape, 1, 1) if len(shape) == 2 else shape


def _viewed(builder: Builder, tensor: str, shape: Shape) -> str:
    if builder.types[tensor].shape == shape:
        return tensor
    return builder.add(Reshape(shape), [tensor])[0]
