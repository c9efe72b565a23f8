"""Floats that are quantised by their largest size, in twelve operators where TensorFlow Lite's dynamic-range models are
read, become one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import FIRST, axis_loops
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes
from tilewright.ops.abs import Abs
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.div import Div
from tilewright.ops.floor import Floor
from tilewright.ops.max import Max
from tilewright.ops.mul import Mul
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.sign import Sign
from tilewright.passes.ranges.at_once import JointOp, at_once
from tilewright.passes.ranges.made_from import is_number, operand_of, operands_of, other_operand
from tilewright.passes.ranges.range_of_floats import RangeOfFloats
from tilewright.records import dataclass

STEPS = 127.0


@dataclass(frozen=True)
class SymmetricRange(RangeOfFloats):
    """Bytes, and the scale of all that have the same indices along the first `rows` axes: their largest size, or
    `least`, has 127 steps. Ties go away from 0."""

    results: ClassVar[tuple[str, ...]] = ("Y", "scale")
    rows: int = 0
    least: float = 0.0

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops, "scale": (*loops[: self.rows], *(FIRST for _ in loops[self.rows :]))}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return "int8", "float32"

    def numpy(self, X: Array) -> tuple[Array, Array]:
        steps, axes = np.float32(STEPS), tuple(range(self.rows, X.ndim))
        most = np.maximum(np.abs(X).max(axis=axes, keepdims=True), np.float32(self.least))
        exact = X * (steps / most)
        whole = np.sign(exact) * np.floor(np.abs(exact) + np.float32(0.5))
        return Cast("int8").numpy(whole), most / steps


def _found(graph: Graph, cast: Node) -> JointOp | None:
    if not isinstance(cast.op, Cast) or graph.types[cast.key].dtype != "int8":
        return None
    exact = _rounded_away(graph, cast.inputs[0])
    factors = operands_of(graph, exact, Mul)
    if factors is None:
        return None
    x, inverse = factors
    quotient = operands_of(graph, inverse, Div)
    if (
        quotient is None
        or not is_number(graph, quotient[0], STEPS)
        or graph.types[x].shape != graph.types[cast.key].shape
    ):
        return None
    most = quotient[1]
    op, scale = _sizes(graph, x, most), _scale(graph, most)
    return JointOp(op, x, (cast, scale)) if op is not None and scale is not None else None


def _rounded_away(graph: Graph, tensor: str) -> str:
    """What a tensor is, rounded by sign(x) * floor(abs(x) + 0.5); empty where it is something else."""
    factors = operands_of(graph, tensor, Mul) or ("", "")
    exact = operand_of(graph, factors[0], Sign)
    size = other_operand(graph, operand_of(graph, factors[1], Floor), Add, 0.5)
    return exact if exact and operand_of(graph, size, Abs) == exact else ""


def _sizes(graph: Graph, x: str, most: str) -> SymmetricRange | None:
    """The operator, where a tensor holds the largest sizes of x."""
    of, least = operands_of(graph, most, Max) or ("", "")
    reduced, value = graph.producers.get(of), graph.constants.get(least)
    if reduced is None or not isinstance(reduced.op, ReduceMax) or value is None or value.size != 1:
        return None
    rank = len(graph.types[x].shape)
    rows = rank - len(reduced.op.axes)
    is_behind = tuple(sorted(reduced.op.axes)) == tuple(range(rows, rank)) and reduced.op.keepdims
    if not is_behind or operand_of(graph, reduced.inputs[0], Abs) != x or not graph.types[x].elements:
        return None
    return SymmetricRange(rows, float(value.reshape(-1)[0]))


def _scale(graph: Graph, most: str) -> Node | None:
    readers = (node for node in graph.nodes if most in node.inputs)
    return next((node for node in readers if other_operand(graph, node.key, Div, STEPS) == most), None)


SYMMETRIC_RANGES = at_once(
    "floats are quantised by their largest size at once", "quantises by a size that is computed apart", _found
)
