"""Constant weights of at most 4 bits are stored in 2 or 4 bits, for kernels that unpack them while they work.

Nothing is rounded: whatever a network calls its weights' type, their range decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tilewright.errors import instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.ops._linear import NARROW
from tilewright.ops._packed import few_bits, width_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.packedconv import PackedConv
from tilewright.ops.packedmatmul import PackedMatMul
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

FEWEST_ELEMENTS = 1024
"""For less, the code that unpacks them is longer than what is saved."""
INT8 = (-128, 127)


@dataclass(frozen=True, eq=False)
class PackedNode:
    """A node with packed weights: an operator, the tensor that it reads, and constants by the names of its operands."""

    op: Op
    image: str
    constants: Mapping[str, Array]


def packed_product(graph: Graph, node: Node) -> PackedNode | None:
    """A product of bytes with one constant matrix of few bits; None of any other node."""
    found = _rows_of(graph, node)
    codes = None if found is None else _codes(*found)
    columns = None if codes is None else _columns(graph, node, codes.values)
    if codes is None or columns is None:
        return None
    op = PackedMatMul(codes.bits, codes.least, _requant(node.op))
    return PackedNode(op, node.inputs[0], {"B": codes.packed, **columns})


def packed_conv(graph: Graph, node: Node) -> PackedNode | None:
    """A convolution of bytes, channels second and in one group, with constant filters of few bits."""
    op, weights = node.op, _weights(graph, node)
    if not isinstance(op, Conv) or weights is None or op.channels_last or op.groups != 1:
        return None
    codes, operands = _codes(weights.reshape(len(weights), -1), op.w_zero), node.operands()
    rest = {name: graph.constants.get(operands[name]) for name in ("B", "mul", "add") if name in operands}
    constants: dict[str, Array] = {name: array for name, array in rest.items() if array is not None}
    if codes is None or len(constants) < len(rest):
        return None
    made = PackedConv(codes.bits, codes.least, weights.shape[1:], replace(op, w_zero=0))
    return PackedNode(made, node.inputs[0], {"W": codes.packed, **constants})


@dataclass(frozen=True, eq=False)
class Codes:
    """Rows of weights without their zero point, as bytes hold them."""

    values: Array
    bits: int
    least: int

    @property
    def packed(self) -> Array:
        return few_bits(self.bits).pack(self.values - self.least)


def _codes(rows: Array, zero: int) -> Codes | None:
    values = rows.astype(np.int64) - zero
    least, most = int(values.min()), int(values.max())
    bits = width_of(most - least)
    if bits is None or least < INT8[0] or most > INT8[1]:
        return None
    return Codes(values, bits, min(least, INT8[1] + 1 - 2**bits))


# ---- what is packed -------------------------------------------------------------------------------------------------


def _weights(graph: Graph, node: Node) -> Array | None:
    """Constant bytes that meet bytes, enough of them."""
    weights = graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
    if weights is None or weights.dtype.name not in NARROW or weights.size < FEWEST_ELEMENTS:
        return None
    return weights if graph.types[node.inputs[0]].dtype in NARROW else None


def _rows_of(graph: Graph, node: Node) -> tuple[Array, int] | None:
    """The columns of the matrix as rows, and the weights' zero point."""
    weights = _weights(graph, node)
    if weights is None:
        return None
    if isinstance(node.op, MatMul) and _is_plain(node.op) and weights.ndim == 2:
        has_rows = len(graph.types[node.inputs[0]].shape) > 1
        return (weights if node.op.trans_b else weights.T, node.op.b_zero) if has_rows else None
    if isinstance(node.op, Conv) and _is_pointwise(node.op, weights):
        return weights.reshape(len(weights), -1), node.op.w_zero
    return None


def _is_plain(op: MatMul) -> bool:
    return not (op.trans_a or op.perm_a or op.perm_b or op.perm_y) and (op.alpha, op.beta) == (1.0, 1.0)


def _is_pointwise(op: Conv, weights: Array) -> bool:
    """Whether each pixel is a row of channels that is multiplied with a matrix."""
    is_matrix = weights.size == weights.shape[0] * weights.shape[-1]
    return op.channels_last and is_matrix and op.groups == 1 and not any(op.padding) and set(op.strides) == {1}


def _requant(op: Op) -> Requant | None:
    return op.requant if isinstance(op, Conv) else instance(op, MatMul).requant


# ---- what goes with it ----------------------------------------------------------------------------------------------


def _columns(graph: Graph, node: Node, values: Array) -> dict[str, Array] | None:
    """Bias, factors and summands, one for all columns or one for each; the bias has what the zero point of the other
    factor adds. None where they are not constant, or differ from row to row."""
    op, operands = node.op, node.operands()
    is_conv = isinstance(op, Conv)
    names = {"C": "B" if is_conv else "C", "mul": "mul", "add": "add"}
    found: dict[str, Array] = {}
    for own, name in names.items():
        if name not in operands:
            continue
        array = graph.constants.get(operands[name])
        if array is None or array.size not in (1, array.shape[-1] if array.ndim else 1):
            return None
        found[own] = array.reshape(-1)
    zero = op.x_zero if isinstance(op, Conv) else instance(op, MatMul).a_zero
    if zero:
        excess = (zero * values.sum(1)).astype(np.int64)
        found["C"] = (found.get("C", np.zeros(1, np.int32)).astype(np.int64) - excess).astype(np.int32)
    return found


# ---- the pass -------------------------------------------------------------------------------------------------------


def run(graph: Graph) -> Graph:
    def pack(node: Node, builder: Builder) -> Mapping[str, str] | None:
        found = packed_product(graph, node) or packed_conv(graph, node)
        if found is None or len(graph.consumers[node.inputs[1]]) > 1:
            return None  # Weights that others read as they are would be stored twice.
        names = {name: builder.constant(array, f"{node.key}_{name}") for name, array in found.constants.items()}
        inputs = [found.image, *(names.get(name.rstrip("?"), "") for name in found.op.operands[1:])]
        builder.add(found.op, inputs, node.outputs, node.name)
        return {node.key: node.key}

    return rewrite(graph, pack)


def no_narrow_weights(graph: Graph) -> Iterator[Complaint]:
    """None that only one layer reads, and that could be packed."""
    for node in graph.nodes:
        found = packed_product(graph, node) or packed_conv(graph, node)
        if found is not None and len(graph.consumers[node.inputs[1]]) == 1:
            yield node.where, "has weights of at most 4 bits in bytes"


PACK_WEIGHTS = Pass("pack weights", run, ensures=no_narrow_weights)
