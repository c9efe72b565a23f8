"""A RequantShift becomes part of what it requantises: convolutions, matrix products, sums, products, softmaxes.

The wide intermediate tensor disappears; every rounding and every clamp stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import Shape
from tilewright.ops._dialect import INTEGERS, IntegerSoftmax
from tilewright.ops._filters import Filters
from tilewright.ops._scaling import UNCHANGED, Scaling
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearadd import magnitude
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.transpose import Transpose
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    # Matrix products first: what they give is then narrow when it meets a sum.
    for fuse in (_before_view, _into_matrix_product, _into_sum, _into_product, _into_softmax):
        graph = rewrite(graph, partial(fuse, graph))
    return graph


# ---- views --------------------------------------------------------------------------------------------------------


def _before_view(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """A requantisation of a view or a Transpose of totals: it goes where the totals are made."""
    if not isinstance(node.op, RequantShift) or node.op.axis >= 0:
        return None
    moves: list[Node] = []
    source = _source(graph, node)
    while source is not None and isinstance(source.op, Reshape | Transpose):
        moves.append(source)
        only = is_only_reader(graph, source, source.inputs[0])
        source = graph.producers.get(source.inputs[0]) if only else None
    if source is None or not moves or not _makes_totals(graph, source):
        return None
    (tensor,) = builder.add(node.op, [source.key, *node.inputs[1:]], name=node.name)
    for move in reversed(moves[1:]):
        (tensor,) = builder.add(move.op, [tensor], name=move.name)
    builder.add(moves[0].op, [tensor], node.outputs, moves[0].name)
    return {name: name for name in node.outputs}


def _makes_totals(graph: Graph, node: Node) -> bool:
    is_product = isinstance(node.op, Filters | MatMul) and node.op.requant is None
    return is_product and graph.types[node.key].dtype == "int32"


# ---- matrix products and convolutions -----------------------------------------------------------------------------


def _into_matrix_product(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source = _requantised(graph, node)
    if source is None or not isinstance(node.op, RequantShift) or not isinstance(source.op, Filters | MatMul):
        return None
    shape = present(_factor_shape(graph, source, node.op.axis), node.where, "has factors of no known shape")
    factors = [_reshaped(graph, builder, name, shape) for name in node.inputs[1:]]
    operands = [*source.inputs, *[""] * (3 - len(source.inputs))]
    builder.add(replace(source.op, requant=node.op.requant), [*operands, *factors], node.outputs, source.name)
    return {name: name for name in node.outputs}


def _requantised(graph: Graph, node: Node) -> Node | None:
    """The product or convolution whose totals a node requantises, if that could do so itself."""
    source = _source(graph, node)
    if source is None or not isinstance(node.op, RequantShift) or not _makes_totals(graph, source):
        return None
    return None if _factor_shape(graph, source, node.op.axis) is None else source


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
    if len({one.requant.has_exponents for one in (first, second, out)}) > 1:
        # A kernel is compiled for one kind of rounding, and what stays unchanged is of the other one.
        return None
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


# ---- products -----------------------------------------------------------------------------------------------------


def _into_product(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    """Of operands whose product fits the 32 bits that it is taken in."""
    source, out = _source(graph, node), _scaling(graph, node)
    if source is None or out is None or not isinstance(source.op, Mul) or graph.types[source.key].dtype != "int32":
        return None
    kinds = [graph.types[name].dtype for name in source.inputs]
    if not all(dtype in QLinearMul.accepts for dtype in kinds) or math.prod(map(magnitude, kinds)) >= 2**31:
        return None
    op = QLinearMul(mul=out.mul, requant=out.requant, add=out.add)
    builder.add(op, source.inputs, node.outputs, source.name)
    return {name: name for name in node.outputs}


# ---- softmaxes ----------------------------------------------------------------------------------------------------


def _into_softmax(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    source, out = _source(graph, node), _scaling(graph, node)
    if source is None or out is None or not isinstance(source.op, IntegerSoftmax) or source.op.out is not None:
        return None
    builder.add(replace(source.op, out=out), source.inputs, node.outputs, source.name)
    return {name: name for name in node.outputs}


# ---- what is fused ---------------------------------------------------------------------------------------------------


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


def no_wide_totals(graph: Graph) -> Iterator[Complaint]:
    """Of products and convolutions."""
    for node in graph.nodes:
        if (source := _requantised(graph, node)) is not None:
            yield node.where, f"requantises the totals of {source.where}, which could do so itself"


FUSE_REQUANT = Pass("fuse requantisations", run, ensures=no_wide_totals)
