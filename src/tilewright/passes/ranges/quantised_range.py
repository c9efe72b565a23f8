"""Floats that are quantised by their own range, as DynamicQuantizeLinear is defined in ten operators, become one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.ir.affine import axis_loops
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes
from tilewright.ops.cast import Cast
from tilewright.ops.clip import Clip
from tilewright.ops.div import Div
from tilewright.ops.max import Max
from tilewright.ops.min import Min
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reshape import Reshape
from tilewright.ops.round import Round
from tilewright.ops.sub import Sub
from tilewright.ops.transpose import Transpose
from tilewright.passes.ranges.at_once import JointOp, at_once
from tilewright.passes.ranges.made_from import is_number, operand_of, operands_of, other_operand
from tilewright.passes.ranges.range_of_floats import RangeOfFloats
from tilewright.records import dataclass

STEPS = 255.0


@dataclass(frozen=True)
class QuantisedRange(RangeOfFloats):
    """Bytes, their scale and their zero point: a range with 0 in it has 255 steps."""

    results: ClassVar[tuple[str, ...]] = ("Y", "scale", "zero")

    def index(self, shapes: Shapes) -> Index:
        loops = axis_loops(len(shapes["X"]))
        return {"X": loops, "Y": loops, "scale": (), "zero": ()}

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return "uint8", "float32", "uint8"

    def numpy(self, X: Array) -> tuple[Array, Array, Array]:
        nothing = np.float32(0.0)
        low, high = np.minimum(X.min(), nothing), np.maximum(X.max(), nothing)
        scale = np.asarray((high - low) / np.float32(STEPS))
        zero = Cast("uint8").numpy(np.rint(np.clip(nothing - low / scale, nothing, np.float32(STEPS))))
        return QuantizeLinear().numpy(X, scale, zero), scale, zero


def _found(graph: Graph, node: Node) -> JointOp | None:
    if not isinstance(node.op, QuantizeLinear) or graph.types[node.key].dtype != "uint8":
        return None
    x, scale, zero = node.inputs
    width = other_operand(graph, scale, Div, STEPS)
    ends = operands_of(graph, width, Sub) if width else None
    if ends is None or not graph.types[x].elements or any(graph.types[name].shape for name in (scale, zero)):
        return None
    high, low = ends
    is_range = _is_end(graph, high, x, Max, ReduceMax) and _is_end(graph, low, x, Min, ReduceMin)
    if not is_range or not _is_zero_point(graph, zero, low, scale):
        return None
    return JointOp(QuantisedRange(), x, (node, graph.producers[scale], graph.producers[zero]))


def _is_zero_point(graph: Graph, zero: str, low: str, scale: str) -> bool:
    """round(clip(0 - low / scale))"""
    rounded = operand_of(graph, zero, Cast)
    clipped = operand_of(graph, rounded, Round)
    clip = graph.producers.get(clipped)
    if clip is None or not isinstance(clip.op, Clip) or clip.op.bounds("float32") != (0.0, STEPS):
        return False
    turned = operands_of(graph, clip.inputs[0], Sub)
    if turned is None or not is_number(graph, turned[0], 0.0):
        return False
    return operands_of(graph, turned[1], Div) == (low, scale)


def _is_end(graph: Graph, tensor: str, x: str, limit: type[Op], reduction: type[Op]) -> bool:
    """The least or greatest element of x, or 0."""
    of = other_operand(graph, tensor, limit, 0.0)
    reduced = graph.producers.get(of)
    if reduced is None or type(reduced.op) is not reduction or graph.types[of].elements != 1:
        return False
    return _unmoved(graph, reduced.inputs[0]) == _unmoved(graph, x)


def _unmoved(graph: Graph, tensor: str) -> str:
    """What has the same elements in any order."""
    while (source := graph.producers.get(tensor)) is not None and isinstance(source.op, Transpose | Reshape):
        tensor = source.inputs[0]
    return tensor


QUANTISED_RANGES = at_once(
    "floats are quantised by their range at once", "quantises by a range that is computed apart", _found
)
