"""What N-EUREKA makes of a node: an operator of its own with encoded weights, or the reason why it does not take it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, Shapes
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.target.target import Offer
from tilewright.targets.hwpe.encoding import ONE_TAP
from tilewright.targets.hwpe.heads import NeurekaHeads
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.op import BY_CORES, Neureka
from tilewright.targets.hwpe.results import bare, named, results
from tilewright.targets.hwpe.sum import sum_offer
from tilewright.targets.hwpe.sums import Sums
from tilewright.targets.hwpe.taken import taken
from tilewright.targets.hwpe.window_offers import window_offer

BYTES8 = ("int8", "uint8")
MOST_DENSE = 1 << 19
"""Weights of a convolution with groups, with those that are 0, up to which N-EUREKA computes it as one without."""


def offer(graph: Graph, node: Node, cores: int) -> Offer:
    """With so many cores that finish what it leaves to them."""
    if isinstance(node.op, Conv):
        return _conv_offer(graph, node, node.op, cores)
    if isinstance(node.op, MatMul):
        return _matmul_offer(graph, node, node.op, cores)
    if isinstance(node.op, QLinearAdd):
        return sum_offer(graph, node, node.op)
    raise Refusal("N-EUREKA computes convolutions, products with constant matrices and additions of two tensors only")


# ---- convolutions ---------------------------------------------------------------------------------------------------


def _conv_offer(graph: Graph, node: Node, op: Conv, cores: int) -> Offer:
    sums, groups = _conv_sums(graph, node, op), 1
    filters, channels, _ = sums.stored.shape
    if op.groups > 1 and (channels, filters) != (1, op.groups) and op.groups * sums.stored.size <= MOST_DENSE:
        op, sums, groups = replace(op, groups=1), sums.dense(op.groups), op.groups
    if _is_linear(op, graph.operand_shapes(node)):
        found = _linear_offer(graph, node, node.operands()["X"], sums, cores)
    else:
        found = window_offer(graph, node, op, sums, cores)
    return found if groups == 1 else replace(found, op=replace(instance(found.op, Neureka), groups=groups))


def _conv_sums(graph: Graph, node: Node, op: Conv) -> Sums:
    constants = _constants(graph, node, "X", ("W", "B", "mul", "add"))
    w = constants["W"]
    if not op.channels_last:
        raise Refusal("it is not channels last")
    filters = w.shape[0]
    return Sums(
        w.reshape(filters, -1, w.shape[-1]).transpose(0, 2, 1), op.w_zero, graph.operand_types(node)["X"].dtype,
        op.x_zero, _per_filter(constants.get("B"), filters, 0), op.requant, _values(constants, "mul", filters),
        _values(constants, "add", filters),
    )  # fmt: skip


def _is_linear(op: Conv, shapes: Shapes) -> bool:
    """Whether each pixel is a row that is multiplied with a matrix."""
    return math.prod(op.taps(shapes)) == 1 and op.groups == 1 and not any(op.padding) and set(op.strides) == {1}


# ---- matrix products ------------------------------------------------------------------------------------------------


def _matmul_offer(graph: Graph, node: Node, op: MatMul, cores: int) -> Offer:
    sums, heads = _matmul_sums(graph, node, op)
    x = node.operands()["A"]
    return _linear_offer(graph, node, x, sums, cores) if heads == 1 else _heads_offer(graph, node, x, sums, heads)


def _matmul_sums(graph: Graph, node: Node, op: MatMul) -> tuple[Sums, int]:
    """With how many matrices there are."""
    constants = _constants(graph, node, "A", ("B", "C", "mul", "add"))
    if op.trans_a or op.perm_a or op.perm_y:
        raise Refusal("its rows are read or stored in another order")
    if (op.alpha, op.beta) != (1.0, 1.0):
        raise Refusal(f"alpha is {op.alpha} and beta {op.beta}")
    b = constants["B"].transpose(op.perm_b) if op.perm_b else constants["B"]
    heads = _heads(graph, node, b)
    matrix = _filters(op, b)
    filters = matrix.shape[0]
    others = {name: array for name, array in constants.items() if name != "B"}
    values = {name: _per_column(name, array, filters, heads) for name, array in others.items()}
    sums = Sums(
        matrix[:, :, None], op.b_zero, graph.operand_types(node)["A"].dtype, op.a_zero,
        _per_filter(values.get("C"), filters, 0), op.requant, _values(values, "mul", filters),
        _values(values, "add", filters),
    )  # fmt: skip
    return sums, heads


def _heads(graph: Graph, node: Node, b: Array) -> int:
    """How many matrices the same rows are multiplied with."""
    heads = math.prod(b.shape[:-2])
    a, y = graph.operand_types(node)["A"].shape, graph.types[node.key].shape
    alike = heads == 1 or (math.prod(a[:-2]) == 1 and heads == y[-3] == math.prod(y[:-2]))
    if b.ndim < 2 or not alike:
        raise Refusal(f"its second factor has shape {b.shape}; one matrix, or one for each head, is expected")
    return heads


def _filters(op: MatMul, b: Array) -> Array:
    """The columns of the second factor, one after the other, head by head."""
    columns = b if op.trans_b else b.swapaxes(-1, -2)
    return columns.reshape(-1, columns.shape[-1])


def _heads_offer(graph: Graph, node: Node, x: str, sums: Sums, heads: int) -> Offer:
    op = NeurekaHeads(sums.bits, sums.offset, sums.dtype, heads=heads, axes=len(graph.types[node.key].shape))
    made, constants = results(sums, op, [sums.bias_without([])], thinned=True)
    if made.made == BY_CORES:
        raise Refusal("each head has a matrix of its own, and accumulators do not fit N-EUREKA's 32 bits")
    return named(node, x, made, {"W": ONE_TAP.pack(sums.codes[:, :, 0]), **constants})


def _per_column(name: str, values: Array, columns: int, heads: int) -> Array:
    if heads > 1:
        return _per_head_and_column(name, values, columns // heads, heads)
    if values.size not in (1, values.shape[-1] if values.ndim else 1):
        raise Refusal(f"{name} has shape {values.shape}; one value, or one for each of {columns} columns is expected")
    return values.reshape(-1)


def _per_head_and_column(name: str, values: Array, columns: int, heads: int) -> Array:
    *_, rows, _ = (1, 1, *values.shape)
    if rows != 1:
        raise Refusal(f"{name} has shape {values.shape}; the same for every row is expected")
    return np.broadcast_to(values.reshape(values.shape[-3:]), (heads, 1, columns)).reshape(-1)


# ---- both -----------------------------------------------------------------------------------------------------------


def linear_sums(graph: Graph, node: Node) -> Sums | None:
    """Of a node that `offer` takes as rows times one matrix."""
    if isinstance(node.op, Conv):
        is_linear = _is_linear(node.op, graph.operand_shapes(node))
        return _conv_sums(graph, node, node.op) if is_linear else None
    if not isinstance(node.op, MatMul):
        return None
    sums, heads = _matmul_sums(graph, node, node.op)
    return sums if heads == 1 else None


def _linear_offer(graph: Graph, node: Node, x: str, sums: Sums, cores: int) -> Offer:
    op, constants = results(sums, NeurekaLinear(sums.bits, sums.offset, sums.dtype), [sums.bias_without([])])
    if math.prod(graph.types[x].shape[:-1]) == 1:
        op, constants = bare(op, constants)
    words = ONE_TAP.pack(sums.codes[:, :, 0])
    return taken(graph, node, x, graph.types[x].shape, sums, op, {"W": words, **constants}, cores).named


def _constants(graph: Graph, node: Node, image: str, names: tuple[str, ...]) -> dict[str, Array]:
    """The operands that have to be constant; the image has to be of bytes, and the weights too."""
    types, operands = graph.operand_types(node), node.operands()
    for name in (image, names[0]):
        if types[name].dtype not in BYTES8:
            raise Refusal(f"{name} is {types[name].dtype}, N-EUREKA multiplies int8 and uint8")
    for name in names:
        if name in operands and operands[name] not in graph.constants:
            raise Refusal(f"{name} is not constant, and N-EUREKA needs it packed at compile time")
    if not all(size for kind in types.values() for size in kind.shape):
        raise Refusal("it has an operand without elements")
    return {name: graph.constants[operands[name]] for name in names if name in operands}


def _values(constants: dict[str, Array], name: str, filters: int) -> Array | None:
    return _per_filter(constants[name], filters) if name in constants else None


def _per_filter(values: Array | None, filters: int, otherwise: int = 0) -> Array:
    wide = np.full(1, otherwise, np.int64) if values is None else values.astype(np.int64)
    return np.broadcast_to(wide, (filters,)).copy()
