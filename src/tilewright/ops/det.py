from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose
from tilewright.ops.abs import Abs
from tilewright.ops.argmax import ArgMax
from tilewright.ops.div import Div
from tilewright.ops.equal import Equal
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.where import Where
from tilewright.records import dataclass

LARGEST = 16
"""Rows of matrices that are written out; each is a step of about 15 operations."""


@dataclass(frozen=True)
class Det(Op):
    """The determinants of small square matrices. Becomes elimination with the largest pivots, step by step."""

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        make, kind = Compose(node, emit), node.type(0)
        *outer, rows, columns = (0, 0, *kind.shape)[-max(len(kind.shape), 2) :]
        if len(kind.shape) < 2 or rows != columns:
            raise Refusal(f"{kind} has no determinants", "the last two axes must be of one size")
        if not 1 <= rows <= LARGEST or kind.dtype != "float32":
            raise Refusal(f"determinants of {kind} are not supported", f"float32, up to {LARGEST} rows")
        left = make.reshape(node.inputs[0], (math.prod(outer), rows, rows))
        product = make.constant(np.ones((1, 1, 1), np.float32), "one")
        for _ in range(rows - 1):
            pivot, left = _eliminated(make, left)
            product = make.mul(product, pivot)
        return make.give(make.reshape(make.mul(product, left), outer))


def _eliminated(make: Compose, a: str) -> tuple[str, str]:
    """The pivot of the first column with the sign that its row's move gives, and the matrix without both."""
    batch, size, _ = make.shape(a)
    best = make(ArgMax(1, True), make.reshape(make(Abs(), make.part(a, 2, 0, 1)), (batch, size)))
    numbers = make.constant(np.arange(size, dtype=np.int64).reshape(1, size), "rows")
    is_best = make(Equal(), best, numbers)
    of_rows = make.reshape(is_best, (batch, size, 1))
    # Chosen, not multiplied by 0 and 1: an infinity in another row leaves no mark.
    row = make(ReduceSum((1,), True), make(Where(), of_rows, a, make.like(0, a)))
    first = make.part(a, 1, 0, 1)
    others = make.part(make(Where(), of_rows, first, a), 1, 1, size)
    pivot = make.part(row, 2, 0, 1)
    is_first = make.reshape(make.part(is_best, 1, 0, 1), (batch, 1, 1))
    signed = make(Where(), is_first, pivot, make.mul(pivot, make.like(-1, pivot)))
    divisor = make(Where(), make(Equal(), pivot, make.like(0, pivot)), make.like(1, pivot), pivot)
    shares = make(Div(), make.part(others, 2, 0, 1), divisor)
    rest = make.sub(make.part(others, 2, 1, size), make.mul(shares, make.part(row, 2, 1, size)))
    return signed, rest
