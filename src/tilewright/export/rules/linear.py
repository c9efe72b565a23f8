"""Sums of products: convolutions and matrix products, with what passes have folded into them as nodes again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.export.registry import rule
from tilewright.export.rules import requantised
from tilewright.export.rules.elementwise import activation, arithmetic, type_code
from tilewright.export.writer import NodeWriter, Step
from tilewright.ir.graph import Node
from tilewright.ir.types import Array, Shape
from tilewright.ops._linear import NARROW, WRAPPING
from tilewright.ops._windows import reach
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.matmul import MatMul
from tilewright.ops.matmulnbits import MatMulNBits

MICROSOFT = "com.microsoft"
"""The domain of ONNX Runtime's own operators."""

INTEGER_RESULTS = "use the float network, or one with QuantizeLinear and DequantizeLinear"


# ---- convolutions ---------------------------------------------------------------------------------------------------


@rule(Conv)
def conv(to: NodeWriter, op: Conv) -> None:
    rank = op.rank
    second, last = (0, rank + 1, *range(1, rank + 1)), (0, *range(2, rank + 2), 1)
    x, w = (transposed(to, name, second if op.channels_last else ()) for name in "XW")
    how = {"strides": op.strides, "dilations": op.dilations, "pads": op.padding, "group": op.groups}
    if op.requant is None:
        steps = _filtered(to, op, x, w, to.shape("W")[0], how)
    else:
        steps = requantised.filtered(to, op.requant, "Conv", x, to.constant_of("W", w), 0, op.w_zero, how)
    back = [Step("Transpose", (), {"perm": last})] if op.channels_last else []
    to.chain(*steps, *activation(to, op.activation), *back)


def _filtered(to: NodeWriter, op: Conv, x: str, w: str, filters: int, how: dict[str, Any]) -> list[Step]:
    if to.type("X").dtype == "float32":
        return [Step("Conv", (x, w, *_bias(to, filters)), how)]
    _refuse_wide(to, "X", "W")
    zeros = _zero_points(to, {"X": op.x_zero, "W": op.w_zero})
    steps = [Step("ConvInteger", (x, w, *zeros), how)]
    if to.operand("B"):
        per_filter = to.add("Reshape", [to.operand("B"), to.integers((-1, *(1,) * op.rank), "shape")])
        steps.append(Step("Add", (per_filter,)))
    return steps


@rule(ConvTranspose)
def conv_transpose(to: NodeWriter, op: ConvTranspose) -> None:
    if to.type("X").dtype != "float32" and op.requant is None:
        raise Refusal(f"a transposed convolution of {to.type('X').dtype}", INTEGER_RESULTS)
    ends = ends_of_transposed(op, to.shape("X")[2:], to.shape("W")[2:])
    how = {
        "strides": op.strides, "dilations": op.dilations, "group": op.groups,
        "pads": (*op.before, *(max(end, 0) for end in ends)), "output_padding": tuple(max(-end, 0) for end in ends),
    }  # fmt: skip
    if op.requant is not None:
        x, w = to.operand("X"), to.must_know("W")
        to.chain(*requantised.filtered(to, op.requant, "ConvTranspose", x, w, 1, op.w_zero, how))
        return
    bias = _bias(to, to.shape("W")[1] * op.groups)
    to.chain(Step("ConvTranspose", (to.operand("X"), to.operand("W"), *bias), how), *activation(to, op.activation))


def ends_of_transposed(op: ConvTranspose, ins: Shape, kernel: Shape) -> list[int]:
    """What is cut off at the end of each axis; negative where something is added."""
    walk = zip(ins, op.strides, kernel, op.dilations, op.before, op.spatial, strict=True)
    return [(n - 1) * stride + reach(k, d) - before - size for n, stride, k, d, before, size in walk]


def _bias(to: NodeWriter, filters: int) -> tuple[str, ...]:
    """One value for each filter, where there is a bias."""
    name = to.operand("B")
    if not name or to.shape("B") == (filters,):
        return (name,) if name else ()
    return (to.add("Expand", [name, to.integers((filters,), "filters")]),)


def _refuse_wide(to: NodeWriter, left: str, right: str) -> None:
    found = to.type(left).dtype, to.type(right).dtype
    if not set(found) <= NARROW:
        raise Refusal(
            f"{left} is {found[0]} and {right} is {found[1]}; ConvInteger takes int8 and uint8", INTEGER_RESULTS
        )


def _zero_points(to: NodeWriter, zeros: dict[str, int]) -> list[str]:
    names = [f"{operand.lower()}_zero_point" for operand in zeros]
    arrays = [np.asarray(value, to.type(operand).dtype) for operand, value in zeros.items()]
    return [to.constant(array, name) for array, name in zip(arrays, names, strict=True)]


# ---- matrix products ------------------------------------------------------------------------------------------------


@rule(MatMul)
def matmul(to: NodeWriter, op: MatMul) -> None:
    back = [Step("Transpose", (), {"perm": op.perm_y})] if op.perm_y else []
    product = [_gemm(to, op)] if _is_gemm(to, op) else _product(to, op)
    to.chain(*product, *activation(to, op.activation), *back)


def _is_gemm(to: NodeWriter, op: MatMul) -> bool:
    """Two matrices of floats, with more to do than to multiply them."""
    matrices = len(to.shape("A")) == len(to.shape("B")) == 2 and not op.perm_a and not op.perm_b
    more = op.trans_a or op.trans_b or op.alpha != 1.0 or bool(to.operand("C"))
    return matrices and more and to.type("A").dtype == "float32"


def _gemm(to: NodeWriter, op: MatMul) -> Step:
    how = {"transA": int(op.trans_a), "transB": int(op.trans_b), "alpha": op.alpha, "beta": op.beta}
    return Step("Gemm", tuple(filter(None, map(to.operand, "ABC"))), how)


def _product(to: NodeWriter, op: MatMul) -> list[Step]:
    a = transposed(to, "A", _order(op.perm_a, op.trans_a, len(to.shape("A"))))
    b = transposed(to, "B", _order(op.perm_b, op.trans_b, len(to.shape("B"))))
    if op.requant is not None:
        return requantised.product(to, op.requant, a, b, op.b_zero)
    steps = [_factors(to, op, a, b)]
    if op.alpha != 1.0:
        steps.append(Step("Mul", (to.constant(np.asarray(op.alpha, np.float32), "alpha"),)))
    if to.operand("C"):
        steps.append(Step("Add", (_scaled(to, op.beta),)))
    return steps


def _order(perm: Shape, swapped: bool, rank: int) -> Shape:
    """The axes as the product takes them; none where they are so already."""
    order = perm or tuple(range(rank))
    if swapped and rank > 1:
        order = (*order[:-2], order[-1], order[-2])
    return () if order == tuple(range(rank)) else order


def _factors(to: NodeWriter, op: MatMul, a: str, b: str) -> Step:
    found = {to.type("A").dtype, to.type("B").dtype}
    if found <= NARROW:
        return Step("MatMulInteger", (a, b, *_zero_points(to, {"A": op.a_zero, "B": op.b_zero})))
    if found == {"float32"} or found <= WRAPPING:
        return Step("MatMul", (a, b))
    return Step("MatMul", (_centred(to, "A", a, op.a_zero), _centred(to, "B", b, op.b_zero)))


def _centred(to: NodeWriter, operand: str, tensor: str, zero: int) -> str:
    """An integer factor in int32, where products are summed."""
    wide = tensor if to.type(operand).dtype == "int32" else to.add("Cast", [tensor], to=type_code("int32"))
    return to.add("Sub", [wide, to.constant(np.asarray(zero, np.int32), "zero_point")]) if zero else wide


def _scaled(to: NodeWriter, beta: float) -> str:
    bias = lifted(to, "C", len(to.result_type().shape))
    if beta == 1.0:
        return bias
    return to.add("Mul", [bias, to.constant(np.asarray(beta, np.float32), "beta")])


def transposed(to: NodeWriter, operand: str, perm: Sequence[int]) -> str:
    """An operand with its axes in another order: a constant, also a quantised one, is stored so."""
    if not perm:
        return to.operand(operand)
    value = to.value(operand)
    if value is not None:
        return to.constant(value.transpose(perm), operand.lower())
    maker = dequantiser(to, operand)
    axis = 0 if maker is None else list(perm).index(maker.op.attributes()["axis"])
    stored = _dequantised(to, operand, lambda stored: stored.transpose(perm), axis)
    return stored or to.add("Transpose", [to.operand(operand)], perm=perm)


def lifted(to: NodeWriter, operand: str, rank: int) -> str:
    """In quantised networks, a list that is added to matrices in the rank of their product. ONNX Runtime would make a
    product of two axes of it, with quantisers of a type that it changes afterwards, and refuse the network."""
    shape = to.shape(operand)
    if not to.to.is_quantised or len(shape) != 1 or rank < 3:
        return to.operand(operand)
    wanted = (*(1,) * (rank - 1), *shape)
    value = to.value(operand)
    if value is not None:
        return to.constant(value.reshape(wanted), operand.lower())
    restored = _dequantised(to, operand, lambda stored: stored.reshape(wanted), rank - 1)
    return restored or to.add("Reshape", [to.operand(operand), to.integers(wanted, "shape")])


def _dequantised(to: NodeWriter, operand: str, stored: Callable[[Array], Array], axis: int) -> str:
    """A quantised constant in another form, whose channels are along an axis; nothing where the operand is none.
    Quantised weights stay beside the product, where those who fuse both look for them."""
    maker = dequantiser(to, operand)
    if maker is None:
        return ""
    value = to.to.constant(stored(to.to.graph.constants[maker.inputs[0]]), f"{maker.inputs[0]}_stored")
    scale, zero = (to.to.names.get(name, name) for name in maker.inputs[1:])
    return to.add("DequantizeLinear", [value, scale, zero], axis=axis)


def dequantiser(to: NodeWriter, operand: str) -> Node | None:
    """The node that makes an operand of a quantised constant."""
    maker = to.to.graph.producers.get(to.node.operands()[operand])
    if maker is None or not isinstance(maker.op, DequantizeLinear) or maker.inputs[0] not in to.to.graph.constants:
        return None
    return maker


@rule(Add)
def add(to: NodeWriter, op: Add) -> None:
    """Also of what is added to a matrix product."""
    makers = [to.to.graph.producers.get(to.node.operands()[name]) for name in "AB"]
    other = next((b for a, b in zip(makers, "BA", strict=True) if a is not None and isinstance(a.op, MatMul)), "")
    if op.wide or not other or to.type(other).dtype != "float32":
        arithmetic(to, op)
        return
    rank = len(to.result_type().shape)
    to.end("Add", [lifted(to, name, rank) if name == other else to.operand(name) for name in "AB"])


# ---- weights of few bits --------------------------------------------------------------------------------------------


@rule(MatMulNBits)
def matmul_n_bits(to: NodeWriter, op: MatMulNBits) -> None:
    """ONNX Runtime's operator: ONNX's own would have a scale per block and the weights the other way round."""
    columns = to.shape("B")[0]
    inputs = [to.operand("A"), to.operand("B"), to.operand("scales")]
    if to.operand("zeros"):
        inputs.append(to.constant(_packed(to.must_know("zeros"), op.bits), "zero_points"))
    to.end("MatMulNBits", inputs, domain=MICROSOFT, K=op.inner, N=columns, bits=op.bits, block_size=op.block)


def _packed(values: Array, bits: int) -> Array:
    """Small numbers in bytes, the first in the lowest bits; each row begins with a byte of its own."""
    per_byte = 8 // bits
    filled = np.pad(values, [(0, 0), (0, -values.shape[1] % per_byte)]).reshape(values.shape[0], -1, per_byte)
    shifted = filled.astype(np.uint8) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(np.bitwise_or.reduce(shifted, axis=-1), np.uint8)
