from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import FIRST, Affine, axis_loops, loops
from tilewright.ir.exact import exact_matmul
from tilewright.ir.exchange import exchanged
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import activated, check_activation
from tilewright.ops._elementwise import broadcast, broadcast_index
from tilewright.ops._linear import (
    centred,
    check_bias,
    check_factors,
    check_requant,
    requantised,
    result_dtype,
)
from tilewright.ops._loops import Axis, permuted, unpermuted
from tilewright.records import dataclass


@dataclass(frozen=True)
class MatMul(Op):
    """alpha * A[..., m, k] @ B[..., k, n] + beta * C, with numpy's rules for one-dimensional operands and batches.

    C, `mul` and `add` broadcast to the product. Integers accumulate in int32 and may be requantised. `trans_a` and
    `trans_b` say that the last two axes are stored the other way round; `perm_a`, `perm_b` and `perm_y` that an operand
    is read, or the product is stored, as a Transpose of that order would give it.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "C?", "mul?", "add?")
    multiplies: ClassVar[bool] = True
    trans_a: bool = False
    trans_b: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    a_zero: int = 0
    """The integer that stands for zero in A; it is subtracted."""
    b_zero: int = 0
    requant: Requant | None = None
    perm_a: Shape = ()
    perm_b: Shape = ()
    perm_y: Shape = ()
    activation: Op | None = None
    """What float results go through before they are stored."""

    def index(self, shapes: Shapes) -> Index:
        a, b = permuted(shapes["A"], self.perm_a), permuted(shapes["B"], self.perm_b)
        m, n, k = loops("m n k")
        batch = broadcast([a[:-2], b[:-2]])
        left, right = broadcast_index(a[:-2], batch), broadcast_index(b[:-2], batch)
        rows, columns = (m,) if len(a) > 1 else (), (n,) if len(b) > 1 else ()
        result = (*axis_loops(len(batch)), *rows, *columns)
        others = {name: _broadcast_to(result, shapes[name]) for name in ("C", "mul", "add") if name in shapes}
        return {
            "A": unpermuted((*left, *_ordered((*rows, k), self.trans_a)), self.perm_a),
            "B": unpermuted((*right, *_ordered((k, *columns), self.trans_b)), self.perm_b),
            **others,
            "Y": permuted(result, self.perm_y),
        }

    def extents(self, shapes: Shapes) -> dict[str, int]:
        a, b = _matrices(self, shapes)
        batch = broadcast([a[:-2], b[:-2]])
        sizes = {f"d{axis}": size for axis, size in enumerate(batch)}
        if len(shapes["A"]) > 1:
            sizes["m"] = a[-2]
        if len(shapes["B"]) > 1:
            sizes["n"] = b[-1]
        return sizes | {"k": a[-1]}

    def check(self, types: Mapping[str, TensorType]) -> None:
        shapes = {name: kind.shape for name, kind in types.items()}
        if not shapes["A"] or not shapes["B"]:
            raise Refusal("a scalar operand; at least one axis is needed", "use Mul")
        _check_order("perm_a", self.perm_a, len(shapes["A"]))
        _check_order("perm_b", self.perm_b, len(shapes["B"]))
        a, b = _matrices(self, shapes)
        if a[-1] != b[-2]:
            raise Refusal(f"A has rows of {a[-1]} elements, B columns of {b[-2]}")
        broadcast([a[:-2], b[:-2]])
        (result,) = replace(self, perm_y=()).result_shapes({"A": shapes["A"], "B": shapes["B"]})
        _check_order("perm_y", self.perm_y, len(result))
        for name in {"C", "mul", "add"} & set(types):
            if broadcast([shapes[name], result]) != result:
                raise Refusal(f"{name} of shape {shapes[name]} is larger than the result of shape {result}")
        for name in {"mul", "add"} & set(types):
            if max(shapes[name][:-2], default=1) > 1:
                raise Refusal(f"{name} has shape {shapes[name]}; one value, one per row or one per column is supported")
        check_factors("A", "B", types)
        check_bias("C", "A", types)
        check_requant(self, "A", types)
        check_activation(self.activation, "A", types)
        if types["A"].dtype != "float32" and (self.alpha, self.beta) != (1.0, 1.0):
            raise Refusal(f"alpha {self.alpha} and beta {self.beta} on integers", "only 1 is supported")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (result_dtype(self, dtypes["A"]),)

    def accumulate(self, A: Array, B: Array, *rest: Array | None) -> Array:
        left = centred(A.transpose(self.perm_a or range(A.ndim)), self.a_zero)
        right = centred(B.transpose(self.perm_b or range(B.ndim)), self.b_zero)
        left = left.swapaxes(-1, -2) if self.trans_a and A.ndim > 1 else left
        right = right.swapaxes(-1, -2) if self.trans_b and B.ndim > 1 else right
        return exact_matmul(left, right)

    def finish(
        self, total: Array, shapes: Shapes, A: Array, B: Array, C: Array | None = None, mul: Array | None = None,
        add: Array | None = None,
    ) -> Array:  # fmt: skip
        if self.alpha != 1.0:
            total = total * np.float32(self.alpha)
        if C is not None:
            total = total + (C if self.beta == 1.0 else C * np.float32(self.beta))
        product = activated(self.activation, requantised(self, total, mul, add))
        return np.ascontiguousarray(product.transpose(self.perm_y)) if self.perm_y else product

    def gradients(self, at: Adjoint) -> Gradients:
        found = {}
        for name in sorted(at.wanted & {"A", "B"}):
            found[name] = exchanged(self, at, name, ("A", "B")) * self.alpha
        if at.wants("C"):
            permuted_back = at.gradient.transpose(unpermuted(tuple(range(at.gradient.rank)), self.perm_y))
            found["C"] = permuted_back * self.beta
        return found

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        return cls(), node.inputs


def _ordered(axes: tuple[Axis, ...], transposed: bool) -> tuple[Axis, ...]:
    return axes[::-1] if transposed else axes


def _broadcast_to(result: tuple[Affine, ...], shape: Shape) -> tuple[Affine, ...]:
    axes = result[len(result) - len(shape) :]
    return tuple(FIRST if size == 1 else axis for axis, size in zip(axes, shape, strict=True))


def _matrices(op: MatMul, shapes: Shapes) -> tuple[Shape, Shape]:
    """The operands' shapes as [..., m, k] and [..., k, n]."""
    a, b = permuted(shapes["A"], op.perm_a), permuted(shapes["B"], op.perm_b)
    left = (1, *a) if len(a) == 1 else (*a[:-2], a[-1], a[-2]) if op.trans_a else a
    right = (*b, 1) if len(b) == 1 else (*b[:-2], b[-1], b[-2]) if op.trans_b else b
    return left, right


def _check_order(name: str, perm: Shape, rank: int) -> None:
    if perm and sorted(perm) != list(range(rank)):
        raise Refusal(f"{name} {perm} is no order of {rank} axes")
