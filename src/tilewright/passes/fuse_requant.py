"""A RequantShift becomes part of what it requantises: convolutions, matrix products and sums.

The wide intermediate tensor disappears; every rounding and every clamp stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tilewright.ir import Builder, Graph, Node
from tilewright.ops._dialect import INTEGERS
from tilewright.ops._filters import Filters
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.ops.requantizedadd import UNCHANGED, RequantizedAdd, Scaling
from tilewright.ops.requantshift import RequantShift
from tilewright.passes import Pass
from tilewright.passes.rewriting import is_only_reader, rewrite
from tilewright.types import Shape


def run(graph: Graph) -> Graph:
    # Products first: what they give is then narrow when it meets a sum.
    for fuse in (_into_product, _into_sum):
        graph = rewrite(graph, partial(fuse, graph))
    return graph


# ---- products -----------------------------------------------------------------------------------------------------


def _into_product(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source = _source(graph, node)
    if source is None or not isinstance(node.op, RequantShift) or not isinstance(source.op, Filters | MatMul):
        return None
    shape = _factor_shape(graph, source, node.op.axis)
    if shape is None or source.op.requant is not None or graph.types[source.key].dtype != "int32":
        return None
    factors = [_reshaped(graph, builder, name, shape) for name in node.inputs[1:]]
    operands = [*source.inputs, *[""] * (3 - len(source.inputs))]
    builder.add(replace(source.op, requant=node.op.requant), [*operands, *factors], node.outputs, source.name)
    return {name: name for name in node.outputs}


def _factor_shape(graph: Graph, source: Node, axis: int) -> Shape | None:
    """The shape that the operator wants mul and add in, or None where it has no such axis."""
    result = graph.types[source.key].shape
    if axis < 0:
        return (1,)
    if isinstance(source.op, Filters):
        return (result[1],) if axis == 1 else None
    if min(len(graph.types[name].shape) for name in source.inputs[:2]) < 2:
        return None
    return {len(result) - 1: result[-1:], len(result) - 2: (result[-2], 1)}.get(axis)


def _reshaped(graph: Graph, builder: Builder, name: str, shape: Shape) -> str:
    if graph.types[name].shape == shape:
        return name
    return builder.constant(graph.constants[name].reshape(shape), name)


# ---- sums ---------------------------------------------------------------------------------------------------------


def _into_sum(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source, out = _source(graph, node), _scaling(graph, node)
    if source is None or out is None or not isinstance(source.op, Add) or graph.types[source.key].dtype != "int32":
        return None
    if not all(graph.types[name].dtype in INTEGERS for name in source.inputs):
        return None
    (a, first), (b, second) = (_operand(graph, source, name) for name in source.inputs)
    builder.add(RequantizedAdd(first, second, out), [a, b], node.outputs, source.name)
    return {name: name for name in node.outputs}


def _operand(graph: Graph, total: Node, tensor: str) -> tuple[str, Scaling]:
    """An operand of a sum without the requantisation before it, unless that made it narrower: memory is worth more."""
    source = graph.producers.get(tensor)
    scaling = _scaling(graph, source) if source is not None else None
    if source is None or scaling is None or not is_only_reader(graph, total, tensor):
        return tensor, UNCHANGED
    if graph.types[source.inputs[0]].bytes > graph.types[tensor].bytes:
        return tensor, UNCHANGED
    return source.inputs[0], scaling


def _scaling(graph: Graph, node: Node) -> Scaling | None:
    """A RequantShift with one multiplier as plain data."""
    if not isinstance(node.op, RequantShift) or node.op.axis >= 0:
        return None
    mul, add = (graph.constants.get(name) for name in node.inputs[1:])
    return None if mul is None or add is None else Scaling(int(mul[0]), int(add[0]), node.op.requant)


def _source(graph: Graph, node: Node) -> Node | None:
    """What gives a RequantShift its operand, if nothing else reads that."""
    if not isinstance(node.op, RequantShift) or not is_only_reader(graph, node, node.inputs[0]):
        return None
    constant = all(name in graph.constants for name in node.inputs[1:])
    return graph.producers.get(node.inputs[0]) if constant else None


FUSE_REQUANT = Pass("fuse requantisations", run)
