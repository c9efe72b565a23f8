"""The sum of two tensors of bytes, as a depthwise convolution over both of them.

    clip(((a * first + b * second) * scale + bias) >> shift)

The rows of an image are as far apart as its job says: where that is half of the way from one tensor to the other, the
window of a row of A has, two rows further, the same elements of B. Tensors that lie one behind the other give two rows
of results at a time. Scales are the same everywhere, so that elements are taken 28 at a time, whatever their axes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, whole
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index, Op
from tilewright.ir.types import BYTES, Array, Shape, Shapes, TensorType, limits
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.records import dataclass
from tilewright.target.target import Offer
from tilewright.targets.hwpe.encoding import TAPS, WIDE, depthwise_codes, depthwise_words
from tilewright.targets.hwpe.jobs import DEPTHWISE, Job, Result, Weights
from tilewright.targets.hwpe.requantising import Totals, scaling

BITS = 8
"""Of a factor."""
OF_A, NEXT, AFTER_NEXT = 0, 3, 6
"""Taps: of A, and of B where rows are as far apart as the tensors, or half of that."""
WITHOUT = 2
"""Columns of a window that do not count."""


@dataclass(frozen=True)
class NeurekaSum(Op):
    """Y from A and B of the same shape and type; W has the two factors, `scale` and `bias` are alike for 28 lanes."""

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "W", "scale", "bias")
    elementwise: ClassVar[bool] = True
    dtype: str = "int8"
    """Of the result."""
    shift: int = 0

    def index(self, shapes: Shapes) -> Index:
        elements = axis_loops(len(shapes["A"]))
        constants = {name: tuple(map(whole, shapes[name])) for name in ("W", "scale", "bias") if name in shapes}
        return {"A": elements, "B": elements, **constants, "Y": elements}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["A"])}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return (shapes["A"],)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def check(self, types: Mapping[str, TensorType]) -> None:
        if types["A"] != types["B"] or types["A"].dtype not in ("int8", "uint8"):
            raise Refusal(f"A is {types['A']} and B is {types['B']}, int8 or uint8 of one type and shape is expected")

    def numpy(self, A: Array, B: Array, W: Array, scale: Array, bias: Array) -> Array:
        first, second = depthwise_codes(W, WIDE, BITS)[0, [OF_A, AFTER_NEXT]]
        totals = A.astype(np.int64) * first + B.astype(np.int64) * second
        value = (totals * int(scale[0]) + int(bias[0])).astype(np.int32) >> self.shift
        return np.asarray(np.clip(value, *limits(self.dtype)), self.dtype)

    def job(self, types: Mapping[str, TensorType], resident: bool, rows: int, pixels: int) -> Job:
        """Of rows of pixels with 28 elements each; where rows lie is up to the kernel."""
        result = Result(8, self.dtype == "int8", True, 8 * BYTES[types["scale"].dtype], self.shift)
        return Job(
            DEPTHWISE, WIDE, WIDE, rows, pixels, types["A"].dtype == "int8", Weights(BITS, 0, resident), result,
            WIDE, 0, WIDE, 0, right=WITHOUT, mask=mask_without(AFTER_NEXT),
        )  # fmt: skip


def mask_without(tap: int) -> int:
    """All taps off but that of A and this one of B."""
    return (1 << TAPS) - 1 - (1 << OF_A) - (1 << tap)


def sum_offer(graph: Graph, node: Node, op: QLinearAdd) -> Offer:
    types = graph.operand_types(node)
    a, b = types["A"], types["B"]
    if a.shape != b.shape:
        raise Refusal(f"A is {a} and B is {b}; N-EUREKA adds tensors of one shape")
    if a.dtype != b.dtype or a.dtype not in ("int8", "uint8") or not a.elements:
        raise Refusal(f"A is {a} and B is {b}; N-EUREKA adds two int8 or two uint8 tensors")
    if not {node.inputs[0], node.inputs[1]}.isdisjoint(graph.constants):
        raise Refusal("an operand is constant, and would have to be copied to L1")
    first, second, mul = _factors(op)
    found = scaling(op.requant, _totals(a.dtype, first, second), np.array([mul]), np.array([op.offset]))
    if isinstance(found, str):
        raise Refusal(found)
    constants = {
        "W": _words(first, second), "scale": np.repeat(found.scale, WIDE), "bias": np.repeat(found.bias, WIDE),
    }  # fmt: skip
    names = {name: f"{node.key} neureka {name}" for name in constants}
    made = NeurekaSum(op.requant.dtype, found.shift)
    return Offer(made, (*node.inputs, *names.values()), {names[name]: array for name, array in constants.items()})


def _factors(op: QLinearAdd) -> tuple[int, int, int]:
    """Of A and B, which are bytes, and of both."""
    if min(op.mul_a, op.mul_b) < 0:
        raise Refusal(f"factors are {op.mul_a} and {op.mul_b}, one of them negative")
    mul = max(1, math.gcd(op.mul_a, op.mul_b))
    first, second = op.mul_a // mul, op.mul_b // mul
    if max(first, second) >= 1 << BITS:
        raise Refusal(f"factors are {op.mul_a} and {op.mul_b}, which are not 8-bit factors times a common one")
    return first, second, mul


def _totals(dtype: str, first: int, second: int) -> Totals:
    low, high = limits(dtype)
    least, most = (np.array([(first + second) * end], np.int64) for end in (low, high))
    return Totals(least, most, np.zeros(1, np.int64))


def _words(first: int, second: int) -> Array:
    codes = np.zeros((WIDE, TAPS), np.int64)
    codes[:, OF_A], codes[:, [NEXT, AFTER_NEXT]] = first, second
    return depthwise_words(codes, BITS)
