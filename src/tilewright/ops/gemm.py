from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.types import is_integer, limits
from tilewright.ops._linear import bias_operand
from tilewright.ops.add import Add
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.records import dataclass


@dataclass(frozen=True)
class Gemm(Op):
    """alpha * A' @ B' + beta * C on matrices: a MatMul with all of its attributes."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?")

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("broadcast")
        op, bias = gemm_of(node), bias_operand(node, 2, emit)
        if node.type(0).dtype == "float32" or (op.alpha, op.beta) == (1.0, 1.0):
            return emit(op, [*node.inputs[:2], bias], node.outputs)
        return _integer_factors(op, node.inputs[:2], bias, node.outputs, emit)


def _integer_factors(
    op: MatMul, factors: Sequence[str], bias: str, outputs: Sequence[str], emit: Emit
) -> Sequence[str]:
    """alpha and beta as products of their own: a sum of integers has no place for them."""
    if not (op.alpha.is_integer() and op.beta.is_integer()):
        raise Refusal(f"alpha {op.alpha} and beta {op.beta} on integers", "only whole numbers are supported")
    plain = replace(op, alpha=1.0, beta=1.0)
    scaled_bias = bias and _times(bias, op.beta, None, emit)[0]
    if op.alpha == 1.0:
        return emit(plain, [*factors, scaled_bias], outputs)
    (total,) = emit(plain, factors)
    if not bias:
        return _times(total, op.alpha, outputs, emit)
    return emit(Add(), [*_times(total, op.alpha, None, emit), scaled_bias], outputs)


def _times(tensor: str, factor: float, outputs: Sequence[str] | None, emit: Emit) -> Sequence[str]:
    if factor == 1.0 and outputs is None:
        return (tensor,)
    dtype = emit.type_of(tensor).dtype
    low, high = limits(dtype) if is_integer(dtype) else (-math.inf, math.inf)
    if not low <= factor <= high:
        raise Refusal(f"a factor of {factor:g} on {dtype}", f"it holds {low} to {high}")
    value = np.asarray(int(factor), dtype)
    return emit(Mul(), [tensor, emit.constant(value, f"{tensor}_factor")], outputs)


def gemm_of(node: OnnxNode) -> MatMul:
    """The MatMul that a node with Gemm's attributes stands for."""
    # ONNX has matrices only, but exporters that join MatMul and Add into a Gemm keep the batch axes.
    if node.rank(0) < 2 or node.rank(1) < 2:
        raise Refusal(f"A has {node.rank(0)} axes and B {node.rank(1)}, both should have at least 2", "use MatMul")
    flags = bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0))
    return MatMul(*flags, float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0)))
