"""Base of convolutions: groups of filters, zero points, a bias and a requantisation per filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, Affine
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops._activation import activated, check_activation
from tilewright.ops._linear import (
    bias_operand,
    check_bias,
    check_factors,
    check_requant,
    requantised,
    result_dtype,
)
from tilewright.records import dataclass


@dataclass(frozen=True)
class Filters(Op):
    """X holds channels and W filters, both in groups; B, `mul` and `add` have one value, or one per filter."""

    operands: ClassVar[tuple[str, ...]] = ("X", "W", "B?", "mul?", "add?")
    multiplies: ClassVar[bool] = True
    groups: int = 1
    x_zero: int = 0
    """The integer that stands for zero in X: padding has this value, and it is subtracted."""
    w_zero: int = 0
    requant: Requant | None = None
    activation: Op | None = field(default=None, kw_only=True)
    """What float results go through before they are stored."""

    def per_filter_index(self, filters: Affine, shapes: Shapes) -> dict[str, tuple[Affine, ...]]:
        names = [name for name in ("B", "mul", "add") if name in shapes]
        return {name: (FIRST if shapes[name] == (1,) else filters,) for name in names}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        # Channels of several groups are contiguous only where every group is whole.
        return frozenset({"f", "c"}) if self.groups > 1 else frozenset()

    def check_filters(self, filters: int, types: Mapping[str, TensorType]) -> None:
        check_factors("X", "W", types)
        check_bias("B", "X", types)
        check_requant(self, "X", types)
        check_activation(self.activation, "X", types)
        for name in {"B", "mul", "add"} & set(types):
            if types[name].shape not in ((1,), (filters,)):
                raise Refusal(f"{name} has shape {types[name].shape} for {filters} filters")

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (result_dtype(self, dtypes["X"]),)

    def finish(
        self, total: Array, shapes: Shapes, X: Array, W: Array, B: Array | None = None, mul: Array | None = None,
        add: Array | None = None,
    ) -> Array:  # fmt: skip
        bias, mul, add = (None if v is None else self.per_filter(v, total.ndim) for v in (B, mul, add))
        return activated(self.activation, requantised(self, total if bias is None else total + bias, mul, add))

    def per_filter(self, values: Array, rank: int) -> Array:
        """Values for each filter, ready to be broadcast with a result of that many axes."""
        return values.reshape(-1, *(1,) * (rank - 2))

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        op, inputs = cls.from_onnx(node)
        return emit(op, [*inputs[:2], bias_operand(node, 2, emit)], node.outputs)


def kernel_of(node: OnnxNode) -> Shape:
    """The window's size from W, which `kernel_shape` may only repeat."""
    kernel = node.type(1).shape[2:]
    if tuple(node.attribute("kernel_shape", kernel)) != kernel:
        raise Refusal(f"kernel_shape {node.attribute('kernel_shape')} differs from W's {kernel}")
    if len(kernel) not in (1, 2, 3):
        raise Refusal(
            f"{len(kernel)} spatial axes; 1 to 3 are supported",
            "write it as one over three axes: the others as channels or batch",
        )
    return kernel
