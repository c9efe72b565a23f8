"""Base of element-by-element operators whose constants are one for all elements or one per position along an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from tilewright.errors import Refusal
from tilewright.ir.affine import FIRST, Affine, axis_loops
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class PerAxis(Op):
    """X is walked element by element; every other operand has one value, or one for each position along `axis`."""

    elementwise: ClassVar[bool] = True
    axis: int = 0

    def index(self, shapes: Shapes) -> Index:
        axes = axis_loops(len(shapes["X"]))
        others = {name: self.constant_index(shape, axes) for name, shape in shapes.items() if name != "X"}
        return {"X": axes, **others, "Y": axes}

    def constant_index(self, shape: Shape, axes: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return (FIRST if shape == (1,) else axes[self.axis],) if shape else ()

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"])}

    def check(self, types: Mapping[str, TensorType]) -> None:
        shape = types["X"].shape
        for name, kind in types.items():
            if name != "X" and kind.shape not in ((), (1,)):
                self.check_axis(name, kind.shape, shape)

    def check_axis(self, name: str, constant: Shape, shape: Shape) -> None:
        if not 0 <= self.axis < len(shape) or len(constant) != 1 or constant[0] != shape[self.axis]:
            raise Refusal(
                f"{name} of shape {constant} does not fit axis {self.axis} of a tensor of shape {shape}",
                "give one value, or one per position along the axis; blocks along an axis are not supported",
            )

    def along(self, values: Array, rank: int) -> Array:
        """The values of an operand, ready to be broadcast with X."""
        return values.reshape(()) if values.size == 1 else values.reshape(-1, *(1,) * (rank - 1 - self.axis))

    def walk(self, types: Mapping[str, TensorType], channels: int) -> Params:
        """The loops of the kernel: X as [outer, channels, inner]."""
        shape = types["X"].shape
        if channels == 1:
            return {"outer": 1, "channels": 1, "inner": math.prod(shape)}
        inner = math.prod(shape[self.axis + 1 :])
        return {"outer": math.prod(shape[: self.axis]), "channels": channels, "inner": inner}


def constant_axis(node: OnnxNode, position: int = 1) -> int:
    """The `axis` attribute, which counts only where the scale is a list (older files give it a meaningless value)."""
    value = node.attribute("axis", 1)
    kind = node.type(position)
    return node.axis(value, node.rank()) if len(kind.shape) == 1 and kind.elements != 1 else 0
