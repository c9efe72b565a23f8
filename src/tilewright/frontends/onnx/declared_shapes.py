"""Operands that are computed at run time, but that the declared shape of a result leaves no choice for.

Files often state the shape of a tensor whose making reads it from another one: a Reshape to a computed shape, a Tile by
computed counts, a reduction over axes that are an input. What the shape decides is taken as known, and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import onnx

from tilewright.frontends.onnx import file as onnx_file
from tilewright.ir.types import Array, Shape
from tilewright.records import dataclass


@dataclass(frozen=True)
class Declared:
    """A node as far as shapes go."""

    kind: str
    operand: Shape
    """Of the first operand; what is not known of it is empty."""
    results: Sequence[Shape]
    attributes: Mapping[str, Any]

    @property
    def result(self) -> Shape:
        return self.results[0]

    def axis(self, default: int, rank: int) -> int:
        found = self.attributes.get("axis", default)
        return found % rank if isinstance(found, int) and -rank <= found < rank else 0


Rule = Callable[[Declared], "Sequence[int] | int | None"]


def _shape(node: Declared) -> Sequence[int] | None:
    return None if 0 in node.result else node.result


def _repeats(node: Declared) -> Sequence[int] | None:
    if len(node.operand) != len(node.result) or 0 in node.operand:
        return None
    return [result // size for size, result in zip(node.operand, node.result, strict=True)]


def _along_axis(default: int) -> Rule:
    def size(node: Declared) -> int | None:
        return node.result[node.axis(default, len(node.result))] if node.result else None

    return size


def _parts(node: Declared) -> Sequence[int] | None:
    axis = node.axis(0, max(len(node.operand), 1))
    return [shape[axis] for shape in node.results] if all(len(shape) > axis for shape in node.results) else None


def _chosen(node: Declared) -> Sequence[int] | None:
    """The result's sizes along `axes`, or along all."""
    if node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    axes = node.attributes.get("axes", range(len(node.result)))
    return [node.result[axis] for axis in axes if -len(node.result) <= axis < len(node.result)]


def _reduced(node: Declared) -> Sequence[int] | None:
    """The axes that must have been reduced, where no others could have been (one of size 1 makes no difference)."""
    rank, kept = len(node.operand), node.attributes.get("keepdims", 1)
    if kept:
        found = [axis for axis in range(rank) if node.operand[axis] != 1 and node.result[axis : axis + 1] == (1,)]
        return found or None
    ways = [axes for axes in combinations(range(rank), rank - len(node.result)) if _left(node, axes) == node.result]
    return ways[0] if len(ways) == 1 and ways[0] else None


def _left(node: Declared, axes: Sequence[int]) -> Shape:
    return tuple(size for axis, size in enumerate(node.operand) if axis not in axes)


REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
)  # fmt: skip

RULES: Mapping[str, tuple[int, Rule]] = {
    "Reshape": (1, _shape),
    "Squeeze": (1, _shape),
    "Unsqueeze": (1, _shape),
    "Expand": (1, _shape),
    "ConstantOfShape": (0, _shape),
    "Tile": (1, _repeats),
    "TopK": (1, _along_axis(-1)),
    "OneHot": (1, _along_axis(-1)),
    "Split": (1, _parts),
    "Resize": (3, _chosen),
    "CenterCropPad": (1, _chosen),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), (0, _along_axis(0))),
    **dict.fromkeys(REDUCTIONS, (1, _reduced)),
}
"""For each operator: which operand the result's shape decides, and how."""

AS_RESHAPE = frozenset({"Squeeze", "Unsqueeze"})
"""What the shape decides of these is the shape itself."""


def decided(node: onnx.NodeProto, operand: Shape, shapes: Mapping[str, Shape]) -> tuple[int, Array] | None:
    """The position and the value of an operand that follows from the declared shapes, or None."""
    rule = RULES.get(node.op_type)
    if rule is None or not all(name in shapes for name in node.output if name):
        return None
    position, find = rule
    results = [shapes[name] for name in node.output if name]
    found = find(Declared(node.op_type, operand, results, onnx_file.attributes(node))) if results else None
    return None if found is None else (position, np.asarray(found, np.int64))


def with_operand(node: onnx.NodeProto, position: int, name: str) -> onnx.NodeProto:
    """The node with another operand; what only changes a shape becomes a Reshape."""
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    changed.input[position] = name
    if node.op_type in AS_RESHAPE:
        changed.op_type = "Reshape"
        changed.ClearField("attribute")
    return changed


def static_shapes(graph: onnx.GraphProto) -> dict[str, Shape]:
    """The tensors whose declared shape is made of numbers alone."""
    found = {value.name: onnx_file.static_shape(value) for value in (*graph.value_info, *graph.output)}
    return {name: shape for name, shape in found.items() if shape is not None and math.prod(shape) >= 0}
